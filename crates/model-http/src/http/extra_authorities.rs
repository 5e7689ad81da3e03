//! Certificate authorities that are trusted beside those of the system.

use pi_rpc_files::regular_files::{self, CERTIFICATES};
use reqwest::Certificate;
use std::{env, ffi::OsString, path::Path};

/// The variable that names a PEM file of further authorities. It is Node's, and so users of pi behind an inspecting
/// proxy have set it.
pub const EXTRA_CA_VARIABLE: &str = "NODE_EXTRA_CA_CERTS";

/// Reads the authorities of that file; none, with a warning, if it is unreadable.
pub fn extra_certificates() -> Vec<Certificate> {
    let Some(path) = env::var_os(EXTRA_CA_VARIABLE).filter(|path| !path.is_empty()) else {
        return Vec::new();
    };
    match read(&path) {
        Ok(found) => found,
        Err(error) => {
            warn_ignored(&error);
            Vec::new()
        }
    }
}

/// Warns that the file is left out, as Node does.
pub fn warn_ignored(error: &str) {
    let path = env::var_os(EXTRA_CA_VARIABLE).unwrap_or_default();
    tracing::warn!("{EXTRA_CA_VARIABLE}: {}: {error}; the file is left out", path.display());
}

fn read(path: &OsString) -> Result<Vec<Certificate>, String> {
    let text = regular_files::read(Path::new(path), CERTIFICATES).map_err(|error| error.to_string())?;
    let found = Certificate::from_pem_bundle(&text).map_err(|error| error.to_string())?;
    match found.is_empty() {
        true => Err("no certificate is in it".to_owned()),
        false => Ok(found),
    }
}
