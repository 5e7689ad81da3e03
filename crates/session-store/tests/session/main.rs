//! The session as a tree: its file, entries, branches and compactions.
//!
//! No test here starts a process, which would briefly inherit locks of this one: those are in `kept`.
mod compaction_support;
#[path = "../../../../tests/session_support/mod.rs"]
mod session_support;

mod compaction_cut;
mod compaction_summary;
mod compaction_tokens;
mod context;
mod cut_run;
mod damage;
mod file;
mod find;
mod half_characters;
mod listing;
mod plain;
mod random;
mod tree;
mod unaltered;
