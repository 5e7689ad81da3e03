//! Compares a request of pi with ours, and knows the differences that are meant.

use super::Line;
use pi_rpc::model::request::HttpRequest;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Headers that are not compared: of the library that speaks HTTP, or names of the program.
const OWN_HEADERS: [&str; 13] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "content-encoding",
    "content-length",
    "content-type",
    "http-referer",
    "originator",
    "sec-fetch-mode",
    "user-agent",
    "x-billing-invoke-origin",
    "x-client-request-id",
    "x-opencode-client",
];
/// Beginnings of such headers.
const OWN_PREFIXES: [&str; 3] = ["x-goog-api-client", "x-openrouter-", "x-stainless-"];

/// A difference that is meant: the API and the provider (empty: any), the member, and why.
type Meant = (&'static str, &'static str, &'static str, &'static str);

const TEXT_IDS: &str = "texts without an id are counted by texts, in pi by messages";
const UNCACHED: &str = "what is not cached names no session";
const ABOVE: &str = "pi adds it above its APIs; provider_requests.rs compares it";
const MISTRAL_IDS: &str =
    "ids that Mistral does not accept become others in every answer, pi sends its own as they are";

const BLIND: &str = "images become text for a model that sees none, pi leaves that to the gateway";
const ESTIMATE: &str = "the estimate of the input leaves out the names of tools";
const NO_ROOM: &str = "a limit that leaves no room for the least thinking: pi asks for it, which is refused";
const LEAST: &str = "the least that the service accepts";

/// All differences that are meant. Each that is not of this comparison is in `docs/explanation/differences.md`.
const MEANT: &[Meant] = &[
    ("anthropic-messages", "", "/fallbacks", "another model at another price is not asked for"),
    ("anthropic-messages", "openrouter", "header authorization", "the form that OpenRouter documents"),
    ("anthropic-messages", "openrouter", "header x-api-key", "the form that OpenRouter documents"),
    ("azure-openai-responses", "", "/input/*/id", TEXT_IDS),
    ("azure-openai-responses", "", "/prompt_cache_key", UNCACHED),
    ("openai-codex-responses", "", "/input/*/id", TEXT_IDS),
    ("openai-responses", "", "/input/*/id", TEXT_IDS),
    ("bedrock-converse-stream", "", "/messages", "messages of one role in a row are one"),
    (
        "google-generative-ai",
        "",
        "/contents/*/parts/*/thoughtSignature",
        "the value that the service documents",
    ),
    ("google-vertex", "", "/contents/*/parts/*/thoughtSignature", "the value that the service documents"),
    ("google-generative-ai", "", "/contents", "images of results follow all results"),
    ("google-vertex", "", "/contents", "images of results follow all results"),
    ("mistral-conversations", "", "/messages/*/tool_call_id", MISTRAL_IDS),
    ("mistral-conversations", "", "/messages/*/tool_calls/*/id", MISTRAL_IDS),
    ("openai-completions", "azure", "address", ABOVE),
    ("", "opencode", "header x-opencode-session", ABOVE),
    ("", "opencode-go", "header x-opencode-session", ABOVE),
    ("pi-messages", "", "/context/messages", "failed answers and changes are not told to the gateway"),
    ("pi-messages", "", "/options/cacheRetention", UNCACHED),
    ("pi-messages", "", "/options/sessionId", UNCACHED),
    ("pi-messages", "", "/context/messages/*/content", BLIND),
    ("pi-messages", "", "/context/messages/*/content/*/data", BLIND),
    ("pi-messages", "", "/context/messages/*/content/*/mimeType", BLIND),
    ("pi-messages", "", "/context/messages/*/content/*/text", BLIND),
    ("pi-messages", "", "/context/messages/*/content/*/type", BLIND),
    ("anthropic-messages", "", "/max_tokens", ESTIMATE),
    ("azure-openai-responses", "", "/max_output_tokens", ESTIMATE),
    ("bedrock-converse-stream", "", "/inferenceConfig/maxTokens", ESTIMATE),
    ("mistral-conversations", "", "/max_tokens", ESTIMATE),
    ("openai-completions", "", "/max_completion_tokens", ESTIMATE),
    ("openai-completions", "", "/max_tokens", ESTIMATE),
    ("openai-responses", "", "/max_output_tokens", ESTIMATE),
    ("anthropic-messages", "vercel-ai-gateway", "/thinking", NO_ROOM),
    ("anthropic-messages", "vercel-ai-gateway", "header anthropic-beta", NO_ROOM),
    ("google-generative-ai", "", "/generationConfig/thinkingConfig/thinkingBudget", LEAST),
    (
        "google-generative-ai",
        "",
        "/generationConfig/thinkingConfig/thinkingLevel",
        "the words of the catalogue",
    ),
    ("google-vertex", "", "/generationConfig/thinkingConfig/thinkingBudget", LEAST),
];

/// The entry for a member, and its reason.
pub fn meant(api: &str, line: &Line, member: &str) -> Option<(&'static str, &'static str)> {
    let fits = |known: &str, this: &str| known.is_empty() || known == this;
    let found = MEANT
        .iter()
        .find(|(of, provider, known, _)| fits(of, api) && fits(provider, &line.provider) && *known == member);
    found.map(|(_, _, known, why)| (*known, *why))
}

/// The feature by which another model may answer.
const FALLBACK_BETA: &str = "server-side-fallback-2026-07-01";

/// Betas without that of `fallbacks`, which are compared by themselves.
fn without_fallback(betas: &str) -> String {
    betas.split(',').filter(|beta| *beta != FALLBACK_BETA).collect::<Vec<_>>().join(",")
}

/// The members that differ, with places in lists as `*`, and both values.
pub fn differences(line: &Line, ours: &HttpRequest) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if let Some(url) = &line.url {
        if *url != ours.url {
            found.push(("address".to_owned(), format!("pi {url}, ours {}", ours.url)));
        }
        let own =
            |name: &str| OWN_HEADERS.contains(&name) || OWN_PREFIXES.iter().any(|it| name.starts_with(it));
        let theirs: BTreeMap<&str, &str> =
            line.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        let ours: BTreeMap<&str, &str> =
            ours.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        let mut names: Vec<&str> =
            theirs.keys().chain(ours.keys()).copied().filter(|name| !own(name)).collect();
        names.sort_unstable();
        names.dedup();
        let value = |all: &BTreeMap<&str, &str>, name: &str| {
            all.get(name).map(|value| without_fallback(value)).filter(|value| !value.is_empty())
        };
        for name in names.into_iter().filter(|name| value(&theirs, name) != value(&ours, name)) {
            let text = format!("pi {:?}, ours {:?}", theirs.get(name), ours.get(name));
            found.push((format!("header {name}"), text));
        }
    }
    let mut theirs = line.body.clone();
    if line.url.is_none()
        && let Some(members) = theirs.as_object_mut()
    {
        // In the address, as AWS has it.
        members.shift_remove("modelId");
    }
    compare("", &theirs, &ours.body, &mut found);
    found
}

fn compare(pointer: &str, theirs: &Value, ours: &Value, found: &mut Vec<(String, String)>) {
    // A text by itself, and a list with nothing but that text, are the same to every vendor.
    let plain = |value: &Value| match value.as_array().map(Vec::as_slice) {
        Some([part])
            if pointer.ends_with("/content") && *part == json!({ "type": "text", "text": part["text"] }) =>
        {
            part["text"].clone()
        }
        _ => value.clone(),
    };
    if plain(theirs) == plain(ours) {
        return;
    }
    match (theirs, ours) {
        (Value::Object(one), Value::Object(other)) => {
            let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
            keys.sort();
            keys.dedup();
            keys.iter()
                .for_each(|key| compare(&format!("{pointer}/{key}"), &theirs[*key], &ours[*key], found));
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            one.iter()
                .zip(other)
                .for_each(|(one, other)| compare(&format!("{pointer}/*"), one, other, found));
        }
        _ => found.push((pointer.to_owned(), format!("pi {}, ours {}", shown(theirs), shown(ours)))),
    }
}

/// Longest value that is shown, in bytes.
const SHOWN: usize = 600;

fn shown(value: &Value) -> String {
    let text = value.to_string();
    let end = (0..=SHOWN.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text[..end.unwrap_or(0)].to_owned()
}
