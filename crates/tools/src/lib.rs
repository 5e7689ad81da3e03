//! The built-in tools of the model, and the execution of shell commands.
//!
//! For programs that let a model read, search and change files and run commands on this machine: [`run`](run()) runs one call of
//! a tool, [`run_shell`] one command of a user.
//!
//! This crate requests no permission and knows no session: whether a call may run is decided before. It calls no model and
//! opens no network connection. Arguments are expected to fit the tool's schema ([`specs`]).
//!
//! - [`run`](run()), [`ToolContext`], [`ToolOutput`]: one call, its environment, its result.
//! - [`run_shell`], [`ShellOptions`], [`ShellControl`], [`ShellOutcome`]: one command.
//! - [`ToolDelegate`]: does parts of the tools' work outside of this process.
//! - [`truncate_head`], [`truncate_tail`], [`numbered_diff`]: how results are shortened, and how changes are shown.
//!
//! ```text
//! call ─→ run ─→ read │ edit │ write │ grep │ find │ ls │ bash ─→ ToolOutput
//!                 │      └──┬──┘                         │
//!                 image     file_change, diff            │
//! the host's `bash` ─────────────────────────────────→ shell ─→ running_command
//!                            ├─ processes         registry of process groups, shared with extensions
//!                            ├─ output            decodes, cleans, keeps the tail, spools to a file (output_files)
//!                            └─ directory_report  directory in which the command ended
//! ```
//!
//! Results have the texts of pi's tools, which hosts and models know. Differences between dialects are data in
//! [`ShellOptions`] and in the dialect's record; only the two forms of `edit` have code of their own.
//!
//! Four promises hold for every tool:
//!
//! - **Bounded size.** A result has at most [`MAX_LINES`] lines or [`MAX_BYTES`] bytes. Of a command's output, memory has
//!   the tail and a file the whole. Progress is built only when the channel has room.
//! - **Cancellation.** A cancelled command returns only when its process group is dead, a cancelled search only when it
//!   has stopped. A tool that is cancelled before its start starts nothing.
//! - **Whole files.** Changes of one file happen one after another, and none leaves half a file behind.
//! - **Failures are results.** The model gets the reason of a failure as text.
//!
//! ```
//! use pi_rpc_processes::Processes;
//! use pi_rpc_protocol::Dialect;
//! use pi_rpc_tools::{Block, ShellOptions, ToolContext, run};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("notes.txt"), "one\ntwo\n")?;
//! let (_gate, gate) = tokio::sync::watch::channel(true);
//! let context = ToolContext {
//!     call_id: None, cwd: folder.path().to_owned(), cancel: Default::default(), progress: None, gate,
//!     shell: ShellOptions::for_tool(), rules: &Dialect::Pi.record().tools, scales_images: false,
//!     processes: Processes::new(), delegate: None,
//! };
//! let output = run("grep", &json!({ "pattern": "tw." }), context).await;
//! assert_eq!(output.content, [Block::Text("notes.txt:2: two".to_owned())]);
//! # Ok(())
//! # }
//! ```

mod bash;
mod delegate;
mod diff;
mod directory_report;
mod edit;
mod edits;
mod file_change;
mod find;
mod grep;
mod image;
mod ls;
mod output;
mod output_files;
mod path;
mod read;
mod run;
mod running_command;
mod shell;
mod truncate;
mod write;

pub use self::image::{FittedImage, ImageAttachment, fit_image, image_attachment};
pub use delegate::{Delegated, DelegatedCommand, DelegatedOutcome, ToolDelegate};
pub use diff::numbered_diff;
pub use edit::EditResult;
pub use output_files::{OUTPUT_FILES_LIMIT, OutputFiles, RemovedFiles};
pub use pi_rpc_tool_specs::{DEFAULT_TOOLS, Replacement, specs};
pub use run::{Block, ToolContext, ToolOutput, run};
pub use shell::{
    CommandEnd, OUTPUT_FILE_LIMIT, Progress, SESSION_VARIABLES, ShellControl, ShellError, ShellOptions,
    ShellOutcome, ShellSnapshot, StopNotice, run_shell,
};
pub use truncate::{Limits, MAX_BYTES, MAX_LINES, NO_LINE_LIMIT, size_text, truncate_head, truncate_tail};
