//! Shared by the tests of the scripted model.

use pi_rpc_model::scripted::{Player, Script, ScriptedCall, Step, StepAction, ToolText};
use pi_rpc_model::types::{Finish, StreamEvent, TokenCounts};
use serde_json::{Value, json};

/// A player of a script with these `turns`.
pub fn player(turns: Value) -> Player {
    Player::new(Script::from_json(&json!({ "turns": turns }).to_string()).expect("a script"))
}

/// The only answer of a script of one turn.
pub fn answer(turn: Value) -> Vec<Step> {
    player(json!([turn])).answer(&ask("hello"))
}

/// The first call of a session, with no tools.
pub fn ask(prompt: &str) -> ScriptedCall<'_> {
    ScriptedCall { prompt, call: 1, results: &[], tools: &[], summary: false, input_chars: 401 }
}

/// A tool's result.
pub fn result(name: &str, text: &str) -> ToolText {
    ToolText { name: name.to_owned(), text: text.to_owned(), is_error: false }
}

/// The events, without their delays.
pub fn events<'a>(steps: &'a [Step]) -> Vec<&'a StreamEvent> {
    let event = |step: &'a Step| match &step.action {
        StepAction::Event(event) => Some(event),
        StepAction::Hang => None,
    };
    steps.iter().filter_map(event).collect()
}

/// The deltas of block `wanted`.
pub fn deltas(steps: &[Step], wanted: usize) -> Vec<&str> {
    let delta = |event| match event {
        &StreamEvent::Delta { index, ref delta } if index == wanted => Some(delta.as_str()),
        _ => None,
    };
    events(steps).into_iter().filter_map(delta).collect()
}

/// All that was streamed of block `index`.
pub fn text(steps: &[Step], index: usize) -> String {
    deltas(steps, index).concat()
}

/// How the answer ended, if it did.
pub fn finish(steps: &[Step]) -> Option<Finish> {
    match events(steps).last() {
        Some(StreamEvent::Finish(finish)) => Some(*finish),
        _ => None,
    }
}

/// The text of the failure that ended the answer.
pub fn failure(steps: &[Step]) -> &str {
    match events(steps).last() {
        Some(StreamEvent::Fail { message, .. }) => message,
        last => panic!("no failure but {last:?}"),
    }
}

/// All usage reports, in order.
pub fn usages(steps: &[Step]) -> Vec<TokenCounts> {
    let usage = |event: &StreamEvent| match event {
        StreamEvent::Usage(usage) => Some(*usage),
        _ => None,
    };
    events(steps).into_iter().filter_map(usage).collect()
}
