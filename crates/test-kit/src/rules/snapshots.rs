//! Comparison of the snapshots of a partial message with the sum of its deltas, and their removal from the log.

use pi_rpc_protocol::{parse_arguments, parse_partial};
use serde_json::{Value, json};

/// The partial message as the sum of its steps.
pub struct SnapshotCheck {
    /// Whether snapshots are only removed, not compared.
    is_trusting: bool,
    message: Value,
    /// Streamed text of each block; for a call, the text of its arguments.
    raw: Vec<String>,
}

impl SnapshotCheck {
    /// Creates a check for one conversation; `checks`: whether snapshots are compared.
    pub fn new(checks: bool) -> Self {
        Self { is_trusting: !checks, message: Value::Null, raw: Vec::new() }
    }

    /// Handles a frame; for an update, returns it without its snapshots.
    pub fn see(&mut self, frame: &Value) -> Option<Value> {
        let message = &frame["message"];
        match frame["type"].as_str() {
            Some("message_start") if message["role"] == "assistant" && !self.is_trusting => {
                self.message = message.clone();
                self.raw.clear();
            }
            Some("message_update") => {
                if !self.is_trusting {
                    self.update(frame);
                }
                let mut shown = frame.clone();
                // Some dialects have no snapshots.
                if frame.get("message").is_some() {
                    shown["assistantMessageEvent"]["partial"] = json!("…");
                    shown["message"] = json!("…");
                }
                return Some(shown);
            }
            Some("message_end") if message["role"] == "assistant" && !self.is_trusting => {
                assert_eq!(
                    message["content"], self.message["content"],
                    "what was streamed is what is complete"
                );
                for key in ["role", "api", "provider", "model", "timestamp"] {
                    assert_eq!(message[key], self.message[key], "{key} stays");
                }
            }
            _ => {}
        }
        None
    }

    fn update(&mut self, frame: &Value) {
        let event = &frame["assistantMessageEvent"];
        let snapshot = frame.get("message");
        assert_eq!(event["partial"], frame["message"], "partial and message");
        let index = event["contentIndex"].as_u64().expect("an index") as usize;
        let kind = event["type"].as_str().expect("a type");
        let (block, step) = kind.split_once('_').expect("block and step");
        match step {
            "start" => {
                assert_eq!(index, self.raw.len(), "blocks start in order");
                self.raw.push(String::new());
                let content = self.message["content"].as_array_mut().expect("a list");
                content.push(match block {
                    "text" => json!({ "type": "text", "text": "" }),
                    "thinking" => json!({ "type": "thinking", "thinking": "" }),
                    _ => {
                        let call = snapshot.map(|message| &message["content"][index]);
                        let (id, name) = call
                            .map_or((&event["id"], &event["toolName"]), |call| (&call["id"], &call["name"]));
                        json!({ "type": "toolCall", "id": id, "name": name, "arguments": {} })
                    }
                });
            }
            "delta" => {
                self.raw[index].push_str(event["delta"].as_str().expect("a delta"));
                let content = &mut self.message["content"][index];
                match block {
                    "toolcall" => content["arguments"] = parse_partial(&self.raw[index]).into(),
                    block => content[block] = json!(self.raw[index]),
                }
            }
            _ => {
                let complete = match (snapshot, block) {
                    (Some(message), _) => message["content"][index].clone(),
                    (None, "toolcall") => event["toolCall"].clone(),
                    (None, block) => json!({ block: event["content"] }),
                };
                self.end(event, index, block, &complete);
            }
        }
        let Some(snapshot) = snapshot else { return };
        let mut expected = self.message.clone();
        // Tokens, the id of the provider and diagnostics may come with any update.
        for key in ["usage", "responseId", "diagnostics"] {
            if let Some(value) = snapshot.get(key) {
                expected[key] = value.clone();
            }
        }
        assert_eq!(*snapshot, expected, "the snapshot is what the steps add up to");
    }

    fn end(&mut self, event: &Value, index: usize, block: &str, complete: &Value) {
        let content = &mut self.message["content"][index];
        match block {
            "toolcall" => {
                assert_eq!(event["toolCall"], *complete, "the call is the block");
                let read = parse_arguments(&self.raw[index]);
                if let Some(error) = event["toolCall"].get("argumentsError") {
                    // A call without arguments may lack its end.
                    let without = self.raw[index].trim().is_empty();
                    assert!(without || read.as_ref().err().is_some_and(|known| error == known), "{error}");
                    content["argumentsError"] = error.clone();
                }
                content["arguments"] = read.unwrap_or_default().into();
                assert_eq!(event["toolCall"], *content, "its deltas add up");
            }
            block => {
                assert_eq!(event["content"], content[block], "its deltas add up");
                // Arrives with the end of the block.
                if let Some(signature) = complete.get("thinkingSignature") {
                    content["thinkingSignature"] = signature.clone();
                }
            }
        }
    }
}
