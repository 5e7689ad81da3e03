//! Reads `auth.json`: the user's logins. Only [`pi_rpc_login`] writes the file.

use pi_rpc_protocol::JsonObject;
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
};

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
        /// The token that obtains another one.
        #[serde(default)]
        refresh: String,
        /// End of its validity, in milliseconds since 1970.
        expires: f64,
        /// Further members, such as the address of a company's server.
        #[serde(flatten)]
        others: JsonObject,
    },
}

impl Login {
    /// Whether it has anything.
    fn is_of_use(&self) -> bool {
        !matches!(self, Self::ApiKey { key: None, env } if env.is_empty())
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

/// Logins that all clones share: a refresh replaces one.
#[derive(Clone, Default)]
pub struct SharedLogins(Arc<RwLock<Logins>>);

impl SharedLogins {
    /// Shares these logins.
    pub fn new(logins: Logins) -> Self {
        Self(Arc::new(RwLock::new(logins)))
    }

    /// The login at a provider.
    pub fn get(&self, provider: &str) -> Option<Login> {
        self.all().get(provider).cloned()
    }

    /// All logins, until the guard is dropped.
    pub fn all(&self) -> RwLockReadGuard<'_, Logins> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the login at a provider, or removes it.
    pub fn set(&self, provider: &str, login: Option<Login>) {
        let mut logins = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match login {
            Some(login) => drop(logins.insert(provider.to_owned(), login)),
            None => drop(logins.remove(provider)),
        }
    }
}

impl Login {
    /// Parses an entry of the file; `None`: it has another shape.
    pub fn parse(entry: &JsonObject) -> Option<Self> {
        serde_json::from_value(Value::Object(entry.clone())).ok()
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
