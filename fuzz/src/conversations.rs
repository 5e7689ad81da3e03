//! A conversation of the kind that `tests/engine/random.rs` draws, chosen by the input: whatever the host writes and
//! whenever, however models, tools and shells take their turns, the engine keeps the rules, answers every command once,
//! and comes to rest.

use crate::{
    engine_support::{
        Act, Close, Ending, Scenario, Work,
        lines::{JUNK, MEDDLING, REST, TALK},
        play,
    },
    lots::Lots,
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};

/// Choices.
pub fn hold(data: &[u8]) {
    let lots = &mut Lots::new(data);
    let dialect = lots.pick(&Dialect::ALL);
    let way = lots.below(4);
    let close = [None, Some(Close::EndOfInput), Some(Close::Shutdown), None][way];
    let close = close.map(|close| (lots.below(80) as u64, close));
    let (echoes, strays) = (lots.once_in(3), lots.once_in(6));
    let seed = lots.below(256) as u64;
    let mut host = vec![first(lots)];
    host.extend(lots.several(16, act));
    let scenario = Scenario {
        dialect,
        host,
        turns: lots.several(8, turn),
        tools: works(lots),
        shells: works(lots),
        close,
        echoes,
        strays,
        seed,
    };
    if let Err(wrong) = play(&scenario) {
        panic!("{scenario:?}\n{wrong}");
    }
}

/// Most conversations begin with a prompt.
fn first(lots: &mut Lots) -> Act {
    match lots.once_in(4) {
        true => act(lots),
        false => Act { wait: 0, named: true, line: TALK[0].1 },
    }
}

fn act(lots: &mut Lots) -> Act {
    let wait = lots.pick(&[0, 0, 1, 2, 3, 4, 5, 8, 12, 20, 30]);
    let lines = lots.pick(&[TALK, TALK, TALK, TALK, MEDDLING, REST, REST, JUNK]);
    let (_, line) = lots.pick(lines);
    Act { wait, named: line.starts_with('{') && !lots.once_in(8), line }
}

fn works(lots: &mut Lots) -> Vec<Work> {
    let mut works = lots.several(6, work);
    works.push(work(lots));
    works
}

fn work(lots: &mut Lots) -> Work {
    let mut waits = lots.several(4, |lots| lots.below(8) as u64);
    waits.push(lots.below(14) as u64);
    Work {
        waits,
        ending: lots.pick(&[Ending::Done, Ending::Done, Ending::Failed, Ending::Never]),
        stops_after: lots.below(5) as u64,
        too_late: lots.once_in(5),
    }
}

fn turn(lots: &mut Lots) -> Value {
    let mut say = lots.several(4, said);
    say.extend(lots.several(6, call));
    let mut turn = json!({
        "say": say, "firstDelayMs": lots.below(5), "delayMs": lots.below(4), "size": lots.below(6),
    });
    let is_cut = match lots.below(12) {
        8 => extended(&mut turn, json!({ "stop": "length" })),
        9 => extended(&mut turn, json!({ "fail": { "status": 529 } })),
        10 => extended(&mut turn, json!({ "fail": { "message": "the line broke" } })),
        11 => extended(&mut turn, json!({ "hang": true })),
        _ => false,
    };
    if is_cut && !say.is_empty() && lots.once_in(2) {
        turn["afterDeltas"] = (1 + lots.below(4)).into();
    }
    turn
}

/// Whether the turn has no end of its own then.
fn extended(turn: &mut Value, more: Value) -> bool {
    let is_cut = more.get("stop").is_none();
    if let (Value::Object(turn), Value::Object(more)) = (turn, more) {
        turn.extend(more);
    }
    is_cut
}

fn said(lots: &mut Lots) -> Value {
    match lots.below(7) {
        0 => json!({ "text": "Well." }),
        1 => json!({ "text": "" }),
        2 => json!({ "text": "Two\nlines, \"quoted\" \\ and \u{1f980}\u{e9}." }),
        3 => json!({ "text": "\u{f8ff} private \u{7}" }),
        4 => json!({ "thinking": "Hm.\n", "signature": "c2ln" }),
        5 => json!({ "thinking": "Let me see." }),
        _ => json!({ "redacted": "c2VjcmV0" }),
    }
}

fn call(lots: &mut Lots) -> Value {
    match lots.below(9) {
        0 => json!({ "tool": "read", "arguments": { "path": "a.txt", "limit": "5" } }),
        1 | 2 => json!({ "tool": "ls" }),
        3 => json!({ "tool": "bash", "arguments": { "command": "make \"all\"" } }),
        4 => json!({ "tool": "nope", "arguments": { "x": [1, 2.5, null] } }),
        5 => json!({ "tool": "read" }),
        6 => json!({ "tool": "bash", "arguments": { "command": ["make"] } }),
        7 => json!({ "tool": "ls", "rawArguments": "[\"no object\"]" }),
        _ => json!({ "tool": "read", "rawArguments": "{\"path\": \"b" }),
    }
}
