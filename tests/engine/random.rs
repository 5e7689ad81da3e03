//! Conversations at random, in virtual time: whatever the host writes and whenever, however models, tools and shells
//! take their turns, the engine keeps the rules of the protocol.
//!
//! What the rules are is in `engine_support`; every test here plays conversations under all of them. The later tests
//! are the conversations that once broke a rule and that chance finds too seldom.

use crate::engine_support::{Act, Close, Ending, Scenario, Work, closes, crowded, play, scenarios};
use pi_rpc::protocol::Dialect;
use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};
use serde_json::{Value, json};

/// Plays so many conversations in every dialect.
fn play_many<S: Strategy<Value = Scenario>>(cases: u32, scenarios: impl Fn(Dialect) -> S) {
    for dialect in Dialect::ALL {
        let config = Config { cases, failure_persistence: None, ..Config::default() };
        let played = TestRunner::new(config)
            .run(&scenarios(dialect), |scenario| play(&scenario).map_err(TestCaseError::fail));
        if let Err(error) = played {
            panic!("{dialect:?}: {error}");
        }
    }
}

#[test]
fn a_conversation_keeps_the_rules_whatever_is_written_and_happens() {
    play_many(300, scenarios);
}

#[test]
fn many_calls_keep_the_rules_while_the_host_interferes() {
    play_many(200, crowded);
}

#[test]
fn a_conversation_keeps_the_rules_when_the_input_ends_at_any_moment() {
    play_many(180, |dialect| {
        (scenarios(dialect), closes())
            .prop_map(|(scenario, at)| Scenario { close: Some((at, Close::EndOfInput)), ..scenario })
    });
}

#[test]
fn a_conversation_keeps_the_rules_when_the_process_is_told_to_stop_at_any_moment() {
    play_many(180, |dialect| {
        (scenarios(dialect), closes())
            .prop_map(|(scenario, at)| Scenario { close: Some((at, Close::Shutdown)), ..scenario })
    });
}

/// A conversation of these lines, each with its moment. Tools and shells end after 20 ms as `ending` has it, 5 ms after
/// they are cancelled.
fn conversation(lines: &[(u64, &'static str)], turns: &[Value], ending: Ending) -> Scenario {
    let mut before = 0;
    let act = |(at, line): &(u64, &'static str)| {
        let wait = at - std::mem::replace(&mut before, *at);
        Act { wait, named: line.starts_with('{'), line }
    };
    let work = Work { waits: vec![20], ending, stops_after: 5, too_late: false };
    Scenario {
        dialect: Dialect::Pi,
        host: lines.iter().map(act).collect(),
        turns: turns.to_vec(),
        tools: vec![work.clone()],
        shells: vec![work],
        close: None,
        echoes: true,
        strays: false,
        seed: 0,
    }
}

/// Plays it in every dialect, with ids and without.
fn play_everywhere(scenario: &Scenario) {
    for dialect in Dialect::ALL {
        let with_ids = Scenario { dialect, ..scenario.clone() };
        let host = scenario.host.iter().map(|act| Act { named: false, ..*act }).collect();
        for scenario in [Scenario { host, ..with_ids.clone() }, with_ids] {
            play(&scenario).unwrap_or_else(|wrong| panic!("{dialect:?}: {wrong}"));
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
fn a_line_that_is_no_command_is_answered_in_its_turn() {
    let lines = [
        (0, BASH),
        (1, r#"{"type":"bash"}"#),
        (2, r#"{"type":"make_coffee"}"#),
        (3, r#"{"type":"fork"}"#),
        (4, "not json"),
        (5, r#"{"type":"get_state"}"#),
    ];
    play_everywhere(&conversation(&lines, &[], Ending::Done));
    play_everywhere(&conversation(&lines, &[], Ending::Failed));
}

#[test]
fn an_abort_ends_the_prompt_before_it_without_asking_a_model() {
    for last in [ABORT, ABORT_AND_PROMPT] {
        let lines = [(0, PROMPT), (5, ABORT_AND_PROMPT), (6, last)];
        play_everywhere(&conversation(&lines, &one_call(), Ending::Done));
    }
}

#[test]
fn a_shutdown_begins_nothing_that_was_left_to_do_or_comes_later() {
    let close = Some((7, Close::Shutdown));
    let left = conversation(&[(0, PROMPT), (5, ABORT_AND_PROMPT)], &one_call(), Ending::Done);
    play_everywhere(&Scenario { close, ..left });
    let later = [(0, PROMPT), (8, PROMPT), (9, BASH), (9, "not json")];
    play_everywhere(&Scenario { close, ..conversation(&later, &one_call(), Ending::Done) });
    // Nothing but a shell runs: a prompt would find the agent idle.
    let idle = [(0, BASH), (8, PROMPT)];
    play_everywhere(&Scenario { close, ..conversation(&idle, &[], Ending::Done) });
}

#[test]
fn prompts_that_were_waiting_are_refused_one_by_one() {
    let endless = [json!({ "hang": true })];
    let lines = [(0, PROMPT), (1, BASH), (2, PROMPT), (3, PROMPT)];
    play_everywhere(&conversation(&lines, &endless, Ending::Done));
}

#[test]
fn a_shell_that_does_not_start_is_not_taken_for_the_abort_before_it() {
    let lines = [(0, PROMPT), (1, ABORT), (2, BASH)];
    let quick = vec![Work { waits: vec![1], ending: Ending::Failed, stops_after: 1, too_late: false }];
    play_everywhere(&Scenario { shells: quick, ..conversation(&lines, &one_call(), Ending::Done) });
}
