//! Results of calls, as the model gets them. Source: pi 1.6.0 source, observed.

use pi_rpc_protocol::{AgentToolResult, ImageContent, TextContent, UserContent};
use serde_json::{Value, json};
use std::io::Write as _;

/// The most text of a result that the model gets, in bytes; more loses its middle.
const MAX_TEXT: usize = 20 * 1024;

/// The result of a call, and whether it is an error.
pub(crate) fn tool_result(server: &str, tool: &str, result: Value) -> (AgentToolResult, bool) {
    let mut result = match result {
        Value::Object(result) => result,
        other => [("content".to_owned(), json!([{ "type": "text", "text": other.to_string() }]))]
            .into_iter()
            .collect(),
    };
    result.shift_remove("_meta");
    let is_error = result.get("isError") == Some(&Value::Bool(true));
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut content: Vec<UserContent> = blocks.iter().map(block).collect();
    if let (true, Some(structured)) = (content.is_empty(), result.get("structuredContent")) {
        content.push(text(serde_json::to_string_pretty(structured).unwrap_or_default()));
    }
    if is_error && texts(&content).is_empty() {
        content.push(text(format!("MCP tool {server}/{tool} returned an error")));
    }
    let (content, file) = limited(content);
    let mut details = json!({ "server": server, "tool": tool });
    if let Some(file) = file {
        details["fullOutputPath"] = file.into();
    }
    let result = AgentToolResult {
        content,
        details: Some(details),
        structured_content: Some(Value::Object(result)),
        is_error: is_error.then_some(true),
        ..AgentToolResult::from("")
    };
    (result, is_error)
}

/// What a call reports while it goes on.
pub(crate) fn progress(server: &str, tool: &str, params: &Value) -> AgentToolResult {
    let message = params.get("message").and_then(Value::as_str).map(str::to_owned);
    let message = message.unwrap_or_else(|| {
        let number = |key: &str| params.get(key).filter(|value| value.is_number()).map(Value::to_string);
        let total = number("total").map(|total| format!("/{total}")).unwrap_or_default();
        format!("Progress {}{total}", number("progress").unwrap_or_default())
    });
    AgentToolResult {
        content: vec![text(message)],
        details: Some(json!({ "server": server, "tool": tool })),
        ..AgentToolResult::from("")
    }
}

pub(crate) fn text(text: String) -> UserContent {
    UserContent::Text(TextContent { text, text_signature: None })
}

fn block(block: &Value) -> UserContent {
    let of = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let member = |key: &str| of(block, key).unwrap_or_default();
    match member("type").as_str() {
        "text" => text(member("text")),
        "image" => UserContent::Image(ImageContent { data: member("data"), mime_type: member("mimeType") }),
        "audio" => text(format!("[audio {} omitted]", member("mimeType"))),
        "resource_link" => {
            let name = of(block, "title").unwrap_or_else(|| member("name"));
            let kind = of(block, "mimeType").map(|kind| format!(" ({kind})")).unwrap_or_default();
            let about = of(block, "description").map(|about| format!(": {about}")).unwrap_or_default();
            text(format!("[Resource {} \"{name}\"{kind}{about}]", member("uri")))
        }
        "resource" => {
            let resource = block.get("resource").unwrap_or(&Value::Null);
            let kind = of(resource, "mimeType");
            match (of(resource, "text"), of(resource, "blob"), kind) {
                (Some(it), ..) => text(it),
                (None, Some(data), Some(mime_type)) if mime_type.starts_with("image/") => {
                    UserContent::Image(ImageContent { data, mime_type })
                }
                (.., kind) => {
                    let kind = kind.as_deref().unwrap_or("unknown type");
                    text(format!(
                        "[binary resource {} ({kind}) omitted]",
                        of(resource, "uri").unwrap_or_default()
                    ))
                }
            }
        }
        other => text(format!("[unsupported MCP content {other}]")),
    }
}

fn texts(content: &[UserContent]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        UserContent::Text(block) => Some(block.text.as_str()),
        UserContent::Image(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Content whose text is short enough, and the file with all of it where it was not.
fn limited(content: Vec<UserContent>) -> (Vec<UserContent>, Option<String>) {
    let whole = texts(&content);
    if whole.len() <= MAX_TEXT {
        return (content, None);
    }
    let (end, start) =
        (whole.floor_char_boundary(MAX_TEXT / 2), whole.ceil_char_boundary(whole.len() - MAX_TEXT / 2));
    let cut = whole[end..start].chars().count();
    let (tokens, lines) = (whole.len().div_ceil(4), whole.lines().count());
    let (file, place) = match save(&whole) {
        Ok(file) => {
            let place = format!("\n\n[Full output: {file} (read it with offset/limit)]");
            (Some(file), place)
        }
        Err(error) => (None, format!("\n\n[Could not save the full output: {error}]")),
    };
    let short = format!(
        "Warning: truncated output (original token count: {tokens})\nTotal output lines: {lines}\n\n{}…{cut} chars \
         truncated…{}{place}",
        &whole[..end],
        &whole[start..]
    );
    let images = content.into_iter().filter(|block| matches!(block, UserContent::Image(_)));
    (std::iter::once(text(short)).chain(images).collect(), file)
}

/// Writes a text to a file of its own that only the user can read.
fn save(text: &str) -> std::io::Result<String> {
    let mut file = tempfile::Builder::new().prefix("pi-mcp-").suffix(".txt").tempfile()?;
    file.write_all(text.as_bytes())?;
    let (_, path) = file.keep()?;
    Ok(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_has_details_and_whole_answer() {
        let answer = json!({ "content": [{ "type": "text", "text": "MCP:hello" }], "_meta": { "a": 1 } });
        let (result, is_error) = tool_result("t", "echo", answer);
        let expected = json!({ "content": [{ "type": "text", "text": "MCP:hello" }],
            "details": { "server": "t", "tool": "echo" },
            "structuredContent": { "content": [{ "type": "text", "text": "MCP:hello" }] } });
        assert_eq!((serde_json::to_value(&result).unwrap(), is_error), (expected, false));
    }

    #[test]
    fn unusual_answers_become_texts() {
        for (answer, expected) in [
            (json!({ "content": [], "structuredContent": { "a": 1 } }), "{\n  \"a\": 1\n}"),
            (json!({ "content": [], "isError": true }), "MCP tool t/x returned an error"),
            (
                json!({ "content": [{ "type": "audio", "mimeType": "audio/wav" }] }),
                "[audio audio/wav omitted]",
            ),
            (json!({ "content": [{ "type": "new" }] }), "[unsupported MCP content new]"),
            (
                json!({ "content": [{ "type": "resource", "resource": { "uri": "u", "blob": "" } }] }),
                "[binary resource u (unknown type) omitted]",
            ),
            (json!(7), "7"),
        ] {
            assert_eq!(texts(&tool_result("t", "x", answer.clone()).0.content), expected, "{answer}");
        }
    }

    #[test]
    fn long_text_loses_its_middle() {
        let (content, file) = limited(vec![text("é".repeat(MAX_TEXT))]);
        let shown = texts(&content);
        assert!(
            shown.len() < MAX_TEXT + 400 && shown.contains("é…10240 chars truncated…é"),
            "{}",
            shown.len()
        );
        let file = file.unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().len(), 2 * MAX_TEXT as u64);
        std::fs::remove_file(file).unwrap();
    }
}
