//! Amazon Bedrock, end to end: signed requests, with keys from wherever AWS has them.

use crate::serve_support::{
    FakeVendor, Server, binary, command, of_type, write_agent_file, write_models_file,
};
use pi_rpc::{
    mock::{AWS_KEY_ID, AWS_SECRET},
    protocol::Dialect,
};
use serde_json::{Value, json};
use std::fs;

#[cfg(feature = "aws-chain")]
#[path = "aws_chain.rs"]
mod chain;

const MODEL: &str = "amazon-bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0";

fn vendor() -> FakeVendor {
    FakeVendor::plays(&json!({ "turns": [{ "say": [{ "text": "Hello" }], "repeat": true }] }))
}

/// A server with a model of the vendor, with these files of AWS and this environment.
fn started(vendor: &FakeVendor, files: &[(&str, &str)], environment: &[(&str, &str)]) -> Server {
    let dir = tempfile::tempdir().unwrap();
    let bedrock = json!({ "baseUrl": format!("http://{}", vendor.address) });
    write_models_file(dir.path(), Dialect::Pi, &json!({ "providers": { "amazon-bedrock": bedrock } }));
    let settings = json!({ "retry": { "enabled": false, "provider": { "maxRetries": 0 } } });
    write_agent_file(dir.path(), Dialect::Pi, "settings.json", &settings);
    for (name, text) in [&[("config", "")], files].concat() {
        let path = dir.path().join(".aws").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut command = command(binary(), dir.path());
    command.args(["--mode", "rpc", "--no-session", "--dialect", "pi", "--model", MODEL]);
    command.env("AWS_EC2_METADATA_DISABLED", "true").envs(environment.iter().copied());
    Server::start(Dialect::Pi, dir, command)
}

/// The message of a prompt to the vendor, with these files of AWS and this environment.
fn answered(vendor: &FakeVendor, files: &[(&str, &str)], environment: &[(&str, &str)]) -> Value {
    let mut server = started(vendor, files, environment);
    let frames = server.run("hi");
    let message = of_type(&frames, "turn_end")[0]["message"].clone();
    server.finishes();
    message
}

#[test]
fn signed_request_is_answered() {
    let keys = [("AWS_ACCESS_KEY_ID", AWS_KEY_ID), ("AWS_SECRET_ACCESS_KEY", AWS_SECRET)];
    let profile = format!("[work]\naws_access_key_id = {AWS_KEY_ID}\naws_secret_access_key = {AWS_SECRET}\n");
    let by_profile = [("AWS_PROFILE", "work")];
    for (files, environment) in [(&[][..], &keys[..]), (&[("credentials", profile.as_str())], &by_profile)] {
        let vendor = vendor();
        let message = answered(&vendor, files, environment);
        assert_eq!(message["content"][0]["text"], "Hello", "{message}");
        let request = &vendor.journal.received()[0];
        assert_eq!(request.path, "/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream");
        let signature = request.header("authorization").unwrap();
        assert!(signature.contains("/us-east-1/bedrock/aws4_request"), "{signature}");
    }
}

#[test]
fn wrong_key_of_aws_is_reported() {
    let keys = [("AWS_ACCESS_KEY_ID", AWS_KEY_ID), ("AWS_SECRET_ACCESS_KEY", "another-secret")];
    let message = answered(&vendor(), &[], &keys);
    let error = message["errorMessage"].as_str().unwrap();
    assert!(
        error.starts_with("403 InvalidSignatureException: The request signature we calculated"),
        "{error}"
    );
}

#[cfg(not(feature = "aws-chain"))]
#[test]
fn missing_keys_of_aws_are_explained() {
    let config = "[profile work]\nsso_start_url = https://example.com\n";
    let message = answered(&vendor(), &[("config", config)], &[("AWS_PROFILE", "work")]);
    let error = message["errorMessage"].as_str().unwrap();
    assert!(error.starts_with("No AWS keys: set AWS_ACCESS_KEY_ID"), "{error}");
}

#[test]
fn profile_of_login_gives_keys() {
    let profile = format!("[work]\naws_access_key_id = {AWS_KEY_ID}\naws_secret_access_key = {AWS_SECRET}\n");
    let login =
        json!({ "amazon-bedrock": { "type": "api_key", "env": { "AWS_PROFILE": "work" } } }).to_string();
    let vendor = vendor();
    let files = [("credentials", profile.as_str()), ("../.pi/agent/auth.json", login.as_str())];
    let message = answered(&vendor, &files, &[]);
    assert_eq!(message["content"][0]["text"], "Hello", "{message}");
}
