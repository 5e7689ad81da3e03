//! What happens in a world: data, so that it can be drawn at random, shrunk and printed.

use super::lines::{JUNK, MEDDLING, REST, TALK};
use pi_rpc::protocol::Dialect;
use proptest::{prelude::*, strategy::Union};
use serde_json::{Value, json};

/// One conversation and its surroundings.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The dialect spoken.
    pub dialect: Dialect,
    /// What the host writes.
    pub host: Vec<Act>,
    /// The turns of the model's script.
    pub turns: Vec<Value>,
    /// How each tool call goes, by turns.
    pub tools: Vec<Work>,
    /// How each shell command of the host goes, by turns.
    pub shells: Vec<Work>,
    /// How the conversation is cut off, and when.
    pub close: Option<(u64, Close)>,
    /// What was cancelled is still heard of afterwards.
    pub echoes: bool,
    /// Models also say what has no place in their answers.
    pub strays: bool,
    /// The engine's seed, and what decides between things due at the same moment.
    pub seed: u64,
}

/// A line of the host.
#[derive(Clone, Copy, Debug)]
pub struct Act {
    /// Milliseconds after the line before.
    pub wait: u64,
    /// Whether the line carries an id.
    pub named: bool,
    /// The line; `$` is its number.
    pub line: &'static str,
}

/// How the host or the system ends the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// The host closes its side of the pipe.
    EndOfInput,
    /// The process is told to stop.
    Shutdown,
}

/// How a tool or a shell command goes.
#[derive(Clone, Debug)]
pub struct Work {
    /// Milliseconds before each report of progress, and before the end.
    pub waits: Vec<u64>,
    /// How it ends if nobody cancels it.
    pub ending: Ending,
    /// Milliseconds from being cancelled to the end.
    pub stops_after: u64,
    /// Being cancelled, it still ends as if nothing had happened: it was about to.
    pub too_late: bool,
}

/// How work ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With a result.
    Done,
    /// With an error; a shell command does not even start.
    Failed,
    /// Not at all, until it is cancelled.
    Never,
}

impl Act {
    /// The line as the host writes it, with `number` for its text and its id.
    pub fn text(&self, number: usize) -> String {
        let line = self.line.replace('$', &number.to_string());
        match (self.named, line.strip_prefix('{')) {
            (true, Some(rest)) => format!(r#"{{"id":"c{number}",{rest}"#),
            // Dialogs have an id of their own; it is not optional there.
            (false, Some(rest)) if line.contains("extension_ui_response") || line.contains("host_tool") => {
                format!(r#"{{"id":"nothing",{rest}"#)
            }
            _ => line,
        }
    }
}

/// Conversations in `dialect` that nobody cuts off.
pub fn scenarios(dialect: Dialect) -> impl Strategy<Value = Scenario> {
    let host = prop::collection::vec(act(), 1..14);
    let turns = prop::collection::vec(turn(), 0..7);
    let works = || prop::collection::vec(work(), 1..5);
    let oddities = (prop::bool::weighted(0.3), prop::bool::weighted(0.15));
    (host, turns, works(), works(), oddities, any::<u64>()).prop_map(
        move |(host, turns, tools, shells, (echoes, strays), seed)| Scenario {
            dialect,
            host,
            turns,
            tools,
            shells,
            close: None,
            echoes,
            strays,
            seed,
        },
    )
}

/// Conversations in `dialect` about messages with many calls, while the host keeps interfering.
pub fn crowded(dialect: Dialect) -> impl Strategy<Value = Scenario> {
    let opening = prop_oneof![
        2 => Just(r#"{"type":"set_interrupt_mode","mode":"immediate"}"#),
        1 => Just(r#"{"type":"set_steering_mode","mode":"all"}"#),
    ];
    let meddling = prop::collection::vec((0..8_u64, any::<bool>(), lines(MEDDLING)), 1..7);
    let turns = prop::collection::vec(prop::collection::vec(call(), 2..6), 1..4);
    let works = prop::collection::vec((0..14_u64, work()), 2..6);
    (scenarios(dialect), opening, meddling, turns, works).prop_map(
        |(scenario, opening, meddling, turns, works)| {
            let act = |(wait, named, line)| Act { wait, named, line };
            let first = [opening, r#"{"type":"prompt","message":"ask $"}"#].map(|line| act((0, true, line)));
            let host = first.into_iter().chain(meddling.into_iter().map(act)).collect();
            let turns = turns.into_iter().map(|say| json!({ "say": say })).collect();
            let longer = |(wait, work): (u64, Work)| Work {
                waits: [wait].into_iter().chain(work.waits).collect(),
                ..work
            };
            Scenario { host, turns, tools: works.into_iter().map(longer).collect(), ..scenario }
        },
    )
}

/// Moments for the end of a conversation.
pub fn closes() -> impl Strategy<Value = u64> {
    0..60_u64
}

fn act() -> impl Strategy<Value = Act> {
    let wait = prop_oneof![3 => Just(0), 4 => 1..6_u64, 2 => 6..30_u64];
    let talk = (prop::bool::weighted(0.9), lines(TALK));
    let rest = (prop::bool::weighted(0.8), lines(REST));
    let junk = (Just(false), lines(JUNK));
    let line = prop_oneof![12 => talk, 3 => rest, 1 => junk];
    (wait, line).prop_map(|(wait, (named, line))| Act { wait, named, line })
}

fn lines(lines: &'static [(u32, &'static str)]) -> impl Strategy<Value = &'static str> {
    Union::new_weighted(lines.iter().map(|(weight, line)| (*weight, Just(*line))).collect())
}

fn work() -> impl Strategy<Value = Work> {
    let waits = prop::collection::vec(0..6_u64, 1..5);
    let ending = prop_oneof![7 => Just(Ending::Done), 2 => Just(Ending::Failed), 1 => Just(Ending::Never)];
    (waits, ending, 0..5_u64, prop::bool::weighted(0.2))
        .prop_map(|(waits, ending, stops_after, too_late)| Work { waits, ending, stops_after, too_late })
}

fn turn() -> impl Strategy<Value = Value> {
    let said = prop::collection::vec(prop_oneof![3 => text(), 1 => thinking()], 0..3);
    let calls = prop_oneof![
        4 => prop::collection::vec(call(), 0..1),
        5 => prop::collection::vec(call(), 1..5),
    ];
    let end = prop_oneof![
        8 => Just(json!({})),
        1 => Just(json!({ "stop": "length" })),
        1 => Just(json!({ "fail": { "status": 529 } })),
        1 => Just(json!({ "fail": { "message": "the line broke" } })),
        1 => Just(json!({ "hang": true })),
    ];
    let pace = (0..4_u64, 0..3_u64, 0..6_u32, prop::option::weighted(0.5, 1..4_u32));
    (said, calls, end, pace).prop_map(|(said, calls, end, (first, delay, size, cut))| {
        let say: Vec<Value> = said.into_iter().chain(calls).collect();
        let cuts = (end.get("fail").is_some() || end.get("hang").is_some()) && !say.is_empty();
        let mut turn = json!({ "say": say, "firstDelayMs": first, "delayMs": delay, "size": size });
        if let (Value::Object(turn), Value::Object(end)) = (&mut turn, end) {
            turn.extend(end);
            turn.extend(cut.filter(|_| cuts).map(|cut| ("afterDeltas".to_owned(), json!(cut))));
        }
        turn
    })
}

/// Texts that are easy to say, and some that are not.
const TEXTS: &[&str] =
    &["Well.", "", "Two\nlines, \"quoted\" \\ and \u{1f980}\u{e9}.", "\u{f8ff} private \u{7}"];

fn text() -> impl Strategy<Value = Value> {
    prop::sample::select(TEXTS).prop_map(|text| json!({ "text": text }))
}

fn thinking() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({ "thinking": "Hm.\n", "signature": "c2ln" })),
        Just(json!({ "thinking": "Let me see." })),
        Just(json!({ "redacted": "c2VjcmV0" })),
    ]
}

fn call() -> impl Strategy<Value = Value> {
    let good = prop_oneof![
        2 => Just(json!({ "tool": "read", "arguments": { "path": "a.txt", "limit": "5" } })),
        2 => Just(json!({ "tool": "ls" })),
        3 => Just(json!({ "tool": "bash", "arguments": { "command": "make \"all\"" } })),
    ];
    let bad = prop_oneof![
        Just(json!({ "tool": "nope", "arguments": { "x": [1, 2.5, null] } })),
        Just(json!({ "tool": "read" })),
        Just(json!({ "tool": "bash", "arguments": { "command": ["make"] } })),
        Just(json!({ "tool": "ls", "rawArguments": "[\"no object\"]" })),
        Just(json!({ "tool": "read", "rawArguments": "{\"path\": \"b" })),
    ];
    prop_oneof![4 => good, 1 => bad]
}
