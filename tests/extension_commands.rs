//! Slash commands of extensions, their processes, and what they do to the conversation by themselves.

mod asking_support;

use asking_support::{
    Does, Extension, Played, Scenario, accepts, answer, done, fails, say, says, scenario, tool_result,
    tool_update, ui_of_none, waits, writes,
};
use pi_rpc::protocol::Dialect::{self, Pi, Xcsh};
use say::{calls, command, prompt, says as model_says};
use serde_json::{Value, json};

const DIALECTS: [Dialect; 2] = [Pi, Xcsh];

/// An extension with the command `do`, which does this.
fn does(steps: impl IntoIterator<Item = Does>) -> Extension {
    Extension::new("a", json!({ "commands": [{ "name": "do", "description": "Does it." }] }))
        .on("command do", steps)
}

/// A model that answers with a text after that time.
fn answers_after(time: u64) -> Value {
    json!({ "say": [{ "text": "Well." }], "firstDelayMs": time })
}

#[test]
fn a_command_is_acknowledged_when_it_is_taken_up_and_opens_no_run() {
    for dialect in DIALECTS {
        for (steps, talk) in [
            (vec![waits(20), accepts(), waits(50_000), done()], "20 <a accept · 20 ok p · 50020 <a done"),
            (vec![waits(20), done()], "20 <a done · 20 ok p"),
            (
                vec![
                    waits(20),
                    writes(json!({ "type": "set_session_name", "origin": "$", "name": "x" })),
                    waits(50_000),
                    done(),
                ],
                "20 <a set_session_name · 20 ok p · 50020 <a done",
            ),
        ] {
            let played =
                scenario(json!([])).extended(does(steps)).host(0, prompt("p", "/do it  well")).play(dialect);
            assert_eq!(played.timed(), format!("0 < p · 0 >a command do · {talk}"), "{dialect}");
            assert_eq!(played.wrote(">a", "command do")[0]["arguments"], "it  well", "{dialect}");
        }
    }
}

#[test]
fn a_command_without_arguments_has_empty_ones() {
    let played = scenario(json!([])).extended(does([done()])).host(0, prompt("p", "/do")).play(Pi);
    assert_eq!(played.wrote(">a", "command do")[0]["arguments"], "");
}

#[test]
fn a_command_that_fails_is_told_and_acknowledged_all_the_same() {
    for dialect in DIALECTS {
        for (steps, told) in [
            (vec![fails("no idea")], "<a failed · ok p · error command: no idea"),
            (
                vec![accepts(), waits(20_000), fails("no idea")],
                "<a accept · ok p · <a failed · error command: no idea",
            ),
            (vec![], ">a cancel · error command: The command was not taken up within 10 s · ok p"),
            (
                vec![waits(15_000), done()],
                ">a cancel · error command: The command was not taken up within 10 s · ok p · <a done",
            ),
            (
                vec![waits(5), Does::Ends("killed")],
                "<a ends · error end: The extension has ended: killed · error command: The extension has ended: killed · ok p",
            ),
        ] {
            let played = scenario(json!([])).extended(does(steps)).host(0, prompt("p", "/do")).play(dialect);
            assert_eq!(played.talk(), format!("< p · >a command do · {told}"), "{dialect}");
            let path =
                played.said.iter().rfind(|it| it["type"] == "extension_error").map(|it| &it["extensionPath"]);
            assert_eq!(path, Some(&json!("command:do")), "{dialect}");
        }
    }
}

#[test]
fn a_command_is_carried_out_whatever_goes_on() {
    let fails = json!({ "fail": { "status": 529 } });
    for dialect in DIALECTS {
        for (state, turns, before) in [
            ("streaming.message", json!([answers_after(5000)]), vec![prompt("p", "go")]),
            (
                "streaming.tools",
                json!([calls("t1", "bash", "sleep 5000"), model_says("Well.")]),
                vec![prompt("p", "go")],
            ),
            ("retrying", json!([fails, model_says("Well.")]), vec![prompt("p", "go")]),
            (
                "compacting",
                json!([say::fills("Well.", 127_000), say::summary("So far.")]),
                vec![prompt("p", "go")],
            ),
        ] {
            let scenario =
                before.into_iter().fold(scenario(turns), |scenario, frame| scenario.host(10, frame));
            // In small pieces, so that something can be summed up.
            let played = scenario
                .modes(|modes| modes.compaction.keep_recent = 1)
                .extended(does([accepts(), done()]))
                .host(20, prompt("c", "/do"))
                .play(dialect);
            let talk = played.talk();
            assert!(
                talk.contains("< c · >a command do · <a accept · ok c · <a done"),
                "{state} in {dialect}: {talk}"
            );
            let met =
                played.steps.iter().find(|step| step.frame["id"] == "c" && step.frame["type"] == "response");
            assert_eq!(met.map(|step| step.state.as_str()), Some(state), "{dialect}: {talk}");
        }
    }
}

#[test]
fn commands_are_not_queued() {
    for dialect in DIALECTS {
        let steer = json!({ "id": "s", "type": "steer", "message": "/do it" });
        let follow_up = json!({ "id": "f", "type": "follow_up", "message": "/do" });
        let played =
            scenario(json!([])).extended(does([done()])).host(0, steer).host(1, follow_up).play(dialect);
        let text = "Extension command \"/do\" cannot be queued. Use prompt() or execute the command when not streaming.";
        let errors: Vec<&str> = played.said.iter().filter_map(|it| it["error"].as_str()).collect();
        let text = if dialect == Xcsh { format!("Failed to parse command: {text}") } else { text.to_owned() };
        assert_eq!(errors, [&text, &text], "{dialect}");
        assert_eq!(played.wrote(">a", "command do").len(), 0, "{dialect}");
    }
}

#[test]
fn a_name_that_nobody_registered_is_said_to_the_model() {
    for dialect in DIALECTS {
        for text in ["/unknown thing", "/dot", "/ do", "say /do"] {
            let played = scenario(json!([model_says("Well.")]))
                .extended(does([done()]))
                .host(0, prompt("p", text))
                .play(dialect);
            assert_eq!(
                played.talk(),
                format!("< p · ok p · agent_start · user {text} · agent_end [ua]"),
                "{dialect}"
            );
        }
    }
}

#[test]
fn the_first_of_two_extensions_with_a_command_of_one_name_has_it() {
    let second = Extension::new("b", json!({ "commands": [{ "name": "do" }] }));
    let played = scenario(json!([]))
        .extended(does([done()]))
        .extended(second)
        .host(0, prompt("p", "/do"))
        .host(10, command("get_commands"))
        .play(Pi);
    assert_eq!(played.talk(), "< p · >a command do · <a done · ok p · < get_commands · ok get_commands");
    let first = json!({ "name": "do", "description": "Does it.", "source": "extension", "path": "/x/a" });
    assert_eq!(played.answers("get_commands")[0]["data"]["commands"][0], first);
}

#[test]
fn in_a_dialect_that_serves_one_by_one_a_command_is_answered_before_what_comes_after_it() {
    let played = scenario(json!([]))
        .extended(does([waits(100), accepts(), waits(100), done()]))
        .host(0, prompt("p", "/do"))
        .host(10, command("get_state"))
        .play(Xcsh);
    assert_eq!(
        played.talk(),
        "< p · >a command do · < get_state · <a accept · ok p · ok get_state · <a done"
    );
}

#[test]
fn the_host_is_heard_when_every_extension_has_registered_or_ten_seconds_are_over() {
    let register = writes(json!({ "type": "register", "commands": [{ "name": "do" }] }));
    let late = Extension::silent("a").on("hello", [waits(3000), register]).on("command do", [done()]);
    for dialect in DIALECTS {
        let played = scenario(json!([])).extended(late.clone()).host(10, prompt("p", "/do")).play(dialect);
        assert_eq!(played.timed(), "10 < p · 3000 >a command do · 3000 <a done · 3000 ok p", "{dialect}");
        let first = played.said.first().map(|it| it["type"].as_str().unwrap_or_default());
        assert_eq!(first, Some(if dialect == Xcsh { "ready" } else { "response" }), "{dialect}");

        let served = match dialect {
            Xcsh => "10000 <a done · 10000 ok p · 10000 ok get_state",
            _ => "10000 ok get_state · 10000 <a done · 10000 ok p",
        };
        let never = Extension::silent("b");
        let played = scenario(json!([]))
            .extended(late.clone())
            .extended(never)
            .host(10, prompt("p", "/do"))
            .host(20, command("get_state"))
            .play(dialect);
        assert_eq!(
            played.timed(),
            format!(
                "10 < p · 20 < get_state · 10000 #b stopped · \
                 10000 error start: It did not register within 10 s and was ended · 10000 >a command do · {served} · \
                 10003 <b ends · 10003 error end: The extension has ended and is not started again: killed"
            ),
            "{dialect}"
        );
        let error = played.last("extension_error");
        assert_eq!(error["extensionPath"], "/x/b", "{dialect}");
    }
}

#[test]
fn input_that_ends_before_every_extension_has_registered_is_served_all_the_same() {
    let register = writes(json!({ "type": "register", "commands": [{ "name": "do" }] }));
    let late = Extension::silent("a").on("hello", [waits(3000), register]).on("command do", [done()]);
    let played = scenario(json!([])).extended(late).host(10, prompt("p", "/do")).ends(20).play(Pi);
    assert_eq!(
        played.timed(),
        "10 < p · 20 < end of input · 3000 >a command do · 3000 <a done · 3000 ok p · 3000 exit"
    );
}

#[test]
fn a_process_that_is_told_to_stop_does_not_wait_for_extensions_to_register() {
    for dialect in DIALECTS {
        let played = scenario(json!([]))
            .extended(Extension::silent("a"))
            .host(5, command("get_state"))
            .stops(10)
            .finish(dialect);
        assert_eq!(played.timed(), "5 < get_state · 10 < shutdown · 10 exit", "{dialect}");
    }
}

#[test]
fn an_extension_that_cannot_be_started_or_does_not_register_is_told_once() {
    for dialect in DIALECTS {
        let gone = Extension::silent("a").on("start", [waits(1), Does::Ends("No such file or directory")]);
        let played =
            scenario(json!([model_says("Well.")])).extended(gone).host(10, prompt("p", "go")).play(dialect);
        assert_eq!(
            played.talk(),
            "<a ends · error end: The extension has ended and is not started again: No such file or directory · < p · \
             ok p · agent_start · user go · agent_end [ua]",
            "{dialect}"
        );
    }
}

#[test]
fn an_extension_that_ends_is_started_three_times_again() {
    for dialect in DIALECTS {
        let ends = does([Does::Ends("killed")]);
        let played = (0..5).fold(scenario(json!([])).extended(ends), |scenario, n| {
            scenario.host(100 * n, prompt(&format!("p{n}"), "/do"))
        });
        let played = played.play(dialect);
        let once = |n: u64, text: &str| {
            format!(
                "< p{n} · >a command do · <a ends · error end: {text} · error command: {text} · ok p{n} · "
            )
        };
        let again = "The extension has ended: killed";
        let last = "The extension has ended and is not started again: killed";
        let gone = "< p4 · error command: The extension is not running · ok p4";
        let talk = [once(0, again), once(1, again), once(2, again), once(3, last), gone.to_owned()].concat();
        assert_eq!(played.talk(), talk, "{dialect}");
        assert_eq!(played.wrote(">a", "hello").len(), 4, "{dialect}");
    }
}

#[test]
fn lines_that_are_no_frames_are_told_once_and_end_the_extension_when_they_are_many() {
    for dialect in DIALECTS {
        let babbles = does((0..20).map(|_| Does::Strays("no JSON"))).on("command do", [done()]);
        let played = scenario(json!([]))
            .extended(babbles)
            .host(10, prompt("p", "/do"))
            .host(100, prompt("q", "/do"))
            .play(dialect);
        let strays = "<a strays · ".repeat(15);
        assert_eq!(
            played.talk(),
            format!(
                "< p · >a command do · <a strays · error frame: A line is no frame: no JSON · {strays}\
                 error frame: 16 lines were no frames; the extension was ended · #a stopped · <a ends · \
                 error end: The extension has ended: killed · error command: The extension has ended: killed · ok p · \
                 < q · >a command do · <a done · ok q"
            ),
            "{dialect}"
        );
    }
}

#[test]
fn an_extension_registers_once_and_first() {
    let text = "A line is no frame: `register` comes once, and first";
    let early = Extension::silent("a").on(
        "start",
        [
            writes(json!({ "type": "set_session_name", "name": "mine" })),
            waits(5),
            writes(json!({ "type": "register" })),
            writes(json!({ "type": "register", "commands": [{ "name": "do" }] })),
        ],
    );
    let played = scenario(json!([])).extended(early).host(10, command("get_state")).play(Pi);
    assert_eq!(
        played.talk(),
        format!("<a set_session_name · error frame: {text} · < get_state · ok get_state")
    );
    assert_eq!(played.answers("get_state")[0]["data"]["sessionName"], Value::Null);
}

#[test]
fn what_cannot_be_registered_is_told_and_the_rest_holds() {
    let tool = |name: &str, description: &str, parameters: Value| json!({ "name": name, "description": description, "parameters": parameters });
    let adds = json!({
        "commands": [{ "name": "two words" }, { "name": "" }, { "name": "do" }],
        "tools": [
            tool("bash", "Taken.", json!({})),
            tool("", "Nameless.", json!({})),
            tool("mute", " ", json!({})),
            tool("broken", "Broken.", json!({ "type": 7 })),
            tool("mine", "Mine.", json!({ "type": "object" })),
            tool("mine", "Mine, too.", json!({ "type": "object" })),
        ],
    });
    let played = scenario(json!([model_says("Well.")]))
        .extended(Extension::new("a", adds).on("command do", [done()]))
        .host(10, prompt("p", "/do"))
        .host(20, prompt("q", "go"))
        .play(Pi);
    let errors: Vec<String> = played
        .said
        .iter()
        .filter(|it| it["type"] == "extension_error")
        .map(|it| {
            format!(
                "{} {}",
                it["event"].as_str().unwrap_or_default(),
                it["error"].as_str().unwrap_or_default()
            )
        })
        .collect();
    let (schemas, rest): (Vec<String>, Vec<String>) =
        errors.into_iter().partition(|it| it.contains("are no JSON Schema"));
    assert_eq!(schemas.len(), 1);
    assert!(
        schemas[0].starts_with("register Tool \"broken\": its parameters are no JSON Schema: "),
        "{schemas:?}"
    );
    assert_eq!(
        rest,
        [
            "register Command \"two words\": expected a name without blanks, not empty",
            "register Command \"\": expected a name without blanks, not empty",
            "register Tool \"bash\" conflicts with an existing tool",
            "register Tool \"\": expected a name and a description, not empty",
            "register Tool \"mute\": expected a name and a description, not empty",
            "register Tool \"mine\" conflicts with an existing tool",
        ]
    );
    assert_eq!(played.called[0].tools, ["bash", "probe", "mine"]);
    assert!(played.talk().contains("< p · >a command do · <a done · ok p"), "{}", played.talk());
}

/// An extension with the tool `mine`.
fn tool(steps: impl IntoIterator<Item = Does>) -> Extension {
    let parameters = json!({ "type": "object", "properties": { "command": { "type": "string" } } });
    let tool = json!({ "name": "mine", "description": "Mine.", "parameters": parameters });
    Extension::new("a", json!({ "tools": [tool] })).on("tool_call mine", steps)
}

fn calling(extension: Extension) -> Scenario {
    scenario(json!([calls("t1", "mine", "now"), model_says("Well.")]))
        .extended(extension)
        .host(10, prompt("p", "go"))
}

const CALLED: &str = "< p · ok p · agent_start · user go · start t1 · >a tool_call mine · ";

/// The text of the result of the last call.
fn text(played: &Played) -> &str {
    played.last("tool_execution_end")["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

#[test]
fn a_tool_of_an_extension_shows_progress_and_gives_a_result() {
    for dialect in DIALECTS {
        let played =
            calling(tool([tool_update("half"), waits(60_000), tool_result("whole"), tool_result("more")]))
                .play(dialect);
        assert_eq!(
            played.talk(),
            format!(
                "{CALLED}<a tool_update · update t1 · <a tool_result · end t1 · <a tool_result · agent_end [uata]"
            ),
            "{dialect}"
        );
        assert_eq!(text(&played), "whole", "{dialect}");
        let mut call = played.wrote(">a", "tool_call mine")[0].clone();
        call["id"].take();
        assert_eq!(
            call,
            json!({
                "type": "tool_call", "id": null, "toolCallId": "t1", "toolName": "mine",
                "arguments": { "command": "now" },
            }),
            "{dialect}"
        );
    }
}

#[test]
fn a_tool_that_fails_or_whose_extension_ends_gives_an_error() {
    for dialect in DIALECTS {
        for (steps, told, result) in [
            (vec![fails("no idea")], "<a failed", "no idea"),
            (
                vec![Does::Ends("killed")],
                "<a ends · error end: The extension has ended: killed",
                "The extension has ended: killed",
            ),
        ] {
            let played = calling(tool(steps)).play(dialect);
            assert_eq!(played.talk(), format!("{CALLED}{told} · end! t1 · agent_end [uata]"), "{dialect}");
            assert_eq!(text(&played), result, "{dialect}");
        }
    }
}

#[test]
fn both_of_two_calls_fail_when_their_extension_ends() {
    let call = |id: &str| json!({ "tool": "mine", "id": id, "arguments": {}, "size": 0 });
    let played = scenario(json!([{ "say": [call("t1"), call("t2")] }, model_says("Well.")]))
        .extended(tool([]).on("tool_call mine", [waits(10), Does::Ends("killed")]))
        .host(10, prompt("p", "go"))
        .play(Xcsh);
    assert_eq!(
        played.talk(),
        "< p · ok p · agent_start · user go · start t1 · >a tool_call mine · start t2 · >a tool_call mine · <a ends · \
         error end: The extension has ended: killed · end! t1 · end! t2 · agent_end [uatta]"
    );
}

#[test]
fn a_call_of_an_extension_that_is_gone_for_good_fails() {
    let gone = tool([]).on("start", [waits(5), Does::Ends("killed")]);
    let played = calling(gone.on("start", [waits(1), Does::Ends("killed")])).play(Pi);
    assert!(played.talk().ends_with("start t1 · end! t1 · agent_end [uata]"), "{}", played.talk());
    assert_eq!(text(&played), "The extension is not running");
}

#[test]
fn a_tool_is_told_of_an_abort_and_has_two_seconds_to_end() {
    for dialect in DIALECTS {
        for (steps, told, result) in [
            (
                vec![waits(500), tool_result("partly")],
                "520 <a tool_result · 520 end t1 · 520 agent_end [uata]",
                "partly",
            ),
            (vec![], "2020 end! t1 · 2020 agent_end [uata]", "Operation aborted"),
        ] {
            let played = calling(tool([]).on("cancel", steps)).host(20, command("abort")).play(dialect);
            let talk = played.timed();
            assert!(talk.contains(&format!("20 < abort · 20 >a cancel · {told}")), "{dialect}: {talk}");
            assert_eq!(text(&played), result, "{dialect}");
        }
    }
}

#[test]
fn immediate_steering_tells_a_tool_and_does_not_use_what_it_returns() {
    let immediate = json!({ "id": "i", "type": "set_interrupt_mode", "mode": "immediate" });
    let call = |id: &str, tool: &str| json!({ "tool": tool, "id": id, "arguments": { "command": "sleep 50" }, "size": 0 });
    let played = scenario(json!([{ "say": [call("t1", "mine"), call("t2", "probe")] }, model_says("Well.")]))
        .extended(tool([]).on("cancel", [waits(10), tool_result("partly")]))
        .host(1, immediate)
        .host(10, prompt("p", "go"))
        .host(20, say::steer("s"))
        .play(Xcsh);
    assert_eq!(
        played.talk(),
        "< i · ok i · < p · ok p · agent_start · user go · start t1 · >a tool_call mine · start t2 · < s · ok s · end t2 · \
         >a cancel · <a tool_result · end! t1 · user s · agent_end [uattua]"
    );
    assert_eq!(text(&played), "Skipped due to queued user message.");
}

/// An extension that does this at 100 ms.
fn at_100(frame: Value) -> Extension {
    Extension::new("a", json!({})).on("start", [waits(100), writes(frame)])
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

/// The response is for the extension alone: it comes between the two ends of the message.
const JOINED: &str = "<a send_message · custom note · >a response m · custom note";
const ANSWERED: &str = "<a send_message · agent_start · >a response m · custom note · agent_end [ca]";
const SENT: &str = "<a send_message · >a response m";

#[test]
fn a_message_of_an_extension_joins_the_conversation_when_nothing_goes_on() {
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
            assert_eq!(played.talk(), then, "{deliver_as} {trigger} in {dialect}");
            assert_eq!(
                *played.wrote(">a", "response m")[0],
                json!({ "type": "response", "id": "m", "success": true }),
                "{dialect}"
            );
        }
    }
}

#[test]
fn a_message_of_an_extension_waits_for_its_turn_in_a_run() {
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
            assert_eq!(played.talk(), talk, "{deliver_as} in {dialect}");
        }
    }
}

#[test]
fn a_message_for_the_next_turn_goes_with_what_the_user_says_next_and_never_to_another_session() {
    let note = without_nulls(message(json!("nextTurn"), Value::Null));
    for dialect in DIALECTS {
        let turns = json!([model_says("One."), model_says("Two.")]);
        let said = scenario(turns.clone())
            .extended(at_100(note.clone()))
            .host(200, prompt("p", "go"))
            .host(300, prompt("q", "on"))
            .play(dialect);
        assert!(
            said.talk().ends_with(
                "< p · ok p · agent_start · user go · custom note · agent_end [uca] · < q · ok q · agent_start · user on · \
                 agent_end [ua]"
            ),
            "{dialect}: {}",
            said.talk()
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
                left.talk().ends_with("ok r · < q · ok q · agent_start · user on · agent_end [ua]"),
                "{leave} in {dialect}: {}",
                left.talk()
            );
        }
    }
}

#[test]
fn a_message_that_an_extension_sends_before_the_run_begins_is_told_at_once() {
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
            assert_eq!(played.talk(), talk, "{dialect}");
        }
    }
}

#[test]
fn an_extension_says_something_for_the_user() {
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
                idle.talk(),
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
                running.talk(),
                format!("< p · ok p · agent_start · user go · start t1 · <a send_user_message · {end}"),
                "{deliver_as} in {dialect}"
            );
        }
    }
}

#[test]
fn what_an_extension_keeps_is_stored_and_not_told_to_the_model() {
    for dialect in DIALECTS {
        let entry = json!({ "type": "append_entry", "id": "e", "customType": "count", "data": { "n": 1 } });
        let played = scenario(json!([model_says("Well."), model_says("Well.")]))
            .kept()
            .extended(at_100(entry))
            .host(10, prompt("p", "go"))
            .host(200, prompt("q", "on"))
            .play(dialect);
        assert!(played.talk().contains("<a append_entry · >a response e"), "{}", played.talk());
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
fn what_an_extension_keeps_is_not_done_when_it_cannot_be_stored() {
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
fn an_extension_chooses_model_level_and_name_and_hears_what_cannot_be() {
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
fn an_extension_that_asks_for_the_end_gets_it_when_what_goes_on_is_done() {
    for dialect in DIALECTS {
        let played = scenario(json!([answers_after(500)]))
            .extended(at_100(json!({ "type": "shutdown", "id": "x" })))
            .host(10, prompt("p", "go"))
            .host(200, command("get_state"))
            .finish(dialect);
        assert_eq!(
            played.talk(),
            "< p · ok p · agent_start · user go · <a shutdown · >a response x · < get_state · ok get_state · agent_end [ua] · \
             exit",
            "{dialect}"
        );
    }
}

#[test]
fn a_command_that_does_not_end_holds_the_process_up_for_ten_seconds_or_not_at_all() {
    let late = " · 10050 >a cancel · 10050 error command: No answer within 10 s · 10050 exit";
    for (dialect, end) in [(Pi, late), (Xcsh, " · 50 exit")] {
        let played = scenario(json!([]))
            .extended(does([accepts()]))
            .host(10, prompt("p", "/do"))
            .ends(50)
            .finish(dialect);
        assert_eq!(
            played.timed(),
            format!("10 < p · 10 >a command do · 10 <a accept · 10 ok p · 50 < end of input{end}"),
            "{dialect}"
        );
    }
}

#[test]
fn a_dialog_that_nobody_answers_holds_nothing_up() {
    let ask = json!({ "method": "confirm", "title": "Sure?", "message": "Really?" });
    for dialect in DIALECTS {
        let played = scenario(json!([model_says("Well.")]))
            .extended(Extension::new("a", json!({})).on("start", [waits(5), ui_of_none("mine", ask.clone())]))
            .host(10, prompt("p", "go"))
            .host(20, command("new_session"))
            .host(30, answer(0, "confirmed", true))
            .play(dialect);
        assert_eq!(
            played.talk(),
            "<a ui confirm · ui confirm · < p · ok p · agent_start · user go · agent_end [ua] · < new_session · \
             ok new_session · < extension_ui_response · >a ui_answer mine",
            "{dialect}"
        );
    }
}
