//! What pi 1.6.0 and our server send for one model of each provider and API of the catalogue: compared member by member.
//! The table of differences is a snapshot; each of them has its reason here.

use crate::{
    peer_support::{Agent, Kind, Words, peer},
    serve_support::{FakeVendor, key_of, snapshot},
};
use pi_rpc::{
    config::catalogue::{BUILT_IN, CatalogueEntry},
    mock::ReceivedRequest,
};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, fmt::Write as _};

/// The APIs, with what their addresses end in.
const APIS: [(&str, &str); 9] = [
    ("anthropic-messages", ""),
    ("azure-openai-responses", "/openai/v1"),
    ("bedrock-converse-stream", ""),
    ("google-generative-ai", "/v1beta"),
    ("google-vertex", ""),
    ("mistral-conversations", "/mistral"),
    ("openai-codex-responses", "/backend-api"),
    ("openai-completions", "/v1"),
    ("openai-responses", "/v1"),
];

/// AWS's client library speaks HTTP/2 by itself, which the mock does not.
const VARIABLES: [(&str, &str); 4] = [
    ("AWS_BEDROCK_FORCE_HTTP1", "1"),
    ("AWS_EC2_METADATA_DISABLED", "true"),
    ("CLOUDFLARE_ACCOUNT_ID", "account"),
    ("CLOUDFLARE_GATEWAY_ID", "gateway"),
];

/// Headers that are not compared, and why.
const OWN_HEADERS: [(&str, &str); 17] = [
    ("accept", "of the library that speaks HTTP"),
    ("accept-encoding", "of the library that speaks HTTP"),
    ("accept-language", "of the library that speaks HTTP"),
    ("connection", "of the library that speaks HTTP"),
    ("amz-sdk-invocation-id", "of AWS's client library: each is another"),
    ("amz-sdk-request", "of AWS's client library: counts its attempts"),
    ("content-encoding", "pi packs what it sends to ChatGPT, which takes both"),
    ("content-length", "of the body"),
    ("content-type", "of the body"),
    ("host", "each has its own vendor"),
    ("http-referer", "names pi to OpenRouter"),
    ("sec-fetch-mode", "of the library that speaks HTTP"),
    ("transfer-encoding", "of the library that speaks HTTP"),
    ("user-agent", "each names itself"),
    ("x-billing-invoke-origin", "names pi to NVIDIA"),
    ("x-opencode-client", "names pi to OpenCode"),
    ("x-client-request-id", "compared by its presence only in the unit tests"),
];

/// Beginnings of headers that are not compared: of the vendors' client libraries, and pi's name.
const OWN_PREFIXES: [&str; 4] = ["x-amz", "x-goog-api-client", "x-openrouter-", "x-stainless-"];

/// Members of bodies that are not compared, and why.
const OWN_MEMBERS: [(&str, &str); 15] = [
    ("/generationConfig/maxOutputTokens", "what the window leaves beside each one's own instructions"),
    ("/inferenceConfig/maxTokens", "what the window leaves beside each one's own instructions"),
    ("/input/0/content", "each has its own instructions"),
    ("/input/0/tools", "each has its own tools"),
    ("/input/1/content", "each has its own instructions, behind tools"),
    ("/instructions", "each has its own instructions"),
    ("/max_completion_tokens", "what the window leaves beside each one's own instructions"),
    ("/max_output_tokens", "what the window leaves beside each one's own instructions"),
    ("/max_tokens", "what the window leaves beside each one's own instructions"),
    ("/messages/0/content", "each has its own instructions"),
    ("/prompt_cache_key", "each has its own sessions"),
    ("/system", "each has its own instructions"),
    ("/systemInstruction", "each has its own instructions"),
    ("/toolConfig", "each has its own tools; pi asks Gemini to validate their calls"),
    ("/tools", "each has its own tools"),
];

/// Longest value that is shown, in bytes: longer ones are each program's own words.
const SHOWN: usize = 60;

/// One model for each provider with that API: the default one, where it has it.
fn choices(api: &str) -> Vec<(String, String)> {
    let entries = BUILT_IN.models(|_| true);
    let mut chosen: Vec<(String, String)> = Vec::new();
    for provider in BUILT_IN.providers {
        let is_it = |it: &&CatalogueEntry| it.model.provider == provider.id && it.model.api == api;
        let default = |it: &&CatalogueEntry| provider.defaults.contains(&&*it.model.id);
        let models = || entries.iter().filter(is_it);
        if let Some(entry) = models().find(default).or_else(|| models().next()) {
            chosen.push((provider.id.to_owned(), entry.model.id.clone()));
        }
    }
    chosen
}

/// The requests of each model: without thinking, and at the level `high`.
fn sent(kind: Kind, api: &str, suffix: &str) -> BTreeMap<String, Vec<ReceivedRequest>> {
    let say = json!({ "turns": [{ "repeat": true, "say": [{ "text": "Yes." }] }] });
    let vendor = FakeVendor::plays(&say);
    let base = format!("http://{}{suffix}", vendor.address);
    let choices = choices(api);
    let key = |provider: &str| match api {
        "openai-codex-responses" => key_of(api),
        _ => format!("key-of-{provider}"),
    };
    let configured = |provider: &str| json!({ "baseUrl": base, "apiKey": key(provider) });
    let providers: Map<String, Value> =
        choices.iter().map(|(provider, _)| (provider.clone(), configured(provider))).collect();
    let models = json!({ "providers": providers });
    let dialect: &[&str] = if kind == Kind::Ours { &["--dialect", "pi-1"] } else { &[] };
    let options = [&["--tools", "read,bash,edit,write"], dialect].concat();
    let home = tempfile::tempdir().unwrap();
    let mut agent = Agent::start_with_variables(home, kind, &models, &options, &VARIABLES);
    let mut all = BTreeMap::new();
    for (provider, id) in choices {
        agent.ask(json!({ "type": "new_session" }));
        let set = json!({ "type": "set_model", "provider": provider, "modelId": id });
        let name = format!("{provider} {id}");
        if let Err(reason) = agent.try_ask(set) {
            panic!("{kind:?}: {name}: {reason}");
        }
        let before = vendor.journal.received().len();
        for level in ["off", "high"] {
            agent.ask(json!({ "type": "set_thinking_level", "level": level }));
            agent.run("hi");
        }
        let mut sent = vendor.journal.received().split_off(before);
        // pi asks ChatGPT for a WebSocket first.
        sent.retain(|request| request.method == "POST");
        all.insert(name, sent);
    }
    agent.ends();
    all
}

fn headers(request: &ReceivedRequest) -> BTreeMap<&str, String> {
    let own = |name: &str| {
        OWN_HEADERS.iter().any(|(own, _)| *own == name) || OWN_PREFIXES.iter().any(|it| name.starts_with(it))
    };
    let all = request.headers.iter().filter(|(name, _)| !own(name));
    // Each has its own sessions.
    let session = |name: &str| name.contains("session") || name == "x-affinity";
    all.map(|(name, value)| (name.as_str(), if session(name) { "…".to_owned() } else { value.clone() }))
        .collect()
}

/// Adds the members in which both differ.
fn compare(pointer: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
    // A text by itself, and a list with nothing but that text, are the same to every vendor.
    let plain = |value: &Value| match value.as_array().map(Vec::as_slice) {
        Some([part])
            if pointer.ends_with("/content") && *part == json!({ "type": "text", "text": part["text"] }) =>
        {
            part["text"].clone()
        }
        _ => value.clone(),
    };
    // The mock counts its messages.
    let is_own = OWN_MEMBERS.iter().any(|(own, _)| *own == pointer) || pointer.ends_with("/id");
    if is_own || plain(theirs) == plain(ours) {
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
            let pairs = one.iter().zip(other).enumerate();
            pairs.for_each(|(at, (one, other))| compare(&format!("{pointer}/{at}"), one, other, found));
        }
        _ => found.push(format!("{pointer}: pi {}, ours {}", shown(theirs), shown(ours))),
    }
}

fn shown(value: &Value) -> String {
    match (value, value.to_string()) {
        (_, text) if text.len() <= SHOWN => text,
        (Value::Array(list), _) => format!("a list of {}", list.len()),
        (Value::Object(object), _) => format!("an object of {}", object.len()),
        // Its length depends on where the programs are.
        _ => "a long value".to_owned(),
    }
}

fn differences(theirs: &[ReceivedRequest], ours: &[ReceivedRequest]) -> Vec<String> {
    let mut found = Vec::new();
    if theirs.len() != ours.len() {
        found.push(format!("requests: pi {}, ours {}", theirs.len(), ours.len()));
    }
    for (theirs, ours) in theirs.iter().zip(ours) {
        if theirs.path != ours.path {
            found.push(format!("path: pi {}, ours {}", theirs.path, ours.path));
        }
        let (one, other) = (headers(theirs), headers(ours));
        let mut names: Vec<&str> = one.keys().chain(other.keys()).copied().collect();
        names.sort_unstable();
        names.dedup();
        for name in names.into_iter().filter(|name| one.get(name) != other.get(name)) {
            let [one, other] = [&one, &other].map(|all| all.get(name).map_or("nothing", String::as_str));
            found.push(format!("header {name}: pi {one}, ours {other}"));
        }
        compare("", &theirs.body, &ours.body, &mut found);
    }
    found.dedup();
    found
}

/// The table for an API: a line for each provider, and below it the differences.
fn table(pi: Words, api: &str, suffix: &str) -> String {
    let (theirs, ours) = (sent(Kind::Pi(pi), api, suffix), sent(Kind::Ours, api, suffix));
    assert_eq!(theirs.keys().collect::<Vec<_>>(), ours.keys().collect::<Vec<_>>());
    let mut text = String::new();
    for (name, theirs) in &theirs {
        let found = differences(theirs, &ours[name]);
        let _ = writeln!(text, "{name}: {}", if found.is_empty() { "equal" } else { "differs" });
        found.iter().for_each(|line| text += &format!("  {line}\n"));
    }
    text
}

#[test]
fn requests_of_providers_are_compared() {
    let Some(pi) = peer("1.6.0") else { return };
    for (api, suffix) in APIS {
        snapshot(&format!("provider_requests_{api}"), table(pi, api, suffix));
    }
}
