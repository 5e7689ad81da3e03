//! The session as a tree: its file, its entries, its branches, and what a compaction leaves of it.
//!
//! No test here starts a process, which would hold for a moment what this one has locked: those are in `kept`.
#![cfg(feature = "serve")]

mod compaction_support;
#[path = "../session_support/mod.rs"]
mod session_support;

mod compaction_cut;
mod compaction_summary;
mod compaction_tokens;
mod context;
mod damage;
mod file;
mod find;
mod half_characters;
mod listing;
mod plain;
mod random;
mod tree;
mod unaltered;
