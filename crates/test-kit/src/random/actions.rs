//! Generator of actions of an extension.

use crate::shorthand;
use pi_rpc_scenario::random::Choices;
use serde_json::{Value, json};

/// Turns of the model in these conversations.
pub fn turns() -> Vec<Value> {
    let mut turns = vec![shorthand::says("1"), shorthand::says("2")];
    for _ in 0..6 {
        turns.push(shorthand::calls("t", "bash", "sleep 90"));
        turns.push(json!({ "say": [{ "text": "Well." }], "firstDelayMs": 60 }));
        turns.push(shorthand::summary("So far."));
        turns.push(json!({ "summary": true, "say": [{ "text": "So far." }], "firstDelayMs": 300 }));
    }
    turns
}

/// Generates frames of the extension, each with the milliseconds since the previous one.
pub fn actions(choices: &mut Choices) -> Vec<(u64, Value)> {
    let lab = json!({ "baseUrl": "http://lab", "models": [{ "id": "mine" }] });
    let lab =
        json!({ "type": "register_provider", "id": "lab", "name": "lab", "config": lab, "streams": true });
    let mut actions = vec![(100, lab)];
    let mut number = 0;
    let more = choices.several(14, |choices| {
        let wait = choices.below(120) as u64;
        number += 1;
        (wait, action(number, choices))
    });
    actions.extend(more);
    actions
}

/// Generates one action, which may withdraw an earlier one.
fn action(number: usize, choices: &mut Choices) -> Value {
    let odd = choices.once_in(2);
    let either = |one: &'static str, other| if odd { other } else { one };
    let entry = format!("@{}", choices.below(12));
    let third = choices.once_in(3);
    let (kind, mut frame) = match choices.below(19) {
        0 => ("abort", json!({})),
        1 => ("append_entry", json!({ "customType": "count", "data": number })),
        2 => ("compact", json!({})),
        3 => {
            let messages = json!([{ "role": "user", "content": "Say something.", "timestamp": 1 }]);
            let model = either("work", "nobody");
            ("complete", json!({ "provider": "scripted", "modelId": model, "messages": messages }))
        }
        4 => ("fork", json!({ "entryId": entry, "position": either("before", "at") })),
        5 => ("navigate_tree", json!({ "targetId": entry, "summarize": odd, "label": "here" })),
        6 if odd => ("new_session", json!({ "entries": [{ "role": "user", "content": "As I said." }] })),
        6 => ("new_session", json!({})),
        7 => {
            let known = json!({ "baseUrl": "http://lab", "models": [{ "id": "mine" }] });
            let config = if odd { json!({}) } else { known };
            ("register_provider", json!({ "name": "lab", "config": config, "streams": !third }))
        }
        8 => ("unregister_provider", json!({ "name": "lab" })),
        9 => {
            let arguments = json!({ "command": "sleep 80" });
            ("run_tool", json!({ "toolName": either("bash", "nothing"), "arguments": arguments }))
        }
        10 => {
            let message = json!({ "customType": "note", "content": "By the way.", "display": true });
            ("send_message", json!({ "message": message, "triggerTurn": odd }))
        }
        11 => ("send_user_message", json!({ "content": "And?", "deliverAs": either("steer", "followUp") })),
        12 => ("set_active_tools", json!({ "names": [either("bash", "probe")] })),
        13 => ("set_label", json!({ "entryId": entry, "label": "there" })),
        14 if !third => ("set_model", json!({ "provider": "lab", "modelId": "mine" })),
        14 => ("set_model", json!({ "provider": "scripted", "modelId": either("work", "nobody") })),
        15 => ("set_session_name", json!({ "name": format!("name {number}") })),
        16 => {
            let path = either("/sessions/new.jsonl", "/sessions/bad.jsonl");
            ("switch_session", json!({ "sessionPath": path }))
        }
        17 => ("wait_for_idle", json!({})),
        _ => return json!({ "type": "withdraw", "id": format!("r{}", choices.below(number + 1)) }),
    };
    frame["type"] = kind.into();
    frame["id"] = format!("r{number}").into();
    frame
}
