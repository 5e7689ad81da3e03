//! Shared by the tests of the page: conversations to show, and the page as a tree of elements.
#![allow(dead_code)] // each test binary uses its part

pub mod hostile;
pub mod parsed;
pub mod sample;

use pi_rpc_page::{Body, Page, PageEntry};
use serde_json::{Value, json};

/// Time of the first entry, 2026-01-05T10:00:00Z; each later one comes a second after the previous.
const BEGUN: u64 = 1_767_607_200_000;

/// Builder of a session. A message follows the last one, or the entry that `back_to` names.
pub struct Talk {
    pub page: Page,
    last: Option<String>,
}

impl Talk {
    pub fn new() -> Self {
        let page = Page {
            session: "5f0e7c1a-0000-4000-8000-000000000001".to_owned(),
            cwd: "/home/u/shop".to_owned(),
            created: Some(BEGUN),
            written_by: "pi-rpc".to_owned(),
            ..Page::default()
        };
        Self { page, last: None }
    }

    /// Adds an entry and gives its id.
    pub fn entry(&mut self, body: Body) -> String {
        let number = self.page.entries.len() as u64 + 1;
        let id = format!("{number:08x}");
        let at = BEGUN + number * 1000;
        self.page.entries.push(PageEntry { id: id.clone(), parent: self.last.clone(), at, line: None, body });
        self.last = Some(id.clone());
        self.page.leaf = Some(id.clone());
        id
    }

    /// Continues after this entry.
    pub fn back_to(&mut self, id: &str) {
        self.last = Some(id.to_owned());
        self.page.leaf = Some(id.to_owned());
    }

    pub fn message(&mut self, message: Value) -> String {
        self.entry(Body::Message(std::sync::Arc::new(serde_json::from_value(message).unwrap())))
    }

    pub fn user(&mut self, text: &str) -> String {
        self.message(json!({ "role": "user", "content": [text_block(text)], "timestamp": BEGUN }))
    }

    /// An answer of `anthropic/claude-sonnet-4-5` that cost something.
    pub fn answer(&mut self, content: Value) -> String {
        self.message(answer(content))
    }

    pub fn result(&mut self, call: &str, tool: &str, text: &str) -> String {
        self.message(result(call, tool, text))
    }
}

pub fn answer(content: Value) -> Value {
    json!({
        "role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic",
        "model": "claude-sonnet-4-5", "stopReason": "stop", "timestamp": BEGUN,
        "usage": {
            "input": 1204, "output": 318, "cacheRead": 8192, "cacheWrite": 0, "totalTokens": 9714,
            "cost": { "input": 0.0036, "output": 0.0048, "cacheRead": 0.0025, "cacheWrite": 0, "total": 0.0109 },
        },
    })
}

pub fn result(call: &str, tool: &str, text: &str) -> Value {
    json!({
        "role": "toolResult", "toolCallId": call, "toolName": tool, "content": [text_block(text)],
        "isError": false, "timestamp": BEGUN,
    })
}

pub fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

pub fn call_block(id: &str, name: &str, arguments: Value) -> Value {
    json!({ "type": "toolCall", "id": id, "name": name, "arguments": arguments })
}

/// Adds or replaces members of `message`.
pub fn with(mut message: Value, members: Value) -> Value {
    let (Value::Object(message_members), Value::Object(members)) = (&mut message, members) else { panic!() };
    message_members.extend(members);
    message
}
