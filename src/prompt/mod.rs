//! What the model is told before the conversation, and what a prompt stands for.
//!
//! [`system_prompt`] says who the model is, what it can do, and what the project asks of it; [`sections`] says the same in
//! parts that have names, for dialects whose hosts see them. [`Commands`] are the prompt
//! templates and skills that a prompt calls with a leading `/`. Both do no IO:
//!
//! - [`files`]: what the user and the project have written for the system prompt.
//! - [`discover`]: where skills and templates are; `walk` finds the files of a directory, `path_patterns` reads the lists of
//!   the settings.
//! - [`rules`]: the rules that watch what the model writes, in xcsh.
//! - `template`, `skill`: what becomes of a file, and of it and its arguments; `front_matter` is what stands above both,
//!   and above rules.
//! - [`PromptSource`]: what the instructions are made of, for when the tools change.
//! - `commands`: which of them a prompt calls; `source`: where they come from, for hosts.

mod commands;
pub mod discover;
pub mod files;
mod front_matter;
mod instructions;
pub(crate) mod path_patterns;
mod prompt_source;
pub mod rules;
mod skill;
mod source;
mod template;
mod text;
pub(crate) mod walk;

pub use commands::Commands;
pub use instructions::{Instructions, Section};
pub use prompt_source::PromptSource;
pub use skill::Skill;
pub use template::Template;
pub use text::{PromptParts, ToolLine, sections, system_prompt, tool_line};
