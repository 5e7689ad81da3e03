//! Child processes in groups of their own, which end as a whole; and the bounded reader of their pipes.
//!
//! - [`Processes`], [`Group`]: the registry of all groups that may be alive.
//! - [`process_watcher`]: ends them when this program is killed.
//! - [`process_tree`]: groups with the descendants of their members.
//! - [`line_reader`]: reads lines of a pipe or a socket, none longer than its limit.

mod groups;
pub mod line_reader;
pub mod process_tree;
pub mod process_watcher;

pub use groups::{Group, Processes};
