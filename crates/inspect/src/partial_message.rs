//! An assistant message that is still being streamed, put together from its updates.

use super::{facts::RecordFacts, item_index::ItemFacts, item_view::Frames};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The blocks of a message, by their index.
#[derive(Default)]
pub struct PartialMessage {
    blocks: BTreeMap<u64, Block>,
}

/// A block: its type, its text so far, and the step that began it.
struct Block {
    kind: &'static str,
    text: String,
    call: Value,
}

/// The most updates that are put together, and the most bytes of their texts.
const MAX_UPDATES: usize = 20_000;
const MAX_BYTES: usize = 8 << 20;
/// The most blocks.
const MAX_BLOCKS: usize = 1000;

impl PartialMessage {
    /// The message of an item after the record `last`, in the form of a whole one. `None`: no update has come.
    pub fn read(item: &ItemFacts, last: u32, number: u32, frames: &impl Frames) -> Option<Value> {
        let is_own = |record: &u32| {
            frames.facts(*record).is_some_and(|facts: RecordFacts| facts.item() == Some(number))
        };
        // Some dialects repeat the message so far in every update.
        let latest = (item.first + 1..=last).rev().find(is_own)?;
        let update: Value = serde_json::from_slice(&frames.line(latest)?).ok()?;
        if update["message"]["content"].is_array() {
            return Some(update["message"].clone());
        }
        let mut partial = Self::default();
        let mut bytes = 0;
        for record in (item.first + 1..=last).filter(is_own).take(MAX_UPDATES) {
            let Some(line) = frames.line(record) else { continue };
            bytes += line.len();
            if bytes > MAX_BYTES {
                break;
            }
            if let Ok(update) = serde_json::from_slice::<Value>(&line) {
                partial.apply(&update["assistantMessageEvent"]);
            }
        }
        let start: Value = serde_json::from_slice(&frames.line(item.first)?).ok()?;
        let mut message = start["message"].clone();
        message["content"] = partial.content();
        Some(message)
    }

    fn apply(&mut self, step: &Value) {
        let Some(index) = step["contentIndex"].as_u64() else { return };
        let kind = step["type"].as_str().unwrap_or_default();
        let Some((block, event)) = kind.rsplit_once('_') else { return };
        let kind = match block {
            "text" => "text",
            "thinking" => "thinking",
            "toolcall" => "toolCall",
            _ => return,
        };
        if self.blocks.len() >= MAX_BLOCKS && !self.blocks.contains_key(&index) {
            return;
        }
        let block = self.blocks.entry(index).or_insert_with(|| Block {
            kind,
            text: String::new(),
            call: Value::Null,
        });
        match event {
            "start" => block.call = step.clone(),
            "delta" => block.text.push_str(step["delta"].as_str().unwrap_or_default()),
            "end" if step["content"].is_string() => {
                block.text = step["content"].as_str().unwrap_or_default().to_owned();
            }
            "end" => block.call = step["toolCall"].clone(),
            _ => {}
        }
    }

    fn content(self) -> Value {
        let block = |block: Block| match block.kind {
            "thinking" => json!({ "type": "thinking", "thinking": block.text }),
            "toolCall" if block.call["arguments"].is_object() => block.call,
            "toolCall" => json!({
                "type": "toolCall",
                "id": block.call["id"],
                "name": block.call["toolName"],
                "arguments": block.text,
            }),
            _ => json!({ "type": "text", "text": block.text }),
        };
        self.blocks.into_values().map(block).collect()
    }
}
