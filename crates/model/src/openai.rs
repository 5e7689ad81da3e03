//! Parts that Chat Completions and Responses share.

use super::{
    failure::{is_overflow, overflow_code},
    request::{HttpRequest, ModelRequest},
    sse::shorten,
};
use pi_rpc_protocol::{ImageContent, JsonObject, ThinkingLevel};
use serde_json::Value;

/// The text of an error without a message of its own: the error itself, as far as it is short.
pub fn unnamed_error(error: &Value) -> String {
    format!("The provider sent an error without a message: {}", shorten(&error.to_string()))
}

/// The text for an answer that the provider ended for a reason that is a failure; `details`: what else it says of it.
pub fn stopped_with(reason: &str, details: Option<&str>) -> String {
    match details {
        Some(details) => format!("Provider stopped with: {reason}: {}", shorten(details)),
        None => format!("Provider stopped with: {reason}"),
    }
}

/// Builds a `POST` of `body` to `path` below the model's address, with the key as bearer token.
pub fn post(request: &ModelRequest<'_>, path: &str, body: Value) -> HttpRequest {
    let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
    if let Some(key) = &request.credentials.key {
        headers.push(("authorization".to_owned(), format!("Bearer {key}")));
    }
    request.credentials.add_headers(&mut headers);
    let base = request.endpoint.model.base_url.trim_end_matches('/');
    HttpRequest { url: format!("{base}{path}"), headers, body, signing: None }
}

/// The thinking level; `None`: thinking is off or not supported. Levels above `high` become `high` where the model
/// has none above.
pub fn thinking(request: &ModelRequest<'_>) -> Option<ThinkingLevel> {
    let endpoint = request.endpoint;
    match request.level {
        ThinkingLevel::Off => None,
        _ if !endpoint.model.reasoning => None,
        level if level > ThinkingLevel::High && !endpoint.levels.contains(&level) => {
            Some(ThinkingLevel::High)
        }
        level => Some(level),
    }
}

/// The provider's word for the level; `None`: the request names none. Some models have a word for `off`.
pub fn effort<'a>(request: &ModelRequest<'a>) -> Option<&'a str> {
    let level = thinking(request);
    let known = request.endpoint.efforts.get(&level.unwrap_or(ThinkingLevel::Off)).map(String::as_str);
    known.filter(|_| request.endpoint.model.reasoning).or(level.map(ThinkingLevel::as_str))
}

/// The user's parameters of sampling: of the model, then of the thinking level. They replace members of the same name.
pub fn sampling(request: &ModelRequest<'_>) -> JsonObject {
    let model = &request.endpoint.model;
    let mut parameters = model.sampling_params.clone().unwrap_or_default();
    let level = thinking(request).unwrap_or(ThinkingLevel::Off);
    let by_level = model.sampling_params_by_thinking_level.as_ref();
    let of_level = by_level.and_then(|levels| levels.get(level.as_str())?.as_object());
    parameters.extend(of_level.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
    parameters
}

/// Encodes an image as a `data:` URL.
pub fn data_url(image: &ImageContent) -> String {
    format!("data:{};base64,{}", image.mime_type, image.data)
}

/// The part of a call's id that both APIs have; Responses ids are `<call id>|<item id>`.
pub fn call_part(id: &str) -> &str {
    id.split_once('|').map_or(id, |(call, _)| call)
}

/// Formats an error object as OpenAI's client library does, with OpenRouter's additions; `None`: there is no error.
pub fn error_text(error: &Value) -> Option<String> {
    let text = match &error["message"] {
        Value::String(text) if !text.is_empty() => text.clone(),
        message if is_something(message) => message.to_string(),
        _ if is_something(error) => error.to_string(),
        _ => return None,
    };
    let code = overflow_code(error).filter(|_| !is_overflow(&text));
    let text = code.map_or(text.clone(), |code| format!("{code}: {text}"));
    let raw = &error["metadata"]["raw"];
    Some(match raw {
        Value::String(raw) if !raw.is_empty() => format!("{text}\n{raw}"),
        raw if is_something(raw) => format!("{text}\n{raw}"),
        _ => text,
    })
}

/// The texts of a message's content, which is a text or a list of parts, each with whether it is thinking.
pub fn content_parts(content: &Value) -> Vec<(bool, String)> {
    match content {
        Value::String(text) => vec![(false, text.clone())],
        Value::Array(parts) => parts.iter().filter_map(content_part).collect(),
        part => content_part(part).into_iter().collect(),
    }
}

fn content_part(part: &Value) -> Option<(bool, String)> {
    match part["type"].as_str() {
        None => part.as_str().or_else(|| text(part, "text")).map(|text| (false, text.to_owned())),
        Some("text" | "output_text") => text(part, "text").map(|text| (false, text.to_owned())),
        Some("refusal") => text(part, "refusal").map(|text| (false, text.to_owned())),
        Some("thinking" | "reasoning") => {
            let said = [&part["thinking"], &part["text"]].into_iter().flat_map(content_parts);
            Some((true, said.map(|(_, text)| text).collect()))
        }
        Some(_) => None,
    }
}

/// A count: a whole number, also if it is written as a fraction or a text. `None`: anything else.
pub fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok().or_else(|| whole(text.trim().parse().ok()?)),
        _ => None,
    }
}

/// The whole number nearest to `number`; `None`: it is negative or not finite.
fn whole(number: f64) -> Option<u64> {
    (number.is_finite() && number >= 0.0).then(|| number.round() as u64)
}

/// A member that is a string and not empty.
pub fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value[key].as_str().filter(|text| !text.is_empty())
}

/// The text of a call's arguments. Some servers send the object itself; any other value stands there as its JSON, so that
/// it is refused as arguments, not taken for none.
pub fn argument_text(arguments: &Value) -> String {
    match arguments {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// Hashes a text to 16 hexadecimal digits (FNV-1a).
pub fn short_hash(text: &str) -> String {
    let mut hash = ContentHash::default();
    hash.add(text);
    hash.digits()
}

/// An incremental hash (FNV-1a, 64 bits).
#[derive(Debug)]
pub struct ContentHash(u64);

impl Default for ContentHash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl ContentHash {
    /// Adds text.
    pub fn add(&mut self, text: &str) {
        self.0 =
            text.bytes().fold(self.0, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    }

    /// The hash so far, as 16 hexadecimal digits.
    pub fn digits(&self) -> String {
        format!("{:016x}", self.0)
    }
}

/// Whether a value is truthy in JavaScript.
fn is_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Number(number) => number.as_f64() != Some(0.0),
        _ => true,
    }
}
