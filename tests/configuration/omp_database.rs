//! A database of credentials, with the tables that omp 18.2.3 makes.

use rusqlite::{Connection, params};
use serde_json::Value;
use std::path::Path;

/// What omp creates, as far as credentials go.
const TABLES: &str = "
PRAGMA journal_mode=WAL;
CREATE TABLE auth_schema_version (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL);
INSERT INTO auth_schema_version VALUES (1, 7);
CREATE TABLE auth_credentials (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    provider TEXT NOT NULL,
    credential_type TEXT NOT NULL,
    data TEXT NOT NULL,
    disabled_cause TEXT DEFAULT NULL,
    identity_key TEXT DEFAULT NULL,
    created_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER)),
    updated_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER))
);
CREATE TABLE auth_credential_blocks (
    credential_id INTEGER NOT NULL,
    provider_key TEXT NOT NULL,
    block_scope TEXT NOT NULL DEFAULT '',
    blocked_until_ms INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (credential_id, provider_key, block_scope)
);
CREATE TABLE auth_credential_refresh_leases (
    credential_id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
";

/// The database, while this process has it open.
pub struct OmpDatabase(pub Connection);

impl OmpDatabase {
    /// Creates an empty one.
    pub fn create(path: &Path) -> Self {
        let database = Connection::open(path).unwrap();
        database.execute_batch(TABLES).unwrap();
        Self(database)
    }

    /// Adds a credential and returns the number of its row.
    pub fn add(&self, provider: &str, kind: &str, data: &Value) -> i64 {
        let insert = "INSERT INTO auth_credentials (provider, credential_type, data) VALUES (?1, ?2, ?3)";
        self.0.execute(insert, params![provider, kind, data.to_string()]).unwrap();
        self.0.last_insert_rowid()
    }

    /// Runs statements.
    pub fn run(&self, statements: &str) {
        self.0.execute_batch(statements).unwrap();
    }

    /// Closes it, as omp does at its end: nothing stays beside the file.
    pub fn close(self) {
        self.0.close().unwrap();
    }
}
