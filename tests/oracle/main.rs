//! Recordings and who judges them: what is told of each fault, what is told of none, and the reports.
//!
//! Beside the tests lie the recordings: `valid` are our own, `recorded` lists what the originals break.
#![cfg(feature = "serve")]

mod mutation_support;
#[path = "../report_support/mod.rs"]
mod report_support;

mod check_command;
mod check_damage;
mod check_reports;
mod cuts;
mod fair;
mod judge;
mod legal;
mod lies;
mod meta_in_recordings;
mod mutations;
mod other_dialects;
mod patience;
mod recordings;
mod redacted;
mod trace_writing;
mod versions;
