//! The response of a model that an extension streams, as events of a stream.
//!
//! The events are those of pi's providers, without the message so far. Their last one has the whole message: what was
//! not said before is taken from there. Source: pi source.

use crate::io::CallId;
use pi_rpc_model::{
    sse::NO_STOP_REASON,
    types::{BlockStart, Finish, StreamEvent, TokenCounts},
};
use pi_rpc_protocol::{
    AgentMessage, AssistantContent, AssistantMessage, JsonObject, MessageContent, StopReason, TextContent,
    ToolCall, UserContent, UserMessage, received_arguments,
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A response that an extension streams.
#[derive(Debug)]
pub struct ModelStream {
    /// Its process.
    pub process: CallId,
    /// The blocks that have begun, and whether they are complete.
    blocks: BTreeMap<usize, bool>,
    /// The blocks that have got a delta that is not blank.
    told: BTreeSet<usize>,
}

/// One event.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Event {
    Start {},
    TextStart {
        content_index: usize,
    },
    TextDelta {
        content_index: usize,
        delta: String,
    },
    TextEnd {
        content_index: usize,
    },
    ThinkingStart {
        content_index: usize,
    },
    ThinkingDelta {
        content_index: usize,
        delta: String,
    },
    ThinkingEnd {
        content_index: usize,
    },
    #[serde(rename = "toolcall_start")]
    CallStart {
        content_index: usize,
        tool_call: Option<Named>,
    },
    #[serde(rename = "toolcall_delta")]
    CallDelta {
        content_index: usize,
        delta: String,
    },
    #[serde(rename = "toolcall_end")]
    CallEnd {
        content_index: usize,
        tool_call: ToolCall,
    },
    Done {
        message: Box<AssistantMessage>,
    },
    Error {
        error: Value,
    },
}

/// The beginning of a tool call.
#[derive(Debug, Deserialize)]
struct Named {
    id: String,
    name: String,
}

impl ModelStream {
    /// Creates a stream that has not begun.
    pub const fn new(process: CallId) -> Self {
        Self { process, blocks: BTreeMap::new(), told: BTreeSet::new() }
    }

    /// Converts the event of a frame to stream events; `unsaid` is the error of one that fails without a reason.
    ///
    /// # Errors
    ///
    /// Why it is no event.
    pub fn read(&mut self, event: JsonObject, unsaid: &str) -> Result<Vec<StreamEvent>, String> {
        let event = serde_json::from_value(Value::Object(event));
        Ok(match event.map_err(|error| format!("model_event: event: {error}"))? {
            Event::Start {} => Vec::new(),
            Event::TextStart { content_index } => self.begin(content_index, BlockStart::Text),
            Event::ThinkingStart { content_index } => self.begin(content_index, BlockStart::Thinking),
            // A call without a name is emitted once it is complete.
            Event::CallStart { tool_call: None, .. } => Vec::new(),
            Event::CallStart { content_index, tool_call: Some(Named { id, name }) } => {
                self.begin(content_index, BlockStart::ToolCall { id, name })
            }
            Event::TextDelta { content_index: index, delta }
            | Event::ThinkingDelta { content_index: index, delta }
            | Event::CallDelta { content_index: index, delta } => {
                let open = self.blocks.get(&index) == Some(&false);
                if open && !delta.trim().is_empty() {
                    self.told.insert(index);
                }
                open.then_some(StreamEvent::Delta { index, delta }).into_iter().collect()
            }
            Event::TextEnd { content_index } | Event::ThinkingEnd { content_index } => {
                self.end(content_index)
            }
            Event::CallEnd { content_index, tool_call } => {
                self.rest(content_index, &AssistantContent::ToolCall(tool_call))
            }
            Event::Done { message } => self.done(*message),
            Event::Error { error } => {
                let text = error.get("errorMessage").and_then(Value::as_str).unwrap_or(unsaid);
                vec![StreamEvent::Fail { message: text.to_owned(), retry_after: None }]
            }
        })
    }

    fn begin(&mut self, index: usize, block: BlockStart) -> Vec<StreamEvent> {
        match self.blocks.insert(index, false) {
            None => vec![StreamEvent::Start { index, block }],
            Some(before) => {
                self.blocks.insert(index, before);
                Vec::new()
            }
        }
    }

    fn end(&mut self, index: usize) -> Vec<StreamEvent> {
        match self.blocks.get_mut(&index).filter(|over| !**over) {
            Some(over) => {
                *over = true;
                vec![StreamEvent::End { index, signature: None }]
            }
            None => Vec::new(),
        }
    }

    /// The events that complete a block. A call that has come without its arguments gets them from the complete one.
    fn rest(&mut self, index: usize, block: &AssistantContent) -> Vec<StreamEvent> {
        let is_new = !self.blocks.contains_key(&index);
        let is_call = matches!(block, AssistantContent::ToolCall(_));
        let lacks_arguments =
            is_call && self.blocks.get(&index) == Some(&false) && !self.told.contains(&index);
        let mut steps = Vec::new();
        if is_new || lacks_arguments {
            let (start, delta) = whole(block);
            steps.extend(self.begin(index, start));
            if is_call && delta.as_deref().is_none_or(|delta| delta.trim().is_empty()) {
                steps.push(StreamEvent::Unclosed { index });
            }
            steps.extend(delta.map(|delta| StreamEvent::Delta { index, delta }));
        }
        steps.extend(self.end(index));
        steps
    }

    fn done(&mut self, message: AssistantMessage) -> Vec<StreamEvent> {
        let mut steps = Vec::new();
        for (index, block) in message.content.iter().enumerate() {
            steps.extend(self.rest(index, block));
            let signature = match block {
                AssistantContent::Text(block) => block.text_signature.clone(),
                AssistantContent::Thinking(block) => block.thinking_signature.clone(),
                AssistantContent::ToolCall(call) => call.thought_signature.clone(),
                AssistantContent::RedactedThinking(_) => None,
            };
            steps.extend(signature.map(|signature| StreamEvent::Signature { index, signature }));
        }
        let usage = message.usage;
        steps.push(StreamEvent::Usage(TokenCounts {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            cache_write_1h: usage.cache_write1h,
            reasoning: usage.reasoning,
            billed: None,
        }));
        steps.extend(message.response_id.map(StreamEvent::ResponseId));
        steps.extend(message.response_model.map(StreamEvent::Model));
        steps.push(match message.stop_reason {
            StopReason::Stop => StreamEvent::Finish(Finish::Stop),
            StopReason::Length => StreamEvent::Finish(Finish::Length),
            StopReason::ToolUse => StreamEvent::Finish(Finish::ToolUse),
            StopReason::Error | StopReason::Aborted | StopReason::Pending | StopReason::Deferred => {
                let message = message.error_message.unwrap_or_else(|| NO_STOP_REASON.to_owned());
                StreamEvent::Fail { message, retry_after: None }
            }
        });
        steps
    }
}

/// Splits a complete block into its start and its single delta.
fn whole(block: &AssistantContent) -> (BlockStart, Option<String>) {
    match block {
        AssistantContent::Text(block) => (BlockStart::Text, Some(block.text.clone())),
        AssistantContent::Thinking(block) if block.redacted == Some(true) => {
            (BlockStart::Redacted { data: block.thinking_signature.clone().unwrap_or_default() }, None)
        }
        AssistantContent::Thinking(block) => (BlockStart::Thinking, Some(block.thinking.clone())),
        AssistantContent::RedactedThinking(block) => {
            (BlockStart::Redacted { data: block.data.clone() }, None)
        }
        AssistantContent::ToolCall(call) => {
            let start = BlockStart::ToolCall { id: call.id.clone(), name: call.name.clone() };
            let arguments = match &call.arguments_error {
                // Text that could not be read, for the engine to say the same of it.
                Some(error) => Some(received_arguments(error).to_owned()),
                None => serde_json::to_string(&call.arguments).ok(),
            };
            (start, arguments)
        }
    }
}

/// A message as any provider understands it: of the user, of the model, or the result of a tool; `None`: models are not
/// told of it. Source: pi source.
pub fn portable(message: &AgentMessage) -> Option<AgentMessage> {
    let (content, timestamp) = match message {
        AgentMessage::User(_) | AgentMessage::Assistant(_) | AgentMessage::ToolResult(_) => {
            return Some(message.clone());
        }
        AgentMessage::System(_) => return None,
        AgentMessage::Developer(it) => (it.content.clone(), it.timestamp),
        AgentMessage::Custom(it) => (it.content.clone(), it.timestamp),
        AgentMessage::HookMessage(it) => (it.content.clone(), it.timestamp),
        AgentMessage::BashExecution(it) => (MessageContent::Text(it.model_text()?), it.timestamp),
        AgentMessage::PythonExecution(it) => (MessageContent::Text(it.model_text()?), it.timestamp),
        AgentMessage::BranchSummary(it) => (MessageContent::Text(it.model_text()), it.timestamp),
        AgentMessage::CompactionSummary(it) => (MessageContent::Text(it.model_text()), it.timestamp),
        AgentMessage::FileMention(it) => (MessageContent::Text(it.model_text()), it.timestamp),
    };
    let content = match content {
        MessageContent::Text(text) => {
            MessageContent::Blocks(vec![UserContent::Text(TextContent { text, text_signature: None })])
        }
        blocks => blocks,
    };
    Some(AgentMessage::User(UserMessage {
        content,
        attribution: None,
        synthetic: None,
        provider_payload: None,
        timestamp,
        steering: None,
    }))
}
