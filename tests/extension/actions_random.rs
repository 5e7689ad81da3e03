//! All actions of extensions at random, whatever else goes on: each gets one response, and nothing hangs.

use crate::asking_support::{Does, Extension, Played, done, fails, say, says, scenario, waits, writes};
use pi_rpc::protocol::Dialect::{self, Pi, Pi1, Pi073, Xcsh};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use say::{calls, prompt, says as model_says, summary};
use serde_json::{Value, json};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    panic,
};

/// Something that the extension or the host does, so many milliseconds after what it did before. The number chooses among
/// what there is.
#[derive(Clone, Copy, Debug)]
struct Act {
    wait: u64,
    kind: usize,
    choice: usize,
}

#[derive(Clone, Debug)]
struct Talk {
    acts: Vec<Act>,
    host: Vec<Act>,
    /// What the extension says to each kind of hook, by number.
    say: usize,
    /// The extension dies when it has done everything, and is started again.
    dies: bool,
    /// When the process is told to stop.
    stops: Option<u64>,
    /// When nothing can be written for a while.
    full: Option<u64>,
}

/// What extensions may do, but for queries.
const ACTIONS: [&str; 18] = [
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

fn talks() -> impl Strategy<Value = Talk> {
    let acts = |kinds: usize, wait: u64| {
        let act = (0..wait, 0..kinds, any::<prop::sample::Index>());
        let act = act.prop_map(|(wait, kind, choice)| Act { wait, kind, choice: choice.index(1000) });
        prop::collection::vec(act, 0..14)
    };
    let some = |range| prop::option::weighted(0.2, range);
    (
        acts(ACTIONS.len() + 1, 120),
        acts(7, 200),
        0..4_usize,
        prop::bool::weighted(0.2),
        some(200..1500_u64),
        some(200..1500_u64),
    )
        .prop_map(|(acts, host, say, dies, stops, full)| Talk { acts, host, say, dies, stops, full })
}

/// The prompts that every talk begins with.
fn begun(turns: Value) -> crate::asking_support::Scenario {
    scenario(turns).kept().host(10, prompt("p0", "one")).host(50, prompt("p1", "two"))
}

fn turns() -> Value {
    let mut turns = vec![model_says("1"), model_says("2")];
    for _ in 0..6 {
        turns.push(calls("t", "bash", "sleep 90"));
        turns.push(json!({ "say": [{ "text": "Well." }], "firstDelayMs": 60 }));
        turns.push(summary("So far."));
        turns.push(json!({ "summary": true, "say": [{ "text": "So far." }], "firstDelayMs": 300 }));
    }
    turns.into()
}

/// The ids of the entries with which every talk begins.
fn entries(dialect: Dialect) -> Vec<String> {
    let lines =
        begun(turns()).extended(Extension::new("a", json!({ "hooks": HOOKS }))).play(dialect).disk.lines();
    lines.iter().skip(1).filter_map(|line| line["id"].as_str().map(str::to_owned)).collect()
}

fn action(act: Act, number: usize, entries: &[String]) -> Value {
    let entry = entries.get(act.choice % (entries.len() + 1)).map_or("nowhere", String::as_str);
    let odd = act.choice % 2 == 1;
    let either = |one: &'static str, other| if odd { other } else { one };
    let kind = ACTIONS[act.kind];
    let mut frame = match kind {
        "append_entry" => json!({ "customType": "count", "data": number }),
        "complete" => json!({
            "provider": "scripted", "modelId": either("work", "nobody"),
            "messages": [{ "role": "user", "content": "Say something.", "timestamp": 1 }],
        }),
        "fork" => json!({ "entryId": entry, "position": either("before", "at") }),
        "navigate_tree" => json!({ "targetId": entry, "summarize": odd, "label": "here" }),
        "new_session" if odd => json!({ "entries": [{ "role": "user", "content": "As I said." }] }),
        "register_provider" => {
            let config = if odd {
                json!({})
            } else {
                json!({ "baseUrl": "http://lab", "models": [{ "id": "mine" }] })
            };
            json!({ "name": "lab", "config": config, "streams": !act.choice.is_multiple_of(3) })
        }
        "unregister_provider" => json!({ "name": "lab" }),
        "run_tool" => {
            json!({ "toolName": either("bash", "nothing"), "arguments": { "command": "sleep 80" } })
        }
        "send_message" => json!({
            "message": { "customType": "note", "content": "By the way.", "display": true }, "triggerTurn": odd,
        }),
        "send_user_message" => {
            json!({ "content": "And?", "deliverAs": either("steer", "followUp") })
        }
        "set_active_tools" => json!({ "names": [either("bash", "probe")] }),
        "set_label" => json!({ "entryId": entry, "label": "there" }),
        "set_model" if !act.choice.is_multiple_of(3) => json!({ "provider": "lab", "modelId": "mine" }),
        "set_model" => json!({ "provider": "scripted", "modelId": either("work", "nobody") }),
        "set_session_name" => json!({ "name": format!("name {number}") }),
        "switch_session" => {
            json!({ "sessionPath": either("/sessions/new.jsonl", "/sessions/bad.jsonl") })
        }
        _ => json!({}),
    };
    frame["type"] = kind.into();
    frame["id"] = format!("r{number}").into();
    frame
}

/// What the extension does: its actions, each perhaps taken back later.
fn does(acts: &[Act], entries: &[String]) -> Vec<Does> {
    let lab = json!({ "baseUrl": "http://lab", "models": [{ "id": "mine" }] });
    let lab =
        json!({ "type": "register_provider", "id": "lab", "name": "lab", "config": lab, "streams": true });
    let mut does = vec![waits(100), writes(lab)];
    for (number, act) in acts.iter().enumerate() {
        does.push(waits(act.wait));
        does.push(writes(match act.kind {
            kind if kind == ACTIONS.len() => {
                json!({ "type": "withdraw", "id": format!("r{}", act.choice % (number + 1)) })
            }
            _ => action(*act, number, entries),
        }));
    }
    does
}

fn hosts(act: Act, number: usize) -> Value {
    let id = format!("h{number}");
    match act.kind {
        0 | 1 => prompt(Box::leak(id.into_boxed_str()), "go"),
        2 => json!({ "id": id, "type": "abort" }),
        3 => json!({ "id": id, "type": "compact" }),
        4 => json!({ "id": id, "type": "new_session" }),
        5 => json!({ "id": id, "type": "switch_session", "sessionPath": "/sessions/other.jsonl" }),
        _ => json!({ "id": id, "type": "steer", "message": "and" }),
    }
}

fn play(talk: &Talk, dialect: Dialect, entries: &[String]) -> Played {
    let say = || match talk.say {
        0 => done(),
        1 => says(json!({ "cancel": true })),
        2 => fails("no idea"),
        _ => says(json!({ "summary": { "summary": "Mine." } })),
    };
    let mut does = does(&talk.acts, entries);
    if talk.dies {
        does.extend([waits(talk.say as u64), Does::Ends("killed")]);
    }
    let answer = json!({ "type": "model_event", "id": "$", "event": { "type": "done", "message": {
        "role": "assistant", "content": [{ "type": "text", "text": "Hi." }], "api": "lab", "provider": "lab", "model": "mine",
        "usage": { "input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } },
        "stopReason": "stop", "timestamp": 1,
    } } });
    let mut extension = Extension::new("a", json!({ "hooks": HOOKS }))
        .on("start", does)
        .on("start", [])
        .on("model_call", [waits(20 * talk.say as u64), writes(answer)]);
    for hook in HOOKS {
        extension = extension.on(&format!("hook {hook}"), [waits(30 * talk.say as u64), say()]);
    }
    let mut scenario = begun(turns())
        .file("/sessions/bad.jsonl", "no session\n")
        .unjudged()
        .modes(|modes| modes.compaction.keep_recent = 1)
        .extended(extension);
    let mut moment = 100;
    for (number, act) in talk.host.iter().enumerate() {
        moment += act.wait;
        scenario = scenario.host(moment, hosts(*act, number));
    }
    if let Some(at) = talk.full {
        scenario = scenario.disk_full(at, at + 300);
    }
    match talk.stops {
        Some(at) => scenario.stops(at).finish(dialect),
        None => scenario.play(dialect),
    }
}

/// How often each action was answered.
fn answered(played: &Played) -> BTreeMap<String, usize> {
    let id = |frame: &Value| frame["id"].as_str().unwrap_or_default().to_owned();
    let mut counts = BTreeMap::new();
    for step in &played.steps {
        if step.who == "<a" && ACTIONS.contains(&step.frame["type"].as_str().unwrap_or_default()) {
            counts.insert(id(&step.frame), 0);
        }
        if step.who == ">a" && step.frame["type"] == "response" {
            *counts.entry(id(&step.frame)).or_default() += 1;
        }
    }
    counts
}

/// The kinds of actions that something came of, and `model_call` where the extension was asked as a model.
fn succeeded(played: &Played) -> BTreeSet<String> {
    let steps = || played.steps.iter().map(|step| (step.who.as_str(), &step.frame));
    let done = steps().filter(|(who, frame)| *who == ">a" && frame["success"] == true);
    let asked = |id: &Value| steps().find(|(who, frame)| *who == "<a" && frame["id"] == *id);
    let kinds = done.filter_map(|(_, frame)| asked(&frame["id"])?.1["type"].as_str());
    let asked = (!played.wrote(">a", "model_call").is_empty()).then_some("model_call");
    kinds.chain(asked).map(str::to_owned).collect()
}

#[test]
fn every_action_gets_one_response_whatever_goes_on() {
    for dialect in [Pi, Pi073, Pi1, Xcsh] {
        let entries = entries(dialect);
        let config =
            Config { cases: 120, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
        let done = RefCell::new(BTreeSet::new());
        let result = TestRunner::new(config).run(&talks(), |talk| {
            let played = panic::catch_unwind(|| play(&talk, dialect, &entries))
                .map_err(|_| TestCaseError::fail("it did not come to an end in good order"))?;
            let wrong: BTreeMap<_, _> = answered(&played)
                .into_iter()
                // Who is gone is told nothing.
                .filter(|(_, count)| if talk.dies { *count > 1 } else { *count != 1 })
                .collect();
            prop_assert!(wrong.is_empty(), "{wrong:?}\n{}", played.timed());
            done.borrow_mut().extend(succeeded(&played));
            Ok(())
        });
        if let Err(error) = result {
            panic!("{dialect}: {error}");
        }
        let missed: Vec<_> =
            ACTIONS.into_iter().chain(["model_call"]).filter(|kind| !done.borrow().contains(*kind)).collect();
        assert_eq!(missed, Vec::<&str>::new(), "never done in {dialect}");
    }
}
