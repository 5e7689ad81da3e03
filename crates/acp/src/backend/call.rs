//! Tool calls of an agent as calls and results of ours.

use agent_client_protocol::v1::schema::{
    ContentBlock, EmbeddedResourceResource, ToolCall, ToolCallContent, ToolCallStatus, ToolKind,
};
use pi_rpc_protocol::{AgentToolResult, ImageContent, JsonObject, TextContent, UserContent};
use pi_rpc_tools::numbered_diff;
use serde::Deserialize as _;
use serde_json::{Value, json};

/// The name of the tool: the agent's, or the kind of tool where the agent names none.
pub fn tool_name(call: &ToolCall) -> String {
    call.name.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| kind_name(call.kind).to_owned())
}

/// The arguments: the raw input, or what is known of the call where the agent shows none.
pub fn arguments(call: &ToolCall) -> JsonObject {
    match &call.raw_input {
        Some(Value::Object(input)) if !input.is_empty() => input.clone(),
        Some(Value::Object(_) | Value::Null) | None => description(call),
        Some(input) => JsonObject::from_iter([("input".to_owned(), input.clone())]),
    }
}

/// Whether the call is over: `true` if it has failed.
pub fn end(call: &ToolCall) -> Option<bool> {
    match call.status {
        ToolCallStatus::Completed => Some(false),
        ToolCallStatus::Failed => Some(true),
        _ => None,
    }
}

/// The result so far. `announced`: the arguments that the host knows; `terminal` gives the output of a terminal by its id.
pub fn result(
    call: &ToolCall,
    announced: &JsonObject,
    terminal: &dyn Fn(&str) -> Option<String>,
) -> AgentToolResult {
    let mut content = Vec::new();
    // Results of this protocol have details, such as that an output was cut.
    let raw = call.raw_output.as_ref().and_then(|output| output.get("details")).and_then(Value::as_object);
    let mut details = raw.cloned().unwrap_or_default();
    for block in &call.content {
        match block {
            ToolCallContent::Content(block) => content.push(user_content(&block.content)),
            ToolCallContent::Diff(diff) => {
                let changed = numbered_diff(diff.old_text.as_deref().unwrap_or_default(), &diff.new_text);
                content.push(text(format!("Changed {}", diff.path.display())));
                // Hosts show one difference, as of the tool `edit`.
                let known = details.get("diff").and_then(Value::as_str).map(|known| format!("{known}\n"));
                details.insert("diff".to_owned(), (known.unwrap_or_default() + &changed.diff).into());
                if let Some(line) = changed.first_changed_line {
                    details.entry("firstChangedLine").or_insert(line.into());
                }
            }
            ToolCallContent::Terminal(shown) => {
                content.extend(terminal(&shown.terminal_id.0).filter(|output| !output.is_empty()).map(text));
            }
            other => content.push(text(serde_json::to_string(other).unwrap_or_default())),
        }
    }
    if content.is_empty() {
        content = raw_output(call);
    }
    let mut known = description(call);
    let input = arguments(call);
    if call.raw_input.is_some() && input != *announced {
        known.insert("input".to_owned(), Value::Object(input));
    }
    details.insert("acp".to_owned(), Value::Object(known));
    AgentToolResult {
        content,
        details: Some(Value::Object(details)),
        is_warning: None,
        structured_content: None,
        is_error: None,
        usage: None,
        terminate: None,
    }
}

/// A block of text or an image; other blocks become text that names them.
pub fn user_content(block: &ContentBlock) -> UserContent {
    match block {
        ContentBlock::Image(image) => {
            UserContent::Image(ImageContent { data: image.data.clone(), mime_type: image.mime_type.clone() })
        }
        other => text(block_text(other)),
    }
}

/// A block as text.
pub fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(block) => block.text.clone(),
        ContentBlock::ResourceLink(link) => format!("[{}]({})", link.name, link.uri),
        ContentBlock::Resource(resource) => match &resource.resource {
            EmbeddedResourceResource::TextResourceContents(contents) => contents.text.clone(),
            EmbeddedResourceResource::BlobResourceContents(contents) => format!("[{}]", contents.uri),
            _ => "[resource]".to_owned(),
        },
        ContentBlock::Image(image) => format!("[image: {}]", image.mime_type),
        ContentBlock::Audio(audio) => format!("[audio: {}]", audio.mime_type),
        _ => "[content of an unknown kind]".to_owned(),
    }
}

/// Title, kind and places of the call.
fn description(call: &ToolCall) -> JsonObject {
    let mut members = JsonObject::new();
    members.insert("title".to_owned(), call.title.clone().into());
    members.insert("kind".to_owned(), kind_name(call.kind).into());
    if !call.locations.is_empty() {
        let locations = call.locations.iter().map(|location| match location.line {
            Some(line) => json!({ "path": location.path, "line": line }),
            None => json!({ "path": location.path }),
        });
        members.insert("locations".to_owned(), locations.collect());
    }
    members
}

/// The raw output: its blocks, where it has some as results of tools of MCP and of this protocol do; else as text.
fn raw_output(call: &ToolCall) -> Vec<UserContent> {
    let Some(output) = &call.raw_output else { return Vec::new() };
    if let Some(blocks) = output.get("content").and_then(|blocks| Vec::deserialize(blocks).ok()) {
        return blocks;
    }
    match output {
        Value::Null => Vec::new(),
        Value::String(output) => vec![text(output.clone())],
        output => serde_json::to_string_pretty(output).into_iter().map(text).collect(),
    }
}

fn text(text: String) -> UserContent {
    UserContent::Text(TextContent { text, text_signature: None })
}

fn kind_name(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "execute",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "switch_mode",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol::v1::schema::{Content, Diff, TextContent as AcpText};

    #[test]
    fn unnamed_call_has_kind_and_title() {
        let call = ToolCall::new("c1", "Look around").kind(ToolKind::Search);
        assert_eq!(tool_name(&call), "search");
        assert_eq!(Value::Object(arguments(&call)), json!({ "title": "Look around", "kind": "search" }));
        let call = call.name("grep".to_owned()).raw_input(json!(["a", "b"]));
        assert_eq!(tool_name(&call), "grep");
        assert_eq!(Value::Object(arguments(&call)), json!({ "input": ["a", "b"] }));
    }

    #[test]
    fn raw_output_stands_in_for_content() {
        for (raw, blocks) in [
            (json!("plain"), json!([{ "type": "text", "text": "plain" }])),
            (
                json!({ "content": [{ "type": "text", "text": "of MCP" }] }),
                json!([{ "type": "text", "text": "of MCP" }]),
            ),
            (json!({ "code": 1 }), json!([{ "type": "text", "text": "{\n  \"code\": 1\n}" }])),
        ] {
            let result = result(&ToolCall::new("c1", "Run").raw_output(raw), &JsonObject::new(), &|_| None);
            assert_eq!(serde_json::to_value(result.content).unwrap(), blocks);
        }
    }

    #[test]
    fn details_of_raw_output_are_kept() {
        let raw = json!({ "content": [], "details": { "truncation": { "truncated": true } } });
        let result = result(&ToolCall::new("c1", "Run").raw_output(raw), &JsonObject::new(), &|_| None);
        let details =
            json!({ "truncation": { "truncated": true }, "acp": { "title": "Run", "kind": "other" } });
        assert_eq!(result.details, Some(details));
    }

    #[test]
    fn diff_becomes_details_of_the_result() {
        let words = ContentBlock::Text(AcpText::new("done"));
        let call = ToolCall::new("c1", "Edit").kind(ToolKind::Edit).content(vec![
            ToolCallContent::Content(Content::new(words)),
            ToolCallContent::Diff(Diff::new("/a", "new\n").old_text("old\n".to_owned())),
        ]);
        let result = result(&call, &JsonObject::new(), &|_| None);
        let content = serde_json::to_value(&result.content).unwrap();
        assert_eq!(
            content,
            json!([{ "type": "text", "text": "done" }, { "type": "text", "text": "Changed /a" }])
        );
        let details = json!({
            "diff": "-1 old\n+1 new",
            "firstChangedLine": 1,
            "acp": { "title": "Edit", "kind": "edit" },
        });
        assert_eq!(result.details, Some(details));
    }
}
