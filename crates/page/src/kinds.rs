//! What the filter of the page takes an entry for: prompts, answers, thinking, tools, and all else.

use pi_rpc_protocol::{AgentMessage, AssistantContent};

use super::input::Body;

/// Kinds of content that readers choose between. An answer may have several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    const PROMPT: Self = Self(1);
    const ANSWER: Self = Self(1 << 1);
    const THINKING: Self = Self(1 << 2);
    const TOOL: Self = Self(1 << 3);
    const OTHER: Self = Self(1 << 4);

    /// All kinds: their name in classes, and in the filter.
    pub const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::PROMPT, "prompt", "Prompts"),
        (Self::ANSWER, "answer", "Answers"),
        (Self::THINKING, "thinking", "Thinking"),
        (Self::TOOL, "tool", "Tools"),
        (Self::OTHER, "other", "Changes and summaries"),
    ];

    /// The kinds of an entry's content.
    pub fn of(body: &Body) -> Self {
        let Body::Message(message) = body else { return Self::OTHER };
        match message.as_ref() {
            AgentMessage::User(_)
            | AgentMessage::Developer(_)
            | AgentMessage::BashExecution(_)
            | AgentMessage::PythonExecution(_)
            | AgentMessage::FileMention(_) => Self::PROMPT,
            AgentMessage::Assistant(message) => {
                let kinds = message.content.iter().map(of_content).fold(Self::default(), Self::with);
                // What it ended with is part of the answer.
                if kinds == Self::default() || message.error_message.is_some() {
                    kinds.with(Self::ANSWER)
                } else {
                    kinds
                }
            }
            AgentMessage::ToolResult(_) => Self::TOOL,
            AgentMessage::System(_)
            | AgentMessage::BranchSummary(_)
            | AgentMessage::CompactionSummary(_)
            | AgentMessage::Custom(_)
            | AgentMessage::HookMessage(_) => Self::OTHER,
        }
    }

    /// These kinds and others.
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// The classes of an element: `class`, and one for each kind.
    pub fn classes(self, class: &str) -> String {
        let kinds = Self::ALL.into_iter().filter(|(kind, ..)| self.0 & kind.0 != 0);
        kinds.fold(class.to_owned(), |mut classes, (_, name, _)| {
            if !classes.is_empty() {
                classes.push(' ');
            }
            classes.push_str("with-");
            classes.push_str(name);
            classes
        })
    }
}

const fn of_content(content: &AssistantContent) -> Kinds {
    match content {
        AssistantContent::Text(_) => Kinds::ANSWER,
        AssistantContent::Thinking(_) | AssistantContent::RedactedThinking(_) => Kinds::THINKING,
        AssistantContent::ToolCall(_) => Kinds::TOOL,
    }
}
