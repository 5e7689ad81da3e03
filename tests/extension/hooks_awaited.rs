//! Events that extensions wait for: what they do in answer counts for what comes next.

use crate::asking_support::{
    Extension, PeerStep, Playback, answer, done, fails, prompted, says, scenario, shorthand, ui, waits,
    writes,
};
use pi_rpc::protocol::Dialect::{self, Pi, Pi1, Pi058, Pi073, Xcsh};
use serde_json::{Value, json};
use shorthand::{calls, command, prompt, says as model_says};

const DIALECTS: [Dialect; 5] = [Pi, Pi058, Pi073, Pi1, Xcsh];

/// An extension that waits for events of these types.
fn awaits(name: &'static str, events: &[&str]) -> Extension {
    Extension::new(name, json!({ "hooks": ["event"], "events": events, "awaits": events }))
}

/// The same for one type; it does this when it is told.
fn answers(event: &str, does: impl IntoIterator<Item = PeerStep>) -> Extension {
    awaits("a", &[event]).on(&format!("awaited {event}"), does)
}

/// The extension steers what goes on.
fn steers() -> PeerStep {
    writes(json!({
        "type": "send_user_message", "origin": "$", "content": "left", "deliverAs": "steer",
    }))
}

#[test]
fn awaited_events_complete_before_the_next_step() {
    let events = [
        "agent_start",
        "turn_start",
        "message_start",
        "message_end",
        "tool_execution_start",
        "tool_execution_end",
        "turn_end",
        "agent_end",
    ];
    for dialect in DIALECTS {
        let slow = events.iter().fold(awaits("a", &events), |extension, event| {
            extension.on(&format!("awaited {event}"), [waits(1000), done()])
        });
        let turns = json!([calls("t1", "bash", "echo one"), model_says("Well.")]);
        let slow = prompted(turns.clone()).extended(slow).play(dialect);
        let heard: Vec<&str> = slow
            .steps
            .iter()
            .filter(|step| step.who == ">a")
            .filter_map(|it| it.frame["hook"]["event"]["type"].as_str())
            .collect();
        let said: Vec<&str> =
            slow.said.iter().filter_map(|it| it["type"].as_str()).filter(|it| events.contains(it)).collect();
        assert_eq!(heard, said, "{dialect}");
        let alone = prompted(turns).play(dialect);
        assert_eq!(slow.shape(), alone.shape(), "{dialect}");
        // Each was told only when the one before it was heard.
        let told: Vec<u64> = slow
            .steps
            .iter()
            .filter(|step| step.who == ">a" && step.frame["type"] == "hook")
            .map(|it| it.at)
            .collect();
        assert!(told.windows(2).all(|pair| pair[1] >= pair[0] + 1000), "{dialect}: {told:?}");
        let last = slow.steps.iter().rfind(|step| step.who == "<a").map(|step| step.at);
        assert_eq!(slow.steps.iter().filter(|step| step.who == "<a").count(), heard.len() + 1, "{dialect}");
        assert!(last >= told.last().map(|at| at + 1000), "{dialect}");
    }
}

/// The extension asks the host in the handler of an event.
fn asks(event: &str) -> Extension {
    answers(event, [ui("d", json!({ "method": "confirm", "title": "Go on?", "message": "?" }))])
        .on("ui_answer d", [done()])
}

/// What the host is sent: each frame by its kind.
fn sent(played: &Playback) -> Vec<String> {
    let name = |it: &Value| it["method"].as_str().or_else(|| it["type"].as_str()).map(str::to_owned);
    played.said.iter().filter_map(name).collect()
}

#[test]
fn notices_of_handlers_precede_their_frame() {
    let events = [
        "agent_start",
        "turn_start",
        "message_start",
        "message_end",
        "tool_execution_start",
        "tool_execution_end",
        "turn_end",
        "agent_end",
    ];
    for dialect in DIALECTS {
        let shows = events.iter().fold(awaits("a", &events), |extension, event| {
            let notice = ui("n", json!({ "method": "notify", "message": event }));
            extension.on(&format!("awaited {event}"), [waits(1000), notice, done()])
        });
        let turns = json!([calls("t1", "bash", "echo one"), model_says("Well.")]);
        let played = prompted(turns).extended(shows).play(dialect);
        let frames: Vec<&Value> = played.said.iter().collect();
        let mut seen = 0;
        for pair in frames.windows(2) {
            if let Some(event) = pair[1]["type"].as_str().filter(|it| events.contains(it)) {
                assert_eq!(pair[0]["message"], event, "{dialect}: {}", played.transcript());
                seen += 1;
            }
        }
        assert!(seen > 15, "{dialect}: {seen}");
    }
}

#[test]
fn dialog_of_agent_end_precedes_its_frame() {
    for dialect in DIALECTS {
        let played = prompted(json!([model_says("Well.")]))
            .extended(asks("agent_end"))
            .host(60_000, answer(0, "confirmed", true))
            .play(dialect);
        let sent = sent(&played);
        let at = |what: &str| sent.iter().position(|it| it == what);
        assert!(at("turn_end") < at("confirm") && at("confirm") < at("agent_end"), "{dialect}: {sent:?}");
        let end = played.steps.iter().find(|step| step.frame["type"] == "agent_end" && step.who == ">");
        assert_eq!(end.map(|step| step.at), Some(60_000), "{dialect}");
    }
}

#[test]
fn frame_waits_thirty_seconds_for_all_handlers() {
    for dialect in DIALECTS {
        let slow = |name| awaits(name, &["turn_end"]).on("awaited turn_end", [waits(20_000), done()]);
        let played =
            prompted(json!([model_says("Well.")])).extended(slow("a")).extended(slow("b")).play(dialect);
        let at = |who: &str, kind: &str| {
            let first = played.steps.iter().find(|step| step.who == who && step.frame["type"] == kind);
            first.map_or(0, |step| step.at)
        };
        assert_eq!(at(">", "turn_end") - at(">a", "hook"), 30_000, "{dialect}");
        assert_eq!(at(">", "agent_end") - at(">a", "hook"), 40_000, "{dialect}");
    }
}

#[test]
fn commands_overtake_no_end_of_run() {
    for (dialect, end) in
        [(Pi, "agent_end"), (Pi073, "agent_end"), (Pi1, "agent_settled"), (Xcsh, "agent_end")]
    {
        for kind in ["compact", "new_session", "prompt"] {
            let slow = answers(end, [waits(20_000), done()]);
            let next = if kind == "prompt" { prompt("x", "more") } else { command(kind) };
            let played = prompted(json!([model_says("Well."), model_says("More.")]))
                .extended(slow)
                .host(5_000, next)
                .play(dialect);
            let place = |is: &dyn Fn(&Value) -> bool| played.said.iter().position(is);
            let ended = place(&|it| it["type"] == end);
            let follows = |it: &Value| {
                let frame = it["type"].as_str().unwrap_or_default();
                frame.contains("compaction_start") || frame == "response" && it["command"] == "new_session"
            };
            let overtaken = place(&follows).is_some_and(|at| Some(at) < ended);
            assert!(ended.is_some() && !overtaken, "{dialect}: {kind}: {}", played.transcript());
        }
    }
}

#[test]
fn abort_and_reads_work_while_frames_wait() {
    for dialect in DIALECTS {
        let played = prompted(json!([model_says("Never.")]))
            .extended(asks("message_start").on("awaited message_start", [done()]))
            .host(500, command("get_state"))
            .host(1000, command("abort"))
            .play(dialect);
        assert_eq!(played.answers("get_state").len(), 1, "{dialect}");
        let answered = played.steps.iter().find(|step| step.frame["command"] == "abort");
        assert_eq!(answered.map(|step| step.at), Some(1000), "{dialect}: {}", played.transcript());
        assert_eq!(sent(&played).iter().filter(|it| *it == "agent_end").count(), 1, "{dialect}");
    }
}

/// A message that an extension adds, after which the model is requested once more.
fn goes_on() -> PeerStep {
    let message = json!({ "customType": "note", "content": "Go on.", "display": false });
    let state = json!({ "customType": "count", "data": 1 });
    says(json!({ "entries": [{ "message": message }, state], "continues": true }))
}

#[test]
fn turn_end_outcome_continues_the_run() {
    let once = answers("turn_end", [goes_on()]).on("awaited turn_end", [done()]);
    let played = prompted(json!([model_says("Well."), model_says("Again.")])).extended(once).play(Pi1);
    let sent = sent(&played);
    let ends: Vec<&str> = sent
        .iter()
        .map(String::as_str)
        .filter(|it| ["entry_appended", "turn_end", "agent_end", "agent_settled"].contains(it))
        .collect();
    let expected = ["entry_appended", "entry_appended", "turn_end", "turn_end", "agent_end", "agent_settled"];
    assert_eq!(ends, expected, "{}", played.transcript());
    let asked = played.called[1].messages.last().map(|it| it["role"].clone());
    assert_eq!(asked, Some(json!("custom")));
}

#[test]
fn before_settle_outcome_starts_another_run() {
    let hooks = json!({ "hooks": ["agent_before_settle"] });
    let once = Extension::new("a", hooks)
        .on("hook agent_before_settle", [goes_on()])
        .on("hook agent_before_settle", [done()]);
    let played = prompted(json!([model_says("Well."), model_says("Again.")])).extended(once).play(Pi1);
    let sent = sent(&played);
    let ends: Vec<&str> = sent
        .iter()
        .map(String::as_str)
        .filter(|it| ["agent_start", "entry_appended", "agent_end", "agent_settled"].contains(it))
        .collect();
    let expected = [
        "agent_start",
        "agent_end",
        "entry_appended",
        "entry_appended",
        "agent_start",
        "agent_end",
        "agent_settled",
    ];
    assert_eq!(ends, expected, "{}", played.transcript());
}

#[test]
fn continuing_without_anything_to_answer_fails() {
    let hooks = json!({ "hooks": ["agent_before_settle"] });
    let asks =
        Extension::new("a", hooks).on("hook agent_before_settle", [says(json!({ "continues": true }))]);
    let played = prompted(json!([model_says("Well.")])).extended(asks).play(Pi1);
    let error = "agent_before_settle requested continuation without runnable model context";
    assert_eq!(played.last("extension_error")["error"], error);
    assert_eq!(played.last("extension_error")["extensionPath"], "<boundary>");
    assert_eq!(played.called.len(), 1);
}

#[test]
fn abort_before_settling_starts_no_run() {
    let hooks = json!({ "hooks": ["agent_before_settle"] });
    let slow = Extension::new("a", hooks).on("hook agent_before_settle", [waits(1000), goes_on()]);
    let played = prompted(json!([model_says("Well.")])).extended(slow).host(500, command("abort")).play(Pi1);
    assert_eq!((played.called.len(), played.answers("abort").len()), (1, 1), "{}", played.transcript());
}

#[test]
fn steering_from_turn_end_hook_comes_next() {
    for dialect in DIALECTS {
        let turns = json!([calls("t1", "bash", "echo one"), model_says("Well."), model_says("Left, then.")]);
        let once = answers("turn_end", [waits(50), steers(), done()]).on("awaited turn_end", [done()]);
        let played = prompted(turns.clone()).extended(once).play(dialect);
        let second = &played.called[1].messages;
        assert_eq!(
            second.last().map(|it| it["content"][0]["text"].clone()),
            Some(json!("left")),
            "{dialect}"
        );
        assert_eq!(
            played.last("agent_end")["messages"].as_array().map(|all| roles(all)),
            Some("uatua".to_owned()),
            "{dialect}"
        );
    }
}

#[test]
fn steering_from_last_turn_continues_run() {
    for dialect in DIALECTS {
        let once = answers("turn_end", [waits(50), steers(), done()]).on("awaited turn_end", [done()]);
        let played =
            prompted(json!([model_says("Well."), model_says("Left, then.")])).extended(once).play(dialect);
        assert_eq!(roles(played.last("agent_end")["messages"].as_array().unwrap()), "uaua", "{dialect}");
    }
}

#[test]
fn abort_during_agent_start_prevents_model_request() {
    for dialect in DIALECTS {
        let played = prompted(json!([model_says("Never.")]))
            .extended(answers("agent_start", [waits(100), done()]))
            .host(50, command("abort"))
            .play(dialect);
        assert_eq!(played.called.len(), 0, "{dialect}");
        assert!(
            played.transcript().ends_with("agent_end [ua] · ok abort")
                || played.transcript().contains("agent_end [ua] · agent_settled · ok abort"),
            "{dialect}: {}",
            played.transcript()
        );
    }
}

#[test]
fn abort_during_turn_end_prevents_model_request() {
    for dialect in DIALECTS {
        let turns = json!([calls("t1", "bash", "echo one"), model_says("Never.")]);
        let played = prompted(turns)
            .extended(answers("turn_end", [waits(1000), done()]))
            .host(500, command("abort"))
            .play(dialect);
        assert_eq!(played.called.len(), 1, "{dialect}");
        assert_eq!(played.answers("abort").len(), 1, "{dialect}");
        assert_eq!(roles(played.last("agent_end")["messages"].as_array().unwrap()), "uata", "{dialect}");
    }
}

#[test]
fn abort_during_execution_start_skips_the_call() {
    for dialect in DIALECTS {
        let turns = json!([calls("t1", "bash", "echo one"), model_says("Never.")]);
        let played = prompted(turns)
            .extended(answers("tool_execution_start", [waits(1000), done()]))
            .host(500, command("abort"))
            .play(dialect);
        assert_eq!(played.last("tool_execution_end")["isError"], true, "{dialect}");
        assert_eq!(played.answers("abort").len(), 1, "{dialect}");
    }
}

#[test]
fn prompt_during_agent_end_runs_afterwards() {
    for dialect in [Pi, Pi058, Pi073, Xcsh] {
        let played = prompted(json!([model_says("Well."), model_says("Again.")]))
            .extended(answers("agent_end", [waits(1000), done()]))
            .host(500, prompt("q", "more"))
            .host(501, command("get_state"))
            .play(dialect);
        let talk = played.transcript();
        let at = |what: &str| talk.find(what).unwrap_or_else(|| panic!("{dialect}: no {what}: {talk}"));
        assert!(
            at(">a awaited agent_end · < q · < get_state · ok get_state · <a done · agent_end [ua] · ok q")
                < at("user more"),
            "{dialect}: {talk}"
        );
        assert_eq!(played.called.len(), 2, "{dialect}");
    }
}

#[test]
fn awaited_event_replaces_the_plain_one() {
    let both = Extension::new(
        "a",
        json!({ "hooks": ["event"], "events": ["*"], "awaits": ["agent_end", "message_update"] }),
    )
    .on("awaited agent_end", [done()]);
    let played = prompted(json!([model_says("Well.")])).extended(both).play(Pi);
    let seen: Vec<(&str, &str)> = played
        .steps
        .iter()
        .filter(|step| step.who == ">a")
        .filter_map(|step| match step.frame["type"].as_str()? {
            "hook" => Some(("hook", step.frame["hook"]["event"]["type"].as_str()?)),
            "event" => Some(("event", step.frame["event"]["type"].as_str()?)),
            _ => None,
        })
        .collect();
    let said: Vec<(&str, &str)> = played
        .said
        .iter()
        .filter_map(|it| it["type"].as_str())
        .filter(|it| *it != "response")
        .map(|it| (if it == "agent_end" { "hook" } else { "event" }, it))
        .collect();
    assert_eq!(seen, said);
}

#[test]
fn failing_awaited_hook_blocks_only_until_deadline() {
    for dialect in DIALECTS {
        for (does, at, error) in [
            (vec![], 30_000, Some("turn_end: No answer within 30 s")),
            (vec![waits(70), fails("no")], 70, Some("turn_end: no")),
            (vec![waits(70), PeerStep::Ends("it fell")], 70, None),
        ] {
            let played =
                prompted(json!([model_says("Well.")])).extended(answers("turn_end", does)).play(dialect);
            let first = |who: &str, kind: &str| {
                let step = played.steps.iter().find(|step| step.who == who && step.frame["type"] == kind);
                step.map(|step| step.at)
            };
            for end in ["turn_end", "agent_end"] {
                let took = first(">", end).zip(first(">a", "hook")).map(|(end, hook)| end - hook);
                assert_eq!(took, Some(at), "{dialect} {end}");
            }
            if let Some(error) = error {
                assert!(
                    played.transcript().contains(&format!("error {error}")),
                    "{dialect}: {}",
                    played.transcript()
                );
            }
        }
    }
}

#[test]
fn process_ends_during_awaited_event() {
    for dialect in DIALECTS {
        for event in ["agent_start", "message_end", "tool_execution_start", "turn_end", "agent_end"] {
            for stop in [true, false] {
                let turns = json!([calls("t1", "bash", "echo one"), model_says("Well.")]);
                let scenario = prompted(turns).extended(answers(event, []));
                let played = if stop { scenario.stops(500) } else { scenario.ends(500) }.finish(dialect);
                let last = played.steps.last().map_or(0, |step| step.at);
                // One deadline for each time that it is asked; then it is ended for hanging, and started again.
                let most = if stop { 1_000 } else { 8 * 31_000 };
                assert!(last <= most, "{dialect} {event} {stop}: {last}");
            }
        }
    }
}

#[test]
fn context_hook_replaces_messages_of_request() {
    let instead = json!([{ "role": "user", "content": "forget it", "timestamp": 1 }]);
    for dialect in DIALECTS {
        let hooks = json!({ "hooks": ["context"] });
        let played = prompted(json!([calls("t1", "bash", "echo one"), model_says("Well.")]))
            .extended(
                Extension::new("a", hooks.clone())
                    .on("hook context", [waits(9), says(json!({ "messages": instead }))])
                    .on("hook context", [done()]),
            )
            .extended(Extension::new("b", hooks).on("hook context", [done()]))
            .play(dialect);
        let told: Vec<String> = played
            .wrote(">b", "hook context")
            .iter()
            .map(|it| roles(it["hook"]["messages"].as_array().unwrap()))
            .collect();
        assert_eq!(told, ["u", "uat"], "{dialect}");
        assert_eq!(played.called[0].messages, [instead[0].clone()], "{dialect}");
        assert_eq!(roles(played.last("agent_end")["messages"].as_array().unwrap()), "uata", "{dialect}");
    }
}

#[test]
fn abort_during_context_hook_prevents_model_request() {
    for dialect in DIALECTS {
        let hooks = json!({ "hooks": ["context"] });
        let played = prompted(json!([model_says("Never.")]))
            .extended(Extension::new("a", hooks).on("hook context", [waits(100), done()]))
            .host(50, command("abort"))
            .play(dialect);
        assert_eq!((played.called.len(), played.answers("abort").len()), (0, 1), "{dialect}");
    }
}

#[test]
fn message_end_hook_replaces_message_before_persisting() {
    for dialect in [Pi073, Pi1] {
        let replaces = |role: &str| {
            let message = match role {
                "toolResult" => {
                    json!({ "role": role, "toolCallId": "t1", "toolName": "bash", "content": [{ "type": "text", "text": "mine" }], "isError": false, "timestamp": 1 })
                }
                role => json!({ "role": role, "content": "mine", "timestamp": 1 }),
            };
            says(json!({ "messages": [message] }))
        };
        let hooks = json!({ "hooks": ["message_end"] });
        let system = dialect == Pi1;
        let mut extension = Extension::new("a", hooks);
        if system {
            extension = extension.on("hook message_end", [done()]);
        }
        let extension = extension
            .on("hook message_end", [replaces("user")])
            .on("hook message_end", [replaces("user")])
            .on("hook message_end", [replaces("toolResult")])
            .on("hook message_end", [done()]);
        let played = prompted(json!([calls("t1", "bash", "echo one"), model_says("Well.")]))
            .extended(extension)
            .play(dialect);
        let kept = &played.called[1].messages;
        let texts: Vec<&Value> =
            kept.iter().filter(|it| it["role"] != "system").map(|it| &it["content"]).collect();
        assert_eq!(texts[0], "mine", "{dialect}");
        assert_eq!(texts[2][0]["text"], "mine", "{dialect}");
        // The second one had another role.
        assert!(
            played.transcript().contains("error message_end: The message instead must have the same role"),
            "{dialect}"
        );
        let end = played.said.iter().find(|it| it["type"] == "turn_end").unwrap();
        assert_eq!(end["toolResults"][0]["content"][0]["text"], "mine", "{dialect}");
    }
}

#[test]
fn model_and_level_changes_call_hooks() {
    let hooks = json!({ "hooks": ["model_select", "thinking_level_select"] });
    let extension = Extension::new("a", hooks)
        .on("hook model_select", [done()])
        .on("hook thinking_level_select", [done()]);
    let played = scenario(json!([]))
        .extended(extension)
        .host(10, command("cycle_model"))
        .host(20, json!({ "id": "level", "type": "set_thinking_level", "level": "high" }))
        .host(30, json!({ "id": "same", "type": "set_thinking_level", "level": "high" }))
        .play(Pi073);
    let told: Vec<&Value> = played
        .steps
        .iter()
        .filter(|step| step.who == ">a")
        .map(|it| &it.frame["hook"])
        .filter(|it| !it.is_null())
        .collect();
    let sources: Vec<String> = told
        .iter()
        .map(|it| format!("{} {}", it["type"], it.get("source").unwrap_or(&it["level"])))
        .collect();
    assert_eq!(sources, ["\"model_select\" \"cycle\"", "\"thinking_level_select\" \"high\""]);
}

fn roles(messages: &[Value]) -> String {
    messages.iter().filter_map(|it| it["role"].as_str()?.chars().next()).filter(|it| *it != 's').collect()
}
