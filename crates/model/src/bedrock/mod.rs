//! Amazon Bedrock's Converse API (`bedrock-converse-stream`).
//!
//! [`request()`] builds a request, [`reader()`] reads the stream of its answer. `address` finds region and URL, `messages` converts
//! the conversation, `thinking` selects the thinking, `traits` tells models apart and `tools` offers the
//! tools. Requests are signed when they are sent ([`SignatureScope`]); [`AwsAccess`] holds what the environment says about them.
//!
//! Source: the vendor's API reference (`ConverseStream`); pi source (`bedrock-converse-stream`); observed.

mod access;
mod address;
mod messages;
mod reader;
mod thinking;
mod tools;
mod traits;

pub use access::{AwsAccess, AwsKeySource, AwsKeys, SignatureScope};

use super::{
    context_room::Room,
    request::{HttpRequest, ModelRequest, Reader},
};
use pi_rpc_protocol::JsonObject;
use serde_json::{Value, json};
use traits::ModelTraits;

/// The name in the scope of signatures.
const SERVICE: &str = "bedrock";

/// Builds the request to `{endpoint}/model/{id}/converse-stream`.
pub fn request(request: &ModelRequest<'_>) -> HttpRequest {
    let nothing = AwsAccess::default();
    let access = request.credentials.aws.as_ref().unwrap_or(&nothing);
    let model = &request.endpoint.model;
    let address = address::address(&model.id, &model.base_url, access);
    let url = format!("{}/model/{}/converse-stream", address.endpoint, address::percent_encoded(&model.id));
    let token = request.credentials.key.as_deref();
    let signing = match token {
        Some(_) => None,
        None => Some(SignatureScope {
            service: SERVICE,
            region: address.region.clone(),
            keys: access.keys.clone(),
        }),
    };
    HttpRequest {
        url,
        headers: headers(request, token),
        body: body(request, access, &address.region),
        signing,
    }
}

/// Creates a reader of one answer.
pub fn reader() -> Box<dyn Reader> {
    Box::new(reader::AnswerReader::default())
}

/// Headers that configuration may not set: they belong to the signature.
fn is_reserved(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("x-amz-") || ["authorization", "host"].contains(&name.as_str())
}

fn headers(request: &ModelRequest<'_>, token: Option<&str>) -> Vec<(String, String)> {
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    let mut credentials = request.credentials.clone();
    credentials.headers.retain(|(name, _)| !is_reserved(name));
    credentials.add_headers(&mut headers);
    if let Some(token) = token {
        headers.push(("authorization".to_owned(), format!("Bearer {token}")));
    }
    headers
}

fn body(request: &ModelRequest<'_>, access: &AwsAccess, region: &str) -> Value {
    let model = &request.endpoint.model;
    let traits = ModelTraits::of(model, access.caches_always);
    let traits = ModelTraits { caches: traits.caches && request.is_cached(), ..traits };
    let chat = messages::chat(request);
    let plan = thinking::plan(request, traits, region, Room::of(request));
    let mut body = JsonObject::new();
    body.insert("messages".into(), messages::messages(request, &chat, traits).into());
    if !request.system_prompt.trim().is_empty() {
        let mut system = vec![json!({"text": request.system_prompt})];
        system.extend(traits.caches.then(|| messages::cache_point(request)));
        body.insert("system".into(), system.into());
    }
    if let Some(tokens) = plan.max_tokens {
        body.insert("inferenceConfig".into(), json!({"maxTokens": tokens}));
    }
    let forced = request.forced().filter(|_| traits.takes_tool_choice && plan.fields.is_none());
    if let Some(tools) = tools::config(request.tools, &chat, forced) {
        body.insert("toolConfig".into(), tools);
    }
    if let Some(fields) = plan.fields {
        body.insert("additionalModelRequestFields".into(), fields);
    }
    body.into()
}
