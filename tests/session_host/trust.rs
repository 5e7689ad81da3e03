//! Projects on a host: no code runs without an approval, whatever dialect a client chooses, and links of instructions lead
//! nowhere.

use crate::tcp_support::TcpHost;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink, path::Path};

/// A script that says hello, for ever.
fn hello() -> Value {
    json!([{ "repeat": true, "say": [{ "text": "Hello." }] }])
}

/// A project with settings that run code and choose a folder of sessions.
fn project(folder: &Path, own: &str) {
    fs::create_dir_all(folder.join(own)).unwrap();
    let settings = json!({ "shellCommandPrefix": ": > ran.prefix", "sessionDir": "talks" });
    fs::write(folder.join(own).join("settings.json"), settings.to_string()).unwrap();
}

#[test]
fn host_runs_no_unapproved_code() {
    for dialect in ["pi", "xcsh", "omp", "pi-1"] {
        for (options, runs) in [(vec![], false), (vec!["--no-approve"], false), (vec!["--approve"], true)] {
            let host = TcpHost::start(&hello(), |_| vec![json!({})], &options);
            let folder = host.dir.path().join("project");
            for own in [".pi", ".xcsh", ".omp"] {
                project(&folder, own);
            }
            let mut client = host.client("secret");
            let session = client.open(&json!({ "cwd": folder, "dialect": dialect }));
            client.request(&json!({ "type": "bash", "id": "b", "command": "true", "sessionId": session }));
            assert_eq!(folder.join("ran.prefix").exists(), runs, "{dialect} {options:?}");
        }
    }
}

#[test]
fn dialect_of_client_reads_no_unapproved_settings() {
    for dialect in ["pi", "xcsh", "omp", "pi-1"] {
        // The host speaks pi-1, where nothing of a project is read before it is approved.
        let host = TcpHost::start(&hello(), |_| vec![json!({})], &[]);
        let folder = host.dir.path().join("project");
        for own in [".pi", ".xcsh", ".omp"] {
            project(&folder, own);
        }
        let mut client = host.client("secret");
        client.open(&json!({ "cwd": folder, "dialect": dialect }));
        assert!(!folder.join("talks").exists(), "{dialect}");
    }
}

#[test]
fn refusal_of_host_dialect_holds_in_others() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let folder = root.join("project");
    project(&folder, ".xcsh");
    for (agent, trusts) in [(".pi/agent", false), (".xcsh/agent", true)] {
        fs::create_dir_all(root.join(agent)).unwrap();
        let trust = json!({ folder.to_str().unwrap(): trusts });
        fs::write(root.join(agent).join("trust.json"), trust.to_string()).unwrap();
    }
    fs::write(root.join("tokens"), crate::tcp_support::TOKENS[0].1).unwrap();
    let host = TcpHost::start_in(dir, &hello(), &["--token-file", "tokens"]);
    let mut client = host.client("secret");
    let session = client.open(&json!({ "cwd": folder, "dialect": "xcsh" }));
    client.request(&json!({ "type": "bash", "id": "b", "command": "true", "sessionId": session }));
    assert!(!folder.join("ran.prefix").exists() && !folder.join("talks").exists());
}

#[test]
fn instructions_of_host_projects_stay_inside() {
    let limits = |_: &str| vec![json!({ "tools": [] })];
    let host = TcpHost::start(&hello(), limits, &[]);
    let root = host.dir.path().canonicalize().unwrap();
    fs::create_dir(root.join("project")).unwrap();
    fs::write(root.join("secret"), "OUTSIDE").unwrap();
    symlink("../secret", root.join("project/AGENTS.md")).unwrap();
    let mut client = host.client("secret");
    let session = client.open(&json!({ "cwd": root.join("project") }));
    client.send(&json!({ "type": "prompt", "message": "Hi.", "sessionId": session }));
    let mut shown = String::new();
    client.find(|frame| {
        shown += &frame.to_string();
        frame["type"] == "agent_settled"
    });
    assert!(shown.contains("Current working directory") && !shown.contains("OUTSIDE"), "{shown}");
}
