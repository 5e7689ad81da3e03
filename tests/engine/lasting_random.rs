//! Conversations that last, at random: retries, compactions, one session after another, and a disk that fills up.
//!
//! What must hold is in `lasting_support/watch.rs`.

use crate::lasting_support::{Close, Scenario, play, scenarios};
use pi_rpc::protocol::Dialect;
use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};
use std::{cell::RefCell, collections::BTreeMap};

/// What must have happened in a good number of conversations.
const HAPPENS: [&str; 16] = [
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

/// Plays so many conversations in each of the dialects that differ here, and tells what happened in how many of them.
fn play_many<S: Strategy<Value = Scenario>>(
    cases: u32,
    scenarios: impl Fn(Dialect) -> S,
) -> Vec<BTreeMap<String, u32>> {
    let mut all = Vec::new();
    for dialect in [Dialect::Pi, Dialect::Xcsh] {
        let config = Config { cases, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
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

#[test]
fn a_conversation_lasts_whatever_fails() {
    for seen in play_many(800, scenarios) {
        let missed: Vec<_> = HAPPENS.into_iter().filter(|it| !seen.contains_key(*it)).collect();
        assert_eq!(missed, Vec::<&str>::new(), "never happened in any of them");
    }
}

#[test]
fn nothing_is_lost_when_the_conversation_is_cut_off_at_any_moment() {
    for close in [Close::EndOfInput, Close::Shutdown] {
        play_many(300, |dialect| {
            (scenarios(dialect), 0..4000_u64)
                .prop_map(move |(scenario, at)| Scenario { close: Some((at, close)), ..scenario })
        });
    }
}
