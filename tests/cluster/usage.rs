//! `commands_per_minute` and `dollars_per_day` of a token hold over all nodes.

use crate::{
    host_support::hello,
    serve_support::eventually,
    servers::Servers,
    tcp_support::{TcpHost, WsClient},
};
use rustix::process::Signal;
use serde_json::{Value, json};

fn node(servers: &Servers, name: &str, script: &Value, limits: &[Value]) -> TcpHost {
    let arguments = ["--nats", &servers.urls(), "--node", name, "--nats-lease", "300"];
    TcpHost::start(script, |_| limits.to_vec(), &arguments)
}

fn list() -> Value {
    json!({ "type": "list_sessions", "id": 1 })
}

fn open(client: &mut WsClient) -> String {
    let opened = client.request(&json!({ "type": "open_session", "id": "open" }));
    opened["data"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned()
}

#[test]
fn commands_are_counted_over_all_nodes() {
    let Some(servers) = Servers::start(1) else { return };
    let limits = [json!({ "commands_per_minute": 2 }), json!({ "commands_per_minute": 2 })];
    let (first, second) = (node(&servers, "a", &hello(), &limits), node(&servers, "b", &hello(), &limits));
    let (mut one, mut other) = (first.client("secret"), second.client("secret"));
    let session = open(&mut one);
    // The session runs on the first node, its command comes by the second.
    let state = json!({ "type": "get_state", "id": 2, "sessionId": session });
    assert_eq!(other.request(&state)["success"], true);
    let expected = "rate_limited: commands_per_minute: 2; wait, and send the command again";
    assert_eq!(other.refused(&state), expected);
    for client in [&mut one, &mut other] {
        assert_eq!(client.refused(&list()), expected);
    }
    let abort = json!({ "type": "abort", "id": 3, "sessionId": session });
    assert_eq!(other.request(&abort)["success"], true);
    assert_eq!(second.client("other").request(&list())["success"], true);
}

#[test]
fn uncounted_commands_are_refused() {
    let Some(mut servers) = Servers::start(1) else { return };
    let host = node(&servers, "a", &hello(), &[json!({ "commands_per_minute": 600 }), json!({})]);
    let (mut limited, mut other) = (host.client("secret"), host.client("other"));
    assert_eq!(limited.request(&list())["success"], true);
    servers.kill(0);
    let refused = limited.refused(&list());
    assert!(refused.starts_with("cluster_unavailable: limits of the token: "), "{refused}");
    // The host is there for those whose commands are not counted.
    other.send(&json!({ "type": "close_session", "id": 2, "sessionId": "none" }));
    servers.run(0);
    eventually("commands are counted again", || limited.request(&list())["success"] == true);
}

#[test]
fn dollars_are_counted_over_all_nodes() {
    let Some(servers) = Servers::start(1) else { return };
    let turn = json!({ "repeat": true, "say": [{ "text": "x" }], "usage": { "output": 1_000_000 } });
    let script = json!({ "turns": [turn], "model": { "cost": { "output": 1.0 } } });
    let limits = [json!({ "dollars_per_day": 1.0 }), json!({ "dollars_per_day": 1.0 })];
    let (first, second) = (node(&servers, "a", &script, &limits), node(&servers, "b", &script, &limits));
    let mut client = first.client("secret");
    let session = open(&mut client);
    client.send(&json!({ "type": "prompt", "id": 1, "message": "Hi", "sessionId": session }));
    client.find(|frame| frame["type"] == "agent_settled");
    let expected = "spend_exceeded: dollars_per_day: 1; more is available from 0:00 UTC on";
    let opened = json!({ "type": "open_session", "id": 1 });
    let refuses = |node: &TcpHost| node.client("secret").request(&opened)["error"] == expected;
    eventually("another node refuses", || refuses(&second));
    // Each of them tells of both, and of what was used on either.
    let status = second.status("secret");
    assert_eq!(
        (&status["sessions"][0]["owner"], &status["limits"][0]["dollarsToday"]),
        (&json!("a"), &json!(1.0))
    );
    // A node that comes later knows of it, too.
    first.signal(Signal::TERM);
    let third = node(&servers, "c", &script, &limits);
    assert!(refuses(&third));
    assert_eq!(third.client("other").request(&opened)["success"], true);
}
