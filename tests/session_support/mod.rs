//! Builders of session files, and short forms of sessions that were read.
#![allow(dead_code)] // Each test file uses its part.

use bytes::Bytes;
use fastrand::Rng;
use pi_rpc_protocol::{AgentMessage, Dialect, SessionHeader};
use pi_rpc_session::{Context, OpenedSession, ParsedFile, ReadError, Stamp, Tree, new_header};
use pi_rpc_session_store::{OpenError, Store};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;

/// Time at which the sessions begin: 2026-01-05T10:00:00.000Z.
pub const MORNING: u64 = 1_767_607_200_000;

/// A header as pi writes it.
pub const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s-1","timestamp":"2026-01-05T10:00:00.000Z","cwd":"/w"}"#;

/// Random numbers from a fixed seed.
pub fn random() -> Rng {
    Rng::with_seed(7)
}

/// An empty session in `/w` that began in the morning.
pub fn fresh() -> Tree {
    Tree::new(header("s-1"))
}

pub fn header(id: &str) -> SessionHeader {
    new_header(id.to_owned(), "/w".to_owned(), None, MORNING)
}

/// Stamp of the time `seconds` after [`MORNING`].
pub fn stamp(dialect: Dialect, seconds: u64) -> Stamp {
    Stamp { dialect, wall_ms: MORNING + 1000 * seconds }
}

/// Joins lines, each with its line feed.
pub fn file<S: AsRef<str>>(lines: &[S]) -> String {
    lines.iter().map(|line| format!("{}\n", line.as_ref())).collect()
}

pub fn try_read(file: impl Into<Vec<u8>>) -> Result<ParsedFile, ReadError> {
    Tree::read(Bytes::from(file.into()), &mut random())
}

/// Parses a valid file.
pub fn read(file: impl Into<Vec<u8>>) -> ParsedFile {
    try_read(file).expect("a session")
}

/// Text of the file of a tree.
pub fn bytes(tree: &Tree) -> String {
    String::from_utf8(tree.lines().concat()).expect("UTF-8")
}

/// An entry whose own keys come last.
pub fn entry(kind: &str, id: &str, parent: Option<&str>, own: Value) -> String {
    let mut map = json!({
        "type": kind, "id": id, "parentId": parent, "timestamp": "2026-01-05T10:00:00.000Z",
    });
    let own = own.as_object().cloned().unwrap_or_default();
    map.as_object_mut().expect("an object").extend(own);
    map.to_string()
}

/// A message of the user.
pub fn user(id: &str, parent: Option<&str>, text: &str) -> String {
    let content = json!([{ "type": "text", "text": text }]);
    entry("message", id, parent, json!({ "message": { "role": "user", "content": content, "timestamp": 1 } }))
}

/// An answer of `acme/a1`.
pub fn answer(id: &str, parent: Option<&str>, text: &str) -> String {
    entry("message", id, parent, json!({ "message": answered(text) }))
}

/// The message of [`answer`].
pub fn answered(text: &str) -> Value {
    let cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 });
    json!({
        "role": "assistant",
        "content": [{ "type": "text", "text": text }],
        "api": "made-up", "provider": "acme", "model": "a1",
        "usage": {
            "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": cost,
        },
        "stopReason": "stop",
        "timestamp": 2,
    })
}

pub fn message(value: Value) -> Arc<AgentMessage> {
    Arc::new(serde_json::from_value(value).expect("a message"))
}

/// User message of the engine.
pub fn asked(text: &str) -> Arc<AgentMessage> {
    let content = json!([{ "type": "text", "text": text }]);
    message(json!({ "role": "user", "content": content, "timestamp": MORNING }))
}

/// Role and text of each message.
pub fn told(context: &Context) -> Vec<String> {
    context.messages.iter().map(|message| say(message)).collect()
}

fn say(message: &AgentMessage) -> String {
    let value = serde_json::to_value(message).expect("JSON");
    let text = match (&value["content"], &value["summary"], &value["command"]) {
        (Value::Array(blocks), ..) => {
            blocks.iter().map(|block| block["text"].as_str().unwrap_or("?")).collect()
        }
        (Value::String(text), ..) | (_, Value::String(text), _) | (.., Value::String(text)) => text.clone(),
        _ => "?".to_owned(),
    };
    format!("{}: {text}", message.kind())
}

/// Texts of the notices.
pub fn notices(read: &ParsedFile) -> Vec<String> {
    read.notices.iter().map(ToString::to_string).collect()
}

/// The ids of the branch.
pub fn path(tree: &Tree) -> Vec<&str> {
    tree.path().into_iter().map(|entry| entry.id().as_ref()).collect()
}

/// A directory with a session file of this text in it.
pub fn with(text: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.jsonl");
    fs::write(&path, text).unwrap();
    (directory, path)
}

pub fn open(path: &Path) -> (Store, Result<OpenedSession, OpenError>) {
    let mut store = Store::default();
    let opened = store.open(path, &mut random());
    (store, opened)
}

/// Opens a file: the store, its session and the notices.
pub fn opened(path: &Path) -> (Store, Option<Tree>, Vec<String>) {
    let (store, opened) = open(path);
    let OpenedSession { tree, notices, .. } = opened.unwrap();
    (store, tree, notices.iter().map(ToString::to_string).collect())
}

/// Line of a message with this text.
pub fn line(text: &str) -> Bytes {
    said(&[text]).into()
}

/// Text of a file of such lines.
pub fn said(texts: &[&str]) -> String {
    texts.iter().map(|text| format!("{}\n", user(text, None, text))).collect()
}

pub fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

pub fn conversation() -> String {
    file(&[HEADER.to_owned(), user("a", None, "one"), answer("b", Some("a"), "two")])
}
