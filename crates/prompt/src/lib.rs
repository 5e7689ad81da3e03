//! The system prompt, and the expansion of prompts that call templates and skills.
//!
//! [`system_prompt`] builds the prompt as one text, [`sections`] in named sections, for dialects whose hosts see
//! them. [`Commands`] expands prompts that begin with `/`. Both do no IO; the files come from:
//!
//! - [`files`]: files of user and project for the system prompt.
//! - [`discover`]: skills and templates; `walk` lists the files of a directory, `path_patterns` parses lists of the
//!   settings.
//! - [`rules`]: the rules of xcsh, which watch the model's output.
//!
//! The others:
//!
//! - `template`, `skill`: parsing and expanding one file; `front_matter` is at the head of both, and of rules.
//! - [`PromptSource`]: the parts of the system prompt that stay when tools change.
//! - `commands`: which template or skill a prompt calls; `source`: origins of files, for hosts.

mod commands;
mod context_file;
pub mod front_matter;
mod instructions;
pub mod path_patterns;
mod prompt_source;
pub mod skill;
pub mod source;
mod template;
mod text;

pub use commands::Commands;
pub use context_file::ContextFile;
pub use instructions::{Instructions, Section};
pub use prompt_source::PromptSource;
pub use skill::Skill;
pub use template::Template;
pub use text::{PromptParts, ToolLine, sections, system_prompt, tool_line};
