//! Conversations in which an extension performs all actions, each of which must get one response.

use crate::{
    Checked, Close, Conversation, Extension, PeerStep, Playback, Scenario, ensure, scenario,
    shorthand::prompt,
};
use crate::{conversation::HostLine, scenario::ScenarioEvent};
use pi_rpc_protocol::Dialect;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// All actions of extensions except queries.
pub const ACTIONS: [&str; 18] = [
    "abort",
    "append_entry",
    "compact",
    "complete",
    "fork",
    "navigate_tree",
    "new_session",
    "register_provider",
    "run_tool",
    "send_message",
    "send_user_message",
    "set_active_tools",
    "set_label",
    "set_model",
    "switch_session",
    "unregister_provider",
    "wait_for_idle",
    "set_session_name",
];

const HOOKS: [&str; 5] = [
    "session_before_switch",
    "session_before_fork",
    "session_before_compact",
    "session_before_tree",
    "session_tree",
];

/// Start of the actions in milliseconds, after two prompts.
const BEGINS_MS: u64 = 100;

/// Plays the conversation and compares responses with actions.
pub fn play(conversation: &Conversation) -> Result<Playback, String> {
    let mut scenario = begun(&conversation.turns)
        .file("/sessions/bad.jsonl", "no session\n")
        .unjudged()
        .modes(|modes| modes.compaction.keep_recent = 1)
        .extended(extension(conversation));
    let mut moment = BEGINS_MS;
    for HostLine { wait, line } in &conversation.host {
        moment += wait;
        scenario = scenario.given(moment, ScenarioEvent::Line(line.clone()));
    }
    for full in &conversation.full {
        scenario = scenario.disk_full(full.at, full.at + full.lasts);
    }
    let mut played = match conversation.close {
        Some((at, Close::Shutdown)) => scenario.stops(at).finish(conversation.dialect),
        Some((at, Close::EndOfInput)) => scenario.ends(at).finish(conversation.dialect),
        None => scenario.play(conversation.dialect),
    };
    answered_once(&played, conversation.dies)?;
    played.happened = succeeded(&played);
    Ok(played)
}

/// Scenario with the two prompts at the beginning of every conversation.
fn begun(turns: &[Value]) -> Scenario {
    scenario(turns.into()).kept().host(10, prompt("p0", "one")).host(50, prompt("p1", "two"))
}

fn extension(conversation: &Conversation) -> Extension {
    let wait = conversation.outcome as u64;
    let outcome = |wait| {
        let frame = match conversation.outcome {
            0 => json!({ "type": "done", "id": "$" }),
            1 => json!({ "type": "done", "id": "$", "result": { "cancel": true } }),
            2 => json!({ "type": "failed", "id": "$", "error": "no idea" }),
            _ => json!({ "type": "done", "id": "$", "result": { "summary": { "summary": "Mine." } } }),
        };
        [PeerStep::Waits(wait), PeerStep::Writes(frame)]
    };
    let entries = entries(&conversation.turns, conversation.dialect);
    let mut acts = Vec::new();
    for (wait, action) in &conversation.actions {
        acts.extend([PeerStep::Waits(*wait), PeerStep::Writes(resolved(action, &entries))]);
    }
    if conversation.dies {
        acts.extend([PeerStep::Waits(wait), PeerStep::Ends("killed")]);
    }
    let answer = json!({ "type": "model_event", "id": "$", "event": { "type": "done", "message": {
        "role": "assistant", "content": [{ "type": "text", "text": "Hi." }], "api": "lab", "provider": "lab", "model": "mine",
        "usage": { "input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } },
        "stopReason": "stop", "timestamp": 1,
    } } });
    let extension = Extension::new("a", json!({ "hooks": HOOKS }))
        .on("start", acts)
        .on("start", [])
        .on("model_call", [PeerStep::Waits(20 * wait), PeerStep::Writes(answer)]);
    HOOKS.iter().fold(extension, |extension, hook| extension.on(&format!("hook {hook}"), outcome(30 * wait)))
}

/// Ids of the entries of these prompts.
fn entries(turns: &[Value], dialect: Dialect) -> Vec<String> {
    let begun = begun(turns).extended(Extension::new("a", json!({ "hooks": HOOKS })));
    let lines = begun.play(dialect).disk.lines();
    lines.iter().skip(1).filter_map(|line| line["id"].as_str().map(str::to_owned)).collect()
}

/// Replaces `@N` by one of the entries.
fn resolved(action: &Value, entries: &[String]) -> Value {
    let mut action = action.clone();
    for key in ["entryId", "targetId"] {
        let number = action[key].as_str().and_then(|it| it.strip_prefix('@')?.parse::<usize>().ok());
        if let Some(number) = number {
            let entry = entries.get(number % (entries.len() + 1));
            action[key] = entry.map_or("nowhere", String::as_str).into();
        }
    }
    action
}

/// Checks that each action has one response; an extension that has exited need not get any.
fn answered_once(played: &Playback, dies: bool) -> Checked {
    let id = |frame: &Value| frame["id"].as_str().unwrap_or_default().to_owned();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for step in &played.steps {
        if step.who == "<a" && ACTIONS.contains(&step.frame["type"].as_str().unwrap_or_default()) {
            counts.insert(id(&step.frame), 0);
        }
        if step.who == ">a" && step.frame["type"] == "response" {
            *counts.entry(id(&step.frame)).or_default() += 1;
        }
    }
    counts.retain(|_, count| if dies { *count > 1 } else { *count != 1 });
    ensure!(counts.is_empty(), "not one response to each action: {counts:?}\n{}", played.timed_transcript());
    Ok(())
}

/// Kinds of actions that succeeded, and `model_call` if the extension was called as a model.
fn succeeded(played: &Playback) -> BTreeSet<String> {
    let steps = || played.steps.iter().map(|step| (step.who.as_str(), &step.frame));
    let done = steps().filter(|(who, frame)| *who == ">a" && frame["success"] == true);
    let asked = |id: &Value| steps().find(|(who, frame)| *who == "<a" && frame["id"] == *id);
    let kinds = done.filter_map(|(_, frame)| asked(&frame["id"])?.1["type"].as_str());
    let asked = (!played.wrote(">a", "model_call").is_empty()).then_some("model_call");
    kinds.chain(asked).map(str::to_owned).collect()
}
