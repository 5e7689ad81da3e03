//! A WebSocket ends with a Close frame, whoever ends it. Source: RFC 6455, section 5.5.1.

use crate::{host_support::hello, tcp_support::TcpHost};
use rustix::process::Signal;
use serde_json::json;
use std::fs;

/// A host with a token, and the path of its session.
fn host() -> (TcpHost, String) {
    let host = TcpHost::start(&hello(), |_| vec![json!({})], &[]);
    let session = host.client("secret").open(&json!({}));
    (host, format!("/sessions/{session}"))
}

#[test]
fn close_of_client_is_answered() {
    let (host, session) = host();
    for path in ["/", &session] {
        let mut client = host.connect(path, "secret").unwrap();
        client.close();
        assert_eq!(client.close_code(), None, "{path}");
    }
}

#[test]
fn end_of_session_closes_its_connections() {
    let (host, session) = host();
    let watching = host.connect(&session, "secret").unwrap();
    let id = session.rsplit('/').next().unwrap();
    host.client("secret").request(&json!({ "type": "close_session", "id": 1, "sessionId": id }));
    assert_eq!(watching.close_code(), Some(1000));
}

#[test]
fn end_of_host_closes_connections() {
    let (host, session) = host();
    let (shared, watching) = (host.client("secret"), host.connect(&session, "secret").unwrap());
    host.signal(Signal::TERM);
    assert_eq!((shared.close_code(), watching.close_code()), (Some(1001), Some(1000)));
}

#[test]
fn revoked_token_closes_its_connections() {
    let (host, session) = host();
    let (shared, watching) = (host.client("secret"), host.connect(&session, "secret").unwrap());
    fs::write(host.dir.path().join("tokens"), json!({ "tokens": [] }).to_string()).unwrap();
    assert_eq!((shared.close_code(), watching.close_code()), (Some(1008), Some(1008)));
}
