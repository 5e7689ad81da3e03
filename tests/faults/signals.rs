//! Signals, in every state: the server closes what goes on, says so where its dialect does, and leaves nothing behind.

use crate::{
    serve_support::{Ended, Server, at_once, eventually, of_type, pairs, processes_of, sample},
    states::{DIALECTS, State, assert_tidy, assert_whole, last},
    table::row,
};
use pi_rpc::protocol::Dialect::{self, Pi1};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Those that end a server in order, with its exit status.
const ENDING: [(Signal, i32); 3] = [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)];

/// What the host has to see of the end.
fn assert_closed(state: State, dialect: Dialect, frames: &[Value]) {
    let what = format!("{state:?}, {dialect}: {frames:?}");
    let (ends, answers) = (of_type(frames, "agent_end").len(), of_type(frames, "response"));
    match state {
        State::Idle | State::Loading => assert!(frames.is_empty(), "{what}"),
        // In `pi-1` a run that a signal ends has no further events.
        State::Streaming | State::Tool | State::Dialog => {
            assert_eq!(ends, usize::from(dialect != Pi1), "{what}");
            if dialect != Pi1 {
                let end = frames.last().unwrap();
                assert_eq!(end["type"], last(dialect), "{what}");
                assert_eq!(
                    end["messages"].as_array().unwrap().last().unwrap()["stopReason"],
                    "aborted",
                    "{what}"
                );
            }
        }
        State::Retrying if dialect == Pi1 => assert_eq!(ends, 0, "{what}"),
        State::Retrying => assert_eq!(frames.last().unwrap()["success"], false, "{what}"),
        State::Compacting => {
            assert_eq!((answers.len(), &answers[0]["success"]), (1, &json!(false)), "{what}")
        }
        State::Bash => {
            assert_eq!((answers.len(), &answers[0]["data"]["cancelled"]), (1, &json!(true)), "{what}")
        }
        State::Unread => {}
    }
}

#[test]
fn signal_ends_outstanding_work() {
    let states: Vec<State> = State::ALL.into_iter().filter(|state| *state != State::Unread).collect();
    let cases = pairs(&pairs(&states, &DIALECTS), &ENDING);
    let times = at_once(sample(cases, 4), |((state, dialect), (signal, status))| {
        let what = format!("{signal:?}, {state:?}, {dialect}");
        let server = state.server(dialect);
        server.signal(signal);
        let ended = server.ends();
        assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(status), ""), "{what}");
        assert_closed(state, dialect, &ended.frames);
        assert_tidy(ended.dir.path(), &ended.frames, &what);
    });
    row("TERM, HUP and INT, in eight states and three dialects", times);
}

/// Waits for the end of a server that nobody reads; it gets this signal until then.
fn unheard(mut server: Server, signal: Option<Signal>) -> Ended {
    eventually("the server ends", || {
        if let Some(signal) = signal {
            server.signal(signal);
        }
        server.child.try_wait().unwrap().is_some()
    });
    server.close_stdout();
    server.ends()
}

#[test]
fn signal_ends_server_with_unread_output() {
    let cases = pairs(&DIALECTS, &ENDING).into_iter().enumerate();
    let times = at_once(sample(cases, 4), |(at, (dialect, (signal, status)))| {
        let second = (4..8).contains(&at);
        let server = State::Unread.server(dialect);
        server.signal(signal);
        eventually("the tools have ended", || processes_of(server.dir.path()).len() <= 1);
        let ended = unheard(server, second.then_some(signal));
        let what = format!("{signal:?}, {dialect}: {}", ended.stderr);
        assert_eq!(ended.status.code(), Some(status), "{what}");
        assert_eq!(ended.stderr.contains("pending frames were not read"), !second, "{what}");
        assert_whole(ended.dir.path(), &what);
    });
    row("TERM, HUP and INT while the host does not read; four of them twice in a row", times);
}

/// What a pipe holds, and what the server reads at once, in bytes.
const PIPE: usize = 64 * 1024;

#[test]
fn signal_ends_intake_of_flood() {
    let kinds = ["get_state", "get_messages", "bash"];
    let cases = pairs(&pairs(&DIALECTS, &[true, false]), &kinds);
    let times = at_once(sample(cases, 5), |((dialect, reads), kind)| {
        let mut server = State::Idle.server(dialect);
        let line = |at| format!("{}\n", json!({ "id": format!("f{at}"), "type": kind, "command": "true" }));
        let all: String = (0..30_000).map(line).collect();
        let flood = server.flood(all.clone().into_bytes());
        if reads {
            server.response("f200");
        } else {
            eventually("a part is served", || flood.written() > 4 * PIPE);
        }
        let before = server.signal_at_a_stop(Signal::TERM, || flood.written());
        let mut last = Vec::new();
        while reads && let Some(line) = server.next_line() {
            last = line;
        }
        // Where the host is too slow, its last frames are cut.
        let ended = unheard(server, None);
        let what = format!("{dialect}, {kind}, read: {reads}: {}", ended.stderr);
        assert_eq!(ended.status.code(), Some(143), "{what}");
        assert!(!ended.stderr.contains("ERROR"), "{what}");
        // The pipe is filled up, and what was on its way is read.
        let taken = flood.ends() - before;
        assert!(taken <= 2 * PIPE, "{what}, {taken} of {} bytes were taken behind the signal", all.len());
        let last = String::from_utf8_lossy(&last);
        let late = all[before..].lines().skip(1).map(|line| &line[..line.find(',').expect("a member")]);
        assert!(!late.clone().any(|id| last.starts_with(id)), "{what}, behind the signal: {last}");
    });
    row("TERM amid thousands of commands, whose answers are read or not", times);
}

#[test]
fn continued_server_has_lost_nothing() {
    let states = [State::Idle, State::Streaming, State::Tool, State::Retrying, State::Dialog];
    let times = 3 * at_once(sample(pairs(&DIALECTS, &states), 2), |(dialect, state)| {
        let mut server = state.server(dialect);
        for _ in 0..3 {
            server.signal(Signal::STOP);
            // Written while it sleeps.
            server.send(json!({ "id": "1", "type": "get_state" }));
            server.signal(Signal::CONT);
            assert_eq!(server.response("1")["success"], true, "{state:?}, {dialect}");
        }
        server.send(json!({ "id": "a", "type": "abort" }));
        assert_eq!(server.response("a")["success"], true, "{state:?}, {dialect}");
        server.close_stdin();
        let ended = server.ends();
        assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), ""), "{state:?}, {dialect}");
        assert_tidy(ended.dir.path(), &ended.frames, &format!("{state:?}, {dialect}"));
    });
    row("STOP, a command, CONT", times);
}

#[test]
fn signal_without_meaning_is_passed_over() {
    // PIPE tells what a write tells better.
    let signals = [Signal::PIPE, Signal::WINCH, Signal::CHILD, Signal::URG];
    let states = [State::Idle, State::Streaming, State::Tool];
    let servers = at_once(sample(pairs(&DIALECTS, &states), 4), |(dialect, state)| {
        let mut server = state.server(dialect);
        for signal in signals {
            server.signal(signal);
            assert_eq!(server.ask("1", json!({ "type": "get_state" }))["success"], true, "{signal:?}");
        }
        server.signal(Signal::TERM);
        assert_eq!(server.ends().status.code(), Some(143));
    });
    row("PIPE, WINCH, CHLD, URG", signals.len() * servers);
}
