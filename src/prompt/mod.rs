//! What the model is told before the conversation: who it is, what it can do, and what the project asks of it.
//!
//! [`system_prompt`] puts it together and does no IO; [`files`] finds what the user and the project have written for it.

mod commands;
pub mod files;
mod text;

pub use commands::Commands;
pub use text::{PromptParts, ToolLine, system_prompt, tool_line};
