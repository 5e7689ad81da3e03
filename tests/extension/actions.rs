//! What extensions do to the conversation by themselves.

use crate::asking_support::{
    Extension, Playback, answer, says, scenario, shorthand, ui_of_none, waits, writes,
};
use pi_rpc::protocol::Dialect::{self, Pi, Pi1, Xcsh};
use serde_json::{Value, json};
use shorthand::{calls, command, prompt, says as model_says};

const DIALECTS: [Dialect; 2] = [Pi, Xcsh];

/// An extension that does this at 100 ms.
fn at_100(frame: Value) -> Extension {
    Extension::new("a", json!({})).on("start", [waits(100), writes(frame)])
}

/// A model that answers with a text after that time.
fn answers_after(time: u64) -> Value {
    json!({ "say": [{ "text": "Well." }], "firstDelayMs": time })
}

fn message(deliver_as: Value, trigger: Value) -> Value {
    json!({
        "type": "send_message", "id": "m", "message": { "customType": "note", "content": "By the way.", "display": true },
        "deliverAs": deliver_as, "triggerTurn": trigger,
    })
}

fn without_nulls(mut frame: Value) -> Value {
    frame.as_object_mut().into_iter().for_each(|it| it.retain(|_, value| !value.is_null()));
    frame
}

const JOINED: &str = "<a send_message · custom note · >a response m";
const ANSWERED: &str = "<a send_message · agent_start · >a response m · custom note · agent_end [ca]";
const SENT: &str = "<a send_message · >a response m";

#[test]
fn extension_message_joins_idle_conversation() {
    for dialect in DIALECTS {
        for (deliver_as, trigger, then) in [
            (Value::Null, Value::Null, JOINED),
            (json!("steer"), json!(false), JOINED),
            (json!("followUp"), Value::Null, JOINED),
            (Value::Null, json!(true), ANSWERED),
            (json!("followUp"), json!(true), ANSWERED),
            (json!("nextTurn"), json!(true), SENT),
        ] {
            let played = scenario(json!([model_says("Well.")]))
                .extended(at_100(without_nulls(message(deliver_as.clone(), trigger.clone()))))
                .play(dialect);
            assert_eq!(played.transcript(), then, "{deliver_as} {trigger} in {dialect}");
            assert_eq!(
                *played.wrote(">a", "response m")[0],
                json!({ "type": "response", "id": "m", "success": true }),
                "{dialect}"
            );
        }
    }
}

#[test]
fn conversation_begun_by_extension_is_persisted() {
    for dialect in DIALECTS {
        let played = scenario(json!([model_says("Well.")]))
            .kept()
            .extended(at_100(without_nulls(message(Value::Null, json!(true)))))
            .play(dialect);
        let kinds: Vec<String> = played
            .disk
            .lines()
            .iter()
            .filter(|it| it["type"] == "custom_message" || it["type"] == "message")
            .map(|it| it["message"]["role"].as_str().unwrap_or("custom").to_owned())
            .collect();
        assert_eq!(kinds, ["custom", "assistant"], "{dialect}");
    }
}

#[test]
fn extension_message_is_queued_during_run() {
    for dialect in DIALECTS {
        for (deliver_as, end) in [
            (Value::Null, format!("{SENT} · end t1 · custom note · agent_end [uatca]")),
            (json!("steer"), format!("{SENT} · end t1 · custom note · agent_end [uatca]")),
            (json!("followUp"), format!("{SENT} · end t1 · custom note · agent_end [uataca]")),
            (json!("nextTurn"), format!("{SENT} · end t1 · agent_end [uata]")),
        ] {
            let played =
                scenario(json!([calls("t1", "bash", "sleep 200"), model_says("Well."), model_says("Well.")]))
                    .extended(at_100(without_nulls(message(deliver_as.clone(), Value::Null))))
                    .host(10, prompt("p", "go"))
                    .play(dialect);
            let talk = format!("< p · ok p · agent_start · user go · start t1 · {end}");
            assert_eq!(played.transcript(), talk, "{deliver_as} in {dialect}");
        }
    }
}

#[test]
fn next_turn_message_joins_next_user_message() {
    let note = without_nulls(message(json!("nextTurn"), Value::Null));
    for dialect in DIALECTS {
        let turns = json!([model_says("One."), model_says("Two.")]);
        let said = scenario(turns.clone())
            .extended(at_100(note.clone()))
            .host(200, prompt("p", "go"))
            .host(300, prompt("q", "on"))
            .play(dialect);
        assert!(
            said.transcript().ends_with(
                "< p · ok p · agent_start · user go · custom note · agent_end [uca] · < q · ok q · agent_start · user on · \
                 agent_end [ua]"
            ),
            "{dialect}: {}",
            said.transcript()
        );
        for leave in [
            json!({ "id": "r", "type": "new_session" }),
            json!({ "id": "r", "type": "switch_session", "sessionPath": "/sessions/x.jsonl" }),
            json!({ "id": "r", "type": if dialect == Pi { "fork" } else { "branch" }, "entryId": "$0" }),
        ] {
            let left = scenario(turns.clone())
                .kept()
                .extended(at_100(note.clone()))
                .host(10, prompt("p", "go"))
                .host(150, leave.clone())
                .host(200, prompt("q", "on"))
                .play(dialect);
            assert!(
                left.transcript().ends_with("ok r · < q · ok q · agent_start · user on · agent_end [ua]"),
                "{leave} in {dialect}: {}",
                left.transcript()
            );
        }
    }
}

#[test]
fn extension_message_before_run_is_emitted_immediately() {
    for dialect in DIALECTS {
        let send = writes(without_nulls(json!({
            "type": "send_message", "message": { "customType": "note", "content": "By the way.", "display": true },
        })));
        for (hook, say, talk) in [
            (
                "input",
                json!({ "action": "handled" }),
                "< p · >a hook input · <a send_message · custom note · <a done · ok p",
            ),
            (
                "before_agent_start",
                json!({}),
                "< p · ok p · >a hook before_agent_start · <a send_message · custom note · <a done · agent_start · user go · \
                 agent_end [ua]",
            ),
        ] {
            let extension = Extension::new("a", json!({ "hooks": [hook] }))
                .on(&format!("hook {hook}"), [send.clone(), waits(5), says(say)]);
            let played = scenario(json!([model_says("Well.")]))
                .extended(extension)
                .host(10, prompt("p", "go"))
                .play(dialect);
            assert_eq!(played.transcript(), talk, "{dialect}");
        }
    }
}

#[test]
fn extension_sends_message_as_user() {
    let said = |deliver_as: Value| {
        without_nulls(
            json!({ "type": "send_user_message", "id": "m", "content": "/do as I say", "deliverAs": deliver_as }),
        )
    };
    let commands = json!({ "commands": [{ "name": "do" }] });
    for dialect in DIALECTS {
        for deliver_as in [Value::Null, json!("steer"), json!("followUp"), json!("nextTurn")] {
            let extension = Extension::new("a", commands.clone())
                .on("start", [waits(100), writes(said(deliver_as.clone()))]);
            let idle = scenario(json!([model_says("Well.")])).extended(extension.clone()).play(dialect);
            assert_eq!(
                idle.transcript(),
                "<a send_user_message · >a response m · agent_start · user /do as I say · agent_end [ua]",
                "{deliver_as} in {dialect}"
            );
            let running =
                scenario(json!([calls("t1", "bash", "sleep 200"), model_says("Well."), model_says("Well.")]))
                    .extended(extension)
                    .host(10, prompt("p", "go"))
                    .play(dialect);
            let busy = if dialect == Pi {
                "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
            } else {
                "Agent is already processing. Use steer() or followUp() to queue messages, or wait for completion."
            };
            let end = match deliver_as.as_str() {
                Some("steer") => ">a response m · end t1 · user /do as I say · agent_end [uatua]".to_owned(),
                Some("followUp") => {
                    ">a response m · end t1 · user /do as I say · agent_end [uataua]".to_owned()
                }
                _ => format!("error send_user_message: {busy} · >a response m · end t1 · agent_end [uata]"),
            };
            assert_eq!(
                running.transcript(),
                format!("< p · ok p · agent_start · user go · start t1 · <a send_user_message · {end}"),
                "{deliver_as} in {dialect}"
            );
        }
    }
}

#[test]
fn extension_entry_is_persisted_without_the_model() {
    for dialect in DIALECTS {
        let entry = json!({ "type": "append_entry", "id": "e", "customType": "count", "data": { "n": 1 } });
        let played = scenario(json!([model_says("Well."), model_says("Well.")]))
            .kept()
            .extended(at_100(entry))
            .host(10, prompt("p", "go"))
            .host(200, prompt("q", "on"))
            .play(dialect);
        assert!(played.transcript().contains("<a append_entry · >a response e"), "{}", played.transcript());
        let kept: Vec<Value> = played.disk.lines().into_iter().filter(|it| it["type"] == "custom").collect();
        assert_eq!(kept.len(), 1, "{dialect}");
        assert_eq!(
            (&kept[0]["customType"], &kept[0]["data"]),
            (&json!("count"), &json!({ "n": 1 })),
            "{dialect}"
        );
        assert_eq!(played.asked[1], "turn play [uau]", "{dialect}");
    }
}

#[test]
fn entry_appended_precedes_the_extensions_response() {
    let entry = json!({ "type": "append_entry", "id": "e", "customType": "count", "data": { "n": 1 } });
    let keeping = |full: bool| {
        let scenario = scenario(json!([model_says("Well.")])).kept().extended(at_100(entry.clone()));
        let scenario = if full { scenario.disk_full(50, 150) } else { scenario };
        scenario.host(10, prompt("p", "go")).play(Pi1)
    };
    let told = |played: &Playback| -> Vec<Value> { played.frames("entry_appended").cloned().collect() };
    let played = keeping(false);
    let kept: Vec<Value> = played.disk.lines().into_iter().filter(|it| it["type"] == "custom").collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(told(&played), [json!({ "type": "entry_appended", "entry": kept[0] })]);
    let talk = played.transcript();
    assert!(talk.contains("<a append_entry · entry_appended · >a response e"), "{talk}");
    assert_eq!(told(&keeping(true)), [] as [Value; 0], "it is not kept");
}

#[test]
fn unpersisted_extension_entry_fails_its_action() {
    let entry = json!({ "type": "append_entry", "id": "e", "customType": "count" });
    let played = scenario(json!([model_says("Well.")]))
        .extended(at_100(entry))
        .disk_full(50, 150)
        .host(10, prompt("p", "go"))
        .play(Pi);
    let response = played.wrote(">a", "response e")[0];
    assert_eq!(response["success"], false);
    assert_eq!(played.disk.lines().into_iter().filter(|it| it["type"] == "custom").count(), 0);
}

#[test]
fn unpersisted_extension_message_is_not_sent() {
    let played = scenario(json!([model_says("Well.")]))
        .extended(at_100(without_nulls(message(Value::Null, Value::Null))))
        .disk_full(50, 150)
        .host(10, prompt("p", "go"))
        .play(Pi);
    let text = "The session could not be written: no space left on device";
    assert!(
        played
            .transcript()
            .ends_with(&format!("<a send_message · error send_message: {text} · >a response m")),
        "{}",
        played.transcript()
    );
    assert_eq!(played.wrote(">a", "response m")[0]["error"], text);
    assert_eq!(played.disk.lines().into_iter().filter(|it| it["type"] == "custom_message").count(), 0);
}

#[test]
fn extension_sets_model_level_and_name() {
    let actions = [
        json!({ "type": "set_model", "id": "1", "provider": "scripted", "modelId": "work" }),
        json!({ "type": "set_model", "id": "2", "provider": "scripted", "modelId": "none" }),
        json!({ "type": "set_thinking_level", "id": "3", "level": "high" }),
        json!({ "type": "set_session_name", "id": "4", "name": " mine " }),
        json!({ "type": "set_session_name", "id": "5", "name": " " }),
    ];
    for dialect in DIALECTS {
        let extension = Extension::new("a", json!({}))
            .on("start", [waits(5)].into_iter().chain(actions.iter().cloned().map(writes)));
        let played = scenario(json!([])).extended(extension).host(10, command("get_state")).play(dialect);
        let responses: Vec<Value> = played
            .steps
            .iter()
            .filter(|it| it.who == ">a" && it.frame["type"] == "response")
            .map(|it| it.frame.clone())
            .collect();
        let ok = |id: &str| json!({ "type": "response", "id": id, "success": true });
        let no =
            |id: &str, error: &str| json!({ "type": "response", "id": id, "success": false, "error": error });
        assert_eq!(
            responses,
            [
                ok("1"),
                no("2", "Model not found: scripted/none"),
                ok("3"),
                ok("4"),
                no("5", "Session name cannot be empty")
            ],
            "{dialect}"
        );
        let state = &played.answers("get_state")[0]["data"];
        assert_eq!(
            (&state["model"]["id"], &state["thinkingLevel"], &state["sessionName"]),
            (&json!("work"), &json!("high"), &json!("mine")),
            "{dialect}"
        );
    }
}

#[test]
fn extension_shutdown_waits_for_the_run() {
    for dialect in DIALECTS {
        let played = scenario(json!([answers_after(500)]))
            .extended(at_100(json!({ "type": "shutdown", "id": "x" })))
            .host(10, prompt("p", "go"))
            .host(200, command("get_state"))
            .finish(dialect);
        assert_eq!(
            played.transcript(),
            "< p · ok p · agent_start · user go · <a shutdown · >a response x · < get_state · ok get_state · agent_end [ua] · \
             exit",
            "{dialect}"
        );
    }
}

#[test]
fn unanswered_dialog_blocks_nothing() {
    let ask = json!({ "method": "confirm", "title": "Sure?", "message": "Really?" });
    for dialect in DIALECTS {
        let played = scenario(json!([model_says("Well.")]))
            .extended(Extension::new("a", json!({})).on("start", [waits(5), ui_of_none("mine", ask.clone())]))
            .host(10, prompt("p", "go"))
            .host(20, command("new_session"))
            .host(30, answer(0, "confirmed", true))
            .play(dialect);
        assert_eq!(
            played.transcript(),
            "<a ui confirm · ui confirm · < p · ok p · agent_start · user go · agent_end [ua] · < new_session · \
             ok new_session · < extension_ui_response · >a ui_answer mine",
            "{dialect}"
        );
    }
}
