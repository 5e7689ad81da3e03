//! Holds each update of a growing message to what its steps add up to, then leaves the snapshots out of the log.

use pi_rpc::protocol::parse_partial;
use serde_json::{Value, json};

/// The assistant message that grows, made from the steps alone.
#[derive(Default)]
pub struct Watch {
    message: Value,
    /// The text of each block as it was streamed; of a call, the text of its arguments.
    raw: Vec<String>,
}

impl Watch {
    /// Sees a frame; of an update, gives it without its snapshots.
    pub fn see(&mut self, frame: &Value) -> Option<Value> {
        let message = &frame["message"];
        match frame["type"].as_str() {
            Some("message_start") if message["role"] == "assistant" => {
                self.message = message.clone();
                self.raw.clear();
            }
            Some("message_update") => {
                self.update(frame);
                let mut shown = frame.clone();
                shown["assistantMessageEvent"]["partial"] = json!("…");
                shown["message"] = json!("…");
                return Some(shown);
            }
            Some("message_end") if message["role"] == "assistant" => {
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
                        let call = &frame["message"]["content"][index];
                        json!({ "type": "toolCall", "id": call["id"], "name": call["name"], "arguments": {} })
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
            _ => self.end(event, index, block, &frame["message"]["content"][index]),
        }
        let mut expected = self.message.clone();
        // Tokens and the provider's id are told along the way.
        for key in ["usage", "responseId"] {
            if let Some(value) = frame["message"].get(key) {
                expected[key] = value.clone();
            }
        }
        assert_eq!(frame["message"], expected, "the snapshot is what the steps add up to");
    }

    fn end(&mut self, event: &Value, index: usize, block: &str, complete: &Value) {
        let content = &mut self.message["content"][index];
        match block {
            "toolcall" => {
                assert_eq!(event["toolCall"], *complete, "the call is the block");
                assert_eq!(event["toolCall"], *content, "its deltas add up");
            }
            block => {
                assert_eq!(event["content"], content[block], "its deltas add up");
                // Comes with the end, by no event of its own.
                if let Some(signature) = complete.get("thinkingSignature") {
                    content["thinkingSignature"] = signature.clone();
                }
            }
        }
    }
}
