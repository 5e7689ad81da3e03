//! What pi 1.6.0 and our server send where a server takes changes within the conversation, so that its cache survives them:
//! message threads of Anthropic, levels by message, instructions and tools where they change. Equal, member by member, but for
//! what is listed.

use crate::{
    peer_support::{Agent, Kind, peer},
    request_comparison::{Comparison, choose},
    serve_support::{FakeVendor, key_of},
};
use pi_rpc::mock::ReceivedRequest;
use serde_json::{Value, json};
use std::fs;

/// An API with features of a server.
struct Tried {
    api: &'static str,
    /// The path below which the vendor speaks it.
    folder: &'static str,
    path: &'static str,
    /// The features, as members of `compat`.
    features: &'static [&'static str],
}

/// An extension whose command `/tools` says which tools are active, and which has one of its own.
const EXTENSION: &str = r#"
export default function (pi) {
    const parameters = { type: "object", properties: {} };
    const execute = async () => ({ content: [{ type: "text", text: "more" }] });
    pi.registerTool({ name: "extra", label: "Extra", description: "Says more.", parameters, execute });
    pi.registerCommand("tools", {
        description: "Chooses tools",
        handler: async (names) => pi.setActiveTools(names.split(" ")),
    });
}
"#;

/// A vendor whose answers need nothing but the newest message: a request in a thread has no other.
fn vendor() -> FakeVendor {
    let thought = json!({ "thinking": "Let me see.", "signature": "c2lnbmVk" });
    let usage = json!({ "input": 9, "output": 2, "cacheRead": 5 });
    FakeVendor::plays_leniently(&json!({ "turns": [
        { "onResult": "", "repeat": true, "usage": usage, "say": [{ "text": "Done." }] },
        { "match": { "regex": "think$" }, "repeat": true, "usage": usage, "say": [thought, { "text": "I have seen." }] },
        { "match": { "regex": "work$" }, "repeat": true, "usage": usage, "say": [
            thought, { "text": "Two things." },
            { "tool": "bash", "arguments": { "command": "echo one" } },
            { "tool": "bash", "arguments": { "command": "echo two; exit 3" } },
        ] },
        { "match": { "regex": "long one$" }, "usage": { "input": 1_000_000, "output": 1 }, "say": [{ "text": "Yes." }] },
        { "match": { "regex": "fail$" }, "repeat": true, "fail": { "status": 400, "message": "No" } },
        { "match": { "regex": "off$" }, "fail": { "status": 400, "message": "thread: Extra inputs are not permitted" } },
        { "repeat": true, "usage": usage, "say": [{ "text": "Yes." }] },
    ] }))
}

fn models(vendor: &FakeVendor, tried: &Tried) -> Value {
    let compat: serde_json::Map<_, _> =
        tried.features.iter().map(|name| ((*name).to_owned(), true.into())).collect();
    let model = json!({
        "id": "model", "name": "model", "reasoning": true, "input": ["text", "image"], "contextWindow": 2_000_000,
        "maxTokens": 50_000, "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 },
        "thinkingLevelMap": { "xhigh": "xhigh", "max": "max" }, "compat": compat,
        // A second after an answer is due what keeps the cache.
        "promptCache": { "short": 11 },
    });
    let base = format!("http://{}{}", vendor.address, tried.folder);
    json!({ "providers": {
        "tried": { "baseUrl": base, "apiKey": key_of(tried.api), "api": tried.api, "models": [model] },
    } })
}

/// Changes the level and the tools between answers, fails, compacts, and has a thread refused.
fn play(agent: &mut Agent) {
    let run = |agent: &mut Agent, prompt: &str| {
        agent.prompt(prompt);
        agent.until(|frame| frame["type"] == "agent_settled");
    };
    let level = |agent: &mut Agent, level: &str| {
        agent.ask(json!({ "type": "set_thinking_level", "level": level }));
    };
    let tools = |agent: &mut Agent, names: &str| {
        agent.ask(json!({ "type": "prompt", "message": format!("/tools {names}") }));
    };
    choose(agent, "tried", "model", "low");
    ["think", "work", "think"].into_iter().for_each(|prompt| run(agent, prompt));
    for name in ["high", "high", "off", "max"] {
        level(agent, name);
        run(agent, "think");
    }
    tools(agent, "read bash extra");
    ["work", "think"].into_iter().for_each(|prompt| run(agent, prompt));
    tools(agent, "read bash");
    ["work", "fail", "after"].into_iter().for_each(|prompt| run(agent, prompt));
    level(agent, "medium");
    tools(agent, "bash edit extra");
    run(agent, "work");
    agent.ask(json!({ "type": "compact" }));
    ["think", "turn off", "think"].into_iter().for_each(|prompt| run(agent, prompt));
}

/// Waits for the request that keeps the cache warm, a second after the answer.
fn play_warming(agent: &mut Agent) {
    choose(agent, "tried", "model", "low");
    agent.prompt("a long one");
    agent.until(|frame| frame["entry"]["kind"] == "cache_warm");
    agent.prompt("think");
    agent.until(|frame| frame["type"] == "agent_settled");
}

fn sent(kind: Kind, tried: &Tried, play: fn(&mut Agent)) -> (Vec<ReceivedRequest>, Vec<Value>) {
    let home = tempfile::tempdir().unwrap();
    let extension = home.path().join("tools.mjs");
    fs::write(&extension, EXTENSION).unwrap();
    let vendor = vendor();
    let dialect: &[&str] = if kind == Kind::Ours { &["--dialect", "pi-1"] } else { &[] };
    let options = [&["--tools", "read,bash,edit,extra", "-e", extension.to_str().unwrap()], dialect].concat();
    let mut agent = Agent::start_with_variables(home, kind, &models(&vendor, tried), &options, &[]);
    play(&mut agent);
    let diagnostics = diagnostics(&mut agent);
    agent.ends();
    let mut requests = vendor.journal.received();
    requests.iter_mut().for_each(normalize);
    (requests, diagnostics)
}

/// What the answers observe about their requests, without the times.
fn diagnostics(agent: &mut Agent) -> Vec<Value> {
    let messages = agent.ask(json!({ "type": "get_messages" }));
    let all = messages["messages"].as_array().into_iter().flatten();
    let mut all: Vec<Value> =
        all.flat_map(|it| it["diagnostics"].as_array().cloned().unwrap_or_default()).collect();
    // pi tells that it has found no WebSocket.
    all.retain(|it| it["type"] != "provider_transport_failure");
    all.iter_mut().for_each(|it| drop(it.as_object_mut().unwrap().shift_remove("timestamp")));
    all
}

/// Headers and ids that are each program's own.
fn normalize(request: &mut ReceivedRequest) {
    let is_own = |name: &str| name.starts_with("x-stainless-") || name == "transfer-encoding";
    request.headers.retain(|(name, _)| !is_own(name));
    let names_session = |name: &str| ["session-id", "session_id", "x-session-affinity"].contains(&name);
    let named = request.headers.iter_mut().filter(|(name, _)| names_session(name));
    named.for_each(|(_, value)| *value = "session".into());
    if let Some(key) = request.body.get_mut("prompt_cache_key") {
        *key = "session".into();
    }
    own_words(&mut request.body, "");
}

/// Takes away what each program says in its own words: instructions, descriptions of tools, what asks for a summary.
fn own_words(value: &mut Value, key: &str) {
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(|item| own_words(item, key));
            // Both mean the same.
            if let ([item], "content") = (items.as_slice(), key)
                && *item == json!({ "type": "text", "text": item["text"] })
            {
                *value = item["text"].clone();
                own_words(value, key);
            }
        }
        Value::Object(members) => {
            let is_instruction =
                members.get("role").is_some_and(|role| role == "system" || role == "developer");
            for (key, value) in members.iter_mut() {
                match key.as_str() {
                    "content" if is_instruction => blank(value),
                    "system" | "instructions" => blank(value),
                    "description" | "parameters" | "input_schema" => *value = "own".into(),
                    _ => own_words(value, key),
                }
            }
            let is_text =
                members.get("id").and_then(Value::as_str).is_some_and(|id| id.starts_with("msg_pi_"));
            if is_text {
                members.insert("id".to_owned(), "text".into());
            }
            // pi's mark for strict sampling.
            members.shift_remove("strict");
        }
        Value::String(text) if ["<conversation>", "# Conversation"].iter().any(|it| text.starts_with(it)) => {
            *value = "the conversation to summarize".into();
        }
        Value::String(text) if text.contains("<summary>") => *value = "the summary".into(),
        _ => {}
    }
}

/// Keeps the shape of instructions: the texts are each program's own, tools that they add are not.
fn blank(value: &mut Value) {
    match value {
        Value::String(text) => *text = "own".to_owned(),
        Value::Array(items) => items.iter_mut().for_each(blank),
        Value::Object(members) => {
            for (key, value) in members.iter_mut() {
                match key.as_str() {
                    "text" => *value = "own".into(),
                    _ => own_words(value, key),
                }
            }
        }
        _ => {}
    }
}

fn compare(tried: &Tried, play: fn(&mut Agent)) {
    let Some(pi) = peer("1.6.0") else { return };
    let (theirs, observed) = sent(Kind::Pi(pi), tried, play);
    let (ours, also_observed) = sent(Kind::Ours, tried, play);
    assert_eq!(observed, also_observed, "{}", tried.api);
    let comparison = Comparison {
        path: tried.path,
        models: |_| Value::Null,
        environment: &[],
        own: &[],
        tools: |body| body["tools"].as_array().cloned().unwrap_or_default(),
        normalize: |_| {},
    };
    let found = comparison.compare(&theirs, &ours, &[]);
    assert!(found.is_empty(), "{}:\n{}", tried.api, found.join("\n"));
}

const ANTHROPIC: Tried = Tried {
    api: "anthropic-messages",
    folder: "",
    path: "/v1/messages",
    features: &[
        "supportsMessageThreads",
        "supportsMidConvoEffort",
        "supportsMidConvoSystemMessages",
        "supportsMidConvoToolChanges",
        "forceAdaptiveThinking",
    ],
};

const RESPONSES: Tried = Tried {
    api: "openai-responses",
    folder: "/v1",
    path: "/v1/responses",
    features: &["supportsMidConvoEffort", "supportsMidConvoSystemMessages", "supportsAdditionalTools"],
};

const CHATGPT: Tried =
    Tried { api: "openai-codex-responses", folder: "/backend-api", path: "/codex/responses", ..RESPONSES };

#[test]
fn anthropic_threads_equal_pi() {
    compare(&ANTHROPIC, play);
}

#[test]
fn anthropic_changes_without_threads_equal_pi() {
    compare(&Tried { features: &["supportsMidConvoSystemMessages"], ..ANTHROPIC }, play);
}

#[test]
fn responses_items_equal_pi() {
    compare(&RESPONSES, play);
}

#[test]
fn chatgpt_items_equal_pi() {
    compare(&CHATGPT, play);
}

#[test]
fn completions_additions_equal_pi() {
    compare(
        &Tried {
            api: "openai-completions",
            folder: "/v1",
            path: "/v1/chat/completions",
            features: &["supportsMidConvoSystemMessages", "supportsMidConvoToolAdditions"],
        },
        play,
    );
}

#[test]
fn requests_that_warm_caches_equal_pi() {
    for tried in [ANTHROPIC, RESPONSES, CHATGPT] {
        compare(&tried, play_warming);
    }
}
