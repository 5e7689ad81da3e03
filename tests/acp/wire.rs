//! The wire: long lines both ways, lines that are no messages, a client that vanishes.

use crate::acp_support::{Setup, drive, new_session, prompt};
use agent_client_protocol::v1::schema::LoadSessionRequest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

/// A session of `setup` with a prompt and an answer of this many bytes.
async fn pass_both_ways(setup: Setup, bytes: usize) {
    let project = setup.project();
    let (_, wire) = drive(&setup, async |connection, _| {
        let session = new_session(&connection, &project).await?;
        prompt(&connection, &session, &"x\u{2028}".repeat(bytes / 4)).await
    })
    .await;
    assert_eq!(wire.text("agent_message_chunk").len(), bytes);
}

/// An answer of this many bytes, in five pieces.
fn answer_of(bytes: usize) -> Value {
    json!([{ "say": [{ "deltas": 5, "size": bytes / 5 }] }])
}

#[tokio::test]
async fn five_megabytes_pass_both_ways() {
    pass_both_ways(Setup::own(answer_of(5_000_000)), 5_000_000).await;
}

#[tokio::test]
async fn frames_in_chunks_pass_both_ways() {
    for dialect in ["pi-1", "omp"] {
        pass_both_ways(Setup::foreign(answer_of(1_200_000), dialect), 1_200_000).await;
    }
}

#[tokio::test]
async fn line_separators_pass_both_ways() {
    let text = "one\u{2028}two\u{2029}three\u{85}four\u{b}five";
    let turns = json!([{ "match": text, "say": [{ "thinking": text }, { "text": text }] }]);
    let foreign = ["pi", "pi-1", "xcsh", "omp"].map(|dialect| Setup::foreign(turns.clone(), dialect));
    for setup in [Setup::own(turns)].into_iter().chain(foreign) {
        let project = setup.project();
        let (_, wire) = drive(&setup, async |connection, _| {
            let session = new_session(&connection, &project).await?;
            prompt(&connection, &session, text).await?;
            connection.send_request(LoadSessionRequest::new(session, &project)).block_task().await
        })
        .await;
        assert_eq!(wire.text("agent_thought_chunk"), text.repeat(2));
        assert_eq!(wire.text("agent_message_chunk"), text.repeat(2));
        assert_eq!(wire.text("user_message_chunk"), text);
    }
}

/// A conversation line by line.
struct Lines {
    child: tokio::process::Child,
    input: tokio::process::ChildStdin,
    output: tokio::io::Lines<BufReader<tokio::process::ChildStdout>>,
}

impl Lines {
    fn start(setup: &Setup) -> Self {
        let mut child = setup.start();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, input, output }
    }

    async fn send(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn send_bytes(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).await.unwrap();
    }

    async fn request(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string())
            .await;
        self.answer(&json!(id)).await
    }

    /// The answer with this id.
    async fn answer(&mut self, id: &Value) -> Value {
        loop {
            let line = self.output.next_line().await.unwrap().expect("an answer");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message.get("method").is_none() && message["id"] == *id {
                return message;
            }
        }
    }
}

#[tokio::test]
async fn broken_lines_are_answered_with_errors() {
    let setup = Setup::own(json!([{ "say": [{ "text": "Yes." }] }]));
    let mut lines = Lines::start(&setup);
    lines.send("{not json").await;
    assert_eq!(lines.answer(&Value::Null).await["error"]["code"], -32700);
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    lines.request(1, "initialize", hello).await;
    assert_eq!(lines.request(2, "session/dance", json!({})).await["error"]["code"], -32601);
    assert_eq!(lines.request(3, "session/new", json!({ "cwd": 7 })).await["error"]["code"], -32602);
    let unknown = json!({ "sessionId": "none", "prompt": [] });
    assert_eq!(lines.request(4, "session/prompt", unknown).await["error"]["code"], -32002);
    let unknown = json!({ "sessionId": "none", "cwd": setup.project(), "mcpServers": [] });
    assert_eq!(lines.request(7, "session/load", unknown).await["error"]["code"], -32002);
    let opened = lines.request(5, "session/new", json!({ "cwd": setup.project(), "mcpServers": [] })).await;
    let session = &opened["result"]["sessionId"];
    let content = json!([{ "type": "text", "text": "Hello" }]);
    let done = lines.request(6, "session/prompt", json!({ "sessionId": session, "prompt": content })).await;
    assert_eq!(done["result"], json!({ "stopReason": "end_turn" }));
}

/// The session goes on after a line that is answered with this text.
async fn goes_on_after(line: &[u8], text: &str) {
    let setup = Setup::own(json!([{ "say": [{ "text": "Yes." }] }])).with(&["--max-frame", "10000"]);
    let mut lines = Lines::start(&setup);
    lines.request(1, "initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).await;
    let opened = lines.request(2, "session/new", json!({ "cwd": setup.project(), "mcpServers": [] })).await;
    let session = &opened["result"]["sessionId"];
    lines.send_bytes(line).await;
    let error = lines.answer(&Value::Null).await["error"].clone();
    assert_eq!((&error["code"], &error["data"]["line"]), (&json!(-32700), &json!(text)));
    let content = json!([{ "type": "text", "text": "Hello" }]);
    let done = lines.request(3, "session/prompt", json!({ "sessionId": session, "prompt": content })).await;
    assert_eq!(done["result"], json!({ "stopReason": "end_turn" }));
}

#[tokio::test]
async fn invalid_utf8_is_a_parse_error() {
    goes_on_after(b"{\"a\":\"\xff\"}\n", "not read: invalid UTF-8 at byte 6").await;
}

#[tokio::test]
async fn overlong_line_is_a_parse_error() {
    let line = [&[b'x'; 20_000][..], b"\n"].concat();
    goes_on_after(&line, "not read: the line has 20000 bytes, the limit is 10000").await;
}

#[tokio::test]
async fn terminated_server_leaves_saved_session() {
    let setup = Setup::own(json!([{ "say": [{ "text": "Kept." }] }, { "hang": true }]));
    let mut lines = Lines::start(&setup);
    lines.request(1, "initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).await;
    let opened = lines.request(2, "session/new", json!({ "cwd": setup.project(), "mcpServers": [] })).await;
    let session = opened["result"]["sessionId"].clone();
    let content = json!([{ "type": "text", "text": "Hello" }]);
    let prompt = json!({ "sessionId": session, "prompt": content });
    lines.request(3, "session/prompt", prompt.clone()).await;
    let hanging = json!({ "jsonrpc": "2.0", "id": 4, "method": "session/prompt", "params": prompt });
    lines.send(&hanging.to_string()).await;
    let process = Pid::from_raw(lines.child.id().unwrap().try_into().unwrap()).unwrap();
    kill_process(process, Signal::TERM).unwrap();
    assert_eq!(lines.child.wait().await.unwrap().code(), Some(143));
    let mut lines = Lines::start(&setup);
    lines.request(1, "initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).await;
    let listed = lines.request(2, "session/list", json!({ "cwd": setup.project() })).await;
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], session);
}

#[tokio::test]
async fn vanished_client_leaves_saved_session() {
    let setup = Setup::own(json!([
        { "match": "first", "say": [{ "text": "Kept." }] },
        { "hang": true }
    ]));
    let mut lines = Lines::start(&setup);
    lines.request(1, "initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).await;
    let opened = lines.request(2, "session/new", json!({ "cwd": setup.project(), "mcpServers": [] })).await;
    let session = opened["result"]["sessionId"].clone();
    let prompt = |text| json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
    lines.request(3, "session/prompt", prompt("first")).await;
    let silent =
        json!({ "jsonrpc": "2.0", "id": 4, "method": "session/prompt", "params": prompt("silence") });
    lines.send(&silent.to_string()).await;
    let Lines { mut child, input, output } = lines;
    drop((input, output));
    assert!(child.wait().await.unwrap().success());
    let mut lines = Lines::start(&setup);
    lines.request(1, "initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).await;
    let listed = lines.request(2, "session/list", json!({ "cwd": setup.project() })).await;
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], session);
}

#[tokio::test]
async fn client_leaving_mid_stream_ends_server() {
    let turns = json!([{ "say": [{ "deltas": 100_000, "size": 10, "delayMs": 1 }] }]);
    let mut foreign = Setup::foreign(turns.clone(), "pi-1");
    let process = foreign.home.path().join("process");
    let server: Vec<String> = foreign.options.drain(2..).map(|word| format!("'{word}'")).collect();
    let script = format!("#!/bin/sh\necho $$ > '{}'\nexec {}\n", process.display(), server.join(" "));
    let script = foreign.script("server", &script);
    foreign.options.push(script);
    let setups = [Setup::own(turns), foreign];
    for setup in &setups {
        let mut lines = Lines::start(setup);
        lines.request(1, "initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).await;
        let opened =
            lines.request(2, "session/new", json!({ "cwd": setup.project(), "mcpServers": [] })).await;
        let prompt = json!([{ "type": "text", "text": "Hello" }]);
        let params = json!({ "sessionId": opened["result"]["sessionId"], "prompt": prompt });
        let prompt = json!({ "jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": params });
        lines.send(&prompt.to_string()).await;
        while !lines.output.next_line().await.unwrap().unwrap().contains("agent_message_chunk") {}
        let Lines { mut child, input, output } = lines;
        drop((input, output));
        let status = child.wait().await.unwrap();
        assert!(status.success(), "{status}");
        setup.judge();
    }
    let process = std::fs::read_to_string(process).unwrap();
    assert!(!std::path::Path::new("/proc").join(process.trim()).exists(), "process {process}");
}
