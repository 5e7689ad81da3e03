//! Conversations that last, at random: retries, compactions, one session after another, and a disk that fills up.
//!
//! What must hold is in `lasting_support/watch.rs`.

mod lasting_support;

use lasting_support::{Close, Scenario, play, scenarios};
use pi_rpc::protocol::Dialect;
use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};

/// Plays so many conversations in each of the dialects that differ here.
fn play_many<S: Strategy<Value = Scenario>>(cases: u32, scenarios: impl Fn(Dialect) -> S) {
    for dialect in [Dialect::Pi, Dialect::Xcsh] {
        let config = Config { cases, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
        let played = TestRunner::new(config)
            .run(&scenarios(dialect), |scenario| play(&scenario).map_err(TestCaseError::fail));
        if let Err(error) = played {
            panic!("{dialect:?}: {error}");
        }
    }
}

#[test]
fn a_conversation_lasts_whatever_fails() {
    play_many(600, scenarios);
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
