//! Mistral's own clients.

use crate::{
    note, script,
    serve_support::FakeVendor,
    toolchain_support::{environment, packages, run},
    vendor,
};
use serde_json::{Value, json};
use std::process::Command;

/// What a client made of Mistral's API.
fn check(vendor: &FakeVendor, told: &Value) {
    let first = json!({
        "text": "I look\ninto it: Grüße 🎈.", "thinking": "Let me look.",
        "calls": [{ "id": "0000000c1", "name": "read", "arguments": "{\"path\":\"a.txt\"}" }],
        "finishReason": "tool_calls", "tokens": [13, 20, 33],
    });
    assert_eq!(told["first"], first);
    let second = [&told["second"]["text"], &told["second"]["finishReason"]];
    assert_eq!(second, ["I saw the result.", "stop"]);
    let errors = [
        ("busy", 429, "Slow down"),
        ("orphan", 400, "Not the same number of function calls and responses"),
        ("shape", 422, "\"loc\":[\"body\",\"messages\",0,"),
    ];
    for (name, status, message) in errors {
        let error = &told[name];
        assert_eq!(error["status"], status, "{name}: {told}");
        assert!(error["message"].as_str().is_some_and(|said| said.contains(message)), "{name}: {error}");
    }
    assert_eq!(told["listed"], json!(["scripted"]));
    assert_eq!(vendor.refusals().len(), 2, "{:?}", vendor.refusals());
}

#[test]
fn mistralai_of_npm_understands_mock() {
    let Some(folder) = packages("tests/vendor_clients/mistral") else { return };
    let vendor = vendor();
    let mut client = Command::new("node");
    client.arg(script("mistral/client.mjs")).arg(folder).arg(format!("http://{}", vendor.address));
    let told = run(&mut client).unwrap();
    check(&vendor, &serde_json::from_str(&told).unwrap());
    note("@mistralai/mistralai of npm", &["mistral-conversations"]);
}

#[test]
fn mistralai_of_pypi_understands_mock() {
    let Some(python) = environment("tests/vendor_clients/mistral/requirements.txt") else { return };
    let vendor = vendor();
    let mut client = Command::new(python);
    client.arg(script("mistral/client.py")).arg(format!("http://{}", vendor.address));
    let told = run(&mut client).unwrap();
    check(&vendor, &serde_json::from_str(&told).unwrap());
    note("mistralai of PyPI", &["mistral-conversations"]);
}
