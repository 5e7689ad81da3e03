//! Generator of model turns.

use crate::Kind;
use pi_rpc_scenario::random::Choices;
use serde_json::{Value, json};

/// Generates a turn of a brief or crowded conversation.
pub fn brief(kind: Kind, choices: &mut Choices) -> Value {
    if kind == Kind::Crowded {
        let say: Vec<Value> = (0..2 + choices.below(4)).map(|_| call(choices)).collect();
        return json!({ "say": say });
    }
    let mut say = choices.several(3, text);
    say.extend(choices.several(5, call));
    let mut turn = json!({
        "say": say, "firstDelayMs": choices.below(4), "delayMs": choices.below(3), "size": choices.below(6),
    });
    let (end, is_cut) = match choices.below(12) {
        8 => (json!({ "stop": "length" }), false),
        9 => (json!({ "fail": { "status": 529 } }), true),
        10 => (json!({ "fail": { "message": "the line broke" } }), true),
        11 => (json!({ "hang": true }), true),
        _ => return turn,
    };
    for (key, value) in end.as_object().into_iter().flatten() {
        turn[key] = value.clone();
    }
    if is_cut && !say.is_empty() && choices.once_in(2) {
        turn["afterDeltas"] = (1 + choices.below(4)).into();
    }
    turn
}

/// Generates a turn, failed or not, or a summary. `asks`: tools of hosts and extensions may be called.
pub fn lasting(asks: bool, choices: &mut Choices) -> Value {
    let text = json!([{ "text": "Something was said to that.", "size": 10 }]);
    let calls = json!([{ "tool": "bash", "arguments": { "command": "make" } }, { "tool": "ls" }]);
    let turns = [
        (5, json!({ "say": text })),
        (2, json!({ "say": calls })),
        (3, json!({ "fail": { "status": 529 } })),
        (1, json!({ "fail": { "status": 429, "retryAfter": 3 } })),
        (1, json!({ "fail": { "status": 401 } })),
        (1, json!({ "say": calls, "fail": { "message": "terminated" } })),
        (2, json!({ "fail": { "status": 400, "message": "prompt is too long: 9 tokens > 8 maximum" } })),
        (2, json!({ "say": text, "usage": { "input": 9500 } })),
        (1, json!({ "say": text, "usage": { "input": 10_500 } })),
        (1, json!({ "say": text, "hang": true })),
        (5, json!({ "summary": true, "say": [{ "text": "What was said." }] })),
        (1, json!({ "summary": true, "fail": { "status": 500 } })),
        (1, json!({ "summary": true, "hang": true })),
        (if asks { 8 } else { 0 }, Value::Null),
    ];
    let mut turn = choices.weighted(&turns).clone();
    if turn.is_null() {
        let tools = ["mine0", "mine0", "mine1", "ask", "tell", "ls", "bash"];
        let call = |tool: &str| json!({ "tool": tool, "arguments": { "command": "make" } });
        let say: Vec<Value> = (0..1 + choices.below(3)).map(|_| call(choices.pick(&tools))).collect();
        turn = json!({ "say": say });
    }
    turn["firstDelayMs"] = choices.below(60).into();
    turn["delayMs"] = choices.below(20).into();
    turn
}

fn text(choices: &mut Choices) -> Value {
    choices.pick(&[
        json!({ "text": "Well." }),
        json!({ "text": "" }),
        json!({ "text": "Two\nlines, \"quoted\" \\ and \u{1f980}\u{e9}." }),
        json!({ "text": "\u{f8ff} private \u{7}" }),
        json!({ "thinking": "Hm.\n", "signature": "c2ln" }),
        json!({ "thinking": "Let me see." }),
        json!({ "redacted": "c2VjcmV0" }),
    ])
}

fn call(choices: &mut Choices) -> Value {
    let calls = [
        (4, json!({ "tool": "ls" })),
        (4, json!({ "tool": "read", "arguments": { "path": "a.txt", "limit": "5" } })),
        (6, json!({ "tool": "bash", "arguments": { "command": "make \"all\"" } })),
        (1, json!({ "tool": "nope", "arguments": { "x": [1, 2.5, null] } })),
        (1, json!({ "tool": "read" })),
        (1, json!({ "tool": "bash", "arguments": { "command": ["make"] } })),
        (1, json!({ "tool": "ls", "rawArguments": "[\"no object\"]" })),
        (1, json!({ "tool": "read", "rawArguments": "{\"path\": \"b" })),
    ];
    choices.weighted(&calls).clone()
}
