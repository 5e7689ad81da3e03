//! Hooks: what extensions have a say in, and in which order they have it.

use crate::asking_support::{Extension, answer, done, hooks, prompted, says, scenario, shorthand, ui, waits};
use pi_rpc::protocol::Dialect::{self, Pi, Pi1, Pi073, Xcsh};
use serde_json::{Value, json};
use shorthand::{calls, command, prompt, says as model_says};

const DIALECTS: [Dialect; 2] = [Pi, Xcsh];

fn request(request: Value) -> Value {
    let mut frame = json!({ "id": "r" });
    for (key, value) in request.as_object().into_iter().flatten() {
        frame[key] = value.clone();
    }
    frame
}

/// The host's questions that a hook may cancel, with the hook, and what the answer then says.
fn leaving() -> [(&'static str, Value, Value); 4] {
    let cancelled = json!({ "cancelled": true });
    let fork = json!({ "text": "go", "cancelled": true });
    [
        ("session_before_switch", json!({ "type": "new_session" }), cancelled.clone()),
        (
            "session_before_switch",
            json!({ "type": "switch_session", "sessionPath": "/sessions/x.jsonl" }),
            cancelled,
        ),
        ("session_before_fork", json!({ "type": "fork", "entryId": "$0" }), fork.clone()),
        ("session_before_fork", json!({ "type": "branch", "entryId": "$0" }), fork),
    ]
}

#[test]
fn hook_veto_keeps_the_session() {
    for (hook, question, data) in leaving() {
        let name = question["type"].as_str().expect("a type");
        for dialect in DIALECTS {
            if (name == "fork") == (dialect == Xcsh) && hook == "session_before_fork" {
                continue;
            }
            let played = prompted(json!([model_says("Well.")]))
                .kept()
                .extended(hooks("a", hook, [says(json!({ "cancel": true }))]))
                .extended(hooks("b", hook, [says(json!({ "cancel": false }))]))
                .host(50, request(question.clone()))
                .play(dialect);
            let end = format!("< r · >a hook {hook} · <a done · ok r");
            assert!(played.transcript().ends_with(&end), "{name} in {dialect}: {}", played.transcript());
            assert_eq!(played.answers("r")[0]["data"], data, "{name} in {dialect}");
        }
    }
}

#[test]
fn session_hooks_name_reason_and_target() {
    let played = prompted(json!([model_says("Well.")]))
        .kept()
        .extended(hooks("a", "session_before_switch", [done()]))
        .host(50, json!({ "id": "n", "type": "new_session" }))
        .host(60, json!({ "id": "s", "type": "switch_session", "sessionPath": "/sessions/x.jsonl" }))
        .play(Pi);
    let told: Vec<&Value> =
        played.wrote(">a", "hook session_before_switch").iter().map(|it| &it["hook"]).collect();
    let kind = "session_before_switch";
    assert_eq!(
        told,
        [
            &json!({ "type": kind, "reason": "new" }),
            &json!({ "type": kind, "reason": "resume", "targetSessionFile": "/sessions/x.jsonl" }),
        ]
    );
    assert_eq!(played.answers("n")[0]["data"], json!({ "cancelled": false }));
}

#[test]
fn session_hook_runs_until_first_veto() {
    let ask = json!({ "method": "confirm", "title": "Sure?", "message": "Really?" });
    let played = scenario(json!([]))
        .extended(hooks("a", "session_before_switch", [done()]))
        .extended(
            hooks("b", "session_before_switch", [ui("mine", ask)])
                .on("ui_answer mine", [says(json!({ "cancel": true }))]),
        )
        .extended(hooks("c", "session_before_switch", [done()]))
        .host(10, command("new_session"))
        .host(60_000, answer(0, "confirmed", false))
        .play(Pi);
    assert_eq!(
        played.transcript(),
        "< new_session · >a hook session_before_switch · <a done · >b hook session_before_switch · <b ui confirm · \
         ui confirm · < extension_ui_response · >b ui_answer mine · <b done · ok new_session"
    );
}

#[test]
fn run_continues_during_session_hook() {
    for dialect in DIALECTS {
        for (cancel, end) in
            [(true, "ok new_session · agent_end [ua]"), (false, "agent_end [ua] · ok new_session")]
        {
            let played = scenario(json!([{ "say": [{ "text": "Well." }], "firstDelayMs": 300 }]))
                .extended(hooks(
                    "a",
                    "session_before_switch",
                    [waits(100), says(json!({ "cancel": cancel }))],
                ))
                .host(10, prompt("p", "go"))
                .host(20, command("new_session"))
                .play(dialect);
            let talk = format!(
                "< p · ok p · agent_start · user go · < new_session · >a hook session_before_switch · <a done · {end}"
            );
            assert_eq!(played.transcript(), talk, "{dialect}");
        }
    }
}

#[test]
fn input_hooks_transform_prompt_in_order() {
    let image = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
    for dialect in DIALECTS {
        let played = prompted(json!([model_says("Well.")]))
            .extended(hooks("a", "input", [says(json!({ "action": "transform", "text": "go on" }))]))
            .extended(hooks(
                "b",
                "input",
                [says(json!({ "action": "transform", "text": "go on and on", "images": [image] }))],
            ))
            .extended(hooks("c", "input", [says(json!({ "action": "continue", "text": "not looked at" }))]))
            .play(dialect);
        assert_eq!(
            played.transcript(),
            "< p · >a hook input · <a done · >b hook input · <b done · >c hook input · <c done · ok p · agent_start · \
             user go on and on · agent_end [ua]",
            "{dialect}"
        );
        let told = |who: &str| played.wrote(who, "hook input")[0]["hook"].clone();
        assert_eq!(told(">a"), json!({ "type": "input", "text": "go", "source": "rpc" }), "{dialect}");
        assert_eq!(told(">b"), json!({ "type": "input", "text": "go on", "source": "rpc" }), "{dialect}");
        assert_eq!(
            told(">c"),
            json!({ "type": "input", "text": "go on and on", "images": [image], "source": "rpc" }),
            "{dialect}"
        );
        assert_eq!(played.last("agent_end")["messages"][0]["content"][1], image, "{dialect}");
    }
}

#[test]
fn handled_prompt_opens_no_run() {
    for dialect in DIALECTS {
        let played = prompted(json!([]))
            .extended(hooks("a", "input", [says(json!({ "action": "handled" }))]))
            .extended(hooks("b", "input", [done()]))
            .play(dialect);
        assert_eq!(played.transcript(), "< p · >a hook input · <a done · ok p", "{dialect}");
    }
}

#[test]
fn handled_messages_have_disposition_handled() {
    for kind in ["prompt", "steer", "follow_up"] {
        let said = json!({ "id": "r", "type": kind, "message": "go" });
        let played = scenario(json!([]))
            .extended(hooks("a", "input", [says(json!({ "action": "handled" }))]))
            .host(10, said)
            .finish(Pi1);
        assert_eq!(played.answers("r")[0]["data"], json!({ "disposition": "handled" }), "{kind}");
        assert!(played.wrote(">", "queue_update").is_empty(), "{kind}: {}", played.log);
    }
}

#[test]
fn pi_1_transforms_queued_messages() {
    for (dialect, text) in [(Pi1, "go on"), (Pi073, "go")] {
        let changed = says(json!({ "action": "transform", "text": "go on" }));
        let played = scenario(json!([]))
            .extended(hooks("a", "input", [changed]))
            .host(10, json!({ "id": "r", "type": "steer", "message": "go" }))
            .finish(dialect);
        assert_eq!(played.last("queue_update")["steering"], json!([text]), "{dialect}");
    }
}

#[test]
fn pi_1_vetoed_fork_returns_only_cancelled() {
    for question in [json!({ "type": "clone" }), json!({ "type": "fork", "entryId": "$0" })] {
        let played = prompted(json!([model_says("Well.")]))
            .kept()
            .extended(hooks("a", "session_before_fork", [says(json!({ "cancel": true }))]))
            .host(50, request(question))
            .finish(Pi1);
        assert_eq!(played.answers("r")[0]["data"], json!({ "cancelled": true }), "{}", played.log);
    }
}

#[test]
fn prompts_queue_behind_an_outstanding_hook() {
    for dialect in DIALECTS {
        let played = scenario(json!([{ "say": [{ "text": "Well." }], "firstDelayMs": 300 }]))
            .extended(hooks("a", "input", [waits(50), done()]))
            .host(10, prompt("p", "one"))
            .host(20, shorthand::queued("q", "steer"))
            .host(30, prompt("r", "three"))
            .play(dialect);
        let refused = if dialect == Pi { "no r" } else { "ok r · no r" };
        let talk = format!(
            "< p · >a hook input · < q · < r · <a done · ok p · agent_start · user one · >a hook input · <a done · ok q · \
             >a hook input · <a done · {refused} · user q · agent_end [uaua]"
        );
        assert_eq!(played.transcript(), talk, "{dialect}");
    }
}

#[test]
fn prompt_meets_run_that_is_starting() {
    let adds = json!({ "hooks": ["input", "before_agent_start"] });
    let extension = Extension::new("a", adds)
        .on("hook input", [done()])
        .on("hook input", [done()])
        .on("hook input", [waits(100), done()])
        .on("hook before_agent_start", [done()])
        .on("hook before_agent_start", [waits(200), done()]);
    let turns =
        json!([shorthand::fills("Well.", 127_000), shorthand::summary("So far."), model_says("Well.")]);
    let talk = |behavior: Value| {
        let third = json!({ "id": "r", "type": "prompt", "message": "three", "streamingBehavior": behavior });
        let played = scenario(turns.clone())
            .modes(|modes| modes.compaction.keep_recent = 1)
            .extended(extension.clone())
            .host(10, prompt("p", "one"))
            .host(20, prompt("q", "two"))
            .host(40, third)
            .play(Pi);
        let talk = played.transcript();
        talk[talk.find("< q").unwrap_or_default()..].to_owned()
    };
    let start = "< q · >a hook input · <a done · ok q · < r · >a hook input · compact_end done · \
                 >a hook before_agent_start · <a done · ";
    let end = "<a done · agent_start · user two · agent_end";
    assert_eq!(talk(Value::Null), format!("{start}no r · {end} [ua]"));
    assert_eq!(
        talk(json!("steer")),
        format!("{start}ok r · <a done · agent_start · user two · user three · agent_end [uua]")
    );
}

#[test]
fn extension_messages_and_instructions_last_one_run() {
    let message = |text: &str| json!({ "customType": text, "content": text, "display": true });
    for dialect in DIALECTS {
        let played = prompted(json!([model_says("One."), model_says("Two.")]))
            .extended(
                hooks(
                    "a",
                    "before_agent_start",
                    [says(json!({ "message": message("first"), "systemPrompt": "Be rude." }))],
                )
                .on("hook before_agent_start", [done()]),
            )
            .extended(
                hooks("b", "before_agent_start", [says(json!({ "message": message("second") }))])
                    .on("hook before_agent_start", [done()]),
            )
            .host(100, prompt("q", "on"))
            .play(dialect);
        assert_eq!(
            played.transcript(),
            "< p · ok p · >a hook before_agent_start · <a done · >b hook before_agent_start · <b done · agent_start · \
             user go · custom first · custom second · agent_end [ucca] · < q · ok q · >a hook before_agent_start · \
             <a done · >b hook before_agent_start · <b done · agent_start · user on · agent_end [ua]",
            "{dialect}"
        );
        let instructions: Vec<&str> = played.called.iter().map(|it| it.instructions.as_str()).collect();
        assert_eq!(instructions, ["Be rude.", "Be brief."], "{dialect}");
        // A handler that leaves the instructions alone does not take the conversation its changes in place.
        let adds_up: Vec<bool> = played.called.iter().map(|it| it.has_system_messages).collect();
        assert_eq!(adds_up, [false, dialect.record().system_message_opens_run], "{dialect}");
        let told: Vec<Value> =
            played.wrote(">b", "hook before_agent_start").iter().map(|it| it["hook"].clone()).collect();
        let kind = "before_agent_start";
        assert_eq!(
            told,
            [
                json!({ "type": kind, "prompt": "go", "systemPrompt": "Be rude." }),
                json!({ "type": kind, "prompt": "on", "systemPrompt": "Be brief." }),
            ],
            "{dialect}"
        );
    }
}

#[test]
fn no_hook_registered_calls_no_extension() {
    for dialect in DIALECTS {
        let played = prompted(json!([calls("t1", "bash", "echo one"), model_says("Well.")]))
            .extended(Extension::new("a", json!({})))
            .host(100, command("new_session"))
            .ends(200)
            .play(dialect);
        assert_eq!(
            played.transcript(),
            "< p · ok p · agent_start · user go · start t1 · update t1 · end t1 · agent_end [uata] · < new_session · \
             ok new_session · < end of input · exit",
            "{dialect}"
        );
    }
}

#[test]
fn extensions_receive_subscribed_events_without_snapshots() {
    let answer = json!([{ "say": [{ "text": "Hello there.", "size": 6 }, { "tool": "probe", "id": "t1", "arguments": { "command": "" }, "size": 0 }] }, model_says("Well.")]);
    let played = prompted(answer)
        .extended(Extension::new("a", json!({ "events": ["message_update", "agent_end"] })))
        .extended(Extension::new("b", json!({ "events": ["*"] })))
        .extended(Extension::new("c", json!({})))
        .play(Pi);
    let seen = |who: &str| -> Vec<Value> {
        played
            .steps
            .iter()
            .filter(|it| it.who == who && it.frame["type"] == "event")
            .map(|it| it.frame["event"].clone())
            .collect()
    };
    let events = |kind: &[&str]| -> Vec<String> {
        let said = played.said.iter().map(|it| it["type"].as_str().unwrap_or_default().to_owned());
        said.filter(|it| kind.contains(&it.as_str()) || kind.contains(&"*") && it != "response").collect()
    };
    let kinds = |seen: Vec<Value>| -> Vec<String> {
        seen.iter().map(|it| it["type"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(kinds(seen(">a")), events(&["message_update", "agent_end"]));
    assert_eq!(kinds(seen(">b")), events(&["*"]));
    assert_eq!(kinds(seen(">c")), Vec::<String>::new());
    let updates: Vec<Value> = seen(">a").into_iter().filter(|it| it["type"] == "message_update").collect();
    let mut bare: Vec<Value> = played.frames("message_update").cloned().collect();
    for update in &mut bare {
        update.as_object_mut().map(|it| it.remove("message"));
        update["assistantMessageEvent"].as_object_mut().map(|it| it.remove("partial"));
    }
    assert_eq!(updates, bare);
}
