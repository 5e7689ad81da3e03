//! Amazon Bedrock's Converse API.

pub(super) mod rules;
pub mod signature;
pub(super) mod writer;

use super::prompt_context::{PromptContext, items, text_of};
use serde_json::Value;

/// The beginning of the texts ahead of images that failed calls have returned.
const IMAGES_OF_RESULTS: [&str; 2] = ["Images of the failed call of ", "Images from the error result of "];

/// Extracts the prompt, the results and the tools.
pub(super) fn prompt_context(body: &Value) -> PromptContext {
    let mut context = PromptContext::default();
    context.add_text(&text_of(&body["system"]));
    for message in items(&body["messages"]) {
        let content = items(&message["content"]);
        for block in content {
            let (call, result) = (&block["toolUse"], &block["toolResult"]);
            if call.is_object() {
                context.add_call(&call["toolUseId"], &call["name"]);
            } else if result.is_object() {
                context.add_result(
                    &result["toolUseId"],
                    result_text(&result["content"]),
                    result["status"] == "error",
                );
            }
        }
        let text = text_of(&message["content"]);
        let speaks = content.iter().any(|block| block["text"].is_string() || block["image"].is_object());
        let is_caption = IMAGES_OF_RESULTS.iter().any(|caption| text.starts_with(caption));
        match message["role"].as_str() {
            Some("user") if speaks && !is_caption => context.add_user_text(&text),
            _ => context.add_text(&text),
        }
    }
    for tool in items(&body["toolConfig"]["tools"]) {
        context.add_tool(&tool["toolSpec"]["name"]);
    }
    context
}

/// The texts of a result and its JSON, one a line.
fn result_text(content: &Value) -> String {
    let text = |block: &Value| match (&block["text"], &block["json"]) {
        (Value::String(text), _) => Some(text.clone()),
        (_, Value::Null) => None,
        (_, json) => Some(json.to_string()),
    };
    items(content).iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

/// The model in the path `…/model/{model}/converse-stream`, decoded.
pub(super) fn model(path: &str) -> String {
    let rest = path.rsplit_once("/model/").map_or("", |(_, rest)| rest);
    let id = rest.split('/').next().unwrap_or_default();
    let mut decoded = Vec::with_capacity(id.len());
    let mut bytes = id.bytes();
    while let Some(byte) = bytes.next() {
        let digits = [bytes.clone().next(), bytes.clone().nth(1)];
        match (byte, digits.map(|digit| digit.and_then(|digit| char::from(digit).to_digit(16)))) {
            (b'%', [Some(high), Some(low)]) => {
                decoded.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                bytes.nth(1);
            }
            _ => decoded.push(byte),
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// Whether a request to `path` asks for a stream.
pub(super) fn streams(path: &str) -> bool {
    path.ends_with("/converse-stream")
}

/// The usual exception of a status.
pub(super) const fn exception(status: u16) -> &'static str {
    match status {
        401 | 403 => "AccessDeniedException",
        404 => "ResourceNotFoundException",
        408 => "ModelTimeoutException",
        413 => "RequestEntityTooLargeException",
        424 => "ModelErrorException",
        429 => "ThrottlingException",
        503 | 529 => "ServiceUnavailableException",
        500.. => "InternalServerException",
        _ => "ValidationException",
    }
}
