//! Tool results that the engine makes or completes itself.

use pi_rpc_protocol::{
    AgentToolResult, DialectToolsUnseenImage, JsonObject, TextContent, UserContent, texts,
};
use serde_json::{Value, json};

/// The result of a call that failed with this text.
pub fn error_result(text: &str) -> AgentToolResult {
    let text = UserContent::Text(TextContent { text: text.to_owned(), text_signature: None });
    AgentToolResult {
        content: vec![text],
        details: Some(Value::Object(JsonObject::new())),
        is_warning: None,
        structured_content: None,
        is_error: None,
        usage: None,
        terminate: None,
    }
}

/// Marks the image in a result of `read` as one that `model` does not accept.
pub fn mark_unseen_image(result: &mut AgentToolResult, model: &str, mark: DialectToolsUnseenImage) {
    let [UserContent::Text(TextContent { text, .. }), UserContent::Image(_)] = result.content.as_mut_slice()
    else {
        return;
    };
    match mark {
        DialectToolsUnseenImage::Unnamed => {}
        DialectToolsUnseenImage::Details => {
            result.details = Some(json!({ "imageUnsupportedByModel": model }));
        }
        DialectToolsUnseenImage::Text => {
            *text += &format!("\n{}", texts::image_unseen());
            if let Some(Value::String(note)) =
                result.structured_content.as_mut().and_then(|content| content.get_mut("note"))
            {
                note.clone_from(text);
            }
        }
    }
}
