//! The room that the context window leaves for an answer: the service refuses a request whose input and limit together exceed it.

use crate::{
    context_room::{IMAGE_CHARS, estimated_tokens, room},
    convert::{ChatBlock, ChatPart, ChatTurn},
    request::ModelRequest,
};

/// Tokens that an answer may have; `None`: the window is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room(Option<u64>);

impl Room {
    /// Estimates the room for the answer to `request`.
    pub fn of(request: &ModelRequest<'_>, chat: &[ChatTurn<'_>]) -> Self {
        Self(room(request.endpoint.model.context_window, input_tokens(request, chat)))
    }

    /// Reduces a number of tokens to the room.
    pub fn limit(self, tokens: u64) -> u64 {
        self.0.map_or(tokens, |room| tokens.min(room))
    }
}

/// Estimates the input: what the provider has counted at the newest answer, and what has come since.
fn input_tokens(request: &ModelRequest<'_>, chat: &[ChatTurn<'_>]) -> u64 {
    let mut tokens = 0;
    for turn in chat.iter().rev() {
        match turn {
            ChatTurn::User(parts) | ChatTurn::Developer(parts) => tokens += estimated_tokens(chars_of(parts)),
            ChatTurn::Assistant(turn) => {
                let results = turn.results.iter().map(|result| estimated_tokens(chars_of(&result.content)));
                tokens += results.sum::<u64>();
                let usage = &turn.source.usage;
                let parts = usage.input + usage.output + usage.cache_read + usage.cache_write;
                let counted = if usage.total_tokens > 0 { usage.total_tokens } else { parts };
                if counted > 0 {
                    return tokens.saturating_add(counted);
                }
                tokens += estimated_tokens(turn.blocks.iter().map(block_chars).sum());
            }
        }
    }
    let tools = request.tools.iter().map(|tool| tool.description.len() + tool.parameters.to_string().len());
    tokens + estimated_tokens(count(request.system_prompt)) + estimated_tokens(tools.sum::<usize>() as u64)
}

/// Number of characters.
fn count(text: &str) -> u64 {
    text.chars().count() as u64
}

fn chars_of(parts: &[ChatPart<'_>]) -> u64 {
    parts.iter().map(|part| part.text().map_or(IMAGE_CHARS, count)).sum()
}

fn block_chars(block: &ChatBlock<'_>) -> u64 {
    match block {
        ChatBlock::Text { text, .. } | ChatBlock::Thinking { text, .. } => count(text),
        ChatBlock::Redacted { data } => data.len() as u64,
        ChatBlock::Call { name, arguments, .. } => {
            let members = arguments.iter().map(|(key, value)| key.len() + value.to_string().len());
            (name.len() + members.sum::<usize>()) as u64
        }
    }
}
