//! Conversations at random in which everything asks back: extensions that answer, late, never, twice, wrongly or die;
//! dialogs and calls that the host answers or does not.
//!
//! What must hold is in `lasting_support/watch.rs`; besides, every dialog ends exactly once, the conversation comes to
//! rest as soon as nobody is waited for, and the process ends in time when it is told to.

use crate::lasting_support::{Act, Close, Scenario, answers, habits, play, scenarios};
use pi_rpc::protocol::Dialect;
use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};
use serde_json::{Value, json};
use std::{cell::RefCell, collections::BTreeMap};

/// What extensions must have been asked in a good number of conversations.
const HAPPENS: [&str; 16] = [
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

const SET_HOST_TOOLS: &str = r#"{"type":"set_host_tools","tools":[{"name":"ask","description":"Asks.","parameters":{"type":"object"}},{"name":"tell","description":"Tells.","parameters":{"type":"object"}}]}"#;

const LINES: &[&str] = &[
    SET_HOST_TOOLS,
    r#"{"type":"prompt","message":"/do $"}"#,
    r#"{"type":"prompt","message":"/do $","streamingBehavior":"steer"}"#,
    r#"{"type":"set_interrupt_mode","mode":"immediate"}"#,
];

/// A turn of calls that somebody else carries out, or is asked about.
fn calling() -> impl Strategy<Value = Value> {
    let tool = prop::sample::select(vec!["mine0", "mine0", "mine1", "ask", "tell", "ls", "bash"]);
    prop::collection::vec(tool, 1..4).prop_map(|tools| {
        let call = |tool: &str| json!({ "tool": tool, "arguments": { "command": "make" } });
        json!({ "say": tools.into_iter().map(call).collect::<Vec<_>>() })
    })
}

fn asking(dialect: Dialect) -> impl Strategy<Value = Scenario> {
    let extra = prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(LINES)), 0..6);
    let turns = prop::collection::vec((any::<prop::sample::Index>(), calling()), 0..6);
    let all = prop::collection::vec(habits(), 1..4);
    (scenarios(dialect), extra, turns, all, answers(), any::<bool>()).prop_map(
        |(mut scenario, extra, turns, habits, answers, confirms)| {
            for (at, line) in extra {
                let at = at.index(scenario.acts.len() + 1);
                scenario.acts.insert(at, (5, Act::Line(line)));
            }
            for (at, turn) in turns {
                let at = at.index(scenario.turns.len() + 1);
                scenario.turns.insert(at, turn);
            }
            let confirm: &[&str] = if confirms { &["ls", "mine0", "ask"] } else { &[] };
            Scenario { habits, answers, confirm, ..scenario }
        },
    )
}

/// Plays so many conversations in each of the dialects that differ here, and tells what happened in how many of them.
fn play_many<S: Strategy<Value = Scenario>>(
    cases: u32,
    scenarios: impl Fn(Dialect) -> S,
) -> Vec<BTreeMap<String, u32>> {
    let mut all = Vec::new();
    for dialect in [Dialect::Pi, Dialect::Pi058, Dialect::Xcsh] {
        let config = Config { cases, failure_persistence: None, max_shrink_iters: 500, ..Config::default() };
        let seen = RefCell::new(BTreeMap::new());
        let played = TestRunner::new(config).run(&scenarios(dialect), |scenario| {
            for it in play(&scenario).map_err(TestCaseError::fail)? {
                *seen.borrow_mut().entry(it).or_default() += 1;
            }
            Ok(())
        });
        if let Err(error) = played {
            panic!("{dialect:?}: {error}");
        }
        all.push(seen.into_inner());
    }
    all
}

/// How many conversations of each kind are had.
fn cases(by_default: u32) -> u32 {
    let times = std::env::var("ASKING_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    by_default * times
}

#[test]
fn a_conversation_comes_to_rest_whatever_extensions_and_hosts_answer() {
    for seen in play_many(cases(300), asking) {
        let missed: Vec<_> = HAPPENS.into_iter().filter(|it| !seen.contains_key(*it)).collect();
        assert_eq!(missed, Vec::<&str>::new(), "never happened in any of them");
    }
}

#[test]
fn a_conversation_ends_whatever_extensions_and_hosts_answer() {
    for close in [Close::EndOfInput, Close::Shutdown] {
        play_many(cases(150), |dialect| {
            (asking(dialect), 0..4000_u64)
                .prop_map(move |(scenario, at)| Scenario { close: Some((at, close)), ..scenario })
        });
    }
}
