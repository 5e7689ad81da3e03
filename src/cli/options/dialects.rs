//! The dialect that is spoken where no option names one, and the dialects with logins.

use super::{Refusal, values::dialect};
use crate::cli::USAGE;
use pi_rpc_protocol::Dialect;
use std::ffi::OsString;

/// The dialect where nothing names one: that of the pi which npm installs.
pub const DEFAULT_DIALECT: Dialect = Dialect::Pi1;

/// The dialect of `PI_RPC_DIALECT`, else of the name that the binary was started by, else [`DEFAULT_DIALECT`].
pub fn default_dialect(started_as: Option<&OsString>) -> Result<Dialect, Refusal> {
    Ok(implied_dialect(started_as)?.unwrap_or(DEFAULT_DIALECT))
}

/// The dialect of `PI_RPC_DIALECT`, else of the name that the binary was started by.
pub fn implied_dialect(started_as: Option<&OsString>) -> Result<Option<Dialect>, Refusal> {
    if let Ok(name) = std::env::var("PI_RPC_DIALECT")
        && !name.is_empty()
    {
        return dialect(&name)
            .map(Some)
            .map_err(|Refusal(text, status)| Refusal(format!("PI_RPC_DIALECT: {text}"), status));
    }
    Ok(program_dialect(started_as))
}

/// The dialect of the original whose name the binary was started by.
pub fn program_dialect(started_as: Option<&OsString>) -> Option<Dialect> {
    let stem = std::path::Path::new(started_as?).file_stem()?.to_str()?;
    Dialect::ALL.into_iter().find(|dialect| dialect.record().started_as.contains(&stem))
}

/// The end of the names of dialects with logins.
const LOGINS: &str = "@login";

/// Whether a host can log its user in by this dialect.
pub fn has_logins(dialect: Dialect) -> bool {
    dialect.as_str().ends_with(LOGINS)
}

/// The dialect with logins that extends `dialect`.
pub fn with_logins(dialect: Dialect) -> Result<Dialect, Refusal> {
    if has_logins(dialect) {
        return Ok(dialect);
    }
    Dialect::parse(&format!("{dialect}{LOGINS}")).ok_or_else(|| {
        let known = Dialect::ALL.into_iter().filter_map(|known| known.as_str().strip_suffix(LOGINS));
        let known: Vec<&str> = known.collect();
        let text =
            format!("--wire-login: {dialect} has no logins; expected --dialect {}", known.join(" or "));
        Refusal(text, USAGE)
    })
}
