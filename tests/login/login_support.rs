//! A home with logins, and a vendor that plays the endpoints for them.

use pi_rpc::{
    config::{Config, Sources, load},
    mock::{Journal, Mock, ReceivedRequest},
    model::{http::Http, scripted::Script},
    protocol::Dialect,
};
use serde_json::{Value, json};
use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, mpsc::channel},
    thread,
};

/// Kimi, whose address the environment may change.
pub const KIMI: &str = "kimi-coding";

/// A vendor that plays logins until the test is over.
pub struct Vendor {
    pub address: SocketAddr,
    journal: Arc<Journal>,
}

impl Vendor {
    /// Its next polls and refreshes fail with these errors.
    pub fn new(errors: &[&str]) -> Self {
        let errors = errors.iter().map(|&error| error.to_owned()).collect();
        let (sender, bound) = channel();
        // It ends with the test's process.
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mock = Mock::bind(([127, 0, 0, 1], 0).into(), Script::demo()).await.unwrap();
                let mock = mock.with_login_errors(errors);
                sender.send(Self { address: mock.address(), journal: mock.journal() }).unwrap();
                mock.serve().await
            })
        });
        bound.recv().unwrap()
    }

    /// The requests so far, as path and status.
    pub fn requests(&self) -> Vec<(String, Option<u16>)> {
        self.received().into_iter().map(|request| (request.path, request.status)).collect()
    }

    pub fn received(&self) -> Vec<ReceivedRequest> {
        self.journal.received()
    }
}

/// A home with an `auth.json`.
pub struct Home(tempfile::TempDir);

impl Home {
    pub fn new(auth: &Value) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(home.auth_file().parent().unwrap()).unwrap();
        home.write(auth);
        home
    }

    pub fn path(&self) -> &std::path::Path {
        self.0.path()
    }

    pub fn into_dir(self) -> tempfile::TempDir {
        self.0
    }

    pub fn auth_file(&self) -> PathBuf {
        self.0.path().join(".pi/agent/auth.json")
    }

    pub fn write(&self, auth: &Value) {
        fs::write(self.auth_file(), serde_json::to_string_pretty(auth).unwrap()).unwrap();
    }

    /// The entries of the file.
    pub fn auth(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.auth_file()).unwrap()).unwrap()
    }

    /// The configuration, with Kimi's logins at `vendor`.
    pub fn config(&self, vendor: &Vendor) -> Config {
        let host = format!("http://{}", vendor.address);
        let environment =
            [("HOME", self.0.path().to_str().unwrap()), ("KIMI_CODE_OAUTH_HOST", host.as_str())];
        load(Sources {
            dialect: Dialect::Pi,
            working_directory: self.0.path().to_owned(),
            environment: environment.into_iter().collect(),
            approve: None,
        })
    }
}

/// An entry of Kimi's with these tokens.
pub fn entry(access: &str, refresh: &str, expires: f64) -> Value {
    json!({ "type": "oauth", "access": access, "refresh": refresh, "expires": expires, "own": ["kept"] })
}

/// A time that has passed, and one that has not, in milliseconds since 1970.
pub const PAST: f64 = 1e12;
pub const FUTURE: f64 = 4e12;

/// The token that a request to Kimi would have.
pub fn token(config: &Config) -> Option<String> {
    config.keys.extension_credentials(KIMI, None).unwrap().0.key
}

pub fn http() -> Arc<Http> {
    Arc::new(Http::default())
}
