//! OpenAI's own clients for Azure drive the fake vendor.

use crate::{
    note, script,
    toolchain_support::{environment, packages, run},
    vendor,
};
use serde_json::{Value, json};
use std::process::Command;

/// Runs a client, and checks what it made of the API.
fn check(client: &mut Command) {
    let vendor = vendor();
    client.arg(format!("http://{}", vendor.address));
    let told: Value = serde_json::from_str(&run(client).unwrap()).unwrap();
    let first = json!({
        "text": "I look\ninto it: Grüße 🎈.",
        "status": "completed",
        "kinds": ["reasoning", "message", "function_call"],
        "call": ["read", "{\"path\":\"a.txt\"}"],
        "tokens": [13, 3, 20],
    });
    assert_eq!(told["first"], first);
    assert_eq!(told["second"], "I saw the result.");
    assert_eq!(told["half"], "Service unavailable");
    assert_eq!(told["listed"], json!(["scripted"]));
    for (name, status, message) in
        [("busy", 429, "Slow down"), ("orphan", 400, "No tool output found for function call")]
    {
        let error = &told[name];
        assert_eq!(error["status"], status, "{name}: {told}");
        assert!(error["message"].as_str().is_some_and(|said| said.contains(message)), "{name}: {error}");
    }
    let refusals = vendor.refusals();
    assert!(refusals.len() == 1 && refusals[0].contains("No tool output found"), "{refusals:?}");
    let keys = vendor.journal.received();
    assert!(keys.iter().all(|request| request.header("api-key") == Some("key")), "{keys:?}");
}

#[test]
fn azure_openai_of_npm_understands_mock() {
    let Some(folder) = packages("tests/vendor_clients/node") else { return };
    check(Command::new("node").arg(script("node/azure.mjs")).arg(folder));
    note("openai of npm", &["azure-openai-responses"]);
}

#[test]
fn azure_openai_of_pypi_understands_mock() {
    let Some(python) = environment("tests/vendor_clients/requirements.txt") else { return };
    check(Command::new(python).arg(script("azure.py")));
    note("openai of PyPI", &["azure-openai-responses"]);
}
