//! The system prompt, and the expansion of prompts that call templates and skills.
//!
//! For programs that tell a model who and where it is, as pi does: [`system_prompt`] builds the prompt as one text, [`sections`]
//! in named sections, for dialects whose hosts see them. [`Commands`] expands prompts that begin with `/`.
//!
//! This crate does no IO: it reads neither files nor the clock, and it does not know which model answers. The module `prompt` of
//! the crate `pi-rpc-config` finds the files and reads them.
//!
//! - [`PromptParts`], [`ToolLine`], [`ContextFile`]: the parts of a system prompt. [`Instructions`], [`Section`]: the result.
//! - [`PromptSource`]: the parts of the system prompt that stay when tools change.
//! - [`Commands`], [`Template`], [`Skill`]: which template or skill a prompt calls, and what it stands for.
//! - [`front_matter`]: the head of the files of templates, skills and rules. [`path_patterns`]: lists of paths in the settings.
//! - [`source`]: origins of files, for hosts.
//!
//! ```
//! use pi_rpc_prompt::{Commands, PromptParts, Template, system_prompt, tool_line};
//! use pi_rpc_protocol::CommandLocation;
//! use std::path::Path;
//!
//! let file = "---\ndescription: Reviews a file\n---\nReview $1 for $2.";
//! let template = Template::read(Path::new("/home/u/review.md"), file, CommandLocation::User)?;
//! let commands = Commands { templates: vec![template], skills: Vec::new() };
//! assert_eq!(commands.template("/review main.rs 'odd names'").unwrap(), "Review main.rs for odd names.");
//!
//! let prompt = system_prompt(&PromptParts {
//!     tools: &[tool_line("read").unwrap()], guidelines: &[], custom: None, append: None, context_files: &[], skills: &[],
//!     date: "2026-01-05", cwd: "/work",
//! });
//! assert!(prompt.ends_with("Current date: 2026-01-05\nCurrent working directory: /work"));
//! # Ok::<(), String>(())
//! ```

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
