//! Session files on disk: found, listed, locked, opened and appended to.
//!
//! For programs that keep sessions in files beside those of pi: a [`Store`] holds the file of the open session, the others are
//! found and listed without opening them.
//!
//! This crate does not know what a conversation means: the crate [`pi_rpc_session`] reads the bytes and makes the lines. It never
//! changes a line that is written, but for a new header, a torn last line and the migration of an old version, and it never
//! writes to a file that another process holds or has changed. All functions block.
//!
//! - [`Store`]: the file of the open session, locked for this process. [`SyncPolicy`]: when it is synced to the disk.
//! - [`find_newest`], [`find_by_prefix`], [`find_by_id`]: find earlier sessions.
//! - [`catalog`]: lists, searches, renames and archives sessions without opening them.
//!
//! ```
//! use pi_rpc_protocol::Dialect;
//! use pi_rpc_session::{NewEntry, Session, Stamp, new_header};
//! use pi_rpc_session_store::{Store, find_by_prefix};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("session.jsonl");
//! let header = new_header("5f0e77".to_owned(), "/work".to_owned(), None, 0);
//! let mut session = Session::new(header, Some(path.clone().into()));
//! let message = serde_json::from_str(r#"{"role":"user","content":"Hi","timestamp":0}"#)?;
//! let stamp = Stamp { dialect: Dialect::Pi, wall_ms: 0 };
//! session.append(NewEntry::Message(std::sync::Arc::new(message)), stamp, &mut fastrand::Rng::with_seed(1));
//!
//! let mut store = Store::default();
//! store.write(&session.next_write().unwrap())?;
//! session.mark_written();
//! assert!(find_by_prefix("5f", folder.path(), None).is_ok());
//! assert!(Store::default().open(&path, &mut fastrand::Rng::new()).is_err(), "the file is in use");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod catalog;
mod claim;
mod file;
mod find;
mod open_file;

pub use file::{OpenError, Store, SyncPolicy, WriteError};
pub use find::{
    FindError, SessionLocation, find_by_id, find_by_prefix, find_newest, find_newest_seen,
    find_newest_with_entries, find_seen_by_prefix, is_session_file, working_directory,
};
