//! What the model is told before the conversation, and what a prompt stands for.
//!
//! [`system_prompt`] says who the model is, what it can do, and what the project asks of it. [`Commands`] are the prompt
//! templates and skills that a prompt calls with a leading `/`. Both do no IO:
//!
//! - [`files`]: what the user and the project have written for the system prompt.
//! - [`discover`]: where skills and templates are; `walk` finds the files of a directory, `entries` reads the lists of
//!   the settings.
//! - [`rules`]: the rules that watch what the model writes, in xcsh.
//! - `template`, `skill`: what becomes of a file, and of it and its arguments; `front_matter` is what stands above both,
//!   and above rules.
//! - `commands`: which of them a prompt calls.

mod commands;
pub mod discover;
mod entries;
pub mod files;
mod front_matter;
pub mod rules;
mod skill;
mod template;
mod text;
mod walk;

pub use commands::Commands;
pub use skill::Skill;
pub use template::Template;
pub use text::{PromptParts, ToolLine, system_prompt, tool_line};
