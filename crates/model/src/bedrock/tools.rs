//! The tools that a model may call.

use crate::{
    convert::{ChatBlock, ChatTurn},
    types::ToolSpec,
};
use serde_json::{Value, json};

/// Encodes `toolConfig`; `forced`: the tool that must be called.
///
/// The service refuses a conversation with calls but no tools: then those that were called are declared without arguments.
pub fn config(tools: &[ToolSpec], chat: &[ChatTurn<'_>], forced: Option<&str>) -> Option<Value> {
    let specs: Vec<Value> = match tools.is_empty() {
        false => tools.iter().map(|tool| spec(&tool.name, &tool.description, &tool.parameters)).collect(),
        true => {
            let schema = json!({"type": "object", "properties": {}});
            called(chat).into_iter().map(|name| spec(name, "Not available any more.", &schema)).collect()
        }
    };
    if specs.is_empty() {
        return None;
    }
    let mut config = json!({"tools": specs});
    if let Some(name) = forced {
        config["toolChoice"] = json!({"tool": {"name": name}});
    }
    Some(config)
}

fn spec(name: &str, description: &str, schema: &Value) -> Value {
    let mut spec = json!({"name": name, "description": description, "inputSchema": {"json": schema}});
    // The service refuses an empty one.
    if description.is_empty()
        && let Some(members) = spec.as_object_mut()
    {
        members.shift_remove("description");
    }
    json!({"toolSpec": spec})
}

/// The tools that the conversation has called, each once.
fn called<'a>(chat: &[ChatTurn<'a>]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for turn in chat {
        let ChatTurn::Assistant(turn) = turn else { continue };
        for block in &turn.blocks {
            if let ChatBlock::Call { name, .. } = block
                && !names.contains(name)
            {
                names.push(name);
            }
        }
    }
    names
}
