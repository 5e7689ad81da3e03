//! Other people's clients drive this program: those of vendors the fake vendor, that of ACP the agent.
#![cfg(feature = "serve")]

#[path = "../serve_support/mod.rs"]
mod serve_support;
#[path = "../toolchain_support/mod.rs"]
mod toolchain_support;

#[cfg(feature = "acp")]
mod acp;
mod aws;
mod azure;
mod mistral;

use serde_json::{Value, json};
use serve_support::{FakeVendor, snapshot};
use std::{path::Path, process::Command};
use toolchain_support::{environment, packages, run};

/// A thought, a call, its result, and two ways to fail.
fn vendor() -> FakeVendor {
    FakeVendor::plays(&json!({ "turns": [
        { "match": "work", "onResult": "three", "repeat": true, "say": [{ "text": "I saw the result." }] },
        { "match": "work", "repeat": true, "size": 4, "say": [
            { "thinking": "Let me look.", "signature": "c2lnbmVk" }, { "text": "I look\ninto it: Grüße 🎈." },
            { "tool": "read", "id": "c1", "arguments": { "path": "a.txt" } },
        ], "usage": { "input": 10, "output": 20, "cacheRead": 3 } },
        { "match": "busy", "repeat": true, "fail": { "status": 429, "message": "Slow down" } },
        // The client of npm sees an error within a stream only if it arrives by itself.
        { "match": "half", "repeat": true, "fail": { "status": 503 }, "say": [
            { "text": "Half" }, { "text": "", "firstDelayMs": 500 },
        ] },
    ] }))
}

/// What a client made of Google's API.
fn check_google(vendor: &FakeVendor, told: &Value, listed: &Value) {
    let first = json!({
        "parts": [
            { "text": "Let me look.", "thought": true, "thoughtSignature": "c2lnbmVk" },
            { "text": "I look\ninto it: Grüße 🎈." },
            {
                "functionCall": { "id": "c1", "name": "read", "args": { "path": "a.txt" } },
                "thoughtSignature": "c2NyaXB0ZWQ=",
            },
        ],
        "finishReason": "STOP",
        "tokens": {
            "promptTokenCount": 13, "candidatesTokenCount": 20, "totalTokenCount": 33, "cachedContentTokenCount": 3,
        },
    });
    assert_eq!(told["first"], first);
    assert_eq!(told["second"]["parts"], json!([{ "text": "I saw the result." }]));
    assert_eq!(told["second"]["finishReason"], "STOP");
    let errors = [
        ("busy", 429, "Slow down"),
        ("half", 503, "Service unavailable"),
        ("orphan", 400, "number of function response parts is equal to the number of function call parts"),
    ];
    for (name, status, message) in errors {
        let error = &told[name];
        assert_eq!(error["status"], status, "{name}: {told}");
        assert!(error["message"].as_str().is_some_and(|said| said.contains(message)), "{name}: {error}");
    }
    assert_eq!(told["listed"], *listed);
    let refusals = vendor.refusals();
    assert!(refusals.len() == 1 && refusals[0].contains("function response parts"), "{refusals:?}");
}

/// The APIs that Google's clients speak.
const GOOGLE: [&str; 2] = ["google-generative-ai", "google-vertex"];

/// The services at which Google's clients ask, and the models that they list there.
const SERVICES: [(&[&str], &[&str]); 2] = [(&[], &["models/scripted"]), (&["vertex"], &[])];

#[test]
fn google_genai_of_npm_understands_mock() {
    let Some(folder) = packages("tests/vendor_clients/node") else { return };
    for (service, listed) in SERVICES {
        let vendor = vendor();
        let mut client = Command::new("node");
        client.arg(script("node/client.mjs")).arg(&folder).arg(format!("http://{}", vendor.address));
        let told = run(client.args(service)).unwrap();
        check_google(&vendor, &serde_json::from_str(&told).unwrap(), &json!(listed));
    }
    note("@google/genai of npm", &GOOGLE);
}

#[test]
fn google_genai_of_pypi_understands_mock() {
    let Some(python) = environment("tests/vendor_clients/requirements.txt") else { return };
    for (service, listed) in SERVICES {
        let vendor = vendor();
        let mut client = Command::new(&python);
        client.arg(script("client.py")).arg(format!("http://{}", vendor.address));
        let told = run(client.args(service)).unwrap();
        check_google(&vendor, &serde_json::from_str(&told).unwrap(), &json!(listed));
    }
    note("google-genai of PyPI", &GOOGLE);
}

fn script(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vendor_clients").join(name)
}

/// Notes that a client has driven the mock at these APIs, for the table of what was tried.
fn note(client: &str, apis: &[&str]) {
    let name: String = client.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let lines = apis.iter().map(|api| format!("{api}: {client}\n"));
    snapshot(&format!("vendor_clients_{name}"), lines.collect());
}
