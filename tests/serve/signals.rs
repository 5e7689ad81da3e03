//! How a server ends: what is said at the end of input and after a signal. `tests/faults` has every signal in every state.

use crate::serve_support::{BOTH, Server, bash_turns, types};
use pi_rpc::protocol::Dialect::{self, Pi};
use rustix::process::Signal;
use serde_json::json;

/// A tree of processes that does not listen to TERM.
const STUCK: &str = "trap '' TERM; echo begun; sleep 1000 & (trap '' TERM HUP; sleep 1000 & wait) & touch begun; wait; sleep 1000";

/// In a run whose tool runs [`STUCK`]; everything said so far is read.
fn with_stuck_tool(dialect: Dialect) -> Server {
    let mut server = Server::script(dialect, bash_turns(STUCK));
    server.send(json!({"type": "prompt", "message": "go"}));
    server.until(|frame| frame["partialResult"]["content"][0]["text"] == "begun\n");
    server.awaits("begun");
    server
}

#[test]
fn idle_server_exits_with_input() {
    for dialect in BOTH {
        Server::demo(dialect).finishes();
    }
}

#[test]
fn pi_finishes_work_after_end_of_input() {
    let wait = "until [ -e go ]; do sleep 0.01; done; echo done";
    let mut server = Server::script(Pi, bash_turns(wait));
    server.send(json!({"type": "prompt", "message": "go"}));
    server.send(json!({"id": "bash", "type": "bash", "command": wait}));
    server.until_type("tool_execution_start");
    server.close_stdin();
    std::fs::write(server.path("go"), "").unwrap();
    let ended = server.ends();
    assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), ""));
    let answer = ended.frames.iter().find(|frame| frame["id"] == "bash").expect("an answer");
    assert_eq!(answer["data"]["output"], "done\n");
    let end = ended.frames.iter().find(|frame| frame["type"] == "agent_end").expect("the run's end");
    assert_eq!(end["messages"][3]["content"][0]["text"], "It has ended.");
}

#[test]
fn signal_closes_run_and_ends_tool() {
    for dialect in BOTH {
        let server = with_stuck_tool(dialect);
        server.signal(Signal::TERM);
        let ended = server.ends();
        assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(143), ""));
        let message = ["message_start", "message_end"];
        let turns = [&["tool_execution_end"], &message[..], &["turn_end", "turn_start"], &message];
        assert_eq!(types(&ended.frames), [&turns.concat()[..], &["turn_end", "agent_end"]].concat());
    }
}

/// Sends `count` questions with ids from 0, in one write.
fn send_states(server: &mut Server, count: usize) {
    let line = |at: usize| format!("{}\n", json!({"id": at.to_string(), "type": "get_state"}));
    server.send_bytes((0..count).map(line).collect::<String>().as_bytes());
}

#[test]
fn signal_after_end_of_input_loses_nothing() {
    let mut server = Server::demo(Pi);
    send_states(&mut server, 500);
    server.close_stdin();
    server.stands_still();
    server.signal(Signal::TERM);
    let ended = server.ends();
    assert_eq!((ended.status.code(), ended.frames.len()), (Some(143), 500));
}

#[test]
fn signal_with_end_of_input_exits_cleanly() {
    for dialect in BOTH {
        let mut server = Server::demo(dialect);
        server.ask("1", json!({"type": "get_state"}));
        server.close_stdin();
        server.signal(Signal::TERM);
        let ended = server.ends();
        assert!(matches!(ended.status.code(), Some(0 | 143)), "{}", ended.status);
    }
}

#[test]
fn closing_idle_host_pipes_exits_with_zero() {
    let mut server = Server::demo(Pi);
    server.close_stdout();
    server.close_stdin();
    assert_eq!(server.ends().status.code(), Some(0));
}

#[test]
fn piped_commands_are_served_before_exit() {
    for dialect in BOTH {
        let mut server = Server::demo(dialect);
        send_states(&mut server, 200);
        server.close_stdin();
        let ended = server.ends();
        let ids: Vec<&str> = ended.frames.iter().map(|frame| frame["id"].as_str().unwrap()).collect();
        assert_eq!(ids, (0..200).map(|at| at.to_string()).collect::<Vec<_>>());
        assert_eq!(ended.status.code(), Some(0));
    }
}
