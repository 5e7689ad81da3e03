//! Limits an answer to the room that a conversation leaves in the model's context: vendors refuse a request whose input and
//! limit together exceed it.

use super::{
    convert::{ChatBlock, ChatPart, ChatTurn, convert},
    request::ModelRequest,
    types::ToolSpec,
};
use pi_rpc_protocol::{AgentMessage, AssistantMessage, StopReason, Usage};
use serde_json::json;

/// Tokens that are always kept free, as the input is only estimated. Source: pi source.
const MARGIN: u64 = 4096;
/// Room up to which the larger margin, a share of the input, is not kept. Source: pi source.
const SMALL_ROOM: u64 = 32_768;
/// Characters that an image counts as. Source: pi source.
const IMAGE_CHARS: u64 = 4800;

/// Tokens that an answer may have; `None`: the context window is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room(Option<u64>);

impl Room {
    /// Estimates the room for the answer to `request`.
    pub fn of(request: &ModelRequest<'_>) -> Self {
        let window = request.endpoint.model.context_window;
        Self((window > 0).then(|| room(window, input_tokens(request))))
    }

    /// Reduces a number of tokens to the room.
    pub fn limit(self, tokens: u64) -> u64 {
        self.0.map_or(tokens, |room| tokens.min(room))
    }
}

/// Token limit of the answer and its thinking together: the model's, and no more than its context has room for; `None`: the
/// model states none.
pub fn answer_limit(request: &ModelRequest<'_>) -> Option<u64> {
    let most = request.endpoint.model.max_tokens;
    (most > 0)
        .then(|| Room::of(request).limit(request.max_answer_tokens.map_or(most, |limit| limit.min(most))))
}

/// Tokens that an input leaves of a window for the answer, at least one.
fn room(window: u64, input: u64) -> u64 {
    let left = window.saturating_sub(input);
    // 15 % of the input.
    let room = left.saturating_sub(MARGIN.max(input.saturating_mul(3).div_ceil(20)));
    let room = if room < SMALL_ROOM { left.saturating_sub(MARGIN).min(SMALL_ROOM) } else { room };
    room.max(1)
}

/// Estimates the input: what the provider has counted at the newest answer, and what has come since.
fn input_tokens(request: &ModelRequest<'_>) -> u64 {
    let counted = counted_answer(request);
    let messages = counted.map_or(request.messages, |(at, _)| &request.messages[at..]);
    let chat = convert(&ModelRequest { messages, ..*request }, |id, _| id.to_owned());
    let mut tokens = 0;
    for (at, turn) in chat.iter().enumerate() {
        match turn {
            ChatTurn::User(parts) | ChatTurn::Developer(parts) => tokens += estimated_tokens(chars_of(parts)),
            ChatTurn::Assistant(turn) => {
                if at > 0 || counted.is_none() {
                    tokens += estimated_tokens(turn.blocks.iter().map(block_chars).sum());
                }
                let results = turn.results.iter().map(|result| estimated_tokens(chars_of(&result.content)));
                tokens += results.sum::<u64>();
            }
        }
    }
    if let Some((_, counted)) = counted {
        return tokens.saturating_add(counted);
    }
    tokens + estimated_tokens(count(request.system_prompt)) + estimated_tokens(tools_chars(request.tools))
}

/// Characters of the tools as a list in JSON. Source: pi source.
fn tools_chars(tools: &[ToolSpec]) -> u64 {
    let tool = |tool: &ToolSpec| {
        let members =
            json!({ "name": tool.name, "description": tool.description, "parameters": *tool.parameters });
        count(&members.to_string()) + 1
    };
    // Every tool has a comma behind it but the last, and the list two brackets.
    match tools {
        [] => 0,
        tools => tools.iter().map(tool).sum::<u64>() + 1,
    }
}

/// The place of the newest answer whose tokens the provider has counted, with their number. A message before it that is newer,
/// such as a summary, was not there when they were counted.
fn counted_answer(request: &ModelRequest<'_>) -> Option<(usize, u64)> {
    let mut newest = 0;
    let mut found = None;
    for (at, message) in request.messages.iter().enumerate() {
        let time = timestamp(message);
        if let AgentMessage::Assistant(answer) = &**message
            && time >= newest
            && let Some(tokens) = tokens_of(answer)
        {
            found = Some((at, tokens));
        }
        newest = time.max(newest);
    }
    found
}

/// Creation time in milliseconds since the Unix epoch.
const fn timestamp(message: &AgentMessage) -> u64 {
    match message {
        AgentMessage::User(message) => message.timestamp,
        AgentMessage::System(message) => message.timestamp,
        AgentMessage::Developer(message) => message.timestamp,
        AgentMessage::Assistant(message) => message.timestamp,
        AgentMessage::ToolResult(message) => message.timestamp,
        AgentMessage::BashExecution(message) => message.timestamp,
        AgentMessage::PythonExecution(message) => message.timestamp,
        AgentMessage::Custom(message) => message.timestamp,
        AgentMessage::HookMessage(message) => message.timestamp,
        AgentMessage::BranchSummary(message) => message.timestamp,
        AgentMessage::CompactionSummary(message) => message.timestamp,
        AgentMessage::FileMention(message) => message.timestamp,
    }
}

fn tokens_of(answer: &AssistantMessage) -> Option<u64> {
    let Usage { input, output, cache_read, cache_write, total_tokens, .. } = &answer.usage;
    let parts = input + output + cache_read + cache_write;
    let tokens = if *total_tokens > 0 { *total_tokens } else { parts };
    let is_whole = !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
    (is_whole && tokens > 0).then_some(tokens)
}

/// Estimates the tokens of a text: two for seven characters. Source: pi source.
const fn estimated_tokens(characters: u64) -> u64 {
    characters.saturating_mul(2).div_ceil(7)
}

/// Number of characters, in UTF-16 units.
fn count(text: &str) -> u64 {
    text.encode_utf16().count() as u64
}

fn chars_of(parts: &[ChatPart<'_>]) -> u64 {
    parts.iter().map(|part| part.text().map_or(IMAGE_CHARS, count)).sum()
}

fn block_chars(block: &ChatBlock<'_>) -> u64 {
    match block {
        ChatBlock::Text { text, .. } | ChatBlock::Thinking { text, .. } => count(text),
        ChatBlock::Redacted { data } => data.len() as u64,
        ChatBlock::Call { name, arguments, .. } => {
            count(name) + serde_json::to_string(arguments).map_or(0, |arguments| count(&arguments))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn tools_count_as_their_json() {
        let tool = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: "Says \"hi\".".to_owned(),
            parameters: Arc::new(json!({ "type": "object" })),
            exclusive: false,
            output: None,
        };
        let list = r#"[{"description":"Says \"hi\".","name":"a","parameters":{"type":"object"}},{"description":"Says \"hi\".","name":"bc","parameters":{"type":"object"}}]"#;
        assert_eq!(tools_chars(&[tool("a"), tool("bc")]), count(list));
        assert_eq!(tools_chars(&[]), 0);
    }
}
