//! Logins in omp's database are renewed under omp's lease, and written back as omp writes them.

use crate::{
    login_support::{FUTURE, PAST, Vendor, http},
    omp_database::OmpDatabase,
};
use pi_rpc::{
    config::{Config, Sources, load},
    login::refresh_expiring,
    protocol::Dialect,
};
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use std::{
    fs,
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::time::sleep;

const PROVIDER: &str = "anthropic";

/// A home with a database that has one login.
struct Home {
    dir: tempfile::TempDir,
    row: i64,
}

impl Home {
    fn new(expires: f64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(".omp/agent")).unwrap();
        let database = OmpDatabase::create(&dir.path().join(".omp/agent/agent.db"));
        let row = database.add(PROVIDER, "oauth", &login("old-access", "old-refresh", expires));
        database.close();
        Self { dir, row }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(".omp/agent/agent.db")
    }

    fn open(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    fn config(&self, vendor: &Vendor) -> Config {
        let origin = format!("http://{}", vendor.address);
        let home = self.dir.path().to_str().unwrap();
        load(Sources {
            dialect: Dialect::Omp,
            working_directory: self.dir.path().to_owned(),
            environment: [("HOME", home), ("PI_RPC_TOKEN_ORIGIN", &origin)].into_iter().collect(),
            approve: None,
        })
    }

    /// The text of the login's row.
    fn data(&self) -> String {
        let query = "SELECT data FROM auth_credentials WHERE id = ?1";
        self.open().query_row(query, [self.row], |row| row.get(0)).unwrap()
    }

    fn leases(&self) -> i64 {
        let query = "SELECT count(*) FROM auth_credential_refresh_leases";
        self.open().query_row(query, [], |row| row.get(0)).unwrap()
    }

    /// Has another process hold the lease for this long.
    fn lease(&self, duration: Duration) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let until = (now + duration).as_millis() as i64;
        let insert = "INSERT INTO auth_credential_refresh_leases VALUES (?1, 'another', ?2, 0)";
        self.open().execute(insert, params![self.row, until]).unwrap();
    }

    fn replace(&self, login: &Value) {
        let update = "UPDATE auth_credentials SET data = ?1 WHERE id = ?2";
        self.open().execute(update, params![login.to_string(), self.row]).unwrap();
    }
}

fn login(access: &str, refresh: &str, expires: f64) -> Value {
    let expires = expires as i64;
    json!({ "access": access, "refresh": refresh, "expires": expires, "email": "me@example.com", "orgId": "o" })
}

fn token(config: &Config) -> Option<String> {
    config.keys.extension_credentials(PROVIDER, None).unwrap().0.key
}

#[tokio::test]
async fn expired_row_is_renewed_and_kept() {
    let (vendor, home) = (Vendor::new(&[]), Home::new(PAST));
    let config = home.config(&vendor);
    refresh_expiring(&http(), &config.keys, PROVIDER).await.unwrap();
    assert_eq!(token(&config).as_deref(), Some("scripted-access-1"));
    let data = home.data();
    let stored: Value = serde_json::from_str(&data).unwrap();
    let expires = stored["expires"].as_i64().unwrap();
    // As omp writes it, byte for byte: omp compares the text.
    assert_eq!(data, login("scripted-access-1", "scripted-refresh-1", expires as f64).to_string());
    assert!(expires as f64 > PAST, "{expires}");
    assert_eq!(home.leases(), 0);
    let again = home.config(&vendor);
    assert_eq!(token(&again).as_deref(), Some("scripted-access-1"));
    refresh_expiring(&http(), &again.keys, PROVIDER).await.unwrap();
    assert_eq!(vendor.requests().len(), 1);
    assert!(!home.dir.path().join(".omp/agent/auth.json").exists());
}

#[tokio::test]
async fn refreshes_at_once_make_one_request() {
    let (vendor, home) = (Vendor::new(&[]), Home::new(PAST));
    let configs = [home.config(&vendor), home.config(&vendor)];
    let http = http();
    let [one, two] = configs.each_ref().map(|config| refresh_expiring(&http, &config.keys, PROVIDER));
    assert_eq!(tokio::join!(one, two), (Ok(()), Ok(())));
    assert_eq!(
        configs.each_ref().map(token),
        [const { "scripted-access-1" }; 2].map(|it| Some(it.to_owned()))
    );
    assert_eq!(vendor.requests().len(), 1);
}

#[tokio::test]
async fn token_of_another_process_is_taken() {
    let (vendor, home) = (Vendor::new(&[]), Home::new(PAST));
    let config = home.config(&vendor);
    home.lease(Duration::from_millis(400));
    let http = http();
    let (renewed, ()) = tokio::join!(refresh_expiring(&http, &config.keys, PROVIDER), async {
        sleep(Duration::from_millis(100)).await;
        home.replace(&login("of-omp", "refresh", FUTURE));
    });
    assert_eq!((renewed, token(&config).as_deref()), (Ok(()), Some("of-omp")));
    assert_eq!((vendor.requests(), home.leases()), (vec![], 0));
}

#[tokio::test]
async fn refused_refresh_changes_nothing() {
    let (vendor, home) = (Vendor::new(&["invalid_grant"]), Home::new(PAST));
    let (config, before) = (home.config(&vendor), home.data());
    let error = refresh_expiring(&http(), &config.keys, PROVIDER).await.unwrap_err().to_string();
    assert!(error.starts_with("The login of anthropic has expired, and 127.0.0.1 refuses"), "{error}");
    assert_eq!((home.data(), home.leases()), (before, 0));
}

#[tokio::test]
async fn login_that_is_gone_is_not_renewed() {
    let (vendor, home) = (Vendor::new(&[]), Home::new(PAST));
    let config = home.config(&vendor);
    home.open().execute("UPDATE auth_credentials SET disabled_cause = 'logged out'", []).unwrap();
    refresh_expiring(&http(), &config.keys, PROVIDER).await.unwrap();
    assert_eq!((token(&config), vendor.requests(), home.leases()), (None, vec![], 0));
}

#[tokio::test]
async fn unwritable_database_is_named() {
    let (vendor, home) = (Vendor::new(&[]), Home::new(PAST));
    let config = home.config(&vendor);
    OmpDatabase(home.open()).run("DROP TABLE auth_credential_refresh_leases");
    let error = refresh_expiring(&http(), &config.keys, PROVIDER).await.unwrap_err().to_string();
    let start =
        format!("The login of anthropic could not be renewed: {}: no such table", home.path().display());
    assert!(error.starts_with(&start), "{error}");
    assert_eq!(vendor.requests(), vec![]);
}
