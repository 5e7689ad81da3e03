//! What pi 1.6.0 and our server send in one long conversation for each API: each thinking level, tools and images, an answer
//! that failed and one that was aborted, a sibling of the model, another vendor's model before and after, and a compaction.
//! Equal, member by member, but for what is listed.

use crate::{
    bedrock_requests::WITH_TOKEN,
    google_requests::GOOGLE,
    mistral_requests::MISTRAL,
    openai_requests::{AZURE, CHATGPT},
    peer_support::{Agent, Kind, peer},
    request_comparison::{Comparison, Difference, choose, looks, sent},
    serve_support::{FakeVendor, key_of, snapshot},
    vertex_requests::VERTEX,
};
use pi_rpc::mock::ReceivedRequest;
use serde_json::{Value, json};
use std::collections::HashMap;

/// An API whose requests are compared.
struct Tried {
    api: &'static str,
    /// The path below which the vendor speaks it.
    folder: &'static str,
    comparison: Comparison,
    /// The ids of the model and of its sibling.
    models: [&'static str; 2],
    /// Further differences in requests to this API.
    listed: &'static [Difference],
}

/// All levels; what the model does not have becomes the nearest one.
const LEVELS: [&str; 7] = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

const ANTHROPIC: Comparison = Comparison {
    path: "/v1/messages",
    models: |_| Value::Null,
    environment: &[],
    own: &ANTHROPIC_OWN,
    tools: |body| tools(&body["tools"], |tool| tool.clone()),
    normalize: remove_library,
};

const COMPLETIONS: Comparison = Comparison {
    path: "/v1/chat/completions",
    models: |_| Value::Null,
    environment: &[],
    own: &COMPLETIONS_OWN,
    tools: |body| tools(&body["tools"], |tool| tool["function"].clone()),
    normalize: |request| {
        remove_library(request);
        name_session(request);
    },
};

const RESPONSES: Comparison = Comparison {
    path: "/v1/responses",
    models: |_| Value::Null,
    environment: &[],
    own: &RESPONSES_OWN,
    tools: |body| tools(&body["tools"], |tool| tool.clone()),
    normalize: |request| {
        remove_library(request);
        name_session(request);
    },
};

/// Members of every body that are each program's own.
const ANTHROPIC_OWN: [Difference; 2] = [
    ("/system/0/text", "each has its own instructions"),
    ("/tools", "compared apart: each has its own descriptions"),
];
const COMPLETIONS_OWN: [Difference; 2] = [
    ("/messages/0/content", "each has its own instructions"),
    ("/tools", "compared apart: each has its own descriptions"),
];
const RESPONSES_OWN: [Difference; 2] = [
    ("/input/0/content", "each has its own instructions"),
    ("/tools", "compared apart: each has its own descriptions"),
];

/// The offered tools without their own words, and without pi's mark for strict sampling.
fn tools(offered: &Value, function: fn(&Value) -> Value) -> Vec<Value> {
    let shape = |tool: &Value| {
        let mut tool = function(tool);
        for own in ["description", "parameters", "input_schema", "strict"] {
            tool.as_object_mut().unwrap().shift_remove(own);
        }
        tool
    };
    offered.as_array().into_iter().flatten().map(shape).collect()
}

/// Removes headers of the vendors' client libraries, which pi has and we do not.
fn remove_library(request: &mut ReceivedRequest) {
    request.headers.retain(|(name, _)| !name.starts_with("x-stainless-"));
}

/// Names the session, which each program has itself, and numbers ids that each makes in its own way.
fn name_session(request: &mut ReceivedRequest) {
    let own = |name: &str| ["session-id", "session_id", "x-session-affinity"].contains(&name);
    request.headers.iter_mut().filter(|(name, _)| own(name)).for_each(|(_, value)| *value = "session".into());
    if let Some(key) = request.body.get_mut("prompt_cache_key") {
        *key = "session".into();
    }
    let mut ids: HashMap<String, usize> = HashMap::new();
    for item in request.body["input"].as_array_mut().into_iter().flatten() {
        let is_own = item["id"].as_str().is_some_and(|id| !id.contains("_scripted"));
        if is_own {
            let id = item["id"].as_str().unwrap_or_default().to_owned();
            let next = ids.len();
            item["id"] = (*ids.entry(id).or_insert(next)).into();
        }
    }
}

/// The thinking in all answers.
const THOUGHT: &str = "Let me see.";

/// Makes alike what means the same or is each program's own:
/// - a text by itself, and a list with nothing but that text;
/// - thinking of another model: here it becomes text, as in pi before 1.x, while pi 1.x leaves it out;
/// - the texts that ask for a summary, which each has itself;
/// - the value in place of a signature that Gemini 3 demands, and that pi lacks.
fn align(value: &mut Value, key: &str) {
    match value {
        Value::Array(items) => {
            items.retain(|item| !is_foreign_thought(item));
            items.iter_mut().for_each(|item| align(item, ""));
            let text = match items.as_slice() {
                [item] if *item == json!({ "type": "text", "text": item["text"] }) => item["text"].clone(),
                _ => return,
            };
            if key == "content" {
                *value = text;
                align(value, key);
            }
        }
        Value::Object(members) => {
            members.retain(|_, value| *value != "skip_thought_signature_validator");
            members.iter_mut().for_each(|(key, value)| align(value, key));
        }
        Value::String(text) if ["<conversation>", "# Conversation"].iter().any(|it| text.starts_with(it)) => {
            *value = "the conversation to summarize".into();
        }
        Value::String(text) if key == "content" => {
            *value = text.strip_prefix(THOUGHT).unwrap_or(text).into();
        }
        _ => {}
    }
}

/// Whether a block of an answer, or an item with one, is thinking as text.
fn is_foreign_thought(item: &Value) -> bool {
    let is_block = item["text"] == THOUGHT
        && [Value::Null, "text".into()].contains(&item["type"])
        && item.get("thought").is_none();
    is_block || item["content"][0]["text"] == THOUGHT && item["content"][0]["type"] == "output_text"
}

/// Joins messages of one role in a row.
fn merge_roles(messages: &mut Value) {
    let mut merged: Vec<Value> = Vec::new();
    for message in messages.as_array_mut().map(std::mem::take).unwrap_or_default() {
        match merged.last_mut() {
            Some(last) if last["role"] == message["role"] && message["content"].is_array() => {
                let more = message["content"].as_array().cloned().unwrap_or_default();
                last["content"].as_array_mut().unwrap().extend(more);
            }
            _ => merged.push(message),
        }
    }
    *messages = merged.into();
}

/// A vendor with answers of every kind.
fn vendor(is_lenient: bool) -> FakeVendor {
    let call = |command: &str| json!({ "tool": "bash", "arguments": { "command": command } });
    let usage = json!({ "input": 9, "output": 2, "cacheRead": 5 });
    let thought = json!({ "thinking": THOUGHT, "signature": "c2lnbmVk" });
    let script = json!({ "turns": [
        { "match": { "regex": "think$" }, "repeat": true, "usage": usage, "say": [
            thought, { "text": "I have seen: Grüße 🎈\u{2028}." },
        ] },
        { "match": { "regex": "work$" }, "onResult": "", "repeat": true, "usage": usage, "say": [{ "text": "Done." }] },
        { "match": { "regex": "work$" }, "repeat": true, "usage": usage, "say": [
            thought, { "text": "Two things." }, call("echo one"), call("echo two; exit 3"),
        ] },
        { "match": { "regex": "view$" }, "onResult": "", "repeat": true, "usage": usage, "say": [{ "text": "Seen." }] },
        { "match": { "regex": "view$" }, "repeat": true, "usage": usage, "say": [
            { "tool": "read", "arguments": { "path": "pixel.png" } },
        ] },
        { "match": { "regex": "fail$" }, "repeat": true, "fail": { "status": 400, "message": "No" } },
        { "match": { "regex": "break$" }, "repeat": true, "say": [{ "text": "Half" }], "fail": { "status": 500, "message": "Over" } },
        { "match": { "regex": "wait$" }, "repeat": true, "say": [{ "text": "A text that goes on for a while" }], "hang": true },
        { "repeat": true, "usage": usage, "say": [{ "text": "Yes." }] },
    ] });
    match is_lenient {
        true => FakeVendor::plays_leniently(&script),
        false => FakeVendor::plays(&script),
    }
}

fn models(vendor: &FakeVendor, tried: &Tried) -> Value {
    let words = match tried.api {
        // pi does not send what these have no word for.
        "google-generative-ai" | "google-vertex" | "bedrock-converse-stream" => json!({}),
        _ => json!({ "xhigh": "xhigh", "max": "max" }),
    };
    let model = |id: &str| {
        json!({
            "id": id, "name": id, "reasoning": true, "input": ["text", "image"], "contextWindow": 200_000,
            "maxTokens": 50_000, "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 },
            "thinkingLevelMap": words,
        })
    };
    let base = format!("http://{}", vendor.address);
    let (api, other) = (tried.api, other(tried));
    json!({ "providers": {
        "first": {
            "baseUrl": format!("{base}{}", other.folder), "apiKey": "key", "api": other.api, "models": [model("model")],
        },
        "tried": {
            "baseUrl": format!("{base}{}", tried.folder), "apiKey": key_of(api), "api": api,
            "models": tried.models.map(model),
        },
    } })
}

/// The other vendor's API.
struct Other {
    api: &'static str,
    folder: &'static str,
    comparison: Comparison,
}

fn other(tried: &Tried) -> Other {
    match tried.api {
        "anthropic-messages" => Other { api: "openai-completions", folder: "/v1", comparison: COMPLETIONS },
        _ => Other { api: "anthropic-messages", folder: "", comparison: ANTHROPIC },
    }
}

/// Runs a prompt until another is accepted.
fn run(agent: &mut Agent, prompt: &str) {
    agent.prompt(prompt);
    settles(agent);
}

fn settles(agent: &mut Agent) {
    agent.until(|frame| frame["type"] == "agent_settled");
}

fn play(agent: &mut Agent, [model, sibling]: [&str; 2]) {
    choose(agent, "first", "model", "low");
    ["think", "work"].into_iter().for_each(|prompt| run(agent, prompt));
    looks(agent);
    settles(agent);
    for level in LEVELS {
        choose(agent, "tried", model, level);
        run(agent, "think");
    }
    choose(agent, "tried", model, "low");
    run(agent, "work");
    looks(agent);
    settles(agent);
    ["view", "fail", "break", "after"].into_iter().for_each(|prompt| run(agent, prompt));
    agent.prompt("wait");
    let is_begun = |frame: &Value| frame["assistantMessageEvent"]["type"] == "text_delta";
    let seen = agent.until(|frame| is_begun(frame) || frame["type"] == "agent_settled");
    assert!(is_begun(&seen), "{:?}: the answer failed", agent.kind);
    agent.ask(json!({ "type": "abort" }));
    choose(agent, "tried", sibling, "medium");
    run(agent, "work");
    choose(agent, "first", "model", "high");
    run(agent, "work");
    choose(agent, "tried", model, "high");
    run(agent, "after");
    agent.ask(json!({ "type": "compact" }));
    run(agent, "after");
    choose(agent, "first", "model", "off");
    run(agent, "after");
}

/// Plays the conversation with both, and fails with the differences that are not listed.
fn compare(tried: &Tried) {
    let Some(pi) = peer("1.6.0") else { return };
    let sent = |kind: Kind| {
        // The service refuses what pi sends behind a failed answer.
        let is_bedrock = tried.api == "bedrock-converse-stream";
        let vendor = vendor(is_bedrock);
        let models = models(&vendor, tried);
        let environment = tried.comparison.environment;
        let mut sent = sent(kind, &vendor, &models, environment, &|agent| play(agent, tried.models));
        sent.iter_mut().for_each(|request| align(&mut request.body, ""));
        if is_bedrock {
            sent.iter_mut().for_each(|request| merge_roles(&mut request.body["messages"]));
        }
        sent
    };
    let (theirs, ours) = (sent(Kind::Pi(pi)), sent(Kind::Ours));
    let mut found = tried.comparison.compare(&theirs, &ours, tried.listed);
    found.extend(other(tried).comparison.compare(&theirs, &ours, &[]));
    assert!(found.is_empty(), "{}:\n{}", tried.api, found.join("\n"));
    let count = ours.iter().filter(|request| request.path.contains(tried.comparison.path)).count();
    let mut text = format!("{count} requests, equal to those of pi 1.6.0 but for\n");
    let own = tried.comparison.own.iter().chain(tried.listed);
    own.for_each(|(member, reason)| text += &format!("  {member}: {reason}\n"));
    snapshot(&format!("conversation_requests_{}", tried.api), text);
}

#[test]
fn anthropic_conversation_equals_pi() {
    compare(&Tried {
        api: "anthropic-messages",
        folder: "",
        comparison: ANTHROPIC,
        models: ["claude-one", "claude-two"],
        listed: &[],
    });
}

#[test]
fn completions_conversation_equals_pi() {
    compare(&Tried {
        api: "openai-completions",
        folder: "/v1",
        comparison: COMPLETIONS,
        models: ["gpt-one", "gpt-two"],
        listed: &[],
    });
}

#[test]
fn responses_conversation_equals_pi() {
    compare(&Tried {
        api: "openai-responses",
        folder: "/v1",
        comparison: RESPONSES,
        models: ["gpt-one", "gpt-two"],
        listed: &[],
    });
}

#[test]
fn azure_conversation_equals_pi() {
    compare(&Tried {
        api: "azure-openai-responses",
        folder: "/openai/v1",
        comparison: AZURE,
        models: ["gpt-one", "gpt-two"],
        listed: &[("/prompt_cache_key", "pi names the session in a request for a summary, too")],
    });
}

#[test]
fn chatgpt_conversation_equals_pi() {
    compare(&Tried {
        api: "openai-codex-responses",
        folder: "/backend-api",
        comparison: CHATGPT,
        models: ["gpt-one", "gpt-two"],
        listed: &[],
    });
}

#[test]
fn google_conversation_equals_pi() {
    compare(&Tried {
        api: "google-generative-ai",
        folder: "/v1beta",
        comparison: GOOGLE,
        models: ["gemini-2.5-flash", "gemini-3.1-pro-preview"],
        listed: &[],
    });
}

#[test]
fn vertex_conversation_equals_pi() {
    compare(&Tried {
        api: "google-vertex",
        folder: "",
        comparison: VERTEX,
        models: ["gemini-2.5-flash", "gemini-3.1-pro-preview"],
        listed: &[],
    });
}

#[test]
fn mistral_conversation_equals_pi() {
    compare(&Tried {
        api: "mistral-conversations",
        folder: "/mistral",
        comparison: MISTRAL,
        models: ["one", "two"],
        listed: &[],
    });
}

#[test]
fn bedrock_conversation_equals_pi() {
    compare(&Tried {
        api: "bedrock-converse-stream",
        folder: "",
        comparison: WITH_TOKEN,
        models: ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.anthropic.claude-opus-4-6-v1"],
        listed: &[(
            "/messages roles",
            "messages of one role in a row are one, as the service has refused others; pi sends each",
        )],
    });
}
