//! Logins at servers, in `mcp-auth.json` of the agent directory: pi's file, under pi's locks. Source: pi 1.6.0 source.

use crate::naming::namespace;
use pi_rpc_files::{
    private_files,
    regular_files::{self, CONFIGURATION},
};
use pi_rpc_login::{auth_file::LockedAuthFile, lock::AuthLock};
use pi_rpc_protocol::JsonObject;
use reqwest::Url;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    time::Duration,
};

/// The file.
pub(crate) const FILE: &str = "mcp-auth.json";

/// How long to wait for a refresh of another process.
const REFRESH_PATIENCE: Duration = Duration::from_secs(25);

/// Digits of the hash in the name of the lock of a refresh.
const HASH_BYTES: usize = 8;

/// The login at one server: by its name and address, so that servers with one address can have different accounts.
#[derive(Clone)]
pub(crate) struct LoginStore {
    path: PathBuf,
    key: String,
    /// The key that older versions of pi wrote: the address alone.
    old_key: String,
}

impl LoginStore {
    pub(crate) fn new(agent: &Path, server: &str, url: &Url) -> Self {
        let old_key = url.to_string();
        Self { path: agent.join(FILE), key: format!("{}|{old_key}", namespace(server)), old_key }
    }

    /// What is known of the login; of another address, nothing.
    pub(crate) async fn load(&self) -> io::Result<JsonObject> {
        // Written by pi, the file may be read half; then the lock is waited for.
        let entries = match regular_files::read_to_string(&self.path, CONFIGURATION) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(JsonObject::new()),
            read => match serde_json::from_str(&read?) {
                Ok(entries) => entries,
                Err(_) => LockedAuthFile::open(&self.path).await?.entries()?,
            },
        };
        Ok(self.own(&entries))
    }

    fn own(&self, entries: &JsonObject) -> JsonObject {
        let state = entries.get(&self.key).or_else(|| entries.get(&self.old_key));
        match state {
            Some(Value::Object(state)) if state.get("serverUrl") == Some(&self.old_key.as_str().into()) => {
                state.clone()
            }
            _ => JsonObject::new(),
        }
    }

    /// Changes it, under the lock of the file.
    pub(crate) async fn change(&self, edit: impl FnOnce(&mut JsonObject)) -> io::Result<()> {
        let file = LockedAuthFile::open(&self.path).await?;
        let mut state = self.own(&file.entries()?);
        edit(&mut state);
        state.insert("serverUrl".to_owned(), self.old_key.as_str().into());
        file.replace(&self.key, Some(state))
    }

    /// Forgets it; says whether there was one.
    pub(crate) async fn remove(&self) -> io::Result<bool> {
        if !self.path.exists() {
            return Ok(false);
        }
        let file = LockedAuthFile::open(&self.path).await?;
        let entries = file.entries()?;
        let mut keys = [&self.key, &self.old_key].into_iter();
        match keys.find(|key| entries.contains_key(key.as_str())) {
            Some(key) => file.replace(key, None).map(|()| true),
            None => Ok(false),
        }
    }

    /// Waits for the lock of refreshes: a refresh token that is used twice may be worth nothing.
    pub(crate) async fn lock_refresh(&self) -> io::Result<AuthLock> {
        let digest = Sha256::digest(&self.key);
        let hash: String = digest[..HASH_BYTES].iter().map(|byte| format!("{byte:02x}")).collect();
        self.path.parent().map_or(Ok(()), private_files::create_folder)?;
        let name = self.path.with_file_name(format!("mcp-auth-refresh-{hash}"));
        AuthLock::acquire_beside(REFRESH_PATIENCE, &name).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;

    #[tokio::test]
    async fn logins_have_the_keys_of_pi() {
        let folder = tempfile::tempdir().unwrap();
        let url: Url = "https://h.example/mcp".parse().unwrap();
        let store = LoginStore::new(folder.path(), "my-docs", &url);
        store
            .change(|state| drop(state.insert("tokens".to_owned(), json!({ "access_token": "a" }))))
            .await
            .unwrap();
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        let expected = json!({ "mcp__my_docs|https://h.example/mcp": {
            "tokens": { "access_token": "a" }, "serverUrl": "https://h.example/mcp" } });
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
        let other = LoginStore::new(folder.path(), "my-docs", &"https://h.example/other".parse().unwrap());
        assert!(other.load().await.unwrap().is_empty() && !store.load().await.unwrap().is_empty());
        assert_eq!((store.remove().await.unwrap(), store.remove().await.unwrap()), (true, false));
    }

    #[tokio::test]
    async fn login_of_older_pi_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let url: Url = "https://h.example/mcp".parse().unwrap();
        let old =
            json!({ "https://h.example/mcp": { "serverUrl": "https://h.example/mcp", "oauthState": "s" } });
        fs::write(folder.path().join(FILE), old.to_string()).unwrap();
        let store = LoginStore::new(folder.path(), "docs", &url);
        assert_eq!(store.load().await.unwrap()["oauthState"], "s");
        assert!(store.remove().await.unwrap());
    }
}
