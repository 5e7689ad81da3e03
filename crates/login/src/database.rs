//! A login in omp's database of credentials (`agent.db`), renewed under omp's own lease of its row.
//!
//! The process that holds the lease of a row renews its login; other processes wait, and then read the row again. The row
//! is replaced only if it has not changed since it was read. Source: omp source (`refreshStoredOAuthCredential`).

use pi_rpc_protocol::JsonObject;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};
use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tokio::time::sleep;

/// How long the lease lasts: longer than a refresh with all that belongs to it, so that it needs no renewal.
const LEASE: Duration = Duration::from_secs(30);

/// How long to wait for the lease of another process.
const WAIT: Duration = Duration::from_secs(20);

/// The time between two attempts.
const PAUSE: Duration = Duration::from_millis(250);

/// How long another process may hold the database.
const BUSY: Duration = Duration::from_secs(5);

/// How long it may hold it while a lease is released, which other tasks of the thread may have to wait for.
const BUSY_AT_RELEASE: Duration = Duration::from_millis(200);

/// A login whose lease is held.
pub struct LeasedLogin {
    path: PathBuf,
    id: i64,
    owner: String,
    /// The row's text.
    data: String,
}

const LEASE_ROW: &str = "INSERT INTO auth_credential_refresh_leases (credential_id, owner, expires_at_ms, updated_at) \
     VALUES (?1, ?2, ?3, ?4 / 1000) ON CONFLICT(credential_id) DO UPDATE SET owner = excluded.owner, \
     expires_at_ms = excluded.expires_at_ms, updated_at = excluded.updated_at \
     WHERE auth_credential_refresh_leases.expires_at_ms <= ?4";

const RELEASE_ROW: &str =
    "DELETE FROM auth_credential_refresh_leases WHERE credential_id = ?1 AND owner = ?2";

const READ_ROW: &str = "SELECT data FROM auth_credentials \
     WHERE id = ?1 AND credential_type = 'oauth' AND disabled_cause IS NULL";

const REPLACE_ROW: &str = "UPDATE auth_credentials SET data = ?1, updated_at = ?5 / 1000 \
     WHERE id = ?2 AND data = ?3 AND disabled_cause IS NULL AND EXISTS (SELECT 1 FROM auth_credential_refresh_leases \
     WHERE credential_id = ?2 AND owner = ?4 AND expires_at_ms > ?5)";

impl LeasedLogin {
    /// Waits for the lease of the row; `None`: there is no such login any more.
    ///
    /// # Errors
    ///
    /// Another process keeps the lease, or the database cannot be written.
    pub async fn acquire(path: &Path, id: i64) -> io::Result<Option<Self>> {
        let owner = super::random_uuid();
        let begun = Instant::now();
        loop {
            let (path, owner) = (path.to_owned(), owner.clone());
            match blocking(move || try_acquire(&path, id, &owner)).await? {
                Attempt::Leased(login) => return Ok(Some(login)),
                Attempt::Gone => return Ok(None),
                Attempt::Taken if begun.elapsed() < WAIT => sleep(PAUSE).await,
                Attempt::Taken => return Err(io::Error::other("another process is renewing the login")),
            }
        }
    }

    /// The login, as an entry of `auth.json` would have it.
    ///
    /// # Errors
    ///
    /// The row holds no object. The text repeats nothing of it.
    pub fn entry(&self) -> io::Result<JsonObject> {
        let mut entry: JsonObject = serde_json::from_str(&self.data)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "expected a JSON object"))?;
        entry.insert("type".to_owned(), "oauth".into());
        Ok(entry)
    }

    /// Replaces the login and gives the lease back.
    ///
    /// # Errors
    ///
    /// Another process has changed the login or taken the lease, or the database cannot be written.
    pub fn replace(&self, mut entry: JsonObject) -> io::Result<()> {
        // omp has the type in a column, and compares the text with what it would write itself: without spaces.
        entry.shift_remove("type");
        let data = serde_json::to_string(&entry)?;
        let database = open(&self.path, BUSY)?;
        let values = params![data, self.id, self.data, self.owner, now_ms()];
        match database.execute(REPLACE_ROW, values).map_err(io::Error::other)? {
            0 => Err(io::Error::other("another process has changed the login meanwhile")),
            _ => Ok(()),
        }
    }
}

impl Drop for LeasedLogin {
    fn drop(&mut self) {
        // A lease that stays behind ends by itself.
        let _ = open(&self.path, BUSY_AT_RELEASE)
            .map(|database| database.execute(RELEASE_ROW, params![self.id, self.owner]));
    }
}

enum Attempt {
    Leased(LeasedLogin),
    Taken,
    Gone,
}

fn try_acquire(path: &Path, id: i64, owner: &str) -> io::Result<Attempt> {
    let database = open(path, BUSY)?;
    let now = now_ms();
    let until = now + LEASE.as_millis() as i64;
    let leased = database.execute(LEASE_ROW, params![id, owner, until, now]).map_err(io::Error::other)?;
    if leased == 0 {
        return Ok(Attempt::Taken);
    }
    let mut login = LeasedLogin { path: path.to_owned(), id, owner: owner.to_owned(), data: String::new() };
    let data = database.query_row(READ_ROW, [id], |row| row.get(0)).optional().map_err(io::Error::other)?;
    let Some(data) = data else { return Ok(Attempt::Gone) };
    login.data = data;
    Ok(Attempt::Leased(login))
}

fn open(path: &Path, busy: Duration) -> io::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags).map_err(io::Error::other)?;
    database.busy_timeout(busy).map_err(io::Error::other)?;
    Ok(database)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(io::Error::other(pi_rpc_model_http::http::DEFECT)))
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
