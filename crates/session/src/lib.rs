//! Sessions: the conversation as a tree of entries, in memory and in a file.
//!
//! A session is a header and entries, each naming its parent; a new entry follows the leaf, and nothing is ever
//! removed. The file has one line for each, in the format that pi reads and writes. This module neither asks models
//! nor emits frames: the engine does.
//!
//! Data goes from a file ([`Store::open`]) through [`Tree::read`] into a [`Session`]; entries appended to the session
//! come out as a [`Write`], which [`Store::write`] makes.
//!
//! - [`Tree`]: header and entries. [`Tree::read`] builds it from a file's bytes without parsing a message;
//!   [`Tree::append`] adds an entry and returns its line.
//! - [`Session`]: the open session: a tree, the messages in the context, and which part is on disk.
//! - [`Store`]: the file on disk, locked for this process; [`find_newest`], [`find_by_prefix`] find earlier ones.
//! - [`Tree::context`]: messages, model and thinking level at the leaf.
//! - [`Tree::close_cut_run`]: closes a run whose process was killed.
//! - [`Tree::fork`], [`Tree::copy_branch`], [`Tree::copy_all`]: new sessions made of existing ones.
//! - [`Tree::navigation_target`], [`Tree::abandoned_entries`], [`BranchPreparation`]: moving to another place in the
//!   tree, and summarizing the branch that is left.
//! - [`Tree::list_entries`], [`Tree::entry_tree`]: entries for hosts.
//! - [`catalog`]: sessions on disk, listed and changed without opening them.
//! - [`directory_name`], [`file_name`]: where session files lie.
//! - [`Notice`]: damage in a file that did not prevent reading it.
//! - [`page`]: a session as an HTML page.
//! - [`totals`]: the counts of `get_session_stats`.
//! - [`compaction`]: replacing the older part of a conversation by a summary.

mod branch;
pub mod compaction;
mod context;
mod context_message;
mod cut_run;
mod edits;
mod entry;
mod file_names;
mod fork;
pub mod head;
mod header;
mod ids;
mod listing;
mod members;
mod message;
mod migrate;
mod new_entry;
mod notice;
mod open_session;
mod read;
mod repair;
mod stats;
pub mod time;
mod tree;

pub use branch::{AbandonedEntries, BranchPreparation, NavigationTarget};
pub use compaction::SummaryRequest;
pub use context::Context;
pub use entry::Entry;
pub use file_names::{directory_name, file_name};
pub use fork::{ForkMessage, Forked};
pub use header::{VERSION, new_header};
pub use ids::session_id;
pub use listing::MAX_TREE_DEPTH;
pub use new_entry::NewEntry;
pub use notice::Notice;
pub use open_session::{OpenedSession, Session, Write};
pub use read::{FileEnd, ParsedFile, ReadError};
pub use stats::{Totals, totals};
pub use time::{day, iso};
pub use tree::{RenameEffect, Stamp, Tree};
