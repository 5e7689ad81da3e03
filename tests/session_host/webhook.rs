//! Notices of a host's sessions: signed, sent again, and without what was said.

use crate::{
    host_support::{Host, hello, waiting},
    serve_support::{binary, command},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use ring::hmac;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    process::Stdio,
    sync::Arc,
};

const SECRET: &str = "a secret of more than 24 bytes";

/// A request that was received.
struct Notice {
    headers: Vec<(String, String)>,
    body: String,
}

impl Notice {
    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_else(|| panic!("{name}: {:?}", self.headers))
    }

    /// What it says, if its signature is right.
    fn verified(&self) -> Value {
        let signed =
            format!("{}.{}.{}", self.header("webhook-id"), self.header("webhook-timestamp"), self.body);
        let tag = self.header("webhook-signature").strip_prefix("v1,").unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
        hmac::verify(&key, signed.as_bytes(), &BASE64_STANDARD.decode(tag).unwrap()).unwrap();
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Receives a request, and answers it with this status.
fn receive(listener: &TcpListener, status: &str) -> Notice {
    let (stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let pairs = lines[1..].iter().filter_map(|line| line.split_once(": "));
    let headers: Vec<(String, String)> =
        pairs.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let mut notice = Notice { headers, body: String::new() };
    let length = notice.header("content-length").parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    notice.body = String::from_utf8(body).unwrap();
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    reader.get_mut().write_all(answer.as_bytes()).unwrap();
    notice
}

/// A host with a webhook, and its receiver.
fn host(turns: &Value, arguments: &[&str]) -> (Host, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("script.json"), json!({ "turns": turns }).to_string()).unwrap();
    fs::write(dir.path().join("secret"), SECRET).unwrap();
    let url = format!("http://{}/hook?key=4711", listener.local_addr().unwrap());
    let own = ["--webhook", &url, "--webhook-private", "--webhook-secret-file", "secret"];
    (Host::start_in(Arc::new(dir), &[&own[..], arguments].concat()), listener)
}

#[test]
fn run_end_is_sent_until_it_arrives() {
    let (host, listener) = host(&hello(), &[]);
    let mut client = host.client();
    let session = client.open();
    client.send(&json!({ "type": "prompt", "id": 1, "message": "A secret plan", "sessionId": session }));
    let first = receive(&listener, "503 Service Unavailable");
    let second = receive(&listener, "200 OK");
    assert_eq!(first.header("webhook-id"), second.header("webhook-id"));
    let said = second.verified();
    assert_eq!((&said["type"], &said["data"]["sessionId"]), (&json!("run.done"), &json!(session)));
    assert!(!second.body.contains("plan") && !second.body.contains("Hello"), "{}", second.body);
    client.until_type("agent_settled");
    let log = String::from_utf8(host.stop().stderr).unwrap();
    assert!(!log.contains(SECRET) && !log.contains("4711"), "{log}");
}

#[test]
fn question_that_waits_is_sent() {
    let (host, listener) = host(&waiting(), &["--confirm-tools", "bash"]);
    let mut client = host.client();
    let session = client.open();
    client.send(&json!({ "type": "prompt", "id": 1, "message": "go", "sessionId": session }));
    let asked = client.until_type("extension_ui_request").pop().unwrap();
    let said = receive(&listener, "204 No Content").verified();
    assert_eq!((&said["type"], &said["data"]["dialogId"]), (&json!("question.waits"), &asked["id"]));
}

#[test]
fn webhook_without_secret_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str], secret: Option<&str>| {
        let mut line = command(binary(), dir.path());
        line.args(["host", "--listen", "unix:s", "--model", "scripted/demo", "--dialect", "pi-1"])
            .args(arguments);
        if let Some(secret) = secret {
            line.env("PI_RPC_WEBHOOK_SECRET", secret);
        }
        let ended = line.stdin(Stdio::null()).output().unwrap();
        (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
    };
    for (arguments, secret, why) in [
        (
            &["--webhook", "http://example.org/"][..],
            Some(SECRET),
            "expected an address that begins with https://",
        ),
        (&["--webhook", "nowhere"], Some(SECRET), "--webhook: "),
        (&["--webhook", "https://example.org/"], None, "its secret is missing: set PI_RPC_WEBHOOK_SECRET"),
        (&["--webhook", "https://example.org/"], Some("short"), "expected at least 24 bytes, got 5"),
    ] {
        let (status, text) = refused(arguments, secret);
        assert!(status == Some(2) && text.contains(why), "{arguments:?}: {status:?} {text}");
    }
}
