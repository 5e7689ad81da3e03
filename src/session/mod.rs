//! The session: the conversation so far, as a tree that is a file.
//!
//! A session is a header and entries, each naming the one before it on its branch; a new entry follows the leaf, and
//! nothing is ever taken away. The file is just that, a line each, in the format that pi reads and writes.
//!
//! - [`Tree`]: the session itself. [`Tree::read`] makes it of a file's bytes without parsing a message;
//!   [`Tree::append`] adds an entry and gives the line that the file gets.
//! - [`Tree::context`]: what the branch of the leaf comes to: what models are told, the model, the thinking level.
//! - [`Tree::fork`], [`Tree::copy_branch`], [`Tree::copy_all`]: new sessions out of old ones.
//! - [`Tree::navigation_target`], [`Tree::abandoned_entries`], [`BranchPreparation`]: going on at another place, and what is left behind then.
//! - [`Tree::list_entries`], [`Tree::entry_tree`]: the entries as hosts read them.
//! - [`directory_name`], [`file_name`]: where the files lie.
//! - [`Store`]: the file on the disk, which only one process writes to, under an id that only one process gives; [`find_newest`], [`find_by_prefix`] find an earlier one.
//! - [`Notice`]: what was found wrong with a file, and got over.
//! - [`Session`]: the one that is open, what the model is told of it, and what of it is on disk.
//! - [`page`]: the session as a page for people.
//! - [`totals`]: what `get_session_stats` counts.
//! - [`compaction`]: what becomes of a conversation that grows too long.

mod branch;
mod claim;
pub mod compaction;
mod context;
mod context_message;
mod edits;
mod entry;
mod file;
mod file_names;
mod find;
mod fork;
mod head;
mod header;
mod ids;
mod listing;
mod members;
mod message;
mod migrate;
mod new_entry;
mod notice;
mod open_file;
mod open_session;
pub mod page;
mod read;
mod repair;
mod stats;
mod time;
mod tree;

pub use branch::{AbandonedEntries, BranchPreparation, NavigationTarget};
pub use compaction::SummaryRequest;
pub use context::Context;
pub use entry::Entry;
pub use file::{OpenError, Store, SyncPolicy, WriteError};
pub use file_names::{directory_name, file_name};
pub use find::{FindError, SessionLocation, find_by_id, find_by_prefix, find_newest, is_session_file};
pub use fork::{ForkMessage, Forked};
pub use header::{VERSION, new_header};
pub use ids::session_id;
pub use listing::MAX_TREE_DEPTH;
pub use new_entry::NewEntry;
pub use notice::Notice;
pub use open_session::{OpenedSession, Session, Write};
pub use read::{FileEnd, ParsedFile, ReadError};
pub use stats::{Totals, totals};
pub use time::day;
pub use tree::{RenameEffect, Stamp, Tree};
