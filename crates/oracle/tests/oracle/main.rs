//! The oracle: findings about planted faults, no findings about legal recordings, and the reports.
//!
//! `valid` has recordings of this server, `recorded` lists the violations of the originals.
mod mutation_support;
#[path = "../../../../tests/report_support/mod.rs"]
mod report_support;

mod betrayed;
mod check_damage;
mod check_reports;
mod cuts;
mod dialect_found;
mod fair;
mod free_members;
mod judge;
mod legal;
mod lies;
mod meta_in_recordings;
mod mutations;
mod other_dialects;
mod patience;
mod reads;
mod recordings;
mod rule_docs;
mod rule_examples;
mod shared_wire;
mod trace_writing;
mod unjudged_members;
mod versions;
