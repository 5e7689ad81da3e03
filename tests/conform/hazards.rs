//! `serve --hazard`: a server that is legal and inconvenient.

use crate::serve_support::{BOTH, Server, at_once, bash_turns, binary, command, sample, thorough};
use pi_rpc::{
    machine::Rule,
    oracle::{Direction, Judge, Record, View},
    protocol::Dialect,
    server::{Hazard, Hazards, WriteStep},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

/// A tap in front of a server with these options.
fn tapped(dialect: Dialect, options: &[&str]) -> Server {
    tapped_with(dialect, bash_turns("echo é; echo two"), options)
}

/// The same of a server whose model takes these turns.
fn tapped_with(dialect: Dialect, turns: Value, options: &[&str]) -> Server {
    let dir = tempfile::tempdir().unwrap();
    let script = json!({ "turns": turns });
    std::fs::write(dir.path().join("script.json"), script.to_string()).unwrap();
    let mut tap = command(binary(), dir.path());
    tap.args(["tap", "--dialect", dialect.as_str(), "--"]).arg(binary());
    tap.args(["serve", "--no-session", "--model", "scripted/script.json", "--dialect", dialect.as_str()]);
    Server::start(dialect, dir, {
        tap.args(options);
        tap
    })
}

/// Everything that the server says in a conversation, and what the tap tells.
fn converse(mut server: Server) -> (Vec<Value>, String) {
    let commands = ["get_available_models", "set_session_name", "bash", "get_state", "set_auto_retry"];
    let command =
        |kind: &str| json!({"id": kind, "type": kind, "name": "n", "command": "echo one", "enabled": true});
    server.send(json!({"id": "prompt", "type": "prompt", "message": "go"}));
    commands.iter().for_each(|kind| server.send(command(kind)));
    let mut frames = until(&mut server, |frames| {
        let ids: BTreeSet<&str> = frames.iter().filter_map(|frame| frame["id"].as_str()).collect();
        commands.iter().chain(&["prompt"]).all(|id| ids.contains(id))
            && frames.iter().any(|frame| frame["type"] == "agent_end")
    });
    server.send(command("get_messages"));
    frames.extend(until(&mut server, |frames| frames.iter().any(|frame| frame["id"] == "get_messages")));
    server.close_stdin();
    frames.extend(std::iter::from_fn(|| server.next_line()).map(|line| parsed(&line)));
    // The server tells there which hazards have occurred.
    let stderr = server.ends().stderr;
    let of_tap = stderr.lines().filter(|line| !line.starts_with("hazards: "));
    (frames, of_tap.map(|line| format!("{line}\n")).collect())
}

fn until(server: &mut Server, done: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let mut frames = Vec::new();
    while !done(&frames) {
        frames.push(parsed(&server.next_line().expect("a frame")));
    }
    frames
}

fn parsed(line: &[u8]) -> Value {
    serde_json::from_slice(line).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(line)))
}

/// The types of the frames that are neither responses nor added nor up to the clock, and what the messages say in the end.
fn told(frames: &[Value]) -> (Vec<&str>, Vec<&Value>) {
    let types = frames.iter().filter_map(|frame| frame["type"].as_str());
    let own = types.filter(|kind| !kind.starts_with("hazard_") && !APART.contains(kind));
    let last = frames.iter().find(|frame| frame["id"] == "get_messages").unwrap();
    let messages = last["data"]["messages"].as_array().unwrap();
    (own.collect(), messages.iter().map(|message| &message["content"]).collect())
}

/// What is told as often as time allows, or comes in any place.
const APART: [&str; 3] = ["response", "extension_ui_request", "tool_execution_update"];

/// What a tap tells of a server without fault, up to the coverage.
const CLEAN: &str = "tap: violations of the server: nothing; of the host: nothing; ";

#[test]
fn hazard_keeps_rules_and_content() {
    let plain = BOTH.map(|dialect| {
        let (plain, report) = converse(tapped(dialect, &[]));
        assert!(report.starts_with(CLEAN), "{report}");
        (dialect, plain)
    });
    let hazards = Hazard::ALL.into_iter().filter(|hazard| *hazard != Hazard::SlowStart);
    // A sample has each hazard in one dialect.
    let cases = hazards.enumerate().flat_map(|(at, hazard)| {
        let plain = plain.iter().enumerate().filter(move |(place, _)| thorough() || at % 2 == *place);
        plain.flat_map(move |(_, plain)| sample(["0", "1"], 2).map(move |seed| (hazard, plain, seed)))
    });
    at_once(cases, |(hazard, (dialect, plain), seed)| {
        let options = ["--hazard", hazard.as_str(), "--seed", seed];
        let (frames, report) = converse(tapped(*dialect, &options));
        assert_eq!(told(&frames), told(plain), "{options:?}");
        assert!(is_clean(&report, hazard), "{options:?}: {report}");
    });
}

/// Whether the report tells nothing but what the hazard is there for.
fn is_clean(report: &str, hazard: Hazard) -> bool {
    let meant = match hazard {
        Hazard::EarlyEvents => "SHOULD ack-before-start",
        Hazard::UnknownEvents => "OBSERVED unknown-type",
        _ => return report.starts_with(CLEAN),
    };
    let mut lines = report.lines().filter(|line| !line.starts_with("tap: violations"));
    lines.all(|line| line.starts_with(&format!("tap: {meant}: "))) && !report.contains("MUST")
}

#[test]
fn late_ends_break_no_must() {
    let kinds = |frames: &[Value]| -> Vec<String> {
        let kinds = frames.iter().filter_map(|frame| frame["assistantMessageEvent"]["type"].as_str());
        kinds.filter(|kind| kind.ends_with("_start") || kind.ends_with("_end")).map(str::to_owned).collect()
    };
    let cases = [(Dialect::Pi, false), (Dialect::Pi073, true), (Dialect::Pi1, true), (Dialect::Xcsh, false)];
    at_once(cases.into_iter(), |(dialect, is_late)| {
        let turns = json!([{ "repeat": true, "say": [{ "thinking": "So." }, { "text": "One." }] }]);
        let (plain, _) = converse(tapped_with(dialect, turns.clone(), &[]));
        let (frames, report) = converse(tapped_with(dialect, turns, &["--hazard", "late-ends"]));
        assert_eq!(kinds(&plain) != kinds(&frames), is_late, "{dialect}");
        let mut lines = report.lines().filter(|line| !line.starts_with("tap: violations"));
        assert!(
            lines.all(|line| is_late && line.starts_with("tap: SHOULD block-protocol: ")),
            "{dialect}: {report}"
        );
    });
}

#[test]
fn all_hazards_together_break_no_must() {
    for dialect in sample(BOTH, 2) {
        let (plain, _) = converse(tapped(dialect, &[]));
        let (frames, report) = converse(tapped(dialect, &["--hazard", "all", "--seed", "7"]));
        assert_eq!(told(&frames), told(&plain));
        assert!(!report.contains("MUST"), "{report}");
    }
}

#[test]
fn unknown_hazard_and_invalid_seed_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |options: &[&str]| {
        let output = command(binary(), dir.path()).arg("serve").args(options).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (status, told) = refused(&["--hazard", "chunks,chaos"]);
    assert_eq!(status, Some(2));
    assert!(told.starts_with("Error: --hazard: no hazard is called \"chaos\"; known: chunks, "), "{told}");
    let (status, told) = refused(&["--hazard", ","]);
    assert_eq!(
        (status, told.starts_with("Error: --hazard: expected one or more of chunks, ")),
        (Some(2), true),
        "{told}"
    );
    let (status, told) = refused(&["--seed", "x"]);
    assert_eq!((status, told.as_str()), (Some(2), "Error: --seed x: expected a whole number, 0 or above\n"));
}

/// Frames as a server writes them.
fn frames() -> Vec<u8> {
    let ack = json!({"id": "1", "type": "response", "command": "prompt", "success": true});
    let name = json!({"id": "2", "type": "response", "command": "set_session_name", "success": true});
    let state = json!({"id": "3", "type": "response", "command": "get_state", "success": true});
    let event = |text: &str| json!({"type": "agent_start", "text": text});
    let frames =
        [ack, event("é\u{1f600}"), event("a"), name, event("b"), state, event(&"\u{2028}x".repeat(9000))];
    frames.iter().map(|frame| format!("{frame}\n")).collect::<String>().into_bytes()
}

/// The steps of a hazard for [`frames`].
fn steps(hazard: Hazard, seed: u64) -> Vec<WriteStep> {
    Hazards::new(vec![hazard], seed, Dialect::Pi).transform(&frames())
}

fn pieces(steps: &[WriteStep]) -> Vec<&[u8]> {
    let pieces = steps.iter().filter_map(|step| match step {
        WriteStep::Write(bytes) => Some(bytes.as_slice()),
        WriteStep::Pause(_) => None,
    });
    pieces.collect()
}

#[test]
fn cutting_keeps_bytes_and_splits_characters() {
    let all = frames();
    for hazard in [Hazard::Chunks, Hazard::Dribble] {
        let (mut within, mut before_feed) = (0, 0);
        for seed in 0..20 {
            let steps = steps(hazard, seed);
            let pieces = pieces(&steps);
            assert_eq!(pieces.concat(), all);
            assert!(pieces.iter().all(|piece| !piece.is_empty()));
            within += pieces.iter().filter(|piece| (0x80..0xc0).contains(&piece[0])).count();
            before_feed += pieces.iter().filter(|piece| piece[0] == b'\n').count();
        }
        assert!(within > 5 && before_feed > 5, "{hazard:?}: {within}, {before_feed}");
    }
}

#[test]
fn dribble_cuts_both_ends_into_bytes() {
    let steps = steps(Hazard::Dribble, 0);
    let lengths: Vec<usize> = pieces(&steps).iter().map(|piece| piece.len()).collect();
    assert!(lengths[..1024].iter().chain(&lengths[1025..]).all(|length| *length == 1));
    assert_eq!((lengths.len(), lengths.iter().sum::<usize>()), (2049, frames().len()));
}

#[test]
fn additions_are_marked_and_change_nothing_else() {
    let all = frames();
    let plain: Vec<Value> = all.split_inclusive(|byte| *byte == b'\n').map(parsed).collect();
    for hazard in [Hazard::UnknownFields, Hazard::UnknownEvents, Hazard::U2028, Hazard::Huge, Hazard::Dialogs]
    {
        for seed in sample(0..10, 5) {
            let steps = steps(hazard, seed);
            let written = pieces(&steps).concat();
            let frames: Vec<Value> = written.split_inclusive(|byte| *byte == b'\n').map(parsed).collect();
            let own = frames.iter().filter(|frame| {
                let kind = frame["type"].as_str().unwrap();
                !kind.starts_with("hazard_") && kind != "extension_ui_request"
            });
            let mut own: Vec<Value> = own.cloned().collect();
            own.iter_mut().for_each(|frame| {
                frame.as_object_mut().unwrap().retain(|key, _| !key.starts_with("hazard_"))
            });
            assert_eq!(own, plain, "{hazard:?}");
            assert!(written.len() > all.len(), "{hazard:?}");
            assert_eq!(frames[0]["type"], "response", "nothing comes before the first frame");
        }
    }
}

#[test]
fn responses_move_behind_events_in_their_order() {
    let ids = |hazard| {
        let order = |seed| -> Vec<String> {
            let steps = steps(hazard, seed);
            let written = pieces(&steps).concat();
            written
                .split_inclusive(|byte| *byte == b'\n')
                .map(|line| parsed(line)["id"].as_str().unwrap_or("-").to_owned())
                .collect()
        };
        (0..40).map(|seed| order(seed).concat()).collect::<BTreeSet<String>>()
    };
    let set = |orders: &[&str]| orders.iter().map(|order| (*order).to_owned()).collect::<BTreeSet<String>>();
    assert_eq!(ids(Hazard::EarlyEvents), set(&["1--2-3-", "-1-2-3-", "--12-3-"]));
    assert_eq!(ids(Hazard::LateAnswers), set(&["1--2-3-", "1---23-"]));
}

#[test]
fn a_slow_start_is_slow_once() {
    let mut hazards = Hazards::new(vec![Hazard::SlowStart], 3, Dialect::Pi);
    let first = hazards.transform(b"{}\n");
    assert!(
        matches!(first[..], [WriteStep::Pause(time), WriteStep::Write(_)] if time >= Duration::from_secs(2))
    );
    assert_eq!(hazards.transform(b"{}\n"), [WriteStep::Write(b"{}\n".to_vec())]);
}

#[test]
fn hazard_steps_depend_on_the_seed() {
    for hazard in [Hazard::Chunks, Hazard::UnknownFields, Hazard::UnknownEvents, Hazard::Dialogs] {
        assert_eq!(steps(hazard, 5), steps(hazard, 5));
        assert_ne!(steps(hazard, 5), steps(hazard, 6));
    }
}

#[test]
fn host_that_stops_after_unknown_is_reported() {
    let prompt = (Direction::In, json!({"id": "1", "type": "prompt", "message": "go"}));
    let abort = (Direction::In, json!({"type": "abort"}));
    let ack = (Direction::Out, json!({"id": "1", "type": "response", "command": "prompt", "success": true}));
    let event = |kind: &str| (Direction::Out, json!({"type": kind}));
    let member = (Direction::Out, json!({"hazard_1": null, "type": "agent_start"}));
    let end = (Direction::Meta, json!({"event": "stdin closed"}));
    let stopped = (true, true);
    let cases: [(&[_], (bool, bool)); 6] = [
        (&[&prompt, &ack, &event("agent_start"), &event("hazard_note"), &end], stopped),
        (&[&prompt, &ack, &member, &event("turn_start"), &end], stopped),
        (&[&prompt, &event("hazard_note"), &end], stopped),
        (&[&prompt, &ack, &event("agent_start"), &event("hazard_note"), &abort, &end], (true, false)),
        (&[&event("hazard_note"), &end], (true, false)),
        (&[&prompt, &ack, &event("agent_start"), &end], (false, false)),
    ];
    for (records, expected) in cases {
        let mut judge = Judge::new(Dialect::Pi, View::Both);
        let seen = records.iter().flat_map(|(direction, frame)| {
            judge.observe(&Record::line(0.0, *direction, frame.to_string().as_bytes()))
        });
        let rules: Vec<Rule> = seen.map(|finding| finding.violation.rule).collect();
        let found = rules.contains(&Rule::HostTolerates);
        assert_eq!((judge.exercised().contains(Rule::HostTolerates), found), expected, "{records:?}");
    }
}
