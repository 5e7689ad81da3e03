//! The frames that pi 1.5.2 and our server write in dialect `pi-1` for the same answers of a vendor, for each API: equal, but for
//! what [`aligned`] removes, with the reason at its place.

use crate::{
    peer_support::{Agent, Kind, peer},
    request_comparison::{choose, compare},
    serve_support::{FakeVendor, key_of, snapshot},
};
use serde_json::{Value, json};

/// The APIs, and the paths below which the vendor speaks them.
const APIS: [(&str, &str); 10] = [
    ("anthropic-messages", ""),
    ("azure-openai-responses", "/openai/v1"),
    ("bedrock-converse-stream", ""),
    ("openai-completions", "/v1"),
    ("openai-responses", "/v1"),
    ("google-generative-ai", "/v1beta"),
    ("google-vertex", ""),
    ("mistral-conversations", "/mistral"),
    ("openai-codex-responses", "/backend-api"),
    ("pi-messages", "/radius/v1"),
];

/// AWS's client library speaks HTTP/2 by itself, which the fake vendor does not.
const ENVIRONMENT: [(&str, &str); 2] =
    [("AWS_BEDROCK_FORCE_HTTP1", "1"), ("AWS_EC2_METADATA_DISABLED", "true")];

/// Answers with thoughts, text and calls, all with their usage: else it would depend on the length of our own instructions.
fn vendor() -> FakeVendor {
    let usage = json!({ "input": 9, "output": 20, "cacheRead": 5 });
    let call = |command: &str| json!({ "tool": "bash", "arguments": { "command": command } });
    FakeVendor::plays(&json!({ "turns": [
        { "match": "think", "repeat": true, "usage": usage, "say": [
            { "thinking": "Let me see.", "signature": "c2lnbmVk" }, { "text": "I have seen: Grüße 🎈\u{2028}." },
        ] },
        { "match": "work", "onResult": "", "repeat": true, "usage": usage, "say": [{ "text": "Done." }] },
        { "match": "work", "repeat": true, "usage": usage, "say": [
            { "text": "Two things." }, call("echo one"), call("echo two; exit 3"),
        ] },
        { "match": "fail", "repeat": true, "fail": { "status": 400, "message": "No" } },
        { "match": "long", "repeat": true, "usage": usage, "say": [{ "text": "Cut" }], "stop": "length" },
        { "repeat": true, "usage": usage, "say": [{ "text": "Yes." }] },
    ] }))
}

fn models(vendor: &FakeVendor, api: &str, path: &str) -> Value {
    let model = json!({
        "id": "model", "name": "Model", "reasoning": true, "input": ["text", "image"], "contextWindow": 200_000,
        "maxTokens": 50_000, "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 },
    });
    let base = format!("http://{}{path}", vendor.address);
    json!({ "providers": { "vendor": { "baseUrl": base, "apiKey": key_of(api), "api": api, "models": [model] } } })
}

/// The frames of the runs, aligned.
fn frames(kind: Kind, api: &str, path: &str) -> Vec<Value> {
    let vendor = vendor();
    let dialect: &[&str] = if kind == Kind::Ours { &["--dialect", "pi-1"] } else { &[] };
    let options = [&["--tools", "read,bash,edit,write"], dialect].concat();
    let home = tempfile::tempdir().unwrap();
    let mut agent =
        Agent::start_with_variables(home, kind, &models(&vendor, api, path), &options, &ENVIRONMENT);
    choose(&mut agent, "vendor", "model", "medium");
    let mut frames = Vec::new();
    for message in ["think", "work", "long", "fail", "after"] {
        agent.prompt(message);
        agent.until(|frame| {
            frames.push(frame.clone());
            frame["type"] == "agent_settled"
        });
    }
    agent.ends();
    aligned(frames)
}

/// The frames without what is not compared.
fn aligned(frames: Vec<Value>) -> Vec<Value> {
    let mut aligned: Vec<Value> = Vec::new();
    // pi ends all blocks of some APIs when the answer ends; here each ends before the next begins.
    let mut ends = Vec::new();
    // Calls run side by side, so that their frames may be in either order.
    let mut calls = Vec::new();
    for mut frame in frames {
        remove_own(&mut frame);
        let kind = frame["type"].as_str().unwrap_or_default().to_owned();
        if !kind.starts_with("tool_execution") {
            calls.sort_by_key(|call: &Value| call["toolCallId"].to_string());
            aligned.append(&mut calls);
        }
        match kind.as_str() {
            "message_update" => {
                let event = frame["assistantMessageEvent"].take();
                match event["type"].as_str().unwrap_or_default() {
                    // Gemini's last part is an empty text, which pi keeps as a block.
                    "text_end" if event["content"] == "" => drop(aligned.pop()),
                    it if it.ends_with("_end") => ends.push(event),
                    it if it.ends_with("_delta") => add_delta(&mut aligned, event),
                    _ => aligned.push(event),
                }
            }
            // pi writes the message as it is when the line is written, behind what has already arrived.
            "message_start" if frame["message"]["role"] == "assistant" => {
                aligned.push(json!({ "type": kind }))
            }
            "message_end" => {
                ends.sort_by_key(|end| end["contentIndex"].as_u64());
                aligned.append(&mut ends);
                aligned.push(frame);
            }
            _ if kind.starts_with("tool_execution") => calls.push(frame),
            _ => aligned.push(frame),
        }
    }
    // pi writes an empty line behind each part of a summary of thoughts, which its message does not have.
    for event in aligned.iter_mut().filter(|event| event["type"] == "thinking_delta") {
        let delta = event["delta"].as_str().unwrap_or_default().trim_end().to_owned();
        event["delta"] = delta.into();
    }
    aligned
}

/// Adds a delta to the one before it, if both are of one block: how a stream is cut differs by the libraries that read it.
fn add_delta(aligned: &mut Vec<Value>, event: Value) {
    if event["delta"] == "" {
        return;
    }
    match aligned.last_mut() {
        Some(last) if last["type"] == event["type"] && last["contentIndex"] == event["contentIndex"] => {
            let whole = [last, &event].map(|it| it["delta"].as_str().unwrap_or_default().to_owned()).concat();
            aligned.last_mut().unwrap()["delta"] = whole.into();
        }
        _ => aligned.push(event),
    }
}

/// Removes what differs from one run or one program to the next.
fn remove_own(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if members.get("role").is_some_and(|role| role == "system") {
                // Each has its own instructions and tools.
                members.retain(|name, _| name == "role");
            }
            for name in ["timestamp", "durationMs", "wall_time_seconds"] {
                members.shift_remove(name);
            }
            // Only pi adds the answer's header to a refusal of Bedrock; only ours counts what is cached for an hour there.
            members.shift_remove("diagnostics");
            members.retain(|name, value| name != "cacheWrite1h" || *value != 0);
            // pi passes on the members of its gateway's events.
            members.shift_remove("contentSignature");
            // pi repeats the vendor's JSON behind a prefix for each API; here it is the status with the vendor's message.
            if let Some(error) = members.get_mut("errorMessage") {
                *error = error.as_str().is_some_and(|error| !error.is_empty()).into();
            }
            members.values_mut().for_each(remove_own);
        }
        Value::Array(items) => {
            items.retain(|item| *item != json!({ "type": "text", "text": "" }));
            items.iter_mut().for_each(remove_own);
        }
        _ => {}
    }
}

#[test]
fn frames_of_each_api_equal_pi() {
    let Some(pi) = peer("1.5.2") else { return };
    for (api, path) in APIS {
        let (theirs, ours) = (frames(Kind::Pi(pi), api, path), frames(Kind::Ours, api, path));
        let count = ours.len();
        let mut found = Vec::new();
        compare("", &theirs.into(), &ours.into(), &mut found);
        assert_eq!(found, [], "{api}");
        snapshot(&format!("frames_of_apis_{api}"), format!("{count} frames, equal to those of pi 1.5.2\n"));
    }
}
