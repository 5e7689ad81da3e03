//! Estimates the tokens of messages without a provider's count: a quarter of their characters.
//!
//! Source: pi source, xcsh source.

use crate::stats::MOST_COUNTED;
use pi_rpc_protocol::{
    AgentMessage, AssistantContent, AssistantMessage, MessageContent, StopReason, SystemContent,
    SystemMessage, UserContent,
};
use std::sync::Arc;

/// Characters that an image counts as.
const IMAGE: u64 = 4800;

/// Tokens of a context with these `messages`, oldest first: the count of the last good answer, and an estimate of
/// everything behind it; without such an answer an estimate of everything.
///
/// The first `compacted` messages were in the context before the last compaction. Counts of answers among them are
/// void: they include what the summary has replaced.
pub fn context_tokens(messages: &[Arc<AgentMessage>], compacted: usize) -> u64 {
    let counted = messages.iter().enumerate().skip(compacted).rev();
    let counted = counted.filter_map(|(place, message)| Some((place + 1, used(message)?))).next();
    let (rest, used) = counted.unwrap_or((0, 0));
    let rest: u64 = messages[rest..].iter().map(|message| estimate(message)).sum();
    used.saturating_add(rest).min(MOST_COUNTED)
}

/// Whether an answer since the last compaction has a provider's count; the first `compacted` messages are older.
pub fn is_counted(messages: &[Arc<AgentMessage>], compacted: usize) -> bool {
    messages.iter().skip(compacted).any(|message| used(message).is_some())
}

/// The provider's token count of a good answer.
fn used(message: &AgentMessage) -> Option<u64> {
    let AgentMessage::Assistant(AssistantMessage { usage, stop_reason, .. }) = message else { return None };
    let used = match usage.total_tokens {
        0 => usage.input + usage.output + usage.cache_read + usage.cache_write,
        total => total,
    };
    (used > 0 && !matches!(stop_reason, StopReason::Error | StopReason::Aborted)).then_some(used)
}

/// Estimates the tokens of one message: a quarter of its characters, in UTF-16 units, rounded up.
pub fn estimate(message: &AgentMessage) -> u64 {
    let characters = match message {
        // Images of the user are not counted: pi source, xcsh source.
        AgentMessage::User(message) => content(&message.content, 0),
        AgentMessage::Developer(message) => content(&message.content, IMAGE),
        AgentMessage::Custom(message) => content(&message.content, IMAGE),
        AgentMessage::HookMessage(message) => content(&message.content, IMAGE),
        AgentMessage::ToolResult(message) => blocks(&message.content, IMAGE),
        AgentMessage::Assistant(message) => message.content.iter().map(block_size).sum(),
        AgentMessage::System(message) => system(message),
        AgentMessage::BashExecution(message) => units(&message.command) + units(&message.output),
        AgentMessage::PythonExecution(message) => units(&message.code) + units(&message.output),
        AgentMessage::BranchSummary(message) => units(&message.summary),
        AgentMessage::CompactionSummary(message) => units(&message.summary),
        AgentMessage::FileMention(message) => {
            let of = |image: bool| if image { IMAGE } else { 0 };
            message.files.iter().map(|file| units(&file.content) + of(file.image.is_some())).sum()
        }
    };
    characters.div_ceil(4)
}

/// Characters of a system message, including the tools' schemas.
fn system(message: &SystemMessage) -> u64 {
    let content = match &message.content {
        SystemContent::Text(text) => units(text),
        SystemContent::Blocks(blocks) => blocks.iter().map(|block| units(&block.text)).sum(),
    };
    let sections = message.sections.iter().flatten().filter_map(|(_, text)| text.as_deref()).map(units);
    let tools = message.tools_added.iter().flatten().map(|tool| {
        let parameters = serde_json::to_string(&tool.parameters).unwrap_or_default();
        units(&tool.name) + units(&tool.description) + units(&parameters)
    });
    content + sections.sum::<u64>() + tools.sum::<u64>()
}

/// The length of `text` in UTF-16 units.
pub(super) fn units(text: &str) -> u64 {
    // One for the first byte of each character, one more where that needs two units.
    text.bytes().map(|byte| u64::from(byte & 0xC0 != 0x80) + u64::from(byte >= 0xF0)).sum()
}

fn content(content: &MessageContent, image: u64) -> u64 {
    match content {
        MessageContent::Text(text) => units(text),
        MessageContent::Blocks(list) => blocks(list, image),
    }
}

fn blocks(blocks: &[UserContent], image: u64) -> u64 {
    let one = |block: &UserContent| match block {
        UserContent::Text(block) => units(&block.text),
        UserContent::Image(_) => image,
    };
    blocks.iter().map(one).sum()
}

fn block_size(block: &AssistantContent) -> u64 {
    match block {
        AssistantContent::Text(block) => units(&block.text),
        AssistantContent::Thinking(block) => units(&block.thinking),
        AssistantContent::RedactedThinking(_) => 0,
        AssistantContent::ToolCall(call) => {
            let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
            units(&call.name) + units(&arguments)
        }
    }
}
