//! Nodes share sessions: any of them serves clients, and another one goes on when one is gone.

use crate::{
    host_support::{Client, hello, waiting},
    serve_support::{binary, command, eventually, types},
    servers::Servers,
};
use pi_rpc::cluster::{Connection, NatsOptions, SessionRecord, find};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    fs,
    io::{self, Write as _},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::Instant,
};
use tempfile::TempDir;

/// Hosts that share sessions, in one directory.
pub struct Nodes {
    pub servers: Servers,
    dir: TempDir,
    children: Vec<Child>,
}

impl Nodes {
    /// Starts nodes that a slow machine does not replace.
    pub fn start(count: usize, turns: &Value) -> Option<Self> {
        Self::start_with(count, turns, "300")
    }

    /// Starts nodes with this lease whose model plays these turns; `None`: there is no NATS server.
    pub fn start_with(count: usize, turns: &Value, lease: &str) -> Option<Self> {
        Some(Self::of(Servers::start(1)?, count, turns, lease))
    }

    /// Starts nodes that share sessions by these servers.
    pub fn of(servers: Servers, count: usize, turns: &Value, lease: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("script.json"), json!({ "turns": turns }).to_string()).unwrap();
        let options = ["--nats-lease", lease];
        let children = (0..count).map(|index| node(dir.path(), &servers, index, &options)).collect();
        let nodes = Self { servers, dir, children };
        (0..count).for_each(|index| nodes.listens(index));
        nodes
    }

    /// Adds a node with these options.
    pub fn add(&mut self, options: &[&str]) {
        let index = self.children.len();
        self.children.push(node(self.dir.path(), &self.servers, index, options));
        self.listens(index);
    }

    fn listens(&self, index: usize) {
        let socket = self.socket(index);
        eventually("the socket is there", || UnixStream::connect(&socket).is_ok());
    }

    /// The socket of a node.
    pub fn socket(&self, index: usize) -> PathBuf {
        self.dir.path().join(format!("s{index}"))
    }

    /// What a node has logged.
    pub fn log(&self, index: usize) -> String {
        fs::read_to_string(self.dir.path().join(format!("log{index}"))).unwrap()
    }

    /// What tools of the script have written into this file; nothing, if it is not there.
    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join(name)).unwrap_or_default()
    }

    /// Makes the file that tools of the script wait for.
    pub fn put(&self, name: &str) {
        fs::write(self.dir.path().join(name), "").unwrap();
    }

    pub fn client(&self, index: usize) -> Client {
        Client::connect(self.socket(index))
    }

    /// Limits the bytes of the stream of entries; -1: no limit.
    fn limit_entries(&self, bytes: i64) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let options = NatsOptions { urls: self.servers.urls(), ..NatsOptions::default() };
            let connection = Connection::open(&options, "test").await.unwrap();
            let mut config = connection.entries.cached_info().config.clone();
            config.max_bytes = bytes;
            connection.context.update_stream(config).await.unwrap();
        });
    }

    /// Messages in the streams of entries, output and input, and in that of the records.
    pub fn stored(&self) -> [u64; 4] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let options = NatsOptions { urls: self.servers.urls(), ..NatsOptions::default() };
            let Connection { entries, output, input, sessions, .. } =
                Connection::open(&options, "test").await.unwrap();
            let mut counts = [0; 4];
            for (count, stream) in counts.iter_mut().zip([entries, output, input, sessions.stream]) {
                *count = stream.get_info().await.unwrap().state.messages;
            }
            counts
        })
    }

    /// What each node says of sessions that run.
    fn running(&self) -> Vec<String> {
        (0..self.children.len()).map(|index| self.metric(index, "state=\"running\"")).collect()
    }

    /// The record of a session; `None`: there is no such session.
    pub fn record(&self, session: &str) -> Option<SessionRecord> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let options = NatsOptions { urls: self.servers.urls(), ..NatsOptions::default() };
            let connection = Connection::open(&options, "test").await.unwrap();
            find(&connection, session).await.unwrap().map(|(record, _)| record)
        })
    }

    /// The first line of a node's metrics with this text.
    pub fn metric(&self, index: usize, part: &str) -> String {
        let mut stream = UnixStream::connect(self.socket(index)).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let text = io::read_to_string(stream).unwrap();
        text.lines().find(|line| line.contains(part)).unwrap_or_default().to_owned()
    }

    pub fn end(&mut self, index: usize, signal: Signal) {
        kill_process(Pid::from_child(&self.children[index]), signal).unwrap();
        self.children[index].wait().unwrap();
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn node(dir: &Path, servers: &Servers, index: usize, options: &[&str]) -> Child {
    let mut line = command(binary(), dir);
    line.args(["host", "--model", "scripted/script.json", "--dialect", "pi-1", "--nats", &servers.urls()]);
    line.arg("--listen").arg(format!("unix:s{index}")).arg("--node").arg(format!("n{index}"));
    line.args(options);
    let log = fs::File::create(dir.join(format!("log{index}"))).unwrap();
    line.env("RUST_LOG", "info").stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

/// Opens a session and returns its handle.
pub fn open(client: &mut Client) -> String {
    let opened = client.request(&json!({ "type": "open_session", "id": "open" }));
    opened["data"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned()
}

pub fn command_of(session: &str, id: &str, kind: &str) -> Value {
    json!({ "type": kind, "id": id, "sessionId": session })
}

pub fn prompt(session: &str, id: &str, text: &str) -> Value {
    json!({ "type": "prompt", "id": id, "message": text, "sessionId": session })
}

pub fn texts(messages: &Value) -> Vec<String> {
    let messages = messages["data"]["messages"].as_array().unwrap();
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        content => content[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    messages.iter().filter(|message| message["role"] != "system").map(text).collect()
}

#[test]
fn any_node_serves_a_session() {
    let Some(nodes) = Nodes::start(2, &hello()) else { return };
    let (mut first, mut second) = (nodes.client(0), nodes.client(1));
    let session = open(&mut first);
    let listed = second.request(&json!({ "type": "list_sessions", "id": 1 }));
    assert_eq!(listed["data"]["sessions"][0]["sessionId"], json!(session), "{listed}");
    let attach = json!({ "type": "attach_session", "id": 2, "sessionId": session, "after": 0 });
    assert_eq!(second.request(&attach)["success"], true);
    second.send(&prompt(&session, "p", "Hi"));
    let watched = first.until_type("agent_settled");
    let mut written = second.until_type("agent_settled");
    let response = written.iter().position(|frame| frame["type"] == "response").unwrap();
    assert_eq!(written.remove(response)["id"], "p");
    assert_eq!(types(&watched), types(&written));
    assert_eq!(watched, written);
    let messages = first.request(&command_of(&session, "m", "get_messages"));
    assert_eq!(texts(&messages), ["Hi", "Hello there"]);
    let closed = second.request(&command_of(&session, "c", "close_session"));
    assert_eq!(closed["success"], true, "{closed}");
    assert_eq!(first.until_type("session_ended").pop().unwrap()["sessionId"], json!(session));
    let listed = first.request(&json!({ "type": "list_sessions", "id": 1 }));
    assert_eq!(listed["data"], json!({ "sessions": [] }));
}

#[test]
fn killed_node_is_replaced() {
    let Some(mut nodes) = Nodes::start_with(2, &waiting(), "5") else { return };
    let session = open(&mut nodes.client(0));
    let mut client = nodes.client(1);
    client.send(&prompt(&session, "p", "Wait"));
    client.until_type("tool_execution_start");
    let killed = Instant::now();
    nodes.end(0, Signal::KILL);
    let state = client.request(&command_of(&session, "s", "get_state"));
    let elapsed = killed.elapsed();
    assert_eq!(state["data"]["isStreaming"], false, "{state}");
    println!("another node has answered after {elapsed:?}");
    let messages = client.request(&command_of(&session, "m", "get_messages"));
    let end = |message: &Value| json!([message["role"], message["stopReason"]]);
    let ends: Vec<Value> = messages["data"]["messages"].as_array().unwrap().iter().map(end).collect();
    let (asked, closed) = (json!(["user", null]), json!(["assistant", "aborted"]));
    let whole = [asked, json!(["assistant", "toolUse"]), json!(["toolResult", null]), closed];
    assert_eq!(ends[ends.len() - whole.len()..], whole, "{messages}");
    fs::write(nodes.dir.path().join("go"), "").unwrap();
    client.send(&prompt(&session, "q", "Again"));
    client.until_type("agent_settled");
    let messages = client.request(&command_of(&session, "m", "get_messages"));
    assert_eq!(texts(&messages).last().unwrap(), "It has ended.", "{messages}");
}

#[test]
fn node_that_stops_hands_over() {
    let Some(mut nodes) = Nodes::start(2, &hello()) else { return };
    let session = open(&mut nodes.client(0));
    let mut client = nodes.client(1);
    client.send(&prompt(&session, "p", "Hi"));
    client.until_type("agent_settled");
    nodes.end(0, Signal::TERM);
    client.send(&prompt(&session, "q", "Again"));
    client.until_type("agent_settled");
    let messages = client.request(&command_of(&session, "m", "get_messages"));
    assert_eq!(texts(&messages), ["Hi", "Hello there", "Again", "Hello there"]);
}

#[test]
fn closed_session_is_opened_again() {
    let Some(nodes) = Nodes::start(2, &hello()) else { return };
    let mut client = nodes.client(0);
    let session = open(&mut client);
    client.send(&prompt(&session, "p", "Hi"));
    client.until_type("agent_settled");
    client.request(&command_of(&session, "c", "close_session"));
    let mut other = nodes.client(1);
    let missing = other.request(&command_of(&session, "s", "get_state"));
    assert_eq!(missing["error"], "unknown_session");
    let opened = other.request(&json!({ "type": "open_session", "id": "open", "sessionPath": session }));
    assert_eq!(opened["data"]["sessionId"], json!(session), "{opened}");
    let messages = other.request(&command_of(&session, "m", "get_messages"));
    assert_eq!(texts(&messages), ["Hi", "Hello there"]);
}

#[test]
fn refused_session_leaves_nothing() {
    let Some(nodes) = Nodes::start(1, &hello()) else { return };
    let mut client = nodes.client(0);
    let gone = nodes.dir.path().join("gone");
    let refused = client.request(&json!({ "type": "open_session", "id": "open", "cwd": gone }));
    assert_eq!(refused["success"], false, "{refused}");
    assert_eq!(nodes.stored(), [0, 0, 0, 0]);
    open(&mut client);
    assert!(nodes.stored()[3] > 0);
}

/// What `doctor` says of the servers: the state and the text of each check.
fn diagnosed(nodes: &Nodes) -> Vec<(String, String)> {
    let mut line = command(binary(), nodes.dir.path());
    let output = line.args(["doctor", "--json", "--nats", &nodes.servers.urls()]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap_or_else(|| panic!("{report}")).iter();
    let text = |check: &Value, member: &str| check[member].as_str().unwrap_or_default().to_owned();
    let of_nats = checks.filter(|check| check["subject"] == "nats");
    of_nats.map(|check| (text(check, "state"), text(check, "text"))).collect()
}

#[test]
fn doctor_finds_missing_and_full_streams() {
    let Some(mut nodes) = Nodes::start(0, &hello()) else { return };
    let states =
        |found: &[(String, String)]| found.iter().map(|(state, _)| state.clone()).collect::<Vec<_>>();
    let found = diagnosed(&nodes);
    assert_eq!(states(&found), ["ok", "ok", "note", "note", "note", "note", "note"], "{found:?}");
    nodes.add(&[]);
    let mut client = nodes.client(0);
    open(&mut client);
    assert!(diagnosed(&nodes).iter().all(|(state, _)| state == "ok"));
    nodes.limit_entries(1);
    let found = diagnosed(&nodes);
    assert_eq!(states(&found), ["ok", "ok", "broken", "ok", "ok", "ok", "ok"], "{found:?}");
    assert!(found[2].1.starts_with("stream pi-rpc-entries, "), "{found:?}");
}

#[test]
fn full_stream_refuses_entries() {
    let Some(mut nodes) = Nodes::start(2, &hello()) else { return };
    let (mut client, mut watcher) = (nodes.client(0), nodes.client(1));
    let session = open(&mut client);
    client.send(&prompt(&session, "p", "Hi"));
    client.until_type("agent_settled");
    let attach = json!({ "type": "attach_session", "id": 2, "sessionId": session, "after": 0 });
    assert_eq!(watcher.request(&attach)["success"], true);
    nodes.limit_entries(1);
    client.send(&prompt(&session, "q", "Lost"));
    let ended = client.until_type("agent_end").pop().unwrap();
    assert_eq!(ended["messages"][1]["stopReason"], "error", "{ended}");
    let error = ended["messages"][1]["errorMessage"].as_str().unwrap();
    assert!(error.contains("NATS refuses it: publish failed: maximum bytes exceeded"), "{error}");
    client.until_type("agent_settled");
    nodes.limit_entries(-1);
    client.send(&prompt(&session, "r", "Again"));
    client.until_type("agent_settled");
    nodes.end(0, Signal::TERM);
    let messages = watcher.request(&command_of(&session, "m", "get_messages"));
    // What was refused is written with what follows.
    assert_eq!(texts(&messages), ["Hi", "Hello there", "Lost", "", "Again", "Hello there"]);
}

#[test]
fn metrics_count_owned_sessions() {
    let Some(nodes) = Nodes::start(2, &waiting()) else { return };
    let mut client = nodes.client(0);
    let session = open(&mut client);
    client.send(&prompt(&session, "p", "Wait"));
    client.until_type("tool_execution_start");
    assert_eq!(
        nodes.running(),
        ["pi_rpc_sessions{state=\"running\"} 1", "pi_rpc_sessions{state=\"running\"} 0"]
    );
    // The tool ends with the test.
    fs::write(nodes.dir.path().join("go"), "").unwrap();
    client.until_type("agent_settled");
}

#[test]
fn toolless_session_runs_without_its_directory() {
    let Some(mut nodes) = Nodes::start(0, &hello()) else { return };
    nodes.add(&["--label", "a", "--no-tools"]);
    nodes.add(&["--label", "b", "--no-tools"]);
    let directory = nodes.dir.path().join("gone");
    fs::create_dir(&directory).unwrap();
    let mut client = nodes.client(0);
    let opened = client.request(&json!({ "type": "open_session", "id": "open", "cwd": directory }));
    let session = opened["data"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned();
    client.send(&prompt(&session, "p", "Hi"));
    client.until_type("agent_settled");
    fs::remove_dir_all(&directory).unwrap();
    nodes.end(0, Signal::TERM);
    let messages = nodes.client(1).request(&command_of(&session, "m", "get_messages"));
    assert_eq!(texts(&messages), ["Hi", "Hello there"]);
}
