//! What clients are told where the owner of a session is lost: no prompt that was answered vanishes in silence.

use crate::{
    host_support::{hello, waiting},
    nodes::{Nodes, command_of, open, prompt, texts},
    serve_support::{eventually, of_type},
};
use rustix::process::Signal;
use serde_json::json;
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket, client::IntoClientRequest as _};

/// A proxy in front of a server that loses entries while it is told to, as if the leader of their stream did not answer.
#[derive(Clone, Default)]
struct Sieve {
    loses: Arc<AtomicBool>,
    lost: Arc<AtomicUsize>,
}

impl Sieve {
    /// Opens the proxy. Returns its port.
    fn to(&self, server: u16) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let sieve = self.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { continue };
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
                let sieve = sieve.clone();
                thread::spawn(move || {
                    let end = server.try_clone().unwrap();
                    let _ = sieve.pass_on(client, server);
                    let _ = end.shutdown(Shutdown::Both);
                });
            }
        });
        port
    }

    fn pass_on(&self, from: TcpStream, mut to: TcpStream) -> std::io::Result<()> {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line)? > 0 {
            let words: Vec<String> =
                String::from_utf8_lossy(&line).split_ascii_whitespace().map(str::to_owned).collect();
            let is_message = matches!(words.first().map(String::as_str), Some("PUB" | "HPUB"));
            if is_message {
                let length: usize = words[words.len() - 1].parse().unwrap();
                let mut payload = vec![0; length + 2];
                from.read_exact(&mut payload)?;
                line.extend(payload);
            }
            if is_message && words[1].starts_with("pi-rpc.entries.") && self.loses.load(Ordering::Relaxed) {
                self.lost.fetch_add(1, Ordering::Relaxed);
            } else {
                to.write_all(&line)?;
            }
            line.clear();
        }
        Ok(())
    }
}

#[test]
fn prompt_is_answered_behind_its_entry() {
    let Some(mut nodes) = Nodes::start(0, &hello()) else { return };
    let sieve = Sieve::default();
    let port = sieve.to(nodes.servers.ports()[0]);
    nodes.add(&["--nats", &format!("nats://127.0.0.1:{port}"), "--nats-lease", "5"]);
    nodes.add(&["--nats-lease", "5"]);
    let session = open(&mut nodes.client(0));
    let mut client = nodes.client(1);
    let attach = json!({ "type": "attach_session", "id": "a", "sessionId": session, "after": 0 });
    assert_eq!(client.request(&attach)["success"], true);
    sieve.loses.store(true, Ordering::Relaxed);
    client.send(&prompt(&session, "p", "Hi"));
    eventually("the entry is lost", || sieve.lost.load(Ordering::Relaxed) > 0);
    nodes.end(0, Signal::KILL);
    let frames = client.until_type("session_snapshot");
    let responses = of_type(&frames, "response");
    let [response] = *responses else { panic!("{frames:?}") };
    assert_eq!((&response["id"], &response["success"]), (&json!("p"), &json!(false)), "{response}");
    assert!(response["error"].as_str().unwrap().starts_with("node_lost: "), "{response}");
    let errors = of_type(&frames, "extension_error");
    assert!(matches!(*errors, [error] if error["event"] == "session"), "{frames:?}");
    client.send(&prompt(&session, "q", "Again"));
    client.until_type("agent_settled");
    let messages = client.request(&command_of(&session, "m", "get_messages"));
    assert_eq!(texts(&messages), ["Again", "Hello there"]);
}

#[test]
fn accepted_message_of_lost_owner_is_reported() {
    let Some(mut nodes) = Nodes::start_with(2, &waiting(), "5") else { return };
    let session = open(&mut nodes.client(0));
    let mut client = nodes.client(1);
    client.send(&prompt(&session, "p", "Wait"));
    client.until_type("tool_execution_start");
    let mut steer = prompt(&session, "s", "Left");
    steer["type"] = json!("steer");
    assert_eq!(client.request(&steer)["success"], true);
    nodes.end(0, Signal::KILL);
    let frames = client.until_type("session_snapshot");
    let errors = of_type(&frames, "extension_error");
    let [error] = *errors else { panic!("{frames:?}") };
    let text = error["error"].as_str().unwrap();
    assert!(error["event"] == "session" && text.contains("accepted and not stored"), "{error}");
    let snapshot = &frames[frames.len() - 1];
    assert!(!snapshot["messages"].to_string().contains("Left"), "{snapshot}");
    // Who comes later with the number of a frame before gets a snapshot, too.
    let mut late = nodes.client(1);
    let attach = json!({ "type": "attach_session", "id": "a", "sessionId": session, "after": 1 });
    assert_eq!(late.request(&attach)["success"], true);
    late.until_type("session_snapshot");
}

#[test]
fn question_moves_to_the_next_owner() {
    let Some(mut nodes) = Nodes::start(0, &waiting()) else { return };
    for _ in 0..2 {
        nodes.add(&["--nats-lease", "5", "--confirm-tools", "bash"]);
    }
    let session = open(&mut nodes.client(0));
    let mut client = nodes.client(1);
    client.send(&prompt(&session, "p", "Wait"));
    let asked = client.until_type("extension_ui_request").pop().unwrap();
    nodes.end(0, Signal::TERM);
    let snapshot = client.until_type("session_snapshot").pop().unwrap();
    assert_eq!(snapshot["state"]["isStreaming"], true, "{snapshot}");
    assert_eq!(snapshot["dialogs"][0]["id"], asked["id"]);
    let mut answer = json!({ "type": "extension_ui_response", "id": asked["id"], "value": "Deny" });
    answer["sessionId"] = json!(session);
    client.send(&answer);
    let frames = client.until_type("agent_settled");
    let [end] = *of_type(&frames, "tool_execution_end") else { panic!("{frames:?}") };
    assert_eq!(end["result"]["content"][0]["text"], "The user did not allow this call of bash.");
}

/// A connection of the client `me` to a session, and the lines that were received from it.
fn named(nodes: &Nodes, index: usize, session: &str) -> (WebSocket<UnixStream>, u64) {
    let stream = UnixStream::connect(nodes.socket(index)).unwrap();
    let mut request = format!("ws://h/sessions/{session}?client=me").into_client_request().unwrap();
    request.headers_mut().insert("sec-websocket-protocol", "pi-rpc.control.v1".parse().unwrap());
    let (mut socket, _) = tungstenite::client(request, stream).unwrap();
    loop {
        if let Message::Binary(message) = socket.read().unwrap() {
            let attached: serde_json::Value = serde_json::from_slice(&message).unwrap();
            let received = attached["receivedLines"].as_u64().unwrap_or_else(|| panic!("{attached}"));
            return (socket, received);
        }
    }
}

/// Writes a command, and waits for its response.
fn ask(socket: &mut WebSocket<UnixStream>, id: &str) {
    let line = json!({ "type": "get_state", "id": id }).to_string();
    socket.send(Message::Text(line.into())).unwrap();
    loop {
        if let Message::Text(line) = socket.read().unwrap()
            && serde_json::from_str::<serde_json::Value>(&line).unwrap()["id"] == id
        {
            return;
        }
    }
}

#[test]
fn named_client_is_counted_across_nodes() {
    let Some(nodes) = Nodes::start(2, &hello()) else { return };
    let session = open(&mut nodes.client(0));
    let mut count = 0;
    // There and back, twice: each node has an old count of its own.
    for (index, lines) in [(0, 2), (1, 3), (0, 1), (1, 1)] {
        let (mut socket, received) = named(&nodes, index, &session);
        assert_eq!(received, count, "node {index}");
        for _ in 0..lines {
            count += 1;
            ask(&mut socket, &format!("c{count}"));
        }
    }
}
