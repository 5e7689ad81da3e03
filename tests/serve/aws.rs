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

const MODEL: &str = "amazon-bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0";

fn vendor() -> FakeVendor {
    FakeVendor::plays(&json!({ "turns": [{ "say": [{ "text": "Hello" }], "repeat": true }] }))
}

/// The message of a prompt to the vendor, with these files of AWS and this environment.
fn answered(vendor: &FakeVendor, files: &[(&str, &str)], environment: &[(&str, &str)]) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let bedrock = json!({ "baseUrl": format!("http://{}", vendor.address) });
    write_models_file(dir.path(), Dialect::Pi, &json!({ "providers": { "amazon-bedrock": bedrock } }));
    let settings = json!({ "retry": { "enabled": false, "provider": { "maxRetries": 0 } } });
    write_agent_file(dir.path(), Dialect::Pi, "settings.json", &settings);
    fs::create_dir(dir.path().join(".aws")).unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(".aws").join(name), text).unwrap();
    }
    let mut command = command(binary(), dir.path());
    command.args(["--mode", "rpc", "--no-session", "--dialect", "pi", "--model", MODEL]);
    command.env("AWS_EC2_METADATA_DISABLED", "true").envs(environment.iter().copied());
    let mut server = Server::start(Dialect::Pi, dir, command);
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

#[cfg(feature = "aws-chain")]
#[test]
fn process_of_profile_gives_keys() {
    let keys = json!({ "Version": 1, "AccessKeyId": AWS_KEY_ID, "SecretAccessKey": AWS_SECRET, "SessionToken": "token" });
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("keys.json");
    fs::write(&file, keys.to_string()).unwrap();
    let config = format!("[profile work]\ncredential_process = cat {}\n", file.display());
    let vendor = vendor();
    let message = answered(&vendor, &[("config", &config)], &[("AWS_PROFILE", "work")]);
    assert_eq!(message["content"][0]["text"], "Hello", "{message}");
    assert_eq!(vendor.journal.received()[0].header("x-amz-security-token"), Some("token"));
}

#[cfg(feature = "aws-chain")]
#[test]
fn container_gives_keys() {
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
    };
    let keys = json!({
        "AccessKeyId": AWS_KEY_ID, "SecretAccessKey": AWS_SECRET, "Token": "token", "Expiration": "2999-01-01T00:00:00Z",
    })
    .to_string();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/keys", listener.local_addr().unwrap());
    // It ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ";
            let _ = write!(stream, "{head}{}\r\n\r\n{keys}", keys.len());
        }
    });
    let vendor = vendor();
    let message = answered(&vendor, &[], &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", &url)]);
    assert_eq!(message["content"][0]["text"], "Hello", "{message}");
    assert_eq!(vendor.journal.received()[0].header("x-amz-security-token"), Some("token"));
}
