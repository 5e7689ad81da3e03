//! The authorities whose certificates are trusted beside those of the system.

use crate::regular_files::{self, CERTIFICATES};
use reqwest::Certificate;
use std::{env, ffi::OsString, path::Path};

/// The variable that names a file of further authorities, in PEM. Node has it, and so users of pi behind a proxy that
/// looks into connections have set it.
pub const EXTRA_CA_VARIABLE: &str = "NODE_EXTRA_CA_CERTS";

/// The authorities of that file; none, with a warning, where it cannot be read.
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

/// Says that the file is left out, as Node does.
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
