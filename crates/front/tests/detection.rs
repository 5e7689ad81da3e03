//! The dialect of a server is found out by what it answers.

use pi_rpc_front::{Detection, Output};
use pi_rpc_protocol::{Base, Dialect, RpcCommandKind, errors};
use serde_json::{Value, json};

/// What a server of the dialect answers to the commands, in order.
fn found(dialect: Dialect) -> Option<Dialect> {
    let (mut detection, mut out) = (Detection::new(), Output::default());
    detection.start(&mut out);
    let commands = String::from_utf8(out.to_server).expect("UTF-8");
    let mut found = None;
    for command in commands.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
        let name = command["type"].as_str().expect("a type");
        let kind = RpcCommandKind::parse(name).expect("a command");
        let answer = match kind.is_in(dialect.base()) {
            true => {
                json!({ "id": command["id"], "type": "response", "command": name, "success": true, "data": {} })
            }
            false => {
                let error = errors::unknown_command(dialect.base(), name);
                json!({ "type": "response", "command": name, "success": false, "error": error })
            }
        };
        found = detection.server_line(answer.to_string().as_bytes());
    }
    found
}

#[test]
fn answers_tell_dialects_apart() {
    for base in Base::ALL {
        let dialect = Dialect::parse(base.as_str()).expect("a dialect");
        let expected = match dialect {
            // Only a member of an answer tells it from its predecessors, and these answers have none.
            Dialect::Pi073 => Dialect::Pi,
            // Only a command that moves the session tells it from its base.
            Dialect::Pi1Navigation => Dialect::Pi1,
            dialect => dialect,
        };
        assert_eq!(found(dialect), Some(expected), "{dialect}");
    }
}

#[test]
fn member_of_answer_tells_dialects_apart() {
    let usage = json!({ "contextUsage": { "tokens": 0, "contextWindow": 200_000, "percent": 0 } });
    for (data, expected) in [(json!({}), Dialect::Pi), (usage, Dialect::Pi073)] {
        let (mut detection, mut out) = (Detection::new(), Output::default());
        detection.start(&mut out);
        let mut found = None;
        for command in String::from_utf8(out.to_server).expect("UTF-8").lines() {
            let command: Value = serde_json::from_str(command).expect("JSON");
            let name = command["type"].as_str().expect("a type");
            let kind = RpcCommandKind::parse(name).expect("a command");
            let mut answer =
                json!({ "id": command["id"], "type": "response", "command": name, "success": true });
            match (kind.is_in(Base::Pi), kind) {
                (true, RpcCommandKind::GetSessionStats) => answer["data"] = data.clone(),
                (true, _) => {}
                (false, _) => {
                    answer["success"] = false.into();
                    answer["error"] = errors::unknown_command(Base::Pi, name).into();
                }
            }
            found = detection.server_line(answer.to_string().as_bytes());
        }
        assert_eq!(found, Some(expected));
    }
}

#[test]
fn clients_answer_is_not_the_fronts() {
    let mut detection = Detection::new();
    detection.start(&mut Output::default());
    let line =
        json!({ "id": "5", "type": "response", "command": "get_session_stats", "success": true, "data": {} });
    assert_eq!(detection.server_line(line.to_string().as_bytes()), None);
    assert_eq!(detection.into_lines(), [line.to_string().into_bytes()]);
}
