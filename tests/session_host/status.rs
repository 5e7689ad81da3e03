//! `pi-rpc host --status` shows a principal what is its own, and all of it if it sees all.

use crate::{
    host_support::{Host, hello},
    tcp_support::TcpHost,
};
use serde_json::{Value, json};

#[test]
fn principals_see_their_own_status() {
    let limits =
        |_: &str| vec![json!({ "sessions": 5, "commands_per_minute": 2 }), json!({ "sees_all": true })];
    let host = TcpHost::start(&hello(), limits, &[]);
    let (mut one, mut other) = (host.client("secret"), host.client("other"));
    let (first, second) = (one.open(&json!({})), other.open(&json!({ "name": "mine" })));
    let row = |id: &str, owner: &str, status: &Value| {
        let rows = status["sessions"].as_array().unwrap();
        rows.iter().any(|row| row["sessionId"] == id && row["owner"] == owner && row["status"] == "idle")
    };
    let names = |status: &Value| {
        let rows = status["limits"].as_array().unwrap().iter();
        rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let own = host.status("secret");
    assert_eq!(own["principal"], "a");
    assert_eq!((row(&first, "a", &own), row(&second, "b", &own)), (true, false));
    assert_eq!((names(&own), own["hosts"].clone()), (vec!["a".to_owned()], json!([])));
    let limits = &own["limits"][0];
    // One session was opened, and the status was asked for.
    assert_eq!((&limits["sessions"], &limits["commands"]), (&json!(1), &json!(2)));
    assert_eq!(limits["dollarsToday"], 0.0);
    let all = host.status("other");
    assert_eq!((row(&first, "a", &all), row(&second, "b", &all)), (true, true));
    assert_eq!(names(&all), ["a", "b"]);
    let mut this = all["hosts"][0].clone();
    assert_eq!(this["load"]["sessions"], 2);
    this["load"] = Value::Null;
    assert_eq!(this, json!({ "id": null, "labels": [], "isThis": true, "load": null }));
}

#[test]
fn status_is_refused_without_token() {
    let host = TcpHost::start(&hello(), |_| vec![json!({})], &[]);
    let refused = |token: &str| {
        let output = host.status_output(token, &[]);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let expected = format!(
        "{}: missing_token: expected Authorization: Bearer TOKEN; set PI_RPC_TOKEN to the token",
        host.address
    );
    assert!(refused("").contains(&expected), "{}", refused(""));
    assert!(refused("wrong").contains("invalid_token: "), "{}", refused("wrong"));
}

#[test]
fn local_user_sees_tables() {
    let host = Host::start(&hello(), &[]);
    let mut line = crate::serve_support::command(crate::serve_support::binary(), host.dir.path());
    line.args(["host", "--status", "unix:s"]);
    let output = line.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let heads: Vec<&str> = text.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(heads, ["HOST", "this", "", "TOKEN", "local"], "{text}");
}
