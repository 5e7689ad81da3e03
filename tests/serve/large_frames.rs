//! Large frames of omp over real pipes: cut down or refused in version 1 of the protocol, in chunks from version 2 on.

use crate::serve_support::Server;
use pi_rpc::protocol::{ChunkReassembler, Dialect::Omp, ReassembledLine};
use serde_json::{Value, json};

/// Bytes of the longest line, with its line feed.
const LIMIT: usize = 1_048_576;

/// A host of omp that puts chunks together.
struct Host {
    server: Server,
    chunks: ChunkReassembler,
    /// Lines that were chunks.
    pieces: usize,
}

impl Host {
    fn with_answer(text: &str) -> Self {
        let turns = json!([{ "say": [{ "text": text, "size": 350_000 }] }, { "say": [{ "text": "Two." }] }]);
        let server = Server::script_in(Omp, tempfile::tempdir().unwrap(), turns, &[]);
        let mut host = Self { server, chunks: ChunkReassembler::new(Omp), pieces: 0 };
        // The text is larger than the context window of the model.
        host.ask(json!({ "type": "set_auto_compaction", "enabled": false }));
        host
    }

    fn negotiated(text: &str) -> Self {
        let mut host = Self::with_answer(text);
        let response = host.ask(json!({ "type": "negotiate_protocol", "protocolVersion": 2 }));
        assert_eq!(response["data"], json!({ "protocolVersion": 2 }));
        host
    }

    /// Reads the next whole frame.
    #[track_caller]
    fn next(&mut self) -> Value {
        loop {
            let line = self.server.next_line().expect("a line");
            assert!(line.len() < LIMIT, "a line of {} bytes", line.len());
            let frame = match self.chunks.take(&line).expect("whole chunks") {
                ReassembledLine::Whole => line,
                ReassembledLine::Frame(frame) => frame,
                ReassembledLine::Piece => {
                    self.pieces += 1;
                    continue;
                }
            };
            return serde_json::from_slice(&frame).expect("JSON");
        }
    }

    /// Reads frames up to the first of this type.
    #[track_caller]
    fn until_type(&mut self, kind: &str) -> Vec<Value> {
        let mut frames = Vec::new();
        while frames.last().is_none_or(|frame: &Value| frame["type"] != kind) {
            frames.push(self.next());
        }
        frames
    }

    /// Sends a command without an open run, and reads up to its response.
    #[track_caller]
    fn ask(&mut self, command: Value) -> Value {
        self.server.send(command);
        self.until_type("response").pop().unwrap()
    }

    /// Runs a prompt to its end.
    #[track_caller]
    fn run(&mut self, message: &str) -> Vec<Value> {
        let line = format!("{}\n", json!({ "type": "prompt", "message": message }));
        // Aside: the server may write before it has read all.
        let sending = self.server.send_aside(line.into_bytes());
        let frames = self.until_type("agent_end");
        self.server.sent(sending);
        frames
    }
}

/// 1.4 MB of text. A question comes without instructions to plan first.
fn large_text() -> String {
    "é".repeat(699_999) + "?"
}

fn text_of(message: &Value) -> &str {
    let content = &message["content"];
    content.as_str().or_else(|| content[0]["text"].as_str()).expect("a text")
}

/// The message of the first frame of this type from this role.
#[track_caller]
fn message<'a>(frames: &'a [Value], kind: &str, role: &str) -> &'a Value {
    let mut messages = frames.iter().filter(|frame| frame["type"] == kind).map(|frame| &frame["message"]);
    messages.find(|message| message["role"] == role).unwrap_or_else(|| panic!("no {kind} of {role}"))
}

#[test]
fn large_prompt_is_cut_without_negotiation() {
    let mut host = Host::with_answer("One.");
    let frames = host.run(&large_text());
    let cut = format!("{}\n…[437936 chars elided for RPC frame]", "é".repeat(262_064));
    assert_eq!(text_of(message(&frames, "message_end", "user")), cut);
    let end = frames.last().unwrap();
    assert_eq!(end["messageCount"], 2);
    assert_eq!(end["messages"].as_array().unwrap().len(), 1);
    assert_eq!(text_of(&end["messages"][0]), "One.");
    assert_eq!(host.pieces, 0);
}

#[test]
fn large_answer_is_cut_without_negotiation() {
    let mut host = Host::with_answer(&large_text());
    let frames = host.run("hi?");
    let text = text_of(message(&frames, "message_end", "assistant"));
    assert!(text.ends_with(" chars elided for RPC frame]"), "{} bytes", text.len());
}

#[test]
fn large_response_is_refused_without_negotiation() {
    let mut host = Host::with_answer("One.");
    host.run(&large_text());
    let expected = json!({
        "id": "all", "type": "response", "command": "get_messages", "success": false,
        "error": "RPC response exceeded the transport limit",
    });
    assert_eq!(host.ask(json!({ "id": "all", "type": "get_messages" })), expected);
    assert_eq!(host.ask(json!({ "type": "get_state" }))["data"]["messageCount"], 2);
}

#[test]
fn negotiated_large_frames_come_whole() {
    let mut host = Host::negotiated(&large_text());
    let frames = host.run(&large_text());
    assert_eq!(text_of(message(&frames, "message_end", "user")), large_text());
    assert_eq!(text_of(message(&frames, "message_end", "assistant")), large_text());
    let response = host.ask(json!({ "type": "get_messages" }));
    let texts: Vec<_> = response["data"]["messages"].as_array().unwrap().iter().map(text_of).collect();
    assert_eq!(texts, [large_text(), large_text()]);
    assert!(host.pieces > 0);
}

#[test]
fn negotiation_takes_effect_between_runs() {
    let mut host = Host::with_answer("One.");
    host.run(&large_text());
    let refused = host.ask(json!({ "type": "get_messages" }));
    assert_eq!(refused["success"], false);
    host.ask(json!({ "type": "negotiate_protocol", "protocolVersion": 2 }));
    let response = host.ask(json!({ "type": "get_messages" }));
    assert_eq!(text_of(&response["data"]["messages"][0]), large_text());
    assert_eq!(host.pieces, 5);
}

#[test]
fn chunks_from_host_are_refused() {
    let mut host = Host::negotiated("One.");
    let chunk = json!({
        "type": "rpc_chunk", "chunkId": "c", "index": 0, "count": 2, "byteLength": 1_100_000, "data": "e30=",
    });
    assert_eq!(host.ask(chunk)["error"], "Unknown command: rpc_chunk");
    assert_eq!(host.ask(json!({ "type": "get_state" }))["success"], true);
}
