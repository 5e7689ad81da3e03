//! Clients that an update of their server breaks are whole behind the front.

use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

const BINARY: &str = env!("CARGO_BIN_EXE_pi-rpc");

/// How long a client waits for a frame that comes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The server of the dialect that is installed today, with the built-in model.
const SERVER: [&str; 7] = [BINARY, "serve", "--dialect", "pi-1", "--no-session", "--model", "scripted/demo"];

/// A client as bridges have them: it writes commands and reads frames, and knows one version of the server.
struct OldClient {
    server: Child,
    input: ChildStdin,
    frames: Receiver<Value>,
}

impl OldClient {
    fn start(command: &[&str]) -> Self {
        let mut server = Command::new(command[0])
            .args(&command[1..])
            .env_remove("PI_RPC_DIALECT")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a server");
        let output = BufReader::new(server.stdout.take().expect("its output"));
        let input = server.stdin.take().expect("its input");
        let (sender, frames) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let frame = serde_json::from_str(&line).expect("JSON");
                if sender.send(frame).is_err() {
                    return;
                }
            }
        });
        Self { server, input, frames }
    }

    fn with_front() -> Self {
        let front = [BINARY, "front", "--speak", "pi", "--server-dialect", "pi-1", "--"];
        Self::start(&[&front[..], &SERVER[..]].concat())
    }

    fn send(&mut self, command: &Value) {
        writeln!(self.input, "{command}").expect("the server reads");
    }

    /// The next frame of a type.
    fn expect(&self, kind: &str) -> Value {
        loop {
            let frame = self.frames.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{kind}: {error}"));
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    /// What a bridge shows of an answer: the text of the snapshot in the last update before the message is complete.
    fn shown_text(&mut self) -> Option<String> {
        self.send(&json!({ "id": "1", "type": "prompt", "message": "Hello" }));
        let mut shown = None;
        loop {
            let frame = self.frames.recv_timeout(PATIENCE).expect("a frame");
            match frame["type"].as_str() {
                Some("message_update") => {
                    let texts = frame["message"]["content"].as_array();
                    let text = texts.into_iter().flatten().filter_map(|block| block["text"].as_str());
                    shown = texts.is_some().then(|| text.collect()).or(shown);
                }
                Some("agent_end") => return shown,
                _ => {}
            }
        }
    }

    /// Prompts, and again as soon as the run has ended; the response to the second prompt.
    fn prompt_at_end(&mut self) -> Value {
        self.send(&json!({ "id": "1", "type": "prompt", "message": "Hello" }));
        self.expect("agent_end");
        self.send(&json!({ "id": "2", "type": "prompt", "message": "Again" }));
        loop {
            let response = self.expect("response");
            if response["id"] == "2" {
                return response;
            }
        }
    }
}

impl Drop for OldClient {
    fn drop(&mut self) {
        // It may have exited.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn snapshot_reader_is_whole_behind_front() {
    assert_eq!(OldClient::start(&SERVER).shown_text(), None, "without the front there is nothing to show");
    let shown = OldClient::with_front().shown_text();
    assert!(shown.as_deref().is_some_and(|text| !text.is_empty()), "{shown:?}");
}

#[test]
fn prompt_at_agent_end_is_served() {
    let mut client = OldClient::with_front();
    let response = client.prompt_at_end();
    assert_eq!(response, json!({ "id": "2", "type": "response", "command": "prompt", "success": true }));
    client.expect("agent_end");
}
