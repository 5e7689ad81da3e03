//! The tools that the model may call, and the running of shell commands.
//!
//! ```text
//! call ─→ run ─→ read │ edit │ write │ grep │ find │ ls │ bash ─→ ToolOutput
//!                 │      └──┬──┘                         │
//!                 image     changing, diff               │
//! the host's `bash` ─────────────────────────────────→ shell ─→ running
//!                            ├─ processes   groups: started, ended, remembered; also for extensions
//!                            ├─ output      decoded, cleaned, rolled, spooled; output_files: what all of it takes
//!                            └─ directory   where the command left off
//! ```
//!
//! Everything here does as pi does, text for text, because hosts and models have learnt those texts. What another
//! dialect does differently is data in [`ShellOptions`] and in the dialect's record, never a second code path; only
//! the two forms of `edit` have little in common.
//!
//! Four promises hold for every tool:
//!
//! - **Nothing grows without bound.** A result is at most [`MAX_LINES`] lines or [`MAX_BYTES`] bytes; a command's
//!   output is a rolling tail in memory and a file on disk; progress is built only when somebody can take it.
//! - **Cancelling ends it.** A cancelled command returns only when its process group is dead, a cancelled search only
//!   when nothing searches any more. A tool that is cancelled before it starts, starts nothing.
//! - **Files stay whole.** Changes of one file come one after another, and none leaves half a file behind.
//! - **Failure is a result.** A tool never returns `Err`: the model reads what went wrong as text.

mod bash;
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
mod processes;
mod read;
mod run;
mod running_command;
mod shell;
mod spec;
mod truncate;
mod write;

pub use edit::EditResult;
pub use output_files::{OUTPUT_FILES_LIMIT, OutputFiles, RemovedFiles};
pub(crate) use processes::Group;
pub use processes::Processes;
pub use run::{Block, ToolContext, ToolOutput, run};
pub use shell::{
    CommandEnd, Progress, ShellControl, ShellError, ShellOptions, ShellOutcome, ShellSnapshot, StopNotice,
    run_shell,
};
pub use spec::{DEFAULT_TOOLS, Replacement, specs};
pub use truncate::{Limits, MAX_BYTES, MAX_LINES, NO_LINE_LIMIT, size_text, truncate_head, truncate_tail};
