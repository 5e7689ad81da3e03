//! A recording with everything that a conversation shows: an image, thinking, Markdown, a tool with its output and a difference.

use super::support::{record, spawn};
use serde_json::{Value, json};

/// A PNG of one pixel, in base64.
pub const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// Text of the assistant in the first turn.
pub const MARKDOWN: &str =
    "# Plan\n\nI will **change** `main.rs`:\n\n- read it\n- edit it\n\n```rust\nfn main() {}\n```";

/// Difference that the tool reports.
pub const DIFF: &str = "-1 fn main() {}\n+1 fn main() { run() }\n 2 // end";

/// Frames of a conversation, each a millisecond after the one before.
#[derive(Default)]
pub struct Frames {
    lines: Vec<String>,
}

impl Frames {
    /// Begins a recording in pi-1.
    pub fn new() -> Self {
        Self { lines: vec![spawn("pi-1")] }
    }

    /// Appends a frame of the host.
    pub fn inbound(&mut self, frame: Value) -> &mut Self {
        self.push("in", &frame)
    }

    /// Appends a frame of the server.
    pub fn outbound(&mut self, frame: Value) -> &mut Self {
        self.push("out", &frame)
    }

    fn push(&mut self, dir: &str, frame: &Value) -> &mut Self {
        let t = f64::from(u32::try_from(self.lines.len()).unwrap());
        self.lines.push(record(t, dir, frame));
        self
    }

    /// Appends the beginning and the end of a message.
    pub fn message(&mut self, message: &Value) -> &mut Self {
        self.outbound(json!({ "type": "message_start", "message": message }));
        self.outbound(json!({ "type": "message_end", "message": message }))
    }

    /// Appends an answer of the model, streamed in deltas.
    pub fn answer(&mut self, content: &Value, reason: &str) -> &mut Self {
        self.outbound(json!({ "type": "message_start", "message": assistant(&json!([]), "pending", 0) }));
        for (index, block) in content.as_array().unwrap().iter().enumerate() {
            for step in steps(block, index) {
                self.outbound(
                    json!({ "type": "message_update", "usage": usage(1), "assistantMessageEvent": step }),
                );
            }
        }
        self.outbound(json!({ "type": "message_end", "message": assistant(content, reason, 21) }))
    }

    /// The lines of the recording.
    pub fn lines(&self) -> Vec<String> {
        self.lines.clone()
    }
}

/// The steps in which a block is streamed.
fn steps(block: &Value, index: usize) -> Vec<Value> {
    let kind = block["type"].as_str().unwrap();
    match kind {
        "text" | "thinking" => vec![
            json!({ "type": format!("{kind}_start"), "contentIndex": index }),
            json!({ "type": format!("{kind}_delta"), "contentIndex": index, "delta": block[kind] }),
            json!({ "type": format!("{kind}_end"), "contentIndex": index, "content": block[kind] }),
        ],
        _ => vec![
            json!({ "type": "toolcall_start", "contentIndex": index, "id": block["id"], "toolName": block["name"] }),
            json!({ "type": "toolcall_delta", "contentIndex": index, "delta": block["arguments"].to_string() }),
            json!({ "type": "toolcall_end", "contentIndex": index, "toolCall": block }),
        ],
    }
}

fn usage(output: u64) -> Value {
    let cost = json!({ "input": 0.0006, "output": 0.0004, "cacheRead": 0, "cacheWrite": 0, "total": 0.001 });
    json!({ "input": 200, "output": output, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 200 + output, "cost": cost })
}

/// An assistant message.
pub fn assistant(content: &Value, reason: &str, output: u64) -> Value {
    json!({
        "role": "assistant", "content": content, "api": "anthropic-messages", "provider": "fake", "model": "fake-1",
        "usage": usage(output), "stopReason": reason, "timestamp": 1_795_372_889_419_u64,
    })
}

/// A user message.
pub fn user(content: &Value) -> Value {
    json!({ "role": "user", "content": content, "timestamp": 1_795_372_889_419_u64 })
}

/// The whole conversation.
pub fn sample() -> Vec<String> {
    let mut frames = Frames::new();
    let call =
        json!({ "type": "toolCall", "id": "call_1", "name": "edit", "arguments": { "path": "main.rs" } });
    let first = json!([{ "type": "thinking", "thinking": "What is in the file?" }, { "type": "text", "text": MARKDOWN }, call]);
    let asked = json!([{ "type": "text", "text": "Edit main.rs" }, { "type": "image", "data": PIXEL, "mimeType": "image/png" }]);
    let output = json!([{ "type": "text", "text": "\u{1b}[32mEdited\u{1b}[0m main.rs" }]);
    let details = json!({ "diff": DIFF });
    let result = json!({ "role": "toolResult", "toolCallId": "call_1", "toolName": "edit", "content": output,
        "details": details, "isError": false, "durationMs": 2, "timestamp": 1_795_372_889_500_u64 });
    let done = json!([{ "type": "text", "text": "Done." }]);
    let messages =
        json!([user(&asked), assistant(&first, "toolUse", 21), result, assistant(&done, "stop", 21)]);
    frames
        .inbound(json!({ "id": "1", "type": "prompt", "message": "Edit main.rs", "images": [asked[1]] }))
        .outbound(json!({ "id": "1", "type": "response", "command": "prompt", "success": true, "data": { "disposition": "started" } }))
        .outbound(json!({ "type": "agent_start" }))
        .outbound(json!({ "type": "turn_start" }))
        .message(&user(&asked))
        .answer(&first, "toolUse")
        .outbound(json!({ "type": "tool_execution_start", "toolCallId": "call_1", "toolName": "edit", "args": { "path": "main.rs" } }))
        .outbound(json!({ "type": "tool_execution_end", "toolCallId": "call_1", "toolName": "edit",
            "result": { "content": output, "details": details }, "isError": false, "durationMs": 2 }))
        .message(&result)
        .outbound(json!({ "type": "turn_end", "message": assistant(&first, "toolUse", 21), "toolResults": [result] }))
        .outbound(json!({ "type": "turn_start" }))
        .answer(&done, "stop")
        .outbound(json!({ "type": "turn_end", "message": assistant(&done, "stop", 21), "toolResults": [] }))
        .outbound(json!({ "type": "agent_end", "messages": messages, "willRetry": false }))
        .outbound(json!({ "type": "agent_settled", "aborted": false }));
    frames.lines()
}
