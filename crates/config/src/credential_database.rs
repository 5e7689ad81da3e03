//! Reads the SQLite database in which omp keeps API keys and logins (`agent.db`). Only [`pi_rpc_login`] writes to it.
//!
//! omp may run at the same time: the database is opened for reading only, and as it lies on the disk where no other
//! process has it open, so that nothing is created beside it.
//!
//! Source: omp source (`sqlite-credential-store.ts`, `auth-storage.ts`).

use super::{auth::Login, login_use::has_passed};
use pi_rpc_protocol::JsonObject;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
    time::Duration,
};

/// Credentials of a database, by provider.
#[derive(Clone, Default)]
pub struct StoredCredentials(BTreeMap<String, StoredProvider>);

/// The credentials of one provider that are tried, in this order.
#[derive(Clone, Default)]
pub(super) struct StoredProvider {
    /// A login, with the number of its row.
    pub login: Option<(i64, Login)>,
    /// A key that the user has given to omp's `/login`.
    pub login_key: Option<String>,
    /// A key from elsewhere, which environment variables precede.
    pub key: Option<String>,
}

/// A credential of the table that is not disabled.
struct Row {
    id: i64,
    provider: String,
    login: Login,
    /// Whether the user has given it to `/login`.
    is_of_login: bool,
    /// Whether the provider has refused it until a time that is still to come.
    is_blocked: bool,
}

/// The newest version of the tables that is known.
const VERSION: i64 = 7;

/// How long another process may hold the database.
const BUSY: Duration = Duration::from_millis(500);

/// Limits of what is read: more credentials, or longer ones, are no user's.
const MAX_ROWS: usize = 10_000;
const MAX_BYTES: usize = 1 << 20;

const CREDENTIALS: &str = "SELECT id, provider, credential_type, data FROM auth_credentials \
     WHERE disabled_cause IS NULL AND length(data) <= ?1 ORDER BY id LIMIT ?2";

const BLOCKED: &str = "SELECT credential_id FROM auth_credential_blocks \
     WHERE block_scope IN ('', 'chat') AND blocked_until_ms > ?1";

impl StoredCredentials {
    /// Reads the database; a warning tells what is left out. There is nothing in one that does not exist.
    /// `is_renewable`: whether the login of a provider is of use after its end.
    pub(super) fn read(path: &Path, is_renewable: impl Fn(&str, &Login) -> bool) -> (Self, Option<String>) {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return (Self::default(), Some(left_out(path, "not a regular file"))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Default::default(),
            Err(error) => return (Self::default(), Some(left_out(path, &error.to_string()))),
        }
        match rows(path) {
            Ok((rows, version)) => {
                let newer = (version > VERSION).then(|| {
                    format!(
                        "{}: its tables have version {version}, this program knows up to {VERSION}; what it can read is \
                         used",
                        path.display()
                    )
                });
                (Self::of(rows, is_renewable), newer)
            }
            Err(error) => (Self::default(), Some(left_out(path, &reason(&error)))),
        }
    }

    fn of(rows: Vec<Row>, is_renewable: impl Fn(&str, &Login) -> bool) -> Self {
        let mut providers = BTreeMap::<String, Vec<Row>>::new();
        for row in rows {
            providers.entry(row.provider.clone()).or_default().push(row);
        }
        let chosen = providers.into_iter().map(|(provider, rows)| {
            let is_login = |row: &&Row| matches!(row.login, Login::Oauth { .. });
            let is_usable = |row: &Row| match &row.login {
                Login::Oauth { expires, .. } => !has_passed(*expires) || is_renewable(&provider, &row.login),
                Login::ApiKey { .. } => true,
            };
            let key = |of_login: bool| {
                let keys = rows.iter().filter(|row| !is_login(row) && row.is_of_login == of_login);
                match best(keys.collect(), |_| true)?.login.clone() {
                    Login::ApiKey { key, .. } => key,
                    Login::Oauth { .. } => None,
                }
            };
            let login = best(rows.iter().filter(is_login).collect(), is_usable);
            let stored = StoredProvider {
                login: login.map(|row| (row.id, row.login.clone())),
                login_key: key(true),
                key: key(false),
            };
            (provider.clone(), stored)
        });
        Self(chosen.collect())
    }

    pub(super) fn get(&self, provider: &str) -> Option<&StoredProvider> {
        self.0.get(provider)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &StoredProvider)> {
        self.0.iter()
    }
}

/// The first row that can be used and is not blocked, else the first that can be used, else the first.
fn best(rows: Vec<&Row>, is_usable: impl Fn(&Row) -> bool) -> Option<&Row> {
    let usable = || rows.iter().filter(|row| is_usable(row));
    usable().find(|row| !row.is_blocked).or_else(|| usable().next()).or(rows.first()).copied()
}

fn left_out(path: &Path, reason: &str) -> String {
    format!("{}: {reason}; its keys and logins are left out", path.display())
}

/// Why the database cannot be read, for people.
fn reason(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process has locked it".to_owned()
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            "it is no SQLite database, or a broken one".to_owned()
        }
        _ if error.to_string().contains("no such column") => {
            "its tables are older than those of omp 18; start omp once, which upgrades them".to_owned()
        }
        // SQLite's own text: it repeats names of tables and columns, no values.
        _ => error.to_string(),
    }
}

/// The rows in use, and the version of the tables.
fn rows(path: &Path) -> rusqlite::Result<(Vec<Row>, i64)> {
    if is_open_elsewhere(path) {
        return rows_of(&open(path, false)?);
    }
    match open(path, true).and_then(|database| rows_of(&database)) {
        Ok(read) if !is_open_elsewhere(path) => Ok(read),
        // Another process has begun to write meanwhile.
        Ok(_) | Err(_) => rows_of(&open(path, false)?),
    }
}

/// Whether there are files beside the database that a process which has it open keeps there.
fn is_open_elsewhere(path: &Path) -> bool {
    ["-wal", "-journal"].iter().any(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        Path::new(&name).exists()
    })
}

/// Opens the database for reading; `immutable`: without locks and without any other file.
fn open(path: &Path, immutable: bool) -> rusqlite::Result<Connection> {
    let mut url = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                url.push(char::from(*byte))
            }
            _ => {
                let _ = write!(url, "%{byte:02X}");
            }
        }
    }
    if immutable {
        url.push_str("?immutable=1");
    }
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(url, flags)?;
    database.busy_timeout(BUSY)?;
    // The file may be somebody else's: its views and triggers run nothing.
    database.pragma_update(None, "trusted_schema", false)?;
    Ok(database)
}

fn rows_of(database: &Connection) -> rusqlite::Result<(Vec<Row>, i64)> {
    let has = |table: &str| {
        let query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1";
        database.query_row(query, [table], |_| Ok(())).optional().map(|found| found.is_some())
    };
    if !has("auth_credentials")? {
        return Ok((Vec::new(), 0));
    }
    let version = match has("auth_schema_version")? {
        true => {
            let query = "SELECT version FROM auth_schema_version WHERE id = 1";
            database.query_row(query, [], |row| row.get(0)).optional()?.unwrap_or(0)
        }
        false => 0,
    };
    let blocked: BTreeSet<i64> = match has("auth_credential_blocks")? {
        true => {
            let mut query = database.prepare(BLOCKED)?;
            query.query_map([now_ms()], |row| row.get(0))?.collect::<Result<_, _>>()?
        }
        false => BTreeSet::new(),
    };
    let mut query = database.prepare(CREDENTIALS)?;
    let limits = rusqlite::params![MAX_BYTES as i64, MAX_ROWS as i64];
    let mut rows = query.query(limits)?;
    let mut read = Vec::new();
    while let Some(row) = rows.next()? {
        // As in omp, a row of another shape is passed over.
        read.extend(credential(row, &blocked));
    }
    Ok((read, version))
}

/// The credential of a row; `None`: it has another shape.
fn credential(row: &rusqlite::Row<'_>, blocked: &BTreeSet<i64>) -> Option<Row> {
    let (id, provider) = (row.get(0).ok()?, row.get(1).ok()?);
    let (kind, data): (String, String) = (row.get(2).ok()?, row.get(3).ok()?);
    let mut members: JsonObject = serde_json::from_str(&data).ok()?;
    let is_of_login = members.get("source").and_then(Value::as_str) == Some("login");
    let login = match &*kind {
        "api_key" => {
            let key = members.get("key")?.as_str().filter(|key| !key.is_empty())?.to_owned();
            Login::ApiKey { key: Some(key), env: BTreeMap::new() }
        }
        "oauth" => {
            members.insert("type".to_owned(), "oauth".into());
            Login::parse(&members)?
        }
        _ => return None,
    };
    Some(Row { id, provider, login, is_of_login, is_blocked: blocked.contains(&id) })
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
