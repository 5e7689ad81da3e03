//! A host that is killed leaves nothing running, before and after it was replaced by another program.

use crate::{
    host_support::Host,
    serve_support::{eventually, processes_of},
    tcp_support::TcpHost,
};
use rustix::process::Signal;
use serde_json::{Value, json};

/// A command that ends by nothing but KILL. Makes the file `begun`.
const STUBBORN: &str = "trap '' TERM HUP; touch begun; while :; do sleep 1000; done";

fn turns() -> Value {
    json!([{ "repeat": true, "say": [{ "tool": "bash", "arguments": { "command": STUBBORN } }] }])
}

#[test]
fn killed_host_leaves_no_command_running() {
    let host = Host::start(&turns(), &[]);
    let dir = host.dir.clone();
    let mut clients = [host.client(), host.client()];
    for (number, client) in clients.iter_mut().enumerate() {
        let session = client.open();
        let command = format!("touch begun-{number}; {STUBBORN}");
        client.send(&json!({ "type": "bash", "id": "b", "command": command, "sessionId": session }));
        client.send(&json!({ "type": "prompt", "id": "p", "message": "go?", "sessionId": session }));
    }
    for name in ["begun", "begun-0", "begun-1"] {
        eventually(name, || dir.path().join(name).exists());
    }
    host.kill();
    eventually("all commands have ended", || processes_of(dir.path()).is_empty());
}

#[test]
fn upgraded_host_leaves_no_command_running() {
    let host = TcpHost::start(&turns(), |_| vec![json!({})], &["--listen", "ws://127.0.0.1:0"]);
    let bash = |command: &str| {
        let mut client = host.client("secret");
        let opened = client.request(&json!({ "type": "open_session", "id": 1, "inMemory": true }));
        let session = &opened["data"]["sessionId"];
        client.send(&json!({ "type": "bash", "id": 2, "command": command, "sessionId": session }));
        client
    };
    // The program before has a watcher, too.
    bash("true").find(|frame| frame["id"] == 2);
    host.signal(Signal::USR2);
    eventually("the next program listens", || host.log().matches("listening at ").count() == 2);
    let _client = bash(STUBBORN);
    eventually("it runs", || host.dir.path().join("begun").exists());
    host.signal(Signal::KILL);
    eventually("the command has ended", || processes_of(host.dir.path()).is_empty());
}
