//! What a client sees of a bad token, directory, session, frame and version: a code, on a connection that lives.

use crate::{
    host_support::{Host, hello},
    tcp_support::{TOKENS, TcpHost},
};
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine as _};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
};

/// A host whose token `secret` may do everything.
fn host() -> TcpHost {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tokens"), TOKENS[0].1).unwrap();
    TcpHost::start_in(dir, &hello(), &["--token-file", "tokens"])
}

#[test]
fn bad_frames_get_codes_on_shared_connections() {
    let host = host();
    let mut client = host.client("secret");
    let session = client.open(&json!({}));
    let dialects = Dialect::ALL.map(Dialect::as_str).join(", ");
    for (what, line, command, error) in [
        ("no JSON", "{".to_owned(), "parse", "Failed to parse command: ".to_owned()),
        ("no type", json!({ "id": 1 }).to_string(), "parse", "Failed to parse command: ".to_owned()),
        (
            "no session",
            json!({ "type": "get_state", "id": 1 }).to_string(),
            "get_state",
            "missing_session_id".to_owned(),
        ),
        (
            "a session that is not there",
            json!({ "type": "get_state", "id": 1, "sessionId": "x" }).to_string(),
            "get_state",
            "unknown_session".to_owned(),
        ),
        (
            "a command that is not there",
            json!({ "type": "fly", "id": 1, "sessionId": session }).to_string(),
            "fly",
            "Unknown command: fly".to_owned(),
        ),
        (
            "a member of the wrong type",
            json!({ "type": "open_session", "id": 1, "cwd": 1 }).to_string(),
            "open_session",
            "`cwd`: invalid type: integer `1`, expected a string".to_owned(),
        ),
        (
            "a relative directory",
            json!({ "type": "open_session", "id": 1, "cwd": "a" }).to_string(),
            "open_session",
            "invalid_path".to_owned(),
        ),
        (
            "a directory that is not there",
            json!({ "type": "open_session", "id": 1, "cwd": "/no/such" }).to_string(),
            "open_session",
            "open_failed: cwd: /no/such: No such file or directory (os error 2)".to_owned(),
        ),
        (
            "a version that is not there",
            json!({ "type": "open_session", "id": 1, "dialect": "pi-1@99" }).to_string(),
            "open_session",
            format!("open_failed: dialect: expected one of {dialects}, got \"pi-1@99\""),
        ),
    ] {
        client.send_line(&line);
        let response = client.find(|frame| frame["type"] == "response");
        assert_eq!((&response["command"], &response["success"]), (&json!(command), &json!(false)), "{what}");
        let text = response["error"].as_str().unwrap();
        assert!(text.starts_with(&error), "{what}: {text}");
    }
    let state = client.request(&json!({ "type": "get_state", "id": 2, "sessionId": session }));
    assert_eq!(state["success"], true);
}

/// A client that makes HTTP requests, each on a connection of its own: a stranger that is refused is disconnected.
struct Http<'a>(&'a str);

impl Http<'_> {
    /// The status and the error of a request with these headers.
    fn refused(&self, path: &str, headers: &[&str]) -> (u16, String) {
        let mut stream = BufReader::new(TcpStream::connect(self.0).unwrap());
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        write!(stream.get_mut(), "GET {path} HTTP/1.1\r\nhost: a\r\n{headers}\r\n").unwrap();
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut length = 0;
        loop {
            line.clear();
            stream.read_line(&mut line).unwrap();
            match line.trim_end().split_once(": ") {
                Some(("content-length", value)) => length = value.parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        (status, body["error"].as_str().unwrap().to_owned())
    }
}

#[test]
fn bad_requests_get_codes() {
    let host = host();
    let http = Http(host.authority());
    let token = "authorization: Bearer secret";
    let upgrade = [
        token,
        "connection: upgrade",
        "upgrade: websocket",
        "sec-websocket-version: 13",
        "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
    ];
    let with = |header| [&upgrade[..], &[header]].concat();
    let session = host.client("secret").open(&json!({}));
    let of_session = format!("/sessions/{session}");
    for (path, headers, status, error) in [
        ("/", vec![], 401, "missing_token: expected Authorization: Bearer TOKEN"),
        (
            "/",
            vec!["authorization: Basic secret"],
            401,
            "missing_token: expected Authorization: Bearer TOKEN",
        ),
        ("/", vec!["authorization: Bearer x"], 401, "invalid_token: the host does not know this token"),
        (
            "/",
            vec![token, "origin: https://a.example"],
            403,
            "forbidden_origin: start the host with --allow-origin",
        ),
        ("/", vec![token], 426, "upgrade_required: this is a WebSocket of frames"),
        ("/sessions/x", upgrade.to_vec(), 404, "unknown_session"),
        ("/sessions/new?cwd=a", upgrade.to_vec(), 400, "invalid_path"),
        (
            "/sessions/new?cwd=/no/such",
            upgrade.to_vec(),
            400,
            "open_failed: cwd: /no/such: No such file or directory (os error 2)",
        ),
        (
            "/sessions/x?after=y",
            upgrade.to_vec(),
            400,
            "invalid_query: Failed to deserialize query string: after: invalid digit found in string",
        ),
        (
            of_session.as_str(),
            with("sec-websocket-protocol: pi-rpc.control.v9"),
            400,
            "unsupported_version: expected pi-rpc.control.v1, got \"pi-rpc.control.v9\"",
        ),
    ] {
        assert_eq!(http.refused(path, &headers), (status, error.to_owned()), "{path} {headers:?}");
    }
}

#[test]
fn names_of_clients_are_checked() {
    let host = host();
    let http = Http(host.authority());
    let upgrade = [
        "authorization: Bearer secret",
        "connection: upgrade",
        "upgrade: websocket",
        "sec-websocket-version: 13",
        "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
    ];
    let session = host.client("secret").open(&json!({}));
    for path in ["/sessions/new?in_memory=true&", &format!("/sessions/{session}?")] {
        for (name, reason) in [
            ("a%0Ab", "a name without control characters, got \"a\\nb\""),
            ("a%0D%0AX: y", "a name without control characters, got \"a\\r\\nX: y\""),
            ("%00", "a name without control characters, got \"\\0\""),
            ("%20a", "a name without blanks at its ends, got \" a\""),
            ("", "a name of 1 to 256 bytes, got 0"),
        ] {
            let path = format!("{path}client={}", name.replace(' ', "%20"));
            let error = format!("invalid_query: client: expected {reason}");
            assert_eq!(http.refused(&path, &upgrade), (400, error), "{path}");
        }
    }
    let sessions = host.client("secret").request(&json!({ "type": "list_sessions", "id": 1 }));
    assert_eq!(sessions["data"]["sessions"].as_array().unwrap().len(), 1, "{sessions}");
}

#[test]
fn tokens_with_control_characters_are_refused() {
    let host = host();
    let http = Http(host.authority());
    let text = "invalid_token: expected a token without control characters, and without blanks at its ends";
    // `secret` with a line feed, and with a NUL.
    for token in ["c2VjcmV0Cg", "c2VjcmV0AA"] {
        let offered = format!("sec-websocket-protocol: pi-rpc.bearer.{token}");
        assert_eq!(http.refused("/", &[&offered]), (401, text.to_owned()));
    }
}

#[test]
fn no_token_is_logged() {
    const TOKEN: &str = "tok-0123456789abcdef";
    const WRONG: &str = "bad-0123456789abcdef";
    let dir = tempfile::tempdir().unwrap();
    // SHA-256 of the token.
    let hash = "6db3068996ff396f601ae0dcf903f6a970c685767d75e325d0cd88103779f2f0";
    fs::write(dir.path().join("tokens"), hash).unwrap();
    let program = dir.path().join("check");
    fs::write(&program, "#!/bin/sh\nread -r token\nprintf %s \"$token\" | base64 >&2\nexit 7\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    let arguments = ["--token-file", "tokens", "--auth-command", program.to_str().unwrap()];
    let host = TcpHost::start_with(dir, &hello(), &arguments, &[("RUST_LOG", "trace")]);
    host.client(TOKEN).open(&json!({}));
    let mut requests = vec!["GET /marker HTTP/1.1".to_owned()];
    for token in [TOKEN, WRONG] {
        let (basic, bearer) =
            (BASE64_STANDARD.encode(format!("{token}:")), BASE64_URL_SAFE_NO_PAD.encode(token));
        requests.push(format!("GET /metrics HTTP/1.1\r\nauthorization: Bearer {token}"));
        requests.push(format!("GET /metrics HTTP/1.1\r\nauthorization: Basic {basic}"));
        requests.push(format!("GET / HTTP/1.1\r\nsec-websocket-protocol: pi-rpc.bearer.{bearer}"));
        requests.push(format!("GET /sessions/x?token={token} HTTP/1.1"));
        requests.push(format!("GET / HTTP/1.1\r\ncookie: token={token}"));
        requests.push(format!("GET /\u{7f} HTTP/1.1\r\nauthorization: Bearer {token}"));
    }
    for request in requests {
        host.exchange(&format!("{request}\r\nhost: a\r\nconnection: close\r\n\r\n"));
    }
    host.signal(rustix::process::Signal::TERM);
    let log = host.whole_log();
    assert!(log.contains("got exit status: 7: ***"), "{log}");
    for token in [TOKEN, WRONG] {
        let forms = [
            token.to_owned(),
            BASE64_STANDARD.encode(token).trim_end_matches('=').to_owned(),
            BASE64_STANDARD.encode(format!("{token}:")).trim_end_matches('=').to_owned(),
        ];
        for form in forms {
            assert!(!log.contains(&form), "{form}: {log}");
        }
    }
}

#[test]
fn bad_frames_leave_a_session_open() {
    let host = host();
    let mut client = host.connect("/sessions/new?in_memory=true&dialect=pi-1", "secret").ok().unwrap();
    for (line, command) in [("{", "parse"), ("[]", "parse"), ("{\"type\":\"fly\",\"id\":1}", "fly")] {
        client.send_line(line);
        let response = client.find(|frame| frame["type"] == "response");
        assert_eq!((&response["command"], &response["success"]), (&json!(command), &json!(false)));
    }
    assert_eq!(client.request(&json!({ "type": "get_state", "id": 2 }))["success"], true);
}

#[test]
fn session_without_its_extension_is_refused() {
    let host = Host::start(&hello(), &["-e", "/gone/extension"]);
    for dialect in ["pi", "pi-1"] {
        let open = json!({ "type": "open_session", "id": 1, "inMemory": true, "dialect": dialect });
        let refused = host.client().request(&open);
        let error = refused["error"].as_str().unwrap_or_else(|| panic!("{refused}"));
        let expected = "open_failed: Failed to load extension \"/gone/extension\": ";
        assert!(error.starts_with(expected), "{dialect}: {error}");
    }
    let listed = host.client().request(&json!({ "type": "list_sessions", "id": 2 }));
    assert_eq!(listed["data"], json!({ "sessions": [] }));
}
