//! Results of calls, as the model gets them. Source: pi 1.6.0 source, observed.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use pi_rpc_protocol::{AgentToolResult, ImageContent, TextContent, UserContent};
use serde_json::{Value, json};
use std::io::Write as _;

/// The most text of a result that the model gets, in bytes; more loses its middle.
const MAX_TEXT: usize = 20 * 1024;

/// The name of the tool that reads resources.
pub(crate) const READ: &str = "read_mcp_resource";

/// The result of a call, and whether it is an error. `can_read`: the model can read resources of the server.
pub(crate) fn tool_result(
    server: &str,
    tool: &str,
    result: Value,
    can_read: bool,
) -> (AgentToolResult, bool) {
    let mut result = match result {
        Value::Object(result) => result,
        other => [("content".to_owned(), json!([{ "type": "text", "text": other.to_string() }]))]
            .into_iter()
            .collect(),
    };
    result.shift_remove("_meta");
    let is_error = result.get("isError") == Some(&Value::Bool(true));
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let reader = can_read.then_some(server);
    let mut content: Vec<UserContent> = blocks.iter().map(|it| block(it, reader)).collect();
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

/// A block of a server, for the model. `reader`: the server whose resources the model can read.
pub(crate) fn block(block: &Value, reader: Option<&str>) -> UserContent {
    let of = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let member = |key: &str| of(block, key).unwrap_or_default();
    match member("type").as_str() {
        "text" => text(member("text")),
        "image" => UserContent::Image(ImageContent { data: member("data"), mime_type: member("mimeType") }),
        "audio" => text(format!("[audio {} omitted]", member("mimeType"))),
        "resource_link" => {
            let name = of(block, "title").unwrap_or_else(|| member("name"));
            let size = block.get("size").and_then(Value::as_f64).map(size_text);
            let kind = of(block, "mimeType").into_iter().chain(size).collect::<Vec<_>>().join(", ");
            let kind = if kind.is_empty() { kind } else { format!(" ({kind})") };
            let about = of(block, "description").map(|about| format!(": {about}")).unwrap_or_default();
            let read = reader
                .map(|server| format!(". Read it with {READ} (server \"{server}\")"))
                .unwrap_or_default();
            text(format!("[Resource {} \"{name}\"{kind}{about}{read}]", member("uri")))
        }
        "resource" => {
            let resource = block.get("resource").unwrap_or(&Value::Null);
            let kind = of(resource, "mimeType");
            match (of(resource, "text"), of(resource, "blob"), kind) {
                (Some(it), ..) => text(it),
                (None, Some(data), Some(mime_type)) if mime_type.starts_with("image/") => {
                    UserContent::Image(ImageContent { data, mime_type })
                }
                (None, Some(data), kind) => {
                    text(binary(&of(resource, "uri").unwrap_or_default(), kind, &data))
                }
                (None, None, _) => text("[a resource without text and bytes]".to_owned()),
            }
        }
        other => text(format!("[unsupported MCP content {other}]")),
    }
}

/// What the model is told of the bytes of a resource: text, or the file where they are.
fn binary(uri: &str, kind: Option<String>, data: &str) -> String {
    let Ok(bytes) = BASE64_STANDARD.decode(data) else {
        return format!("[Binary resource {uri}: its blob is no Base64]");
    };
    let plain =
        kind.as_deref().unwrap_or_default().split(';').next().unwrap_or_default().trim().to_lowercase();
    let is_text = plain.starts_with("text/")
        || plain == "application/json"
        || plain.ends_with("+json")
        || plain.ends_with("+xml");
    if is_text {
        return String::from_utf8_lossy(&bytes).into_owned();
    }
    let kind = format!("{}, {}", kind.as_deref().unwrap_or("unknown type"), size_text(bytes.len() as f64));
    match save(&bytes, extension(uri)) {
        Ok(file) => format!("[Binary resource {uri} ({kind}) saved to {file}]"),
        Err(error) => format!("[Binary resource {uri} ({kind}) could not be saved: {error}]"),
    }
}

/// The end of a resource's name that a file may have, too.
fn extension(uri: &str) -> &str {
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    let end = path.rfind('.').map(|at| &path[at..]).filter(|end| {
        (2..=9).contains(&end.len()) && end[1..].bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    end.unwrap_or(".bin")
}

/// A size in bytes, as people read it.
fn size_text(bytes: f64) -> String {
    const STEP: f64 = 1024.0;
    if bytes < STEP {
        format!("{bytes}B")
    } else if bytes < STEP * STEP {
        format!("{:.1}KB", bytes / STEP)
    } else {
        format!("{:.1}MB", bytes / STEP / STEP)
    }
}

pub(crate) fn texts(content: &[UserContent]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        UserContent::Text(block) => Some(block.text.as_str()),
        UserContent::Image(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Content whose text is short enough, and the file with all of it where it was not.
pub(crate) fn limited(content: Vec<UserContent>) -> (Vec<UserContent>, Option<String>) {
    let whole = texts(&content);
    if whole.len() <= MAX_TEXT {
        return (content, None);
    }
    let (end, start) =
        (whole.floor_char_boundary(MAX_TEXT / 2), whole.ceil_char_boundary(whole.len() - MAX_TEXT / 2));
    let cut = whole[end..start].chars().count();
    let (tokens, lines) = (whole.len().div_ceil(4), whole.lines().count());
    let (file, place) = match save(whole.as_bytes(), ".txt") {
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

/// Writes bytes to a file of their own that only the user can read.
fn save(bytes: &[u8], suffix: &str) -> std::io::Result<String> {
    let mut file = tempfile::Builder::new().prefix("pi-mcp-").suffix(suffix).tempfile()?;
    file.write_all(bytes)?;
    let (_, path) = file.keep()?;
    Ok(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_has_details_and_whole_answer() {
        let answer = json!({ "content": [{ "type": "text", "text": "MCP:hello" }], "_meta": { "a": 1 } });
        let (result, is_error) = tool_result("t", "echo", answer, false);
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
                json!({ "content": [{ "type": "resource", "resource": { "uri": "u", "blob": "!" } }] }),
                "[Binary resource u: its blob is no Base64]",
            ),
            (
                json!({ "content": [{ "type": "resource", "resource": { "uri": "u", "mimeType": "text/csv", "blob": "YTtiCg==" } }] }),
                "a;b\n",
            ),
            (
                json!({ "content": [{ "type": "resource_link", "uri": "f://a", "name": "a", "mimeType": "x/y", "size": 2048 }] }),
                "[Resource f://a \"a\" (x/y, 2.0KB). Read it with read_mcp_resource (server \"t\")]",
            ),
            (json!(7), "7"),
        ] {
            assert_eq!(texts(&tool_result("t", "x", answer.clone(), true).0.content), expected, "{answer}");
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
