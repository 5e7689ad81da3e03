//! How much of the model's context is taken.

use crate::protocol::{AgentMessage, AssistantMessage, StopReason};

/// What is known of the size of the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContextSize {
    /// Nothing.
    #[default]
    Unknown,
    /// Nobody has counted it since it was summed up.
    Uncounted,
    /// The newest answer has counted so many tokens, and nothing stands behind it.
    Counted(u64),
}

impl ContextSize {
    /// The size behind a message.
    pub fn behind(message: &AgentMessage) -> Self {
        match message {
            AgentMessage::Assistant(answer) => counted(answer).map_or(Self::Unknown, Self::Counted),
            _ => Self::Unknown,
        }
    }
}

/// The tokens of an answer that is good for counting.
fn counted(answer: &AssistantMessage) -> Option<u64> {
    let is_good = matches!(answer.stop_reason, StopReason::Stop | StopReason::ToolUse | StopReason::Length);
    let usage = &answer.usage;
    let parts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
    let all = match usage.total_tokens {
        0 => parts.iter().fold(0_u64, |sum, tokens| sum.saturating_add(*tokens)),
        total => total,
    };
    // What is beyond the window may be told as less.
    (is_good && all > 0 && all < u64::from(u32::MAX)).then_some(all)
}
