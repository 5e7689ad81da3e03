//! Sessions: the conversation as a tree of entries, in the format of the session files of pi, xcsh and omp.
//!
//! For programs that read or write session files, or keep a conversation in the same form: a session is a header and entries,
//! each naming its parent; a new entry follows the leaf, and nothing is ever removed. The file has one line for each.
//!
//! This crate does no IO: bytes come in, lines come out, and time and randomness are arguments. The crate `pi-rpc-session-store`
//! keeps the files. It neither asks models nor emits frames: the engine does.
//!
//! - [`Tree`]: header and entries. [`Tree::read`] builds it from a file's bytes without parsing a message;
//!   [`Tree::append`] adds an entry and returns its line.
//! - [`Session`]: the open session: a tree, the messages in the context, and which part is on disk. [`Write`]: a change of its
//!   file.
//! - [`Tree::context`]: messages, model and thinking level at the leaf.
//! - [`Tree::close_cut_run`]: closes a run whose process was killed.
//! - [`Tree::fork`], [`Tree::copy_branch`], [`Tree::copy_all`]: new sessions made of existing ones.
//! - [`Tree::navigation_target`], [`Tree::abandoned_entries`], [`BranchPreparation`]: moving to another place in the
//!   tree, and summarizing the branch that is left.
//! - [`Tree::list_entries`], [`Tree::entry_tree`]: entries for hosts.
//! - [`directory_name`], [`file_name`]: where session files lie.
//! - [`Notice`]: damage in a file that did not prevent reading it.
//! - [`totals`]: the counts of `get_session_stats`.
//! - [`compaction`]: replacing the older part of a conversation by a summary.
//!
//! Data goes from the bytes of a file through [`Tree::read`] into a [`Session`]; entries appended to the session come out as a
//! [`Write`], which the session's user makes.
//!
//! ```
//! use pi_rpc_protocol::Dialect;
//! use pi_rpc_session::{NewEntry, Stamp, Tree};
//!
//! let file = concat!(
//!     r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-05T10:00:00.000Z","cwd":"/work"}"#, "\n",
//!     r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-05T10:00:01.000Z","#,
//!     r#""message":{"role":"user","content":"Hi","timestamp":1767607201000}}"#, "\n",
//! );
//! let mut random = fastrand::Rng::with_seed(1);
//! let mut tree = Tree::read(file.into(), &mut random).unwrap().tree;
//! assert_eq!(tree.context().messages.len(), 1);
//! let stamp = Stamp { dialect: Dialect::Pi, wall_ms: 1_767_607_202_000 };
//! let model = NewEntry::Model { provider: "anthropic".to_owned(), id: "claude-x".to_owned() };
//! let line = tree.append(model, stamp, &mut random);
//! assert!(line.starts_with(br#"{"type":"model_change","#));
//! assert_eq!(tree.leaf().unwrap().parent().unwrap().as_ref(), "a1");
//! ```

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
pub use new_entry::NewEntry;
pub use notice::Notice;
pub use open_session::{OpenedSession, Session, Write};
pub use read::{FileEnd, ParsedFile, ReadError};
pub use stats::{Totals, totals};
pub use time::{day, iso};
pub use tree::{RenameEffect, Stamp, Tree};
