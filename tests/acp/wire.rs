//! The wire: long lines both ways, lines that are no messages, a client that vanishes.

use crate::acp_support::{Setup, drive, new_session, prompt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

#[tokio::test]
async fn five_megabytes_pass_both_ways() {
    let setup = Setup::own(json!([{ "repeat": true, "say": [{ "deltas": 5, "size": 1_000_000 }] }]));
    let project = setup.project();
    let (_, wire) = drive(&setup, async |connection, _| {
        let session = new_session(&connection, &project).await?;
        prompt(&connection, &session, &"x\u{2028}".repeat(1_250_000)).await
    })
    .await;
    assert_eq!(wire.text("agent_message_chunk").len(), 5_000_000);
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
    assert_eq!(lines.request(4, "session/prompt", unknown).await["error"]["code"], -32602);
    let opened = lines.request(5, "session/new", json!({ "cwd": setup.project(), "mcpServers": [] })).await;
    let session = &opened["result"]["sessionId"];
    let content = json!([{ "type": "text", "text": "Hello" }]);
    let done = lines.request(6, "session/prompt", json!({ "sessionId": session, "prompt": content })).await;
    assert_eq!(done["result"], json!({ "stopReason": "end_turn" }));
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
