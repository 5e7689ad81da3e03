//! Child processes in groups of their own, which end as a whole; and the bounded reader of their pipes.
//!
//! For programs that start commands of others, whose children and grandchildren must not outlive them.
//!
//! This crate does not know what it runs: no shell and no quoting; a command comes ready from its user. It ends only groups that
//! it has started, with the descendants of their members. The watcher, which ends groups even when this program is killed, is
//! only there once the program's `main` calls [`process_watcher::enable`].
//!
//! - [`Processes`], [`Group`]: the registry of all groups that may be alive, and one of them. Dropping a [`Group`] kills it.
//! - [`process_watcher`]: ends them when this program is killed.
//! - [`process_tree`]: groups with the descendants of their members.
//! - [`environment_search`]: finds what was left behind, by a variable that children inherit.
//! - [`line_reader`]: reads lines of a pipe or a socket, none longer than its limit.
//!
//! ```
//! use pi_rpc_processes::{Processes, line_reader::LineReader};
//! use std::process::Stdio;
//! use tokio::process::Command;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let processes = Processes::new();
//! let mut command = Command::new("/bin/sh");
//! command.args(["-c", "echo ready; sleep 600 & wait"]).stdout(Stdio::piped());
//! let (mut child, _group) = processes.spawn(&mut command)?;
//! let mut lines = LineReader::new(child.stdout.take().unwrap(), 1024);
//! assert_eq!(lines.next().await?, Some(Ok(b"ready".to_vec())));
//! // Ends the shell and its `sleep`; from now on nothing more is started.
//! let (_, status) = tokio::join!(processes.end_all(), child.wait());
//! assert!(!status?.success() && processes.live_groups().is_empty());
//! # Ok(())
//! # }
//! ```

pub mod environment_search;
mod groups;
pub mod line_reader;
pub mod process_tree;
pub mod process_watcher;

pub use groups::{Group, Processes};
