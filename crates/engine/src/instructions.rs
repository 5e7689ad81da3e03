//! The system prompt, its source, and the skills and prompt templates.

use pi_rpc_prompt::{Commands, PromptSource, Section};
use pi_rpc_protocol::SlashCommand;
use std::sync::Arc;

/// The system prompt of the session and what it is built from.
#[derive(Debug)]
pub struct Instructions {
    /// The whole text.
    pub text: Arc<str>,
    /// Sections of the text, for dialects that send them separately.
    pub sections: Vec<Section>,
    /// The source to rebuild the text from when the tools change; `None`: the text is fixed.
    pub source: Option<PromptSource>,
    /// Skills and prompt templates.
    pub commands: Commands,
    /// Slash commands of the agent behind the server.
    pub agent_commands: Vec<SlashCommand>,
}
