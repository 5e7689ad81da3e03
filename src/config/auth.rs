//! `auth.json`: what the user has logged in with. It is only read.

use crate::protocol::JsonObject;
use serde::Deserialize;
use std::{collections::BTreeMap, path::Path};

/// Credentials by provider.
pub type Logins = BTreeMap<String, Login>;

/// What the user has logged in to a provider with.
///
/// Source: pi's `providers.md`; pi 0.73.1 observed.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Login {
    /// A key.
    ApiKey {
        /// As configured: see [`super::value`].
        key: String,
    },
    /// The tokens of a subscription.
    Oauth {
        /// What is sent.
        access: String,
        /// When it ends, in milliseconds since 1970.
        expires: f64,
    },
}

// Keys do not belong in logs.
impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ApiKey { .. } => f.write_str("ApiKey"),
            Self::Oauth { expires, .. } => write!(f, "Oauth until {expires}"),
        }
    }
}

/// What an entry may look like, for the warnings.
const SHAPES: &str = r#"{"type": "api_key", "key": "…"} or {"type": "oauth", "access": "…", "expires": …}"#;

/// Reads the text of `auth.json`, and says of each entry of the wrong shape that it is left out. `path` is for the
/// warnings.
pub fn read(text: &str, path: &Path) -> (Logins, Vec<String>) {
    let object = match serde_json::from_str::<JsonObject>(text) {
        Ok(object) => object,
        Err(error) => {
            // What the parser says of a value shows it, and here values are keys; of syntax it shows nothing.
            let reason = if error.is_data() { "expected an object".to_owned() } else { error.to_string() };
            return (Logins::new(), vec![format!("{}: {reason}; the file is left out", path.display())]);
        }
    };
    let mut logins = Logins::new();
    let mut warnings = Vec::new();
    for (provider, entry) in object {
        match serde_json::from_value(entry) {
            Ok(login) => drop(logins.insert(provider, login)),
            Err(_) => warnings
                .push(format!("{}: {provider}: expected {SHAPES}; the entry is left out", path.display())),
        }
    }
    (logins, warnings)
}
