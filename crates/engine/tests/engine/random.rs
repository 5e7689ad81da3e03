//! Conversations at random, in virtual time: whatever the host writes and whenever, however models, tools, shells, disks and
//! extensions take their turns, the engine keeps the rules of the protocol (see the kit's `rules`).
//!
//! A small sample, always the same; `cargo test --test explore -- --seconds 300` plays others. The later tests are the
//! conversations that once broke a rule and that chance finds too seldom; others are in `tests/regressions`.

use pi_rpc_protocol::Dialect;
use pi_rpc_test_kit::{ACTIONS, Close, Conversation, HostLine, Kind, Work, WorkOutcome, random::sample};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn missed<'n>(names: &[&'n str], happened: &BTreeMap<String, usize>) -> Vec<&'n str> {
    names.iter().filter(|name| !happened.contains_key(**name)).copied().collect()
}

#[test]
fn brief_conversations_keep_the_rules() {
    sample(Kind::Brief, 60);
}

#[test]
fn crowded_conversations_keep_the_rules() {
    sample(Kind::Crowded, 30);
}

#[test]
fn lasting_conversations_keep_the_rules() {
    let happened = sample(Kind::Lasting, 130);
    let wanted = [
        "auto_retry_start",
        "auto_retry_end true",
        "auto_retry_end false",
        "auto_compaction_end retry",
        "auto_compaction_end done",
        "auto_compaction_end failed",
        "auto_compaction_end aborted",
        "auto_compaction_end nothing",
        "full",
        "full in a run",
        "compact",
        "new_session",
        "switch_session",
        "set_session_name",
        "set_model",
        "bash",
    ];
    assert_eq!(missed(&wanted, &happened), Vec::<&str>::new(), "never happened");
}

#[test]
fn asking_conversations_keep_the_rules() {
    let happened = sample(Kind::Asking, 80);
    let wanted = [
        "command",
        "tool_call",
        "hook session_before_switch",
        "hook session_before_fork",
        "hook session_before_compact",
        "hook input",
        "hook before_agent_start",
        "hook tool_call",
        "hook tool_result",
        "hook session_shutdown",
        "hook session_start",
        "hook session_compact",
        "hook model_select",
        "hook context",
        "hook message_end",
        "hook event",
    ];
    assert_eq!(missed(&wanted, &happened), Vec::<&str>::new(), "never happened");
}

#[test]
fn every_action_gets_one_response() {
    let happened = sample(Kind::Acting, 30);
    let wanted = [&ACTIONS[..], &["model_call"]].concat();
    assert_eq!(missed(&wanted, &happened), Vec::<&str>::new(), "never happened");
}

/// A conversation of these lines, each with its moment. Tools and shells end after 20 ms as `ending` has it, 5 ms after
/// they are cancelled.
fn conversation(lines: &[(u64, &str)], turns: &[Value], ending: WorkOutcome) -> Conversation {
    let mut before = 0;
    let host = lines.iter().enumerate().map(|(number, (at, line))| {
        let wait = at - std::mem::replace(&mut before, *at);
        HostLine { wait, line: line.replace('$', &number.to_string()) }
    });
    let work = Work { waits: vec![20], ending, stops_after: 5, too_late: false };
    Conversation {
        host: host.collect(),
        turns: turns.to_vec(),
        tools: vec![work.clone()],
        shells: vec![work],
        echoes: true,
        ..Conversation::new(Kind::Brief, Dialect::Pi)
    }
}

/// Plays it in every dialect, with ids and without.
fn play_everywhere(conversation: &Conversation) {
    for dialect in Dialect::ALL {
        let without = Conversation { dialect, ..conversation.clone() };
        let mut with = without.clone();
        for (number, line) in with.host.iter_mut().enumerate() {
            if line.line.starts_with('{') {
                line.line = line.line.replacen('{', &format!(r#"{{"id":"c{number}","#), 1);
            }
        }
        for conversation in [with, without] {
            conversation.play().unwrap_or_else(|wrong| panic!("{dialect:?}: {wrong}"));
        }
    }
}

const PROMPT: &str = r#"{"type":"prompt","message":"ask $"}"#;
const BASH: &str = r#"{"type":"bash","command":"echo $"}"#;
const ABORT: &str = r#"{"type":"abort"}"#;
const ABORT_AND_PROMPT: &str = r#"{"type":"abort_and_prompt","message":"rather $"}"#;

fn one_call() -> Vec<Value> {
    vec![json!({ "say": [{ "text": "Let me see." }, { "tool": "ls" }] })]
}

#[test]
fn invalid_line_is_answered_in_order() {
    let lines = [
        (0, BASH),
        (1, r#"{"type":"bash"}"#),
        (2, r#"{"type":"make_coffee"}"#),
        (3, r#"{"type":"fork"}"#),
        (4, "not json"),
        (5, r#"{"type":"get_state"}"#),
    ];
    play_everywhere(&conversation(&lines, &[], WorkOutcome::Done));
    play_everywhere(&conversation(&lines, &[], WorkOutcome::Failed));
}

#[test]
fn abort_ends_deferred_prompt_without_model_request() {
    for last in [ABORT, ABORT_AND_PROMPT] {
        let lines = [(0, PROMPT), (5, ABORT_AND_PROMPT), (6, last)];
        play_everywhere(&conversation(&lines, &one_call(), WorkOutcome::Done));
    }
}

#[test]
fn shutdown_starts_no_deferred_or_later_work() {
    let close = Some((7, Close::Shutdown));
    let left = conversation(&[(0, PROMPT), (5, ABORT_AND_PROMPT)], &one_call(), WorkOutcome::Done);
    play_everywhere(&Conversation { close, ..left });
    let later = [(0, PROMPT), (8, PROMPT), (9, BASH), (9, "not json")];
    play_everywhere(&Conversation { close, ..conversation(&later, &one_call(), WorkOutcome::Done) });
    // Nothing but a shell runs: a prompt would find the agent idle.
    let idle = [(0, BASH), (8, PROMPT)];
    play_everywhere(&Conversation { close, ..conversation(&idle, &[], WorkOutcome::Done) });
}

#[test]
fn deferred_prompts_are_refused_in_order() {
    let endless = [json!({ "hang": true })];
    let lines = [(0, PROMPT), (1, BASH), (2, PROMPT), (3, PROMPT)];
    play_everywhere(&conversation(&lines, &endless, WorkOutcome::Done));
}

#[test]
fn failed_shell_does_not_complete_earlier_abort() {
    let lines = [(0, PROMPT), (1, ABORT), (2, BASH)];
    let quick = vec![Work { waits: vec![1], ending: WorkOutcome::Failed, stops_after: 1, too_late: false }];
    play_everywhere(&Conversation { shells: quick, ..conversation(&lines, &one_call(), WorkOutcome::Done) });
}
