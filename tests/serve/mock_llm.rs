//! `pi-rpc mock-llm`, the real binary.

use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    process::{Command, Stdio},
};

#[test]
fn mock_binary_serves_logs_and_exits() {
    let folder = tempfile::tempdir().unwrap();
    let (script, log) = (folder.path().join("script.json"), folder.path().join("log.jsonl"));
    std::fs::write(&script, json!({ "turns": [{ "say": [{ "text": "Hello" }] }] }).to_string()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_pi-rpc"))
        .args(["mock-llm", "--exit-with-stdin", "--script"])
        .arg(&script)
        .arg("--log")
        .arg(&log)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.strip_prefix("listening on ").expect("the address").trim_end().to_owned();

    let prompt = json!({ "model": "m", "max_tokens": 64, "messages": [{ "role": "user", "content": "hi" }] });
    let secret = ["proxy-authorization", "cf-aig-authorization", "x-goog-api-key", "x-session-token"];
    let headers: String = secret.iter().map(|name| format!("{name}: sk-secret\r\n")).collect();
    let body = prompt.to_string();
    let mut server = TcpStream::connect(url.strip_prefix("http://").expect("an address")).unwrap();
    let length = body.len();
    write!(
        server,
        "POST /v1/messages HTTP/1.1\r\nhost: {url}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nx-api-key: sk-secret\r\nanthropic-version: 2023-06-01\r\n{headers}\r\n{body}"
    )
    .unwrap();
    let answer = std::io::read_to_string(server).unwrap();
    let message = answer.lines().find(|line| line.starts_with('{')).expect("an object");
    let message: Value = serde_json::from_str(message).unwrap();
    assert_eq!(message["content"][0]["text"], "Hello");
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));

    let logged: Value = serde_json::from_str(&std::fs::read_to_string(log).unwrap()).unwrap();
    assert_eq!((&logged["path"], &logged["status"]), (&json!("/v1/messages"), &json!(200)));
    assert_eq!(logged["body"], prompt);
    let headers = logged["headers"].as_array().unwrap();
    for name in ["x-api-key"].iter().chain(&secret) {
        assert!(headers.contains(&json!([name, "***"])), "{headers:?}");
    }
    assert!(headers.contains(&json!(["content-type", "application/json"])), "{headers:?}");
}

#[test]
fn mock_binary_refuses_public_address() {
    let output = Command::new(env!("CARGO_BIN_EXE_pi-rpc"))
        .args(["mock-llm", "--listen", "0.0.0.0:0"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        text,
        "Error: --listen 0.0.0.0:0: other machines could reach it; to allow that, add --allow-remote\n"
    );
}
