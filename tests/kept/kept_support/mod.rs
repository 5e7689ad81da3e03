//! Sessions that the real binary keeps in files, for tests.

mod file;
mod rules;

pub use file::{entries, fork_messages, messages};
pub use rules::violations;

use crate::serve_support::{Server, binary, command};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// The folder of the sessions, in a server's directory.
pub const FOLDER: &str = "kept";

/// A directory with a script of these `turns` in it; the model has room for everything.
pub fn directory(turns: &Value) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let script = json!({ "model": { "reasoning": true, "contextWindow": 100_000_000 }, "turns": turns });
    fs::write(dir.path().join("script.json"), script.to_string()).unwrap();
    dir
}

/// The command that starts a server in `directory`, which keeps its sessions in [`FOLDER`] there.
pub fn keeping(dialect: Dialect, directory: &Path, options: &[&str]) -> Command {
    let mut command = command(binary(), directory);
    command.args(["serve", "--model", "scripted/script.json", "--session-dir", FOLDER]);
    command.args(["--dialect", dialect.as_str()]).args(options);
    command
}

/// A server of [`keeping`], which has opened its session.
#[track_caller]
pub fn keeper(dialect: Dialect, dir: TempDir, options: &[&str]) -> Server {
    let command = keeping(dialect, dir.path(), options);
    started(dialect, dir, command)
}

/// Starts `command`, and waits until the server has opened its session.
#[track_caller]
pub fn started(dialect: Dialect, dir: TempDir, command: Command) -> Server {
    let mut server = Server::start(dialect, dir, command);
    server.data(json!({ "type": "get_state" }));
    server
}

/// The session files in a server's directory.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(directory.join(FOLDER)).into_iter().flatten().flatten();
    let mut paths: Vec<_> = found.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    paths.sort();
    paths
}

/// Checks that the state of an idle server matches its valid session file; returns the messages.
#[track_caller]
pub fn agrees(server: &mut Server, file: &Path) -> Vec<Value> {
    let bytes = fs::read(file).unwrap();
    assert_eq!(violations(&bytes), Vec::<String>::new(), "{}", file.display());
    let said = server.data(json!({ "type": "get_messages" }));
    assert_eq!(said["messages"], json!(messages(&bytes)));
    let points = if server.dialect == Dialect::Xcsh { "get_branch_messages" } else { "get_fork_messages" };
    assert_eq!(server.data(json!({ "type": points }))["messages"], json!(fork_messages(&bytes)));
    let stats = server.data(json!({ "type": "get_session_stats" }));
    let counted =
        ["userMessages", "assistantMessages", "toolResults", "totalMessages"].map(|key| &stats[key]);
    let role =
        |role: &str| said["messages"].as_array().unwrap().iter().filter(|it| it["role"] == role).count();
    let all = said["messages"].as_array().unwrap().len();
    assert_eq!(
        counted,
        [&json!(role("user")), &json!(role("assistant")), &json!(role("toolResult")), &json!(all)]
    );
    assert_eq!(stats["sessionFile"], json!(file));
    messages(&bytes)
}
