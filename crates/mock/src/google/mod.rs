//! Google's Gemini API, and the same behind Vertex AI.

pub(super) mod rules;
pub(super) mod tokens;
pub(super) mod writer;

use super::prompt_context::{PromptContext, items, text_of};
use serde_json::{Value, json};

/// The beginning of pi's user content with images of results, for models whose results have none.
const IMAGES_OF_RESULTS: &str = "Tool result image:";

/// Members whose values belong to the client: their names stay as they are.
const CLIENT_DATA: [&str; 7] = [
    "args",
    "parameters",
    "parametersJsonSchema",
    "partMetadata",
    "response",
    "responseJsonSchema",
    "responseSchema",
];

/// The body with its members in camel case: the service accepts them in snake case, too, and some clients use both.
pub(super) fn camel_case(body: &Value) -> Value {
    match body {
        Value::Array(items) => items.iter().map(camel_case).collect(),
        Value::Object(members) => {
            let renamed = members.iter().map(|(name, value)| {
                let name = camel_case_name(name);
                let is_own = CLIENT_DATA.contains(&name.as_str());
                let value = if is_own { value.clone() } else { camel_case(value) };
                (name, value)
            });
            Value::Object(renamed.collect())
        }
        other => other.clone(),
    }
}

fn camel_case_name(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

/// Extracts the prompt, the results and the tools. Calls and results without ids are matched by position.
pub(super) fn prompt_context(body: &Value) -> PromptContext {
    let body = &camel_case(body);
    let mut context = PromptContext::default();
    context.add_text(&text_of(&body["systemInstruction"]["parts"]));
    let mut called = 0;
    let mut returned = 0;
    for content in items(&body["contents"]) {
        let parts = items(&content["parts"]);
        for part in parts {
            let (call, result) = (&part["functionCall"], &part["functionResponse"]);
            if call.is_object() {
                context.add_call(&id_or_place(&call["id"], called), &call["name"]);
                called += 1;
            } else if result.is_object() {
                let (text, is_error) = outcome(&result["response"]);
                context.add_result(&id_or_place(&result["id"], returned), text, is_error);
                returned += 1;
            }
        }
        let text = text_of(&content["parts"]);
        let speaks = parts.iter().any(|part| !part["functionResponse"].is_object());
        match content["role"].as_str() {
            Some("model") => context.add_text(&text),
            _ if speaks && !text.starts_with(IMAGES_OF_RESULTS) => context.add_user_text(&text),
            _ => context.add_text(&text),
        }
    }
    for tool in items(&body["tools"]) {
        items(&tool["functionDeclarations"]).iter().for_each(|function| context.add_tool(&function["name"]));
    }
    context
}

/// The id, or the position of a call or result without one.
fn id_or_place(id: &Value, place: usize) -> Value {
    if id.is_string() { id.clone() } else { json!(format!("#{place}")) }
}

/// The text of a function's response, and whether it is an error: `output` and `error` have a meaning by convention.
fn outcome(response: &Value) -> (String, bool) {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (response.get("error"), response.get("output")) {
        (Some(error), _) => (text(error), true),
        (None, Some(output)) => (text(output), false),
        (None, None) => (response.to_string(), false),
    }
}

/// Whether a path is one of Vertex AI below a project, where only accounts have access.
pub(super) fn needs_account(path: &str) -> bool {
    path.contains("/projects/")
}

/// The model in the path `…/models/{model}:generateContent`.
pub(super) fn model(path: &str) -> &str {
    let path = path.split_once("/models/").map_or(path, |(_, model)| model);
    path.rsplit_once(':').map_or(path, |(model, _)| model)
}

/// Whether a request to `path` asks for a stream.
pub(super) fn streams(path: &str) -> bool {
    path.ends_with(":streamGenerateContent")
}
