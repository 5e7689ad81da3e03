//! The models and tools of a conversation.

use pi_rpc::{
    engine::Choice,
    model::types::ToolSpec,
    protocol::{Dialect, Model, ThinkingLevel},
};
use serde_json::json;

/// `bash` runs alone where others may run side by side; both read a plan, see [`Plan`].
pub fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str, exclusive| ToolSpec {
        name: name.to_owned(),
        description: format!("Runs a plan as {name}."),
        parameters: json!({
            "type": "object",
            "properties": { "command": { "type": "string" }, "timeout": { "type": "number" } },
            "required": ["command"],
        }),
        exclusive,
    };
    vec![tool("bash", true), tool("probe", false)]
}

pub fn choice(dialect: Dialect, id: &str, window: u64) -> Choice {
    let model = json!({
        "id": id, "name": "Play", "api": "scripted", "provider": "scripted", "baseUrl": "scripted:",
        "reasoning": id != "plain", "input": ["text"],
        "cost": { "input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0 },
        "contextWindow": window, "maxTokens": 16_384,
    });
    let text = model.to_string();
    let model: Model = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{dialect}: {error}"));
    let levels = if model.reasoning { 5 } else { 1 };
    Choice { model, levels: ThinkingLevel::ALL[..levels].to_vec(), unusable: None }
}
