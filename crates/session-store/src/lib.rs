//! Sessions on disk: their files found, listed, locked, opened and appended to.
//!
//! - [`Store`]: the file of the open session, locked for this process.
//! - [`find_newest`], [`find_by_prefix`]: find earlier sessions.
//! - [`catalog`]: lists, searches, renames and archives sessions without opening them.

pub mod catalog;
mod claim;
mod file;
mod find;
mod open_file;

pub use file::{OpenError, Store, SyncPolicy, WriteError};
pub use find::{
    FindError, SessionLocation, find_by_id, find_by_prefix, find_newest, find_newest_seen,
    find_seen_by_prefix, is_session_file, working_directory,
};
