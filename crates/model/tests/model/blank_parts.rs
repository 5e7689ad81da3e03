//! No request has empty texts beside images, nor results of blanks alone, which vendors refuse.

use crate::model_support::*;
use pi_rpc_model::api::Api;
use serde_json::{Value, json};

const APIS: [Api; 6] = [
    Api::AnthropicMessages,
    Api::BedrockConverseStream,
    Api::GoogleGenerativeAi,
    Api::MistralConversations,
    Api::OpenaiCompletions,
    Api::OpenaiResponses,
];

/// The body of a request over `api` with this history.
fn body(api: Api, history: &Value) -> Value {
    let asked = Asked::new(api.as_str(), json!({}), history.clone());
    api.request(&asked.request()).body
}

/// The texts under these names, at any depth.
fn texts(value: &Value, names: &[&str]) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(|item| texts(item, names)).collect(),
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| match value {
                Value::String(text) if names.contains(&name.as_str()) => vec![text.clone()],
                value => texts(value, names),
            })
            .collect(),
        _ => Vec::new(),
    }
}

#[test]
fn image_alone_has_no_text_beside_it() {
    for api in APIS {
        let sent = body(api, &json!([user(json!([text(""), image("aW1n")]))]));
        assert_eq!(texts(&sent, &["text"]), Vec::<String>::new(), "{api:?} {sent}");
        assert!(sent.to_string().contains("aW1n"), "{api:?} {sent}");
    }
}

#[test]
fn blank_result_is_sent_as_words() {
    let by = |api: Api| format!("p/{}/m", api.as_str());
    for api in APIS.into_iter().filter(|api| *api != Api::GoogleGenerativeAi) {
        let called = stopped(&by(api), "toolUse", json!([call("a", "x")]));
        let sent = body(api, &json!([user(json!("q")), called, result("a", json!([text(" \n")]))]));
        let blank = texts(&sent, &["text", "content", "output"]);
        assert!(blank.iter().all(|text| !text.trim().is_empty()), "{api:?} {sent}");
    }
}
