//! The size of the model's context, as far as it is known.

use pi_rpc_protocol::{AgentMessage, AssistantMessage, StopReason};

/// The known size of the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContextSize {
    /// Not known.
    #[default]
    Unknown,
    /// Not counted by a model since the last compaction.
    Uncounted,
    /// The number of tokens counted for the newest assistant message, with no message after it.
    Counted(u64),
}

impl ContextSize {
    /// The size after a message.
    pub fn behind(message: &AgentMessage) -> Self {
        match message {
            AgentMessage::Assistant(answer) => counted(answer).map_or(Self::Unknown, Self::Counted),
            _ => Self::Unknown,
        }
    }
}

/// The context tokens of an assistant message, if its usage is reliable.
fn counted(answer: &AssistantMessage) -> Option<u64> {
    let is_good = matches!(answer.stop_reason, StopReason::Stop | StopReason::ToolUse | StopReason::Length);
    let usage = &answer.usage;
    let parts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
    let all = match usage.total_tokens {
        0 => parts.iter().fold(0_u64, |sum, tokens| sum.saturating_add(*tokens)),
        total => total,
    };
    // A size beyond the context window may be reported as less.
    (is_good && all > 0 && all < u64::from(u32::MAX)).then_some(all)
}
