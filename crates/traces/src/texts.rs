//! Prompts, answers and arguments as attributes, where texts are recorded: redacted, and of a bounded size.

use crate::{
    conventions::{INPUT_MESSAGES, OUTPUT_MESSAGES, SYSTEM_INSTRUCTIONS, TOOL_ARGUMENTS, TOOL_RESULT},
    span::Attribute,
};
use pi_rpc_model::types::{BlockStart, StreamEvent};
use pi_rpc_protocol::{
    AgentMessage, AgentToolResult, AssistantContent, JsonObject, MessageContent, UserContent,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt, sync::Arc};

/// The most bytes of a single text; the rest is left out.
const MAX_TEXT: usize = 16 * 1024;

/// The most bytes of a secret that is found although a text is cut off in its middle.
const MAX_SECRET: usize = 4 * 1024;

/// Bytes of an attribute from which on older messages are left out.
const MAX_MESSAGES: usize = 64 * 1024;

/// Replaces what is secret in a text.
pub type Redact = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Makes attributes of texts.
#[derive(Clone)]
pub struct Texts {
    redact: Redact,
}

impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Texts").finish_non_exhaustive()
    }
}

impl Texts {
    /// Texts in which `redact` replaces what is secret.
    pub const fn new(redact: Redact) -> Self {
        Self { redact }
    }

    /// A text without its secrets, and without what is too much of it.
    pub fn text(&self, text: &str) -> String {
        // What follows is searched for the rest of a secret that begins before the limit, and no further.
        let searched = text.floor_char_boundary(MAX_TEXT + MAX_SECRET);
        let is_cut = searched < text.len();
        let mut text = (self.redact)(&text[..searched]);
        if is_cut {
            // A secret that goes on behind the end was not found.
            text.truncate(text.floor_char_boundary(text.len().saturating_sub(MAX_SECRET)));
        }
        if is_cut || text.len() > MAX_TEXT {
            text.truncate(text.floor_char_boundary(MAX_TEXT));
            text.push('…');
        }
        text
    }

    /// Instructions and messages of a request: the newest, as far as there is room.
    pub fn request<'a>(
        &self,
        instructions: &str,
        all: impl DoubleEndedIterator<Item = &'a AgentMessage>,
    ) -> Vec<Attribute> {
        let (mut messages, mut size) = (Vec::new(), 0);
        for message in all.rev().filter_map(|message| self.message(message)) {
            size += message.to_string().len();
            if size > MAX_MESSAGES && !messages.is_empty() {
                break;
            }
            messages.push(message);
        }
        messages.reverse();
        let instructions = (!instructions.is_empty()).then(|| {
            let text = json!([{ "type": "text", "content": self.text(instructions) }]);
            (SYSTEM_INSTRUCTIONS, text.to_string().into())
        });
        instructions
            .into_iter()
            .chain([(INPUT_MESSAGES, Value::Array(messages).to_string().into())])
            .collect()
    }

    /// The arguments of a tool call.
    pub fn arguments(&self, arguments: &JsonObject) -> Attribute {
        let text = Value::Object(arguments.clone()).to_string();
        (TOOL_ARGUMENTS, self.text(&text).into())
    }

    /// The result of a tool call.
    pub fn result(&self, result: &AgentToolResult) -> Attribute {
        (TOOL_RESULT, self.text(&contents(&result.content)).into())
    }

    /// A message in the form of the conventions; `None`: it has no text of its own.
    fn message(&self, message: &AgentMessage) -> Option<Value> {
        let with_text = |role: &str, text: &str| {
            Some(json!({ "role": role, "parts": [{ "type": "text", "content": self.text(text) }] }))
        };
        match message {
            AgentMessage::User(it) => with_text("user", &message_text(&it.content)),
            AgentMessage::Developer(it) => with_text("developer", &message_text(&it.content)),
            AgentMessage::Custom(it) => with_text("user", &message_text(&it.content)),
            AgentMessage::BranchSummary(it) => with_text("user", &it.summary),
            AgentMessage::CompactionSummary(it) => with_text("user", &it.summary),
            AgentMessage::Assistant(it) => {
                let parts: Vec<Value> = it.content.iter().filter_map(|block| self.block(block)).collect();
                Some(json!({ "role": "assistant", "parts": parts }))
            }
            AgentMessage::ToolResult(it) => {
                let result = self.text(&contents(&it.content));
                let part = json!({ "type": "tool_call_response", "id": it.tool_call_id, "result": result });
                Some(json!({ "role": "tool", "parts": [part] }))
            }
            // System messages add up to the instructions; the texts of the others are made for each vendor.
            AgentMessage::System(_)
            | AgentMessage::BashExecution(_)
            | AgentMessage::PythonExecution(_)
            | AgentMessage::HookMessage(_)
            | AgentMessage::FileMention(_) => None,
        }
    }

    fn block(&self, block: &AssistantContent) -> Option<Value> {
        match block {
            AssistantContent::Text(it) => Some(json!({ "type": "text", "content": self.text(&it.text) })),
            AssistantContent::Thinking(it) => {
                Some(json!({ "type": "reasoning", "content": self.text(&it.thinking) }))
            }
            AssistantContent::ToolCall(it) => {
                let arguments = self.text(&Value::Object(it.arguments.clone()).to_string());
                Some(json!({ "type": "tool_call", "id": it.id, "name": it.name, "arguments": arguments }))
            }
            AssistantContent::RedactedThinking(_) => None,
        }
    }
}

/// An answer as it comes in.
#[derive(Debug, Default)]
pub struct AnswerText {
    blocks: BTreeMap<usize, (Option<BlockStart>, String)>,
}

impl AnswerText {
    /// An answer that is complete.
    pub fn of(content: &[AssistantContent]) -> Self {
        let blocks = content.iter().map(|block| match block {
            AssistantContent::Text(it) => (Some(BlockStart::Text), it.text.clone()),
            AssistantContent::Thinking(it) => (Some(BlockStart::Thinking), it.thinking.clone()),
            AssistantContent::ToolCall(it) => {
                let (id, name) = (it.id.clone(), it.name.clone());
                (Some(BlockStart::ToolCall { id, name }), Value::Object(it.arguments.clone()).to_string())
            }
            AssistantContent::RedactedThinking(_) => (None, String::new()),
        });
        Self { blocks: blocks.enumerate().collect() }
    }

    /// Adds a step of the answer.
    pub fn add(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Start { index, block } => {
                self.blocks.insert(*index, (Some(block.clone()), String::new()));
            }
            StreamEvent::Delta { index, delta } => {
                let (_, text) = self.blocks.entry(*index).or_default();
                // What is cut off later needs not be kept, but for a secret across the cut.
                if text.len() <= MAX_TEXT + MAX_SECRET {
                    text.push_str(delta);
                }
            }
            _ => {}
        }
    }

    /// The answer as an attribute.
    pub fn attribute(&self, texts: &Texts, finish_reason: &str) -> Attribute {
        let parts = self.blocks.values().filter_map(|(block, text)| {
            let text = texts.text(text);
            match block.as_ref()? {
                BlockStart::Text => Some(json!({ "type": "text", "content": text })),
                BlockStart::Thinking => Some(json!({ "type": "reasoning", "content": text })),
                BlockStart::ToolCall { id, name } => {
                    Some(json!({ "type": "tool_call", "id": id, "name": name, "arguments": text }))
                }
                BlockStart::Redacted { .. } => None,
            }
        });
        let parts: Vec<Value> = parts.collect();
        let messages = json!([{ "role": "assistant", "parts": parts, "finish_reason": finish_reason }]);
        (OUTPUT_MESSAGES, messages.to_string().into())
    }
}

fn message_text(content: &MessageContent) -> String {
    match content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Blocks(blocks) => contents(blocks),
    }
}

/// The texts of some blocks.
fn contents(blocks: &[UserContent]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        UserContent::Text(it) => Some(it.text.as_str()),
        UserContent::Image(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
