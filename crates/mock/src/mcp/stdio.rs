//! The scripted server on two pipes: messages, a line each.

use super::{
    conversation::{Conversation, McpState, Sent},
    script::McpScript,
};
use serde_json::{Value, json};
use std::{fs::File, future::pending, io::Write as _, sync::Arc};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::mpsc,
};

/// The longest line of a client, in bytes: 64 MiB. A longer one is the end.
const MAX_LINE: u64 = 64 * 1024 * 1024;

/// Messages that wait for the client to read.
const QUEUE: usize = 16;

/// An error of JSON-RPC: the line is no JSON.
const PARSE_ERROR: i64 = -32700;

/// Serves one client until its input ends and its requests are answered, or the script exits; gives the status to exit with. Each
/// line of the client goes to `log`, too. A server that [ignores](McpScript::ignores_end) the end of its input goes on.
pub async fn serve_stdio(
    script: McpScript,
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    log: Option<File>,
) -> u8 {
    let ignores_end = script.ignores_end;
    let (sender, mut sent) = mpsc::channel(QUEUE);
    let reading = async {
        read(script, input, sender, log).await;
        // What is still being answered has senders of its own.
        pending::<()>().await;
    };
    let writing = async {
        while let Some(next) = sent.recv().await {
            let bytes = match next {
                Sent::Message(message) => format!("{message}\n"),
                Sent::Raw(text) => text,
                Sent::Stderr(text) => {
                    // Nobody may read it.
                    let _ = std::io::stderr().write_all(text.as_bytes());
                    continue;
                }
                Sent::Http(answer) => answer.body,
                Sent::Exit(status) => return status,
                Sent::Close(_) => continue,
            };
            if output.write_all(bytes.as_bytes()).await.is_err() || output.flush().await.is_err() {
                return 0;
            }
        }
        if ignores_end { pending().await } else { 0 }
    };
    tokio::select! {
        () = reading => 0,
        status = writing => status,
    }
}

async fn read(
    script: McpScript,
    input: impl AsyncRead + Unpin,
    sender: mpsc::Sender<Sent>,
    mut log: Option<File>,
) {
    let conversation = Conversation::new(McpState::new(script));
    conversation.start(&sender).await;
    let mut input = BufReader::new(input);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut input).take(MAX_LINE);
        match limited.read_until(b'\n', &mut line).await {
            Ok(1..) if line.ends_with(b"\n") => {}
            Ok(_) | Err(_) => return,
        }
        if let Some(log) = &mut log {
            // A full disk must not end the test.
            let _ = log.write_all(&line);
        }
        match serde_json::from_slice::<Value>(&line) {
            Ok(message) => Arc::clone(&conversation).receive(message, sender.clone()),
            Err(error) => {
                let error = json!({ "code": PARSE_ERROR, "message": error.to_string() });
                let answer = json!({ "jsonrpc": "2.0", "id": null, "error": error });
                if sender.send(Sent::Message(answer)).await.is_err() {
                    return;
                }
            }
        }
    }
}
