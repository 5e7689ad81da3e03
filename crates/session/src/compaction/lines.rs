//! Formats a conversation as a text to be summarized, not continued.
//!
//! Source: pi source, xcsh source.

use super::estimate::units;
use pi_rpc_protocol::{
    AgentMessage, AssistantContent, AssistantMessage, MessageContent, ToolCall, UserContent, texts,
};
use std::{borrow::Cow, sync::Arc};

/// UTF-16 units of a tool's result that are included.
const RESULT: u64 = 2000;

/// Formats messages as paragraphs by speaker; empty if there is no text. A text of more than `most` UTF-16 units
/// keeps its beginning and its end.
pub fn conversation(messages: &[Arc<AgentMessage>], most: Option<u64>) -> String {
    let paragraphs: Vec<String> = messages.iter().flat_map(|message| paragraphs(message)).collect();
    let whole = paragraphs.join("\n\n");
    let all = units(&whole);
    let Some(most) = most.filter(|most| all > *most) else { return whole };
    let start = &whole[..place_of(&whole, most / 2)];
    let end = &whole[place_of(&whole, all - most / 2)..];
    let cut = texts::characters_cut(&(all - units(start) - units(end)).to_string());
    format!("{start}\n\n{cut}\n\n{end}")
}

/// The byte offset in `text` behind at most `most` UTF-16 units.
fn place_of(text: &str, most: u64) -> usize {
    let mut before = 0;
    let past = text.char_indices().find(|(_, character)| {
        before += character.len_utf16() as u64;
        before > most
    });
    past.map_or(text.len(), |(place, _)| place)
}

fn paragraphs(message: &AgentMessage) -> Vec<String> {
    let text = match message {
        AgentMessage::Assistant(message) => return answer(message),
        AgentMessage::ToolResult(message) => {
            let text = blocks(&message.content);
            return labelled("Tool result", &shortened(&text)).into_iter().collect();
        }
        // System messages are no part of the conversation.
        AgentMessage::System(_) => String::new(),
        AgentMessage::User(message) => content(&message.content),
        AgentMessage::Developer(message) => content(&message.content),
        AgentMessage::Custom(message) => content(&message.content),
        AgentMessage::HookMessage(message) => content(&message.content),
        AgentMessage::BashExecution(message) => message.model_text().unwrap_or_default(),
        AgentMessage::PythonExecution(message) => message.model_text().unwrap_or_default(),
        AgentMessage::BranchSummary(message) => message.model_text(),
        AgentMessage::CompactionSummary(message) => message.model_text(),
        AgentMessage::FileMention(message) => message.model_text(),
    };
    labelled("User", &text).into_iter().collect()
}

fn answer(message: &AssistantMessage) -> Vec<String> {
    let (mut thinking, mut text, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for block in &message.content {
        match block {
            AssistantContent::Thinking(block) => thinking.push(block.thinking.as_str()),
            AssistantContent::Text(block) => text.push(block.text.as_str()),
            AssistantContent::ToolCall(block) => calls.push(call(block)),
            AssistantContent::RedactedThinking(_) => {}
        }
    }
    let paragraphs = [
        labelled("Assistant thinking", &thinking.join("\n")),
        labelled("Assistant", &text.join("\n")),
        labelled("Assistant tool calls", &calls.join("; ")),
    ];
    paragraphs.into_iter().flatten().collect()
}

fn call(call: &ToolCall) -> String {
    let arguments = call.arguments.iter().map(|(name, value)| format!("{name}={value}"));
    format!("{}({})", call.name, arguments.collect::<Vec<_>>().join(", "))
}

fn labelled(label: &str, text: &str) -> Option<String> {
    (!text.is_empty()).then(|| format!("[{label}]: {text}"))
}

fn content(content: &MessageContent) -> String {
    match content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Blocks(list) => blocks(list),
    }
}

fn blocks(blocks: &[UserContent]) -> String {
    let texts = blocks.iter().map(|block| match block {
        UserContent::Text(block) => block.text.as_str(),
        UserContent::Image(_) => "(image)",
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The beginning of a result, with a note about the omitted rest.
fn shortened(text: &str) -> Cow<'_, str> {
    let all = units(text);
    if all <= RESULT {
        return text.into();
    }
    let start = &text[..place_of(text, RESULT)];
    let cut = texts::characters_cut(&(all - units(start)).to_string());
    format!("{start}\n\n{cut}").into()
}
