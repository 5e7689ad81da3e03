//! Writes the conversation as messages of pi: answers whole, with the model that gave them and all signatures, as the gateway
//! decides what a model is sent.

use crate::{
    convert::{AssistantTurn, CallResult, ChatBlock, ChatPart, ChatTurn, convert, input},
    request::ModelRequest,
    types::ToolSpec,
};
use pi_rpc_protocol::{AgentMessage, AssistantContent, AssistantMessage};
use serde_json::{Value, json};
use std::ptr;

/// Members of an answer that the gateway takes; others are of other dialects, or for hosts alone.
const ANSWER_MEMBERS: [&str; 15] = [
    "role",
    "content",
    "api",
    "provider",
    "model",
    "usage",
    "stopReason",
    "timestamp",
    "responseId",
    "responseModel",
    "rawStopReason",
    "providerThinkingLevel",
    "endTurn",
    "durationMs",
    "thinkingLevel",
];

/// Text of thinking that its provider has hidden. Source: pi source.
const REDACTED: &str = "[Reasoning redacted]";

/// Writes all messages, the instructions and the tools first.
pub fn messages(request: &ModelRequest<'_>) -> Vec<Value> {
    let mut messages: Vec<Value> = head(request).into_iter().collect();
    let chat = convert(request, |id, _| id.to_owned());
    let mut turns = chat.iter().filter_map(|turn| match turn {
        ChatTurn::Assistant(turn) => Some(turn),
        ChatTurn::User(_) | ChatTurn::Developer(_) => None,
    });
    let mut next = turns.next();
    for message in request.messages {
        match &**message {
            AgentMessage::Assistant(message) => {
                // Others have failed or are empty.
                let Some(turn) = next.filter(|turn| ptr::eq(turn.source, message)) else { continue };
                next = turns.next();
                messages.push(answer(turn));
                messages.extend(turn.results.iter().map(|found| result(found, message.timestamp)));
            }
            // A result stands behind its call.
            AgentMessage::ToolResult(_) => {}
            message => {
                let Some(ChatTurn::User(parts) | ChatTurn::Developer(parts)) = input(message, request) else {
                    continue;
                };
                messages.push(json!({
                    "role": "user", "content": content(&parts), "timestamp": time(message),
                }));
            }
        }
    }
    messages
}

/// Creation time in milliseconds since the Unix epoch.
fn time(message: &AgentMessage) -> u64 {
    match message {
        AgentMessage::User(it) => it.timestamp,
        AgentMessage::System(it) => it.timestamp,
        AgentMessage::Developer(it) => it.timestamp,
        AgentMessage::Assistant(it) => it.timestamp,
        AgentMessage::ToolResult(it) => it.timestamp,
        AgentMessage::BashExecution(it) => it.timestamp,
        AgentMessage::PythonExecution(it) => it.timestamp,
        AgentMessage::Custom(it) => it.timestamp,
        AgentMessage::HookMessage(it) => it.timestamp,
        AgentMessage::BranchSummary(it) => it.timestamp,
        AgentMessage::CompactionSummary(it) => it.timestamp,
        AgentMessage::FileMention(it) => it.timestamp,
    }
}

/// The message with the instructions and the tools; `None`: there are none. Its time is that of pi for a context of these two.
fn head(request: &ModelRequest<'_>) -> Option<Value> {
    if request.system_prompt.is_empty() && request.tools.is_empty() {
        return None;
    }
    let mut message = json!({ "role": "system", "content": request.system_prompt });
    if !request.tools.is_empty() {
        message["toolsAdded"] = request.tools.iter().map(declaration).collect();
    }
    message["timestamp"] = 0.into();
    Some(message)
}

fn declaration(tool: &ToolSpec) -> Value {
    json!({ "name": tool.name, "description": tool.description, "parameters": *tool.parameters })
}

fn answer(turn: &AssistantTurn<'_>) -> Value {
    let mut message = serde_json::to_value(turn.source).unwrap_or_default();
    if let Some(members) = message.as_object_mut() {
        members.retain(|name, _| ANSWER_MEMBERS.contains(&name.as_str()));
    }
    message["role"] = "assistant".into();
    message["content"] = blocks(turn.source, turn).into();
    message
}

/// The blocks of an answer, with the ids of its calls as `turn` has them.
fn blocks(message: &AssistantMessage, turn: &AssistantTurn<'_>) -> Vec<Value> {
    let mut ids = turn.blocks.iter().filter_map(|block| match block {
        ChatBlock::Call { id, .. } => Some(id),
        _ => None,
    });
    let signed = |mut block: Value, name: &str, signature: &Option<String>| {
        if let Some(signature) = signature {
            block[name] = signature.as_str().into();
        }
        block
    };
    let block = |block: &AssistantContent| match block {
        AssistantContent::Text(text) => {
            signed(json!({ "type": "text", "text": text.text }), "textSignature", &text.text_signature)
        }
        AssistantContent::Thinking(thought) => {
            let block = json!({ "type": "thinking", "thinking": thought.thinking });
            let mut block = signed(block, "thinkingSignature", &thought.thinking_signature);
            if let Some(redacted) = thought.redacted {
                block["redacted"] = redacted.into();
            }
            block
        }
        AssistantContent::RedactedThinking(hidden) => json!({
            "type": "thinking", "thinking": REDACTED, "thinkingSignature": hidden.data, "redacted": true,
        }),
        AssistantContent::ToolCall(call) => {
            let id = ids.next().map_or(call.id.as_str(), |id| id);
            let block =
                json!({ "type": "toolCall", "id": id, "name": call.name, "arguments": call.arguments });
            signed(block, "thoughtSignature", &call.thought_signature)
        }
    };
    message.content.iter().map(block).collect()
}

/// Writes a result; one that was missing gets the time of its call.
fn result(result: &CallResult<'_>, called: u64) -> Value {
    json!({
        "role": "toolResult",
        "toolCallId": result.id,
        "toolName": result.name,
        "content": content(&result.content),
        "isError": result.is_error,
        "timestamp": result.timestamp.unwrap_or(called),
    })
}

fn content(parts: &[ChatPart<'_>]) -> Vec<Value> {
    let part = |part: &ChatPart<'_>| match part {
        ChatPart::Text(text) => json!({ "type": "text", "text": text }),
        ChatPart::Image(image) => {
            json!({ "type": "image", "data": image.data, "mimeType": image.mime_type })
        }
    };
    parts.iter().map(part).collect()
}
