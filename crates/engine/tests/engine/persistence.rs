//! Entries are persisted before their frames are emitted; conversations survive a full disk.
//!
//! The world of every test holds each frame against the file: see `Disk::has_what_is_told`. In the snapshots `#` marks
//! what happens on disk.

use pi_rpc_protocol::Dialect::{self, Pi, Pi1, Xcsh};
use pi_rpc_test_kit::{self, Playback, scenario, shorthand::*};
use serde_json::{Value, json};

const SEEDS: [Dialect; 2] = [Pi, Xcsh];

const TEXT: &str = "The session could not be written: no space left on device";

/// What the log tells of an order: what was stored, in one word each, and the frames of these kinds.
fn order(played: &Playback, kinds: &[&str]) -> Vec<String> {
    let lines = played.log.lines().filter_map(|line| {
        let (_, rest) = line.trim_start().split_once(' ')?;
        if let Some(stored) = rest.strip_prefix("# ") {
            return Some(stored.to_owned());
        }
        let frame: Value = serde_json::from_str(rest.strip_prefix("> ")?).ok()?;
        let kind = frame["type"].as_str()?;
        let role = frame["message"]["role"].as_str().or(frame["command"].as_str()).unwrap_or_default();
        kinds.contains(&kind).then(|| format!("told {kind} {role}").trim_end().to_owned())
    });
    lines.collect()
}

/// The kinds of the entries in the file, its header first.
fn entries(played: &Playback) -> Vec<String> {
    let kind = |line: &Value| {
        let role = line["message"]["role"].as_str();
        role.or(line["type"].as_str()).unwrap_or_default().to_owned()
    };
    played.disk.lines().iter().map(kind).collect()
}

#[test]
fn message_is_persisted_before_message_end() {
    for dialect in SEEDS {
        let played = scenario(json!([calls("t1", "bash", "echo one"), says("Done.")]))
            .kept()
            .host(0, prompt("p", "hi"))
            .play(dialect);
        let begun =
            ["begin session", "begin model_change", "begin thinking_level_change", "begin message user"];
        let mut expected: Vec<String> = begun.map(str::to_owned).to_vec();
        expected.push("told message_end user".to_owned());
        for role in ["assistant", "toolResult", "assistant"] {
            expected.extend([format!("store message {role}"), format!("told message_end {role}")]);
        }
        assert_eq!(order(&played, &["message_end"]), expected, "{dialect}");
    }
}

#[test]
fn run_is_synced_before_its_end() {
    for dialect in SEEDS {
        let played = scenario(json!([calls("t1", "bash", "echo one"), says("Done.")]))
            .kept()
            .modes(|modes| modes.syncs_runs = true)
            .host(0, prompt("p", "hi"))
            .play(dialect);
        let told = order(&played, &["agent_end"]);
        let end = ["store message assistant", "sync", "told agent_end"];
        assert_eq!(told[told.len() - 3..], end, "{dialect}");
        assert_eq!(told.iter().filter(|it| *it == "sync").count(), 1, "{dialect}");
    }
}

#[test]
fn failed_sync_is_reported_beside_run_end() {
    for dialect in SEEDS {
        let played = scenario(json!([says("Done.")]))
            .modes(|modes| modes.syncs_runs = true)
            .disk_fails_after(0, 2, 500)
            .host(1, prompt("p", "hi"))
            .host(600, prompt("again", "hi again"))
            .play(dialect);
        let told = played.last("extension_error");
        assert_eq!((&told["event"], &told["error"]), (&json!("session"), &json!(TEXT)), "{dialect}");
        assert_eq!(played.last("agent_end")["messages"][1]["stopReason"], "stop", "{dialect}");
    }
}

#[test]
fn session_changes_are_persisted_before_responses() {
    let level = json!({ "id": "level", "type": "set_thinking_level", "level": "low" });
    let model = json!({ "id": "model", "type": "set_model", "provider": "scripted", "modelId": "work" });
    let name = json!({ "id": "name", "type": "set_session_name", "name": "Work" });
    let fork = |kind: &str| json!({ "id": "fork", "type": kind, "entryId": "$1" });
    for (dialect, fork, naming) in
        [(Pi, fork("fork"), vec!["store session_info"]), (Xcsh, fork("branch"), vec!["rewrite"])]
    {
        let played = scenario(json!([says("One."), says("Two.")]))
            .kept()
            .host(0, prompt("p1", "one"))
            .host(10, prompt("p2", "two"))
            .host(20, level.clone())
            .host(30, model.clone())
            .host(40, name.clone())
            .host(50, bash("b", "echo hi"))
            .host(60, fork)
            .play(dialect);
        let told = order(&played, &["response"]);
        let after = |what: &str| told.iter().position(|it| it == what).expect(what);
        let before = |what: &str, stored: &str| {
            let at = after(what);
            assert!(told[at - 1].starts_with(stored), "{dialect}: {what} after {}", told[at - 1]);
        };
        before("told response set_thinking_level", "store thinking_level_change");
        before("told response set_model", "store model_change");
        before("told response set_session_name", naming[0]);
        before("told response bash", "store message bashExecution");
        let forked = if dialect == Pi { "told response fork" } else { "told response branch" };
        before(forked, "begin");
    }
}

#[test]
fn compaction_is_persisted_before_its_event() {
    for dialect in SEEDS {
        let played = scenario(json!([says("Answer number one."), fills("Two.", 127_990)]))
            .kept()
            .modes(|modes| (modes.compaction.reserve, modes.compaction.keep_recent) = (100, 3))
            .host(0, prompt("p1", "question number one"))
            .host(10, prompt("p2", "question number two"))
            .play(dialect);
        let told = order(&played, &["auto_compaction_end"]);
        let stored = told.iter().position(|it| it == "store compaction").expect("a compaction");
        assert_eq!(told[stored + 1], "told auto_compaction_end", "{dialect}");
    }
}

#[test]
fn early_settings_are_persisted_with_first_message() {
    let level = json!({ "id": "level", "type": "set_thinking_level", "level": "low" });
    let name = json!({ "id": "name", "type": "set_session_name", "name": "Work" });
    for dialect in SEEDS {
        let settings = || scenario(json!([says("One.")])).kept().host(0, level.clone()).host(1, name.clone());
        assert_eq!(entries(&settings().play(dialect)), Vec::<String>::new(), "{dialect}");
        let begun = settings().host(10, prompt("p", "hi")).play(dialect);
        let known = begun.disk.tree().expect("a session").name();
        assert_eq!(known.as_deref(), Some("Work"), "{dialect}");
    }
}

/// A full disk from 100 to 500 ms, in a session that has begun.
fn full(turns: Value) -> pi_rpc_test_kit::Scenario {
    let Value::Array(mut rest) = turns else { panic!("turns are a list") };
    let mut turns = vec![says("One.")];
    turns.append(&mut rest);
    scenario(Value::Array(turns)).host(0, prompt("p1", "one")).disk_full(100, 500).from("p2")
}

#[test]
fn unpersisted_user_message_ends_its_run() {
    let shape = format!("ok p2 · {}", fails("user two"));
    let played = || full(json!([])).host(200, prompt("p2", "two"));
    played().is("full_user", &SEEDS, &shape);
    for dialect in SEEDS {
        let played = played().finish(dialect);
        assert_eq!(played.last("turn_end")["message"]["errorMessage"], TEXT, "{dialect}");
        assert_eq!(played.asked.len(), 1, "{dialect}: no model is asked");
    }
}

#[test]
fn unpersisted_assistant_message_fails_its_run() {
    let slow = json!({ "say": [{ "text": "Two.", "size": 0 }], "firstDelayMs": 150 });
    let shape =
        "ok p2 · agent_start · turn_start · user two · ms · text · me error · turn_end [] · agent_end [ua]";
    full(json!([slow])).host(50, prompt("p2", "two")).is("full_assistant", &SEEDS, shape);
}

#[test]
fn unpersisted_tool_result_stops_other_calls() {
    let call = |id: &str, plan: &str| json!({ "tool": "probe", "id": id, "arguments": { "command": plan }, "size": 0 });
    let both = json!({ "say": [call("t1", "sleep 100; echo one"), call("t2", "sleep 300; echo two")] });
    let begins = "ok p2 · agent_start · turn_start · user two · ms · toolcall · toolcall · me toolUse";
    let ends = "turn_end [t1 t2] · turn_start · ms · me error · turn_end [] · agent_end [uatta]";
    let together = format!(
        "{begins} · start t1 · start t2 · update t1 · end t1 · result t1 · end! t2 · result! t2 · {ends}"
    );
    full(json!([both.clone()])).host(50, prompt("p2", "two")).is("full_result", &[Xcsh], &together);
    let one_by_one = format!(
        "{begins} · start t1 · update t1 · end t1 · result t1 · start t2 · end! t2 · result! t2 · {ends}"
    );
    full(json!([both])).host(50, prompt("p2", "two")).is("full_result", &[Pi], &one_by_one);
}

#[test]
fn unpersisted_change_is_refused_without_effect() {
    let level = json!({ "id": "level", "type": "set_thinking_level", "level": "low" });
    let model = json!({ "id": "model", "type": "set_model", "provider": "scripted", "modelId": "work" });
    let name = json!({ "id": "name", "type": "set_session_name", "name": "Work" });
    let fork = |kind: &str| json!({ "id": "fork", "type": kind, "entryId": "$1" });
    for (dialect, kind) in [(Pi, "fork"), (Xcsh, "branch")] {
        let changed = |id: &str, frame: Value| {
            let played = full(json!([says("Two.")]))
                .host(50, prompt("p2", "two"))
                .host(90, command("get_state"))
                .host(200, frame)
                .host(300, json!({ "id": "after", "type": "get_state" }))
                .host(300, json!({ "id": "messages", "type": "get_messages" }))
                .host(600, prompt("p3", "three"))
                .play(dialect);
            assert!(played.error(id).ends_with(TEXT), "{dialect} {id}: {}", played.error(id));
            let data = |id: &str| played.answers(id)[0]["data"].clone();
            assert_eq!(data("after"), data("get_state"), "{dialect} {id}");
            assert_eq!(data("messages")["messages"].as_array().map(Vec::len), Some(4), "{dialect} {id}");
            let tree = played.disk.tree().expect("a session");
            assert_eq!(tree.context().model, Some(("scripted".to_owned(), "play".to_owned())));
            assert_eq!(tree.name(), None, "{dialect} {id}");
            assert_eq!(tree.context().messages.len(), 6, "{dialect} {id}: what comes later is kept");
        };
        changed("level", level.clone());
        changed("model", model.clone());
        changed("name", name.clone());
        changed("b", bash("b", "echo hi"));
        changed("fork", fork(kind));
    }
}

#[test]
fn unpersisted_compaction_has_no_effect() {
    let compacted = |dialect| {
        full(json!([says("Two.")]))
            .modes(|modes| modes.compaction.keep_recent = 3)
            .host(50, prompt("p2", "two"))
            .host(200, command("compact"))
            .host(300, json!({ "id": "messages", "type": "get_messages" }))
            .play(dialect)
    };
    for dialect in SEEDS {
        let played = compacted(dialect);
        assert!(played.error("compact").ends_with(TEXT), "{}", played.log);
        let messages = &played.answers("messages")[0]["data"]["messages"];
        assert_eq!(messages.as_array().map(Vec::len), Some(4), "{dialect}");
    }
}

#[test]
fn full_disk_refuses_prompts_until_writable() {
    let asked = |last: u64| {
        full(json!([says("Four.")]))
            .host(200, prompt("p2", "two"))
            .host(300, prompt("p3", "three"))
            .host(last, prompt("p4", "four"))
    };
    let shape = format!("ok p2 · {} · no p3 · ok p4 · {}", fails("user two"), run("user four"));
    asked(600).is("full_refused", &[Pi], &shape);
    let shape = format!("ok p2 · {} · ok p3 · no p3 · ok p4 · {}", fails("user two"), run("user four"));
    asked(600).is("full_refused", &[Xcsh], &shape);
    for dialect in SEEDS {
        let played = asked(600).play(dialect);
        let tail = ["user", "assistant", "user", "assistant", "user", "assistant"];
        let entries = entries(&played);
        assert_eq!(entries[entries.len() - 6..], tail, "{dialect}");
        assert!(played.answers("p3").iter().any(|it| it["error"] == TEXT), "{dialect}");
    }
}

#[test]
fn unpersisted_setting_does_not_end_run() {
    let slow = json!({ "say": [{ "text": "Two.", "size": 0 }], "firstDelayMs": 700 });
    let level = json!({ "id": "level", "type": "set_thinking_level", "level": "low" });
    for dialect in SEEDS {
        let played = full(json!([slow])).host(50, prompt("p2", "two")).host(200, level.clone()).play(dialect);
        assert!(played.error("level").ends_with(TEXT), "{dialect}");
        assert_eq!(played.last("turn_end")["message"]["stopReason"], "stop", "{dialect}");
    }
}

#[test]
fn unpersisted_run_is_not_retried() {
    // Its text would do for a failure that passes by itself.
    let slow = json!({ "say": [{ "text": "Two.", "size": 0 }], "firstDelayMs": 150 });
    for dialect in SEEDS {
        let played = full(json!([slow]))
            .disk_text("connection error: quota exceeded")
            .host(50, prompt("p2", "two"))
            .finish(dialect);
        assert_eq!(played.last("auto_retry_start"), &Value::Null, "{dialect}");
    }
}

#[test]
fn setting_with_two_entries_is_atomic() {
    // The model that is chosen does not think: the level follows it.
    for dialect in SEEDS {
        let model = json!({ "id": "model", "type": "set_model", "provider": "scripted", "modelId": "plain" });
        let played = scenario(json!([says("One."), says("Two.")]))
            .host(0, prompt("p1", "one"))
            .disk_fails_after(100, 1, 500)
            .host(200, model.clone())
            .host(300, json!({ "id": "after", "type": "get_state" }))
            .host(600, prompt("p2", "two"))
            .play(dialect);
        let succeeded = played.answers("model").iter().any(|it| it["success"] == true);
        let model = played.answers("after")[0]["data"]["model"]["id"].clone();
        assert_eq!(model == "plain", succeeded, "{dialect}");
        let tree = played.disk.tree().expect("a session");
        assert_eq!(tree.context().model.map(|(_, id)| id), model.as_str().map(str::to_owned), "{dialect}");
        assert_eq!(tree.context().messages.len(), 4, "{dialect}: nothing is lost");
    }
}

#[test]
fn pending_writes_are_retried_at_the_end() {
    type Ends = fn(pi_rpc_test_kit::Scenario) -> pi_rpc_test_kit::Scenario;
    let ends: [Ends; 3] = [|it| it.stops(600), |it| it.ends(600), |it| it.host(600, command("new_session"))];
    for dialect in SEEDS {
        for end in ends {
            let played = end(full(json!([])).host(200, prompt("p2", "two"))).finish(dialect);
            assert!(played.log.contains("600 # store message user"), "{dialect}\n{}", played.log);
        }
    }
}

#[test]
fn bash_result_is_persisted_after_aborted_run() {
    let hang = json!({ "say": [{ "text": "Well", "size": 0 }], "hang": true });
    for dialect in SEEDS {
        let shell = || {
            scenario(json!([hang.clone()])).kept().host(0, prompt("p", "hi")).host(10, bash("b", "echo one"))
        };
        let played = match dialect {
            Pi => shell().host(50, command("abort")).play(dialect),
            _ => shell().ends(50).finish(dialect),
        };
        assert_eq!(entries(&played).last().map(String::as_str), Some("bashExecution"), "{dialect}");
    }
}

#[test]
fn in_memory_nothing_is_written() {
    for dialect in SEEDS {
        let played = scenario(json!([says("One.")])).host(0, prompt("p", "hi")).play(dialect);
        assert!(!played.log.contains(" # "), "{}", played.log);
    }
}

#[test]
fn unpersisted_run_keeps_its_queue() {
    let slow = json!({ "say": [{ "text": "Two.", "size": 0 }], "firstDelayMs": 150 });
    let played = scenario(json!([slow, says("Three.")]))
        .kept()
        .host(0, prompt("p", "one"))
        .host(50, steer("s"))
        .disk_full(100, 500)
        .host(300, json!({ "id": "state", "type": "get_state" }))
        .host(600, prompt("q", "two"))
        .play(Pi1);
    assert_eq!(played.answers("state")[0]["data"]["pendingMessageCount"], 1);
    let kept = "ok p · agent_start · turn_start · system · user one · queue [s|] · ok s · ms · text · me error · \
                turn_end [] · agent_end [sua] · agent_settled · ok state";
    let later = "ok q · agent_start · turn_start · user two · queue [|] · user s · ms · text · me stop · \
                 turn_end [] · agent_end [uua] · agent_settled";
    assert_eq!(played.shape().join(" · "), format!("{kept} · {later}"), "{}", played.log);
}
