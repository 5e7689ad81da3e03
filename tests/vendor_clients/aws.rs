//! AWS's own clients against the mock of Amazon Bedrock: they sign, stream, call a tool and read errors.

use crate::{
    note, script,
    serve_support::FakeVendor,
    toolchain_support::{environment, packages, run},
    vendor,
};
use pi_rpc::mock::{AWS_KEY_ID, AWS_SECRET};
use serde_json::{Value, json};
use std::process::Command;

/// What a client made of the service.
fn check(vendor: &FakeVendor, told: &Value) {
    let thought = json!({ "text": "Let me look.", "signature": "c2lnbmVk" });
    let call = json!({ "toolUseId": "c1", "name": "read", "input": { "path": "a.txt" } });
    let first = json!({
        "content": [
            { "reasoningContent": { "reasoningText": thought } },
            { "text": "I look\ninto it: Grüße 🎈." },
            { "toolUse": call },
        ],
        "stopReason": "tool_use",
        "tokens": {
            "inputTokens": 10, "outputTokens": 20, "totalTokens": 33, "cacheReadInputTokens": 3,
            "cacheWriteInputTokens": 0,
        },
    });
    assert_eq!(told["first"], first);
    assert_eq!(
        told["second"],
        json!({ "content": [{ "text": "I saw the result." }], "stopReason": "end_turn" })
    );
    let errors = [
        ("busy", "ThrottlingException", json!(429), "Slow down"),
        ("orphan", "ValidationException", json!(400), "Expected toolResult blocks at messages.2.content"),
        ("forged", "InvalidSignatureException", json!(403), "does not match the signature you provided"),
    ];
    for (name, kind, status, message) in errors {
        let error = &told[name];
        assert_eq!((&error["name"], &error["status"]), (&json!(kind), &status), "{name}: {told}");
        assert!(error["message"].as_str().is_some_and(|said| said.contains(message)), "{name}: {error}");
    }
    // The client of PyPI writes the exception with a small letter, as it comes in the stream.
    let half = told["half"]["name"].as_str().unwrap_or_default();
    assert!(half.eq_ignore_ascii_case("serviceUnavailableException"), "{told}");
    assert_eq!(vendor.refusals().len(), 2, "{:?}", vendor.refusals());
}

#[test]
fn aws_client_of_npm_understands_mock() {
    let Some(folder) = packages("tests/vendor_clients/aws") else { return };
    let vendor = vendor();
    let mut client = Command::new("node");
    client.arg(script("aws/client.mjs")).arg(folder);
    client.arg(format!("http://{}", vendor.address)).args([AWS_KEY_ID, AWS_SECRET]);
    let told = run(&mut client).unwrap();
    check(&vendor, &serde_json::from_str(&told).unwrap());
    note("@aws-sdk/client-bedrock-runtime of npm", &["bedrock-converse-stream"]);
}

#[test]
fn aws_client_of_pypi_understands_mock() {
    let Some(python) = environment("tests/vendor_clients/aws/requirements.txt") else { return };
    let vendor = vendor();
    let mut client = Command::new(python);
    client
        .arg(script("aws/client.py"))
        .arg(format!("http://{}", vendor.address))
        .args([AWS_KEY_ID, AWS_SECRET]);
    let told = run(&mut client).unwrap();
    check(&vendor, &serde_json::from_str(&told).unwrap());
    note("boto3 of PyPI", &["bedrock-converse-stream"]);
}
