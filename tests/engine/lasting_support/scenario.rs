//! What a conversation is made of.

use super::extended::{Answers, Habit};
use pi_rpc::protocol::Dialect;
use proptest::{prelude::*, strategy::Union};
use serde_json::{Value, json};

/// A conversation to be had.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub dialect: Dialect,
    /// What happens, each a while after the one before.
    pub acts: Vec<(u64, Act)>,
    /// The model's answers, as in a script file.
    pub turns: Vec<Value>,
    pub close: Option<(u64, Close)>,
    /// Sessions are kept in files.
    pub kept: bool,
    pub seed: u64,
    /// What each of the extensions makes of what it is asked, in turn.
    pub habits: Vec<Vec<Habit>>,
    /// How the host answers what it is asked, in turn.
    pub answers: Vec<Answers>,
    /// The tools that the host is asked about.
    pub confirm: &'static [&'static str],
}

/// What happens without the engine asking for it.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// The host writes a line; `$` stands for its number, `@` for an entry or a path of the disk.
    Line(&'static str),
    /// So many writes succeed, then none for so many milliseconds.
    DiskFull(usize, u64),
}

/// How a conversation is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    EndOfInput,
    Shutdown,
}

/// Conversations in `dialect`, which nobody cuts off.
pub fn scenarios(dialect: Dialect) -> impl Strategy<Value = Scenario> {
    let waits = prop_oneof![2 => Just(0), 4 => 1..40_u64, 2 => 40..400_u64, 1 => 1500..2500_u64];
    let act = prop_oneof![
        14 => lines().prop_map(Act::Line),
        1 => (0..4_usize, 1..3000_u64).prop_map(|(left, lasts)| Act::DiskFull(left, lasts)),
    ];
    let acts = prop::collection::vec((waits, act), 3..24);
    let turns = prop::collection::vec(turn(), 0..16);
    (acts, turns, prop::bool::weighted(0.9), any::<u64>()).prop_map(move |(acts, turns, kept, seed)| {
        Scenario {
            dialect,
            acts,
            turns,
            close: None,
            kept,
            seed,
            habits: Vec::new(),
            answers: Vec::new(),
            confirm: &[],
        }
    })
}

/// What hosts write, each line with its weight.
pub const LINES: &[(u32, &str)] = &[
    (14, r#"{"type":"prompt","message":"ask for something $"}"#),
    (2, r#"{"type":"prompt","message":"turn to $","streamingBehavior":"steer"}"#),
    (2, r#"{"type":"prompt","message":"and then $","streamingBehavior":"followUp"}"#),
    (3, r#"{"type":"steer","message":"turn to $"}"#),
    (3, r#"{"type":"follow_up","message":"and then $"}"#),
    (3, r#"{"type":"abort"}"#),
    (2, r#"{"type":"abort_and_prompt","message":"rather $"}"#),
    (3, r#"{"type":"compact"}"#),
    (2, r#"{"type":"new_session"}"#),
    (3, r#"{"type":"switch_session","sessionPath":"@"}"#),
    (3, r#"{"type":"fork","entryId":"@"}"#),
    (3, r#"{"type":"branch","entryId":"@"}"#),
    (2, r#"{"type":"abort_retry"}"#),
    (2, r#"{"type":"bash","command":"echo $"}"#),
    (1, r#"{"type":"abort_bash"}"#),
    (1, r#"{"type":"set_model","provider":"lab","modelId":"plain"}"#),
    (1, r#"{"type":"set_model","provider":"lab","modelId":"thinker"}"#),
    (1, r#"{"type":"set_thinking_level","level":"low"}"#),
    (1, r#"{"type":"cycle_thinking_level"}"#),
    (1, r#"{"type":"cycle_model"}"#),
    (2, r#"{"type":"set_session_name","name":"name $"}"#),
    (1, r#"{"type":"set_auto_retry","enabled":false}"#),
    (1, r#"{"type":"set_auto_compaction","enabled":false}"#),
    (1, r#"{"type":"get_state"}"#),
    (1, r#"{"type":"export_html"}"#),
];

fn lines() -> impl Strategy<Value = &'static str> {
    Union::new_weighted(LINES.iter().map(|(weight, line)| (*weight, Just(*line))).collect())
}

/// An answer, good or bad; or a summary.
fn turn() -> impl Strategy<Value = Value> {
    let text = json!([{ "text": "Something was said to that.", "size": 10 }]);
    let calls = json!([
        { "tool": "bash", "arguments": { "command": "make" } },
        { "tool": "ls" },
    ]);
    let answer = prop_oneof![
        5 => Just(json!({ "say": text })),
        2 => Just(json!({ "say": calls })),
        3 => Just(json!({ "fail": { "status": 529 } })),
        1 => Just(json!({ "fail": { "status": 429, "retryAfter": 3 } })),
        1 => Just(json!({ "fail": { "status": 401 } })),
        1 => Just(json!({ "say": calls, "fail": { "message": "terminated" } })),
        2 => Just(json!({ "fail": { "status": 400, "message": "prompt is too long: 9 tokens > 8 maximum" } })),
        2 => Just(json!({ "say": text, "usage": { "input": 9500 } })),
        1 => Just(json!({ "say": text, "usage": { "input": 10_500 } })),
        1 => Just(json!({ "say": text, "hang": true })),
    ];
    let summary = prop_oneof![
        4 => Just(json!({ "summary": true, "say": [{ "text": "What was said." }] })),
        1 => Just(json!({ "summary": true, "fail": { "status": 500 } })),
        1 => Just(json!({ "summary": true, "hang": true })),
    ];
    (prop_oneof![3 => answer.boxed(), 1 => summary.boxed()], 0..60_u64, 0..20_u64).prop_map(
        |(mut turn, first, delay)| {
            turn["firstDelayMs"] = first.into();
            turn["delayMs"] = delay.into();
            turn
        },
    )
}
