//! Slash commands of extensions.

use crate::asking_support::{
    Extension, PeerStep, accepts, answer, does, done, fails, scenario, shorthand, ui, waits, writes,
};
use pi_rpc::protocol::Dialect::{self, Pi, Pi1, Pi073, Xcsh};
use serde_json::{Value, json};
use shorthand::{calls, command, prompt, says as model_says};

const DIALECTS: [Dialect; 2] = [Pi, Xcsh];

/// Those that answer a command when it has ended.
const ENDED: [Dialect; 2] = [Pi1, Pi073];

/// A model that answers with a text after that time.
fn answers_after(time: u64) -> Value {
    json!({ "say": [{ "text": "Well." }], "firstDelayMs": time })
}

#[test]
fn command_is_acknowledged_on_accept_without_run() {
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
            assert_eq!(played.timed_transcript(), format!("0 < p · 0 >a command do · {talk}"), "{dialect}");
            assert_eq!(played.wrote(">a", "command do")[0]["arguments"], "it  well", "{dialect}");
        }
    }
}

#[test]
fn pi_1_command_is_answered_when_ended() {
    let name = json!({ "type": "set_session_name", "origin": "$", "name": "x" });
    for dialect in ENDED {
        for (steps, talk) in [
            (vec![waits(20), accepts(), waits(50_000), done()], "20 <a accept · 50020 <a done · 50020 ok p"),
            (vec![waits(20), done()], "20 <a done · 20 ok p"),
            (
                vec![waits(20), writes(name.clone()), waits(50_000), done()],
                "20 <a set_session_name · 20 named x · 50020 <a done · 50020 ok p",
            ),
            (
                vec![accepts(), waits(20_000), fails("no idea")],
                "0 <a accept · 20000 <a failed · 20000 error command: no idea · 20000 ok p",
            ),
            (
                vec![],
                "10000 >a cancel · 10000 error command: The command was not taken up within 10 s · 10000 ok p",
            ),
            (
                vec![accepts(), waits(5), PeerStep::Ends("killed")],
                "0 <a accept · 5 <a ends · 5 error end: The extension has ended: killed · \
                 5 error command: The extension has ended: killed · 5 ok p",
            ),
        ] {
            let played = scenario(json!([])).extended(does(steps)).host(0, prompt("p", "/do")).play(dialect);
            assert_eq!(played.timed_transcript(), format!("0 < p · 0 >a command do · {talk}"), "{dialect}");
        }
    }
}

#[test]
fn pi_1_serves_everything_during_a_command() {
    let confirm = json!({ "method": "confirm", "title": "Sure?", "message": "Really." });
    let extension = does([ui("mine", confirm)]).on("ui_answer mine", [waits(100), done()]);
    for dialect in ENDED {
        let played = scenario(json!([model_says("Well.")]))
            .extended(extension.clone())
            .host(0, prompt("c", "/do"))
            .host(10, command("get_state"))
            .host(20, prompt("p", "go"))
            .host(30, command("abort"))
            .host(40, answer(0, "confirmed", true))
            .host(50, command("new_session"))
            .play(dialect);
        let (opening, end) =
            if dialect == Pi1 { ("system · ", "[sua] · agent_settled") } else { ("", "[ua]") };
        assert_eq!(
            played.transcript(),
            format!(
                "< c · >a command do · <a ui confirm · ui confirm · < get_state · ok get_state · < p · ok p · \
                 agent_start · {opening}user go · agent_end {end} · < abort · ok abort · < extension_ui_response · \
                 >a ui_answer mine · < new_session · ok new_session · <a done · ok c"
            ),
            "{dialect}"
        );
        assert_eq!(played.wrote(">a", "ui_answer mine")[0]["response"]["confirmed"], true, "{dialect}");
    }
}

#[test]
fn a_command_without_arguments_has_empty_ones() {
    let played = scenario(json!([])).extended(does([done()])).host(0, prompt("p", "/do")).play(Pi);
    assert_eq!(played.wrote(">a", "command do")[0]["arguments"], "");
}

#[test]
fn failed_command_is_reported_and_acknowledged() {
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
                vec![waits(5), PeerStep::Ends("killed")],
                "<a ends · error end: The extension has ended: killed · error command: The extension has ended: killed · ok p",
            ),
        ] {
            let played = scenario(json!([])).extended(does(steps)).host(0, prompt("p", "/do")).play(dialect);
            assert_eq!(played.transcript(), format!("< p · >a command do · {told}"), "{dialect}");
            let path =
                played.said.iter().rfind(|it| it["type"] == "extension_error").map(|it| &it["extensionPath"]);
            assert_eq!(path, Some(&json!("command:do")), "{dialect}");
        }
    }
}

#[test]
fn extension_command_runs_in_every_state() {
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
                json!([shorthand::fills("Well.", 127_000), shorthand::summary("So far.")]),
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
            let talk = played.transcript();
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
fn unregistered_command_is_sent_to_model() {
    for dialect in DIALECTS {
        for text in ["/unknown thing", "/dot", "/ do", "say /do"] {
            let played = scenario(json!([model_says("Well.")]))
                .extended(does([done()]))
                .host(0, prompt("p", text))
                .play(dialect);
            assert_eq!(
                played.transcript(),
                format!("< p · ok p · agent_start · user {text} · agent_end [ua]"),
                "{dialect}"
            );
        }
    }
}

#[test]
fn first_extension_keeps_a_shared_command_name() {
    let second = Extension::new("b", json!({ "commands": [{ "name": "do" }] }));
    let played = scenario(json!([]))
        .extended(does([done()]))
        .extended(second)
        .host(0, prompt("p", "/do"))
        .host(10, command("get_commands"))
        .play(Pi);
    assert_eq!(
        played.transcript(),
        "< p · >a command do · <a done · ok p · < get_commands · ok get_commands"
    );
    let first = json!({ "name": "do", "description": "Does it.", "source": "extension", "path": "/x/a" });
    assert_eq!(played.answers("get_commands")[0]["data"]["commands"][0], first);
}

#[test]
fn reads_overtake_slash_command_of_extension() {
    let played = scenario(json!([]))
        .extended(does([waits(100), accepts(), waits(100), done()]))
        .host(0, prompt("p", "/do"))
        .host(10, command("get_state"))
        .play(Xcsh);
    assert_eq!(
        played.transcript(),
        "< p · >a command do · < get_state · ok get_state · <a accept · ok p · <a done"
    );
}

#[test]
fn endless_command_delays_exit_at_most_briefly() {
    let late = " · 10050 >a cancel · 10050 error command: No answer within 10 s · 10050 exit";
    for (dialect, end) in [(Pi, late), (Xcsh, " · 50 exit")] {
        let played = scenario(json!([]))
            .extended(does([accepts()]))
            .host(10, prompt("p", "/do"))
            .ends(50)
            .finish(dialect);
        assert_eq!(
            played.timed_transcript(),
            format!("10 < p · 10 >a command do · 10 <a accept · 10 ok p · 50 < end of input{end}"),
            "{dialect}"
        );
    }
}
