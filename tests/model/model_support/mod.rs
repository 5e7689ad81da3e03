//! Shared by the tests of real models: whom to ask, with what history.

use pi_rpc::{
    model::{
        request::{Credentials, Endpoint, ModelRequest, RequestOptions},
        types::ToolSpec,
    },
    protocol::{AgentMessage, Model, ThinkingLevel},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// Everything that a request refers to.
pub struct Asked {
    pub endpoint: Endpoint,
    pub credentials: Credentials,
    pub level: ThinkingLevel,
    pub system_prompt: String,
    pub messages: Vec<Arc<AgentMessage>>,
    pub tools: Vec<ToolSpec>,
    pub forced_tool: Option<String>,
    pub options: RequestOptions,
}

impl Asked {
    /// Model `m` of provider `p` over `api`, which thinks and sees images; key `k`, level off, no instructions.
    pub fn new(api: &str, history: Value) -> Self {
        let model = json!({
            "id": "m", "name": "M", "api": api, "provider": "p", "baseUrl": "https://api.example.com",
            "reasoning": true, "input": ["text", "image"],
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 },
            "contextWindow": 200_000, "maxTokens": 64_000,
        });
        let model: Model = serde_json::from_value(model).unwrap();
        let messages: Vec<AgentMessage> = serde_json::from_value(history).unwrap();
        Self {
            endpoint: Endpoint { model, levels: Vec::new(), efforts: BTreeMap::new(), adaptive: false },
            credentials: Credentials { key: Some("k".to_owned()), ..Credentials::default() },
            level: ThinkingLevel::Off,
            system_prompt: String::new(),
            messages: messages.into_iter().map(Arc::new).collect(),
            tools: Vec::new(),
            forced_tool: None,
            options: RequestOptions { budgets: BTreeMap::new(), blocks_images: false, caches_long: false },
        }
    }

    pub fn request(&self) -> ModelRequest<'_> {
        ModelRequest {
            endpoint: &self.endpoint,
            credentials: &self.credentials,
            most_tokens: None,
            level: self.level,
            system_prompt: &self.system_prompt,
            messages: &self.messages,
            tools: &self.tools,
            forced_tool: self.forced_tool.as_deref(),
            session_id: "s",
            options: &self.options,
        }
    }
}

/// A user message; `content` is a text or blocks.
pub fn user(content: Value) -> Value {
    json!({ "role": "user", "content": content, "timestamp": 1 })
}

/// A complete answer of model `model` of provider `p` over `api`.
pub fn assistant(api: &str, model: &str, content: Value) -> Value {
    stopped(api, model, "stop", content)
}

/// An answer that ended for `reason`.
pub fn stopped(api: &str, model: &str, reason: &str, content: Value) -> Value {
    json!({
        "role": "assistant", "content": content, "api": api, "provider": "p", "model": model,
        "usage": {
            "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 },
        },
        "stopReason": reason, "timestamp": 1,
    })
}

/// What the call `id` of the tool `name` returned.
pub fn result(id: &str, name: &str, content: Value, is_error: bool) -> Value {
    json!({
        "role": "toolResult", "toolCallId": id, "toolName": name, "content": content, "isError": is_error,
        "timestamp": 1,
    })
}

/// A text block.
pub fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// A call.
pub fn call(id: &str, name: &str, arguments: Value) -> Value {
    json!({ "type": "toolCall", "id": id, "name": name, "arguments": arguments })
}

/// An image block.
pub fn image() -> Value {
    json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" })
}
