//! Sessions written by another version of pi.

use pi_rpc_protocol::Dialect::{Pi, Pi1, Pi073};
use pi_rpc_session::Tree;
use pi_rpc_test_kit::{scenario, shorthand::*};
use serde_json::{Value, json};
use std::path::Path;

const PATH: &str = "/sessions/other.jsonl";

const AT: &str = "2025-01-01T00:00:00.000Z";

fn file(entries: &[Value]) -> String {
    let header =
        json!({ "type": "session", "version": 3, "id": "0193f00d", "timestamp": AT, "cwd": "/work" });
    let mut lines = vec![header.to_string()];
    for (at, entry) in entries.iter().enumerate() {
        let parent = (at > 0).then(|| format!("e{}", at - 1));
        let mut line =
            json!({ "type": entry["type"], "id": format!("e{at}"), "parentId": parent, "timestamp": AT });
        for (key, value) in entry.as_object().into_iter().flatten() {
            line[key] = value.clone();
        }
        lines.push(line.to_string());
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn answer(text: &str, reason: &str) -> Value {
    let cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 });
    json!({
        "role": "assistant", "content": [{ "type": "text", "text": text }], "api": "a", "provider": "scripted", "model": "work",
        "usage": { "input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "cacheWrite1h": 0, "totalTokens": 2, "cost": cost },
        "stopReason": reason, "timestamp": 1, "rawStopReason": "end_turn", "durationMs": 5, "thinkingLevel": "max",
    })
}

/// What pi 1 keeps and others do not: instructions, an answer that was left out, a level, what a request took.
fn of_pi_1() -> Vec<Value> {
    let user = json!({ "role": "user", "content": [{ "type": "text", "text": "earlier" }], "timestamp": 1 });
    let system =
        json!({ "role": "system", "content": "", "sections": { "preamble": "Be long." }, "timestamp": 1 });
    let usage = answer("", "stop")["usage"].clone();
    vec![
        json!({ "type": "model_change", "provider": "scripted", "modelId": "work" }),
        json!({ "type": "thinking_level_change", "thinkingLevel": "max" }),
        json!({ "type": "message", "message": system }),
        json!({ "type": "message", "message": user }),
        json!({ "type": "message", "message": answer("Oops.", "length") }),
        json!({ "type": "context_edit", "targetId": "e4", "replacement": null }),
        json!({ "type": "message", "message": answer("Well.", "stop") }),
        json!({ "type": "usage", "kind": "cache-warm", "provider": "scripted", "model": "work", "usage": usage }),
    ]
}

#[test]
fn pi_1_session_resumes_in_older_versions() {
    let talk = scenario(json!([says("Fine.")]))
        .file(PATH, file(&of_pi_1()))
        .opened(PATH)
        .host(0, command("get_state"))
        .host(1, command("get_messages"))
        .host(2, prompt("p", "now"));
    let read = Tree::read(file(&of_pi_1()).into(), &mut fastrand::Rng::with_seed(1)).expect("a session");
    assert_eq!([read.notices, read.tree.context().notices], [[], []], "nothing to complain of");
    for dialect in [Pi, Pi073] {
        let played = talk.play(dialect);
        let data = |id: &str| played.answers(id)[0]["data"].clone();
        let state = data("get_state");
        let known = [&state["model"]["id"], &state["thinkingLevel"], &state["messageCount"]];
        assert_eq!(known, [&json!("work"), &json!("high"), &json!(2)], "{dialect}: {}", played.log);
        let messages = data("get_messages")["messages"].clone();
        let roles: Vec<&Value> = messages.as_array().expect("a list").iter().map(|it| &it["role"]).collect();
        // They have no word for instructions in a conversation; what was left out stays so.
        assert_eq!(roles, ["user", "assistant"], "{dialect}");
        let text = played.disk.text(Path::new(PATH)).expect("the file");
        assert!(text.starts_with(&file(&of_pi_1())), "{dialect}: {text}");
    }
}

#[test]
fn older_session_resumes_in_pi_1() {
    let user = json!({ "role": "user", "content": [{ "type": "text", "text": "earlier" }], "timestamp": 1 });
    let entries = [
        json!({ "type": "model_change", "provider": "scripted", "modelId": "work" }),
        json!({ "type": "thinking_level_change", "thinkingLevel": "low" }),
        json!({ "type": "message", "message": user }),
        json!({ "type": "message", "message": answer("Well.", "stop") }),
    ];
    let played = scenario(json!([says("Fine.")]))
        .file(PATH, file(&entries))
        .opened(PATH)
        .host(0, command("get_state"))
        .host(1, prompt("p", "now"))
        .play(Pi1);
    assert_eq!(played.answers("get_state")[0]["data"]["messageCount"], 2);
    let lines = played.disk.lines();
    let roles: Vec<&Value> = lines.iter().map(|line| &line["message"]["role"]).collect();
    let null = Value::Null;
    let roles: Vec<&Value> = roles.into_iter().filter(|role| **role != null).collect();
    assert_eq!(roles, ["user", "assistant", "system", "user", "assistant"]);
}
