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
        // No command that reads tells pi 0.73 from its predecessors.
        let expected = if dialect == Dialect::Pi073 { Dialect::Pi } else { dialect };
        assert_eq!(found(dialect), Some(expected), "{dialect}");
    }
}
