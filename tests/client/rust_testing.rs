//! The kit for tests of the client for Rust: a client that keeps the rules passes, and a broken rule is the message.

use pi_rpc::{
    client::{Client, Error, testing::Servers},
    protocol::Dialect,
};
use serde_json::{Value, json};
use std::{
    io::Write as _,
    process::{Command, Stdio},
};

fn servers() -> Servers {
    Servers::with_program(env!("CARGO_BIN_EXE_pi-rpc")).unwrap()
}

fn script() -> Value {
    json!({ "turns": [{ "say": [{ "text": "Hello" }] }] })
}

async fn says_hello(options: pi_rpc::client::Options) -> Result<(), Error> {
    let (client, _events) = Client::spawn(options).await?;
    assert_eq!(client.prompt("Hi").await?.text(), "Hello");
    client.close().await;
    Ok(())
}

#[tokio::test]
async fn client_that_keeps_rules_passes() {
    let servers = servers();
    let scripted = servers.scripted(Dialect::Pi1, &script()).unwrap();
    says_hello(scripted.options()).await.unwrap();
    let hazards = "chunks,early-events,unknown-fields,unknown-events,dialogs";
    says_hello(servers.hazards(Dialect::Pi1, &script(), hazards, 7).unwrap().options()).await.unwrap();
    let replayed = servers.replay(Dialect::Pi1, &scripted.recording).unwrap().with_options(["--strict"]);
    says_hello(replayed.options()).await.unwrap();
    servers.judge().unwrap();
}

#[test]
fn broken_rule_is_the_message() {
    let servers = servers();
    let server = servers.scripted(Dialect::Pi1, &script()).unwrap();
    let (program, arguments) = server.command_line().split_first().unwrap();
    let mut other = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .current_dir(&server.folder)
        .spawn()
        .unwrap();
    other.stdin.take().unwrap().write_all(b"{\"id\":\"1\",\"type\":\"set_session_name\"}\n").unwrap();
    other.wait().unwrap();
    let message = servers.judge().unwrap_err().to_string();
    let lines: Vec<_> = message.lines().filter(|line| !line.contains(" meta: ")).collect();
    let recording = format!("recording: {}", server.recording.display());
    assert_eq!(
        lines,
        [
            "MUST host-schema: Every frame of the host is valid under the dialect's schema.",
            "  no frame while idle: a valid `set_session_name`: missing field `name`",
            r#"  > 2 client: {"id":"1","type":"set_session_name"}"#,
            r#"    4 server: {"id":"1","type":"response","command":"set_session_name","success":false,"error":"missing field `name`"}"#,
            &recording,
        ]
    );
}

#[test]
fn server_that_was_not_started_fails() {
    let servers = servers();
    let left_out = servers.scripted(Dialect::Pi1, &script()).unwrap();
    servers.leave_out(&left_out);
    let server = servers.scripted(Dialect::Pi1, &script()).unwrap();
    let message = servers.judge().unwrap_err().to_string();
    let recording = server.recording.display();
    assert_eq!(
        message,
        format!(
            "no conversation to judge: the server of {recording} was not started (`leave_out` leaves it out)"
        )
    );
}
