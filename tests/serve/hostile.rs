//! Lines that no host should write: each has one clear error, and the next command works.

use crate::serve_support::{BOTH, Server};
use pi_rpc::protocol::Dialect::{self, Pi, Pi1, Xcsh};
use serde_json::{Value, json};

/// Sends a line that is no command; gives its only answer.
#[track_caller]
fn refused(server: &mut Server, line: &[u8]) -> Value {
    server.send_bytes(&[line, b"\n"].concat());
    let answer = server.next();
    assert_eq!((&answer["type"], &answer["success"]), (&json!("response"), &json!(false)), "{answer}");
    assert!(answer["command"].is_string() && answer["error"].is_string(), "{answer}");
    assert_works(server);
    answer
}

/// The next frame is the answer to a command that is sent now.
#[track_caller]
fn assert_works(server: &mut Server) {
    server.send(json!({"id": "still here", "type": "get_state"}));
    let answer = server.next();
    assert_eq!((&answer["id"], &answer["success"]), (&json!("still here"), &json!(true)), "{answer}");
}

#[track_caller]
fn assert_parse_error(server: &mut Server, line: &[u8], id: Option<&str>) {
    let answer = refused(server, line);
    let error = answer["error"].as_str().unwrap();
    assert_eq!((&answer["command"], answer["id"].as_str()), (&json!("parse"), id), "{answer}");
    assert!(error.starts_with("Failed to parse command: ") && error.len() > 30, "{answer}");
}

#[test]
fn line_without_typed_object_is_parse_error() {
    for dialect in [Pi, Pi1, Xcsh] {
        let mut server = Server::demo(dialect);
        let lines: [&[u8]; 17] = [
            b"not json",
            b"{\"id\":\"1\",\"type\":\"get_state\"",
            b"{\"id\":\"1\",\"type\":\"get_state\"}}",
            b"{\"type\":\"get_state\"} {\"type\":\"get_state\"}",
            b"{'type':'get_state'}",
            b"null",
            b"42",
            b"\"get_state\"",
            b"[]",
            b"[{\"type\":\"get_state\"}]",
            b"true",
            b"{}",
            b"{\"id\":\"1\",\"type\":\"get_state\",\"id\":\"2\"}",
            b"{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"m\",\"x\":{\"a\":[{\"b\":1,\"b\":2}]}}",
            b"{\"type\":\"prompt\",\"message\":\"\xff\xfe\"}",
            b"{\"type\":\"prompt\",\"message\":\"a\0b\"}",
            b"\0",
        ];
        for line in lines {
            assert_parse_error(&mut server, line, None);
        }
        server.finishes();
    }
}

#[test]
fn missing_type_keeps_id_in_pi_1() {
    for (dialect, id) in [(Pi, None), (Pi1, Some("1")), (Xcsh, None)] {
        let mut server = Server::demo(dialect);
        for line in [r#"{"id":"1"}"#, r#"{"id":"1","type":5}"#, r#"{"id":"1","type":null}"#] {
            assert_parse_error(&mut server, line.as_bytes(), id);
        }
        server.finishes();
    }
}

#[test]
fn unknown_commands_are_named() {
    for dialect in BOTH {
        let mut server = Server::demo(dialect);
        let foreign = if dialect == Pi { "set_todos" } else { "fork" };
        for kind in ["frobnicate", "", "GET_STATE", "ready", "agent_start", foreign] {
            let line = json!({"id": "1", "type": kind}).to_string();
            let wanted = json!({
                "type": "response", "command": kind, "success": false, "error": format!("Unknown command: {kind}"),
            });
            assert_eq!(refused(&mut server, line.as_bytes()), wanted);
        }
        server.finishes();
    }
}

/// Each field of each command is wrong in `tests/protocol/read_errors.rs`.
#[test]
fn wrong_field_is_named() {
    let frames = [
        (json!({"type": "prompt"}), "message"),
        (json!({"type": "set_thinking_level", "level": "extreme"}), "extreme"),
        (json!({"type": "bash", "command": ["ls"]}), "command"),
    ];
    for dialect in BOTH {
        let mut server = Server::demo(dialect);
        for (frame, named) in &frames {
            let mut frame = frame.clone();
            frame["id"] = "7".into();
            let answer = refused(&mut server, frame.to_string().as_bytes());
            assert!(answer["error"].as_str().unwrap().contains(named), "{answer}");
            let (command, id) = match dialect {
                Pi => (&frame["type"], Some(&frame["id"])),
                _ => (&json!("parse"), None),
            };
            assert_eq!((&answer["command"], answer.get("id")), (command, id), "{answer}");
        }
        server.finishes();
    }
}

#[test]
fn an_id_is_echoed_as_it_came() {
    for dialect in BOTH {
        let mut server = Server::demo(dialect);
        for id in [json!("a\u{2028}b\"\\\u{7f}é"), json!(""), json!(7), json!(-1.5), json!(null), json!(true)]
        {
            server.send(json!({"id": id, "type": "get_state"}));
            assert_eq!(server.next()["id"], id);
        }
        server.send(json!({"type": "get_state"}));
        assert_eq!(server.next().get("id"), None);
        server.send(json!({"id": {}, "type": "get_state"}));
        assert_eq!(server.next()["success"], false);
        server.send_bytes(
            b"{\"id\":\"same\",\"type\":\"get_state\"}\n{\"id\":\"same\",\"type\":\"get_messages\"}\n",
        );
        assert_eq!([&server.next()["command"], &server.next()["command"]], ["get_state", "get_messages"]);
        server.finishes();
    }
}

/// A `get_state` whose line is `length` bytes long, without its line feed.
fn state_of_length(length: usize) -> Vec<u8> {
    let frame = br#"{"id":"long","type":"get_state","pad":""}"#;
    let mut line = frame[..frame.len() - 2].to_vec();
    line.resize(length - 2, b'x');
    line.extend_from_slice(b"\"}");
    line
}

#[test]
fn line_one_byte_over_limit_is_refused() {
    for dialect in BOTH {
        let mut server = Server::with(dialect, &["--max-frame", "1000"]);
        server.send_bytes(&[&state_of_length(1000)[..], b"\n"].concat());
        assert_eq!((server.next()["id"].as_str(), server.dialect), (Some("long"), dialect));
        let answer = refused(&mut server, &state_of_length(1001));
        assert_eq!(answer["command"], "parse");
        let words = "Failed to parse command: the line has 1001 bytes, the limit is 1000";
        assert_eq!(answer["error"], words);
        server.finishes();
    }
}

#[test]
fn overlong_line_is_not_held_in_memory() {
    let mut server = Server::with(Pi, &["--max-frame", "100000"]);
    assert_works(&mut server);
    let before = server.peak_mib();
    assert_parse_error(&mut server, &vec![b'x'; 50_000_000], None);
    assert!(server.peak_mib() < before + 8, "{before} → {} MiB", server.peak_mib());
    server.finishes();
}

#[test]
fn the_usual_limit_is_64_mib() {
    const LIMIT: usize = 64 * 1024 * 1024;
    let mut server = Server::demo(Pi);
    assert_parse_error(&mut server, &vec![b'x'; LIMIT + 1], None);
    assert!(server.resident_mib() < 40, "{} MiB are held", server.resident_mib());
    server.send_bytes(&state_of_length(LIMIT));
    server.send_bytes(b"\n");
    assert_eq!(server.next()["id"], "long");
    server.finishes();
}

#[test]
fn deep_nesting_is_refused_without_stack_overflow() {
    for dialect in BOTH {
        let mut server = Server::demo(dialect);
        let (open, close) = ("[".repeat(20_000), "]".repeat(20_000));
        assert_parse_error(&mut server, open.as_bytes(), None);
        assert_parse_error(
            &mut server,
            format!("{{\"type\":\"get_state\",\"x\":{open}{close}}}").as_bytes(),
            None,
        );
        let objects = format!("{}1{}", "{\"a\":".repeat(20_000), "}".repeat(20_000));
        assert_parse_error(&mut server, objects.as_bytes(), None);
        server.finishes();
    }
}

#[test]
fn lines_may_come_in_any_pieces() {
    let two = "{\"id\":\"é1\",\"type\":\"get_state\"}\r\n{\"id\":\"\u{2028}2\",\"type\":\"get_messages\"}\n"
        .as_bytes();
    for dialect in BOTH {
        let mut server = Server::demo(dialect);
        for at in 0..=two.len() {
            server.send_bytes(&two[..at]);
            server.send_bytes(&two[at..]);
            assert_eq!(server.next()["id"], "é1");
            assert_eq!(server.next()["id"], "\u{2028}2");
        }
        for byte in two {
            server.send_bytes(&[*byte]);
        }
        server.send_bytes(&two.repeat(100));
        for _ in 0..101 {
            assert_eq!([&server.next()["command"], &server.next()["command"]], ["get_state", "get_messages"]);
        }
        server.finishes();
    }
}

#[test]
fn half_a_character_is_replaced() {
    for dialect in BOTH {
        let mut server = Server::demo(dialect);
        let name = r#"{"id":"1","type":"set_session_name","name":"a\ud83d \ud83d\ude00"}"#;
        server.send_bytes(format!("{name}\n").as_bytes());
        assert_eq!(server.response("1")["success"], true);
        let state = server.data(json!({"type": "get_state"}));
        assert_eq!(state["sessionName"], "a\u{fffd} \u{1f600}");
        server.finishes();
    }
}

#[test]
fn answers_to_nothing_are_passed_over() {
    for dialect in BOTH {
        let mut server = Server::demo(dialect);
        server.send(json!({"type": "extension_ui_response", "id": "nobody", "value": "x"}));
        server.send(json!({"type": "extension_ui_response", "id": "nobody", "cancelled": true}));
        if dialect == Dialect::Xcsh {
            server.send(json!({"type": "host_tool_result", "id": "nobody", "result": {"content": []}}));
        }
        assert_works(&mut server);
        server.finishes();
    }
}

#[test]
fn pi_1_refusal_has_id_and_command() {
    let mut server = Server::demo(Pi1);
    let field = |name: &str, expected: &str| format!("`{name}`: {expected}");
    let missing = |name: &str| format!("missing field `{name}`");
    let levels = "invalid value: string \"bogus\", expected one of `off`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`";
    let cases = [
        (json!({ "type": "no_such_command" }), "Unknown command: no_such_command".to_owned()),
        (json!({ "type": "" }), "Unknown command: ".to_owned()),
        (json!({ "type": "set_todos", "phases": [] }), "Unknown command: set_todos".to_owned()),
        (json!({ "type": "bash" }), missing("command")),
        (json!({ "type": "prompt" }), missing("message")),
        (json!({ "type": "fork" }), missing("entryId")),
        (
            json!({ "type": "set_model", "provider": "nope", "modelId": "none" }),
            "Model not found: nope/none".to_owned(),
        ),
        (json!({ "type": "set_session_name", "name": " " }), "Session name cannot be empty".to_owned()),
        (json!({ "type": "get_entries", "since": "nope" }), "Entry not found: nope".to_owned()),
        (json!({ "type": "fork", "entryId": "nope" }), "Invalid entry ID for forking".to_owned()),
        (json!({ "type": "export_html" }), "Cannot export in-memory session to HTML".to_owned()),
        (
            json!({ "type": "prompt", "message": "m", "streamingBehavior": "later" }),
            field(
                "streamingBehavior",
                "invalid value: string \"later\", expected one of `steer`, `followUp`",
            ),
        ),
        (json!({ "type": "set_thinking_level", "level": "bogus" }), field("level", levels)),
    ];
    for (mut frame, error) in cases {
        frame["id"] = "r".into();
        let expected = json!({
            "id": "r", "type": "response", "command": frame["type"], "success": false, "error": error,
        });
        assert_eq!(refused(&mut server, frame.to_string().as_bytes()), expected);
    }
    server.finishes();
}
