//! The exported chart in other people's interpreters: XState runs that of `--format xstate`, SCION that of `--format scxml`. Both
//! accept what the machine takes for legal, and refuse everything else. The form of the SCXML is checked as the W3C's XML Schema has it.

#[path = "../toolchain_support/mod.rs"]
mod toolchain_support;

use pi_rpc::{
    export::{command_events, event_name, scxml, xstate},
    machine::{Kind, walk},
    protocol::{
        Base, Case, Dialect, DialectEndOfInput, Disposition, FlowState, HostResponseKind, RpcCommandKind,
    },
};
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};
use toolchain_support::{packages, run};

/// Every state with every kind of frame of any dialect: the event, and the state that follows; null: the frame is refused.
fn cells(base: Base) -> Vec<Value> {
    let mut cells = Vec::new();
    let id = |state: FlowState| format!("flow.{state}");
    for cell in walk(base) {
        if let Kind::Command(command) = cell.kind {
            for event in command_events(command, base) {
                let choice =
                    |field: &str| event.member.filter(|(member, _)| *member == field).map(|(_, it)| it);
                let case = Case::first(command.cases(cell.from), base, choice);
                let is_legal =
                    command.is_in(base) && case.is_some_and(|case| case.disposition != Disposition::Reject);
                let to = is_legal.then(|| id(cell.from));
                cells.push(json!({ "from": id(cell.from), "event": event.name(), "to": to }));
            }
            continue;
        }
        let event = event_name(cell.kind);
        let is_known = match (HostResponseKind::parse(&event), cell.kind) {
            (Some(response), _) => response.is_in(base),
            // A success names its command.
            (None, Kind::Response(None, true)) => false,
            (None, kind) => kind.is_in(base),
        };
        let to = (is_known && !cell.illegal).then(|| id(cell.to));
        cells.push(json!({ "from": id(cell.from), "event": event, "to": to }));
    }
    cells.push(json!({ "from": "flow.idle", "event": "nonsense", "to": null }));
    cells
}

/// Paths through the other regions, and states that are active behind them.
fn paths(base: Base) -> Value {
    let ended = match base.record().end_of_input {
        DialectEndOfInput::Finish => "input.draining",
        DialectEndOfInput::Exit | DialectEndOfInput::AbortRun => "input.stopping",
    };
    let dialog = "extension_ui_request.confirm";
    let bash = RpcCommandKind::Bash;
    let [command, response] = [Kind::Command(bash), Kind::Response(Some(bash), true)].map(event_name);
    json!([
        { "events": [dialog], "at": ["asks.awaiting_ui", "flow.idle", "shell.idle", "switch.steady", "input.greeting"] },
        { "events": [dialog, dialog, "extension_ui_response"], "at": ["asks.awaiting_ui"] },
        { "events": [dialog, "extension_ui_response", "dialogs_closed"], "at": ["asks.none"] },
        { "events": [command, command, response], "at": ["shell.bash", "flow.idle"] },
        { "events": [command, response, "shells_ended"], "at": ["shell.idle"] },
        { "events": ["step.served", "end_of_input", dialog], "at": [ended, "asks.awaiting_ui"] },
        { "events": ["step.switch_begins"], "at": ["switch.switching", "flow.idle"] },
        { "events": ["agent_start", dialog, "turn_start"], "at": ["flow.streaming.turn", "asks.awaiting_ui"] },
    ])
}

#[test]
fn other_interpreters_agree_with_the_machine() {
    let Some(home) = packages("tests/statecharts") else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("statecharts");
    fs::create_dir_all(&folder).expect("a folder");
    let mut node = Command::new("node");
    node.arg("tests/statecharts/walk.mjs").env("NODE_PATH", home.join("node_modules"));
    for dialect in Dialect::ALL.into_iter().filter(|it| it.base().as_str() == it.as_str()) {
        let given = json!({
            "dialect": dialect.as_str(), "xstate": xstate(dialect), "scxml": scxml(dialect),
            "cells": cells(dialect.base()), "paths": paths(dialect.base()),
        });
        let path = folder.join(format!("{dialect}.json"));
        fs::write(&path, given.to_string()).expect("it can be written");
        node.arg(path);
    }
    let printed = run(node.current_dir(env!("CARGO_MANIFEST_DIR"))).unwrap_or_else(|error| panic!("{error}"));
    assert!(printed.contains("events tried"), "{printed}");
}
