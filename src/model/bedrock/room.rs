//! The room that the context window leaves for an answer: the service refuses a request whose input and limit together exceed it.

use crate::model::{
    convert::{ChatBlock, ChatPart, ChatTurn},
    request::ModelRequest,
};

/// Bytes of text per token, for texts that no provider has counted yet.
const CHARS_PER_TOKEN: f64 = 3.5;
/// Characters that an image counts for.
const IMAGE_CHARS: usize = 4800;
/// Tokens that are kept free, as the estimate may be wrong.
const SAFETY_TOKENS: u64 = 4096;
/// The same as a part of the input.
const SAFETY_RATIO: f64 = 0.15;
/// Room that only [`SAFETY_TOKENS`] may reduce.
const USUAL_ROOM: u64 = 32_768;

/// Tokens that an answer may have; `None`: the window is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room(Option<u64>);

impl Room {
    /// Estimates the room for the answer to `request`.
    pub fn of(request: &ModelRequest<'_>, chat: &[ChatTurn<'_>]) -> Self {
        let window = request.endpoint.model.context_window;
        if window == 0 {
            return Self(None);
        }
        let input = input_tokens(request, chat);
        let left = |margin: u64| window.saturating_sub(input).saturating_sub(margin);
        let room = match left(SAFETY_TOKENS.max(part_of(input))) {
            room if room < USUAL_ROOM => left(SAFETY_TOKENS).min(USUAL_ROOM),
            room => room,
        };
        Self(Some(room.max(1)))
    }

    /// Reduces a number of tokens to the room.
    pub fn limit(self, tokens: u64) -> u64 {
        self.0.map_or(tokens, |room| tokens.min(room))
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate"
)]
fn part_of(input: u64) -> u64 {
    (input as f64 * SAFETY_RATIO).ceil() as u64
}

/// Estimates the input: what the provider has counted at the newest answer, and what has come since.
fn input_tokens(request: &ModelRequest<'_>, chat: &[ChatTurn<'_>]) -> u64 {
    let mut tokens = 0;
    for turn in chat.iter().rev() {
        match turn {
            ChatTurn::User(parts) | ChatTurn::Developer(parts) => tokens += tokens_of(chars_of(parts)),
            ChatTurn::Assistant(turn) => {
                let results = turn.results.iter().map(|result| tokens_of(chars_of(&result.content)));
                tokens += results.sum::<u64>();
                let usage = &turn.source.usage;
                let parts = usage.input + usage.output + usage.cache_read + usage.cache_write;
                let counted = if usage.total_tokens > 0 { usage.total_tokens } else { parts };
                if counted > 0 {
                    return tokens.saturating_add(counted);
                }
                tokens += tokens_of(turn.blocks.iter().map(block_chars).sum());
            }
        }
    }
    let tools: usize =
        request.tools.iter().map(|tool| tool.description.len() + tool.parameters.to_string().len()).sum();
    tokens + tokens_of(request.system_prompt.chars().count()) + tokens_of(tools)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate"
)]
fn tokens_of(chars: usize) -> u64 {
    (chars as f64 / CHARS_PER_TOKEN).ceil() as u64
}

fn chars_of(parts: &[ChatPart<'_>]) -> usize {
    parts.iter().map(|part| part.text().map_or(IMAGE_CHARS, |text| text.chars().count())).sum()
}

fn block_chars(block: &ChatBlock<'_>) -> usize {
    match block {
        ChatBlock::Text { text, .. } | ChatBlock::Thinking { text, .. } => text.chars().count(),
        ChatBlock::Redacted { data } => data.len(),
        ChatBlock::Call { name, arguments, .. } => {
            name.len()
                + arguments.iter().map(|(key, value)| key.len() + value.to_string().len()).sum::<usize>()
        }
    }
}
