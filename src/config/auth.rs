//! Reads `auth.json`: the user's logins.

use super::renewal::now_ms;
use crate::protocol::JsonObject;
use serde::Deserialize;
use std::{collections::BTreeMap, path::Path};

/// Credentials by provider.
pub type Logins = BTreeMap<String, Login>;

/// A login at a provider.
///
/// Source: pi's `providers.md`; pi 0.73.1 observed.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Login {
    /// An API key.
    ApiKey {
        /// The configured value: see [`super::value`]; `None`: the key is elsewhere, or there is an account.
        key: Option<String>,
        /// Variables of the provider, which precede those of the environment.
        #[serde(default)]
        env: BTreeMap<String, String>,
    },
    /// The tokens of a subscription.
    Oauth {
        /// The token that is sent.
        access: String,
        /// The token that renews it.
        #[serde(default)]
        refresh: Option<String>,
        /// The other members, as the vendor's client id.
        #[serde(flatten)]
        more: JsonObject,
        /// End of its validity, in milliseconds since 1970.
        expires: f64,
    },
}

impl Login {
    /// Whether it has anything.
    fn is_of_use(&self) -> bool {
        !matches!(self, Self::ApiKey { key: None, env } if env.is_empty())
    }

    /// The token of a login; empty for a key.
    pub fn access(&self) -> &str {
        match self {
            Self::ApiKey { .. } => "",
            Self::Oauth { access, .. } => access,
        }
    }

    /// The members of a login that its renewal depends on; none for a key.
    pub fn renewal_members(&self) -> JsonObject {
        let Self::Oauth { refresh, more, .. } = self else { return JsonObject::new() };
        let refresh = refresh.iter().map(|refresh| ("refresh".to_owned(), refresh.as_str().into()));
        more.clone().into_iter().chain(refresh).collect()
    }

    /// The tokens of a login.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        let (access, refresh) = match self {
            Self::ApiKey { .. } => (None, None),
            Self::Oauth { access, refresh, .. } => (Some(access.as_str()), refresh.as_deref()),
        };
        access.into_iter().chain(refresh)
    }

    /// Whether a login ends within so many milliseconds.
    pub fn expires_within(&self, millis: f64) -> bool {
        match self {
            Self::ApiKey { .. } => false,
            Self::Oauth { expires, .. } => now_ms() as f64 + millis >= *expires,
        }
    }

    /// Whether it has a key or a token.
    pub const fn has_key(&self) -> bool {
        !matches!(self, Self::ApiKey { key: None, .. })
    }
}

// Keys must not reach logs.
impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ApiKey { .. } => f.write_str("ApiKey"),
            Self::Oauth { expires, .. } => write!(f, "Oauth until {expires}"),
        }
    }
}

/// Shapes of an entry, for warnings.
const SHAPES: &str = r#"{"type": "api_key", "key": "…"} or {"type": "oauth", "access": "…", "expires": …}"#;

/// Parses `auth.json`; a warning names each entry that is left out for its shape. `path` is for the warnings.
pub fn read(text: &str, path: &Path) -> (Logins, Vec<String>) {
    let object = match serde_json::from_str::<JsonObject>(text) {
        Ok(object) => object,
        Err(error) => {
            // The parser's text may quote values, which are keys here; syntax errors quote nothing.
            let reason = if error.is_data() { "expected an object".to_owned() } else { error.to_string() };
            return (Logins::new(), vec![format!("{}: {reason}; the file is left out", path.display())]);
        }
    };
    let mut logins = Logins::new();
    let mut warnings = Vec::new();
    for (provider, entry) in object {
        match serde_json::from_value(entry) {
            Ok(login) if Login::is_of_use(&login) => drop(logins.insert(provider, login)),
            Ok(_) | Err(_) => warnings
                .push(format!("{}: {provider}: expected {SHAPES}; the entry is left out", path.display())),
        }
    }
    (logins, warnings)
}
