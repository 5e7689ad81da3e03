//! Sessions as extensions see them begin and end, and what extensions add to them.

use crate::asking_support::{
    Extension, PeerStep, answer, done, fails, prompted, says, scenario, shorthand, tool_result, ui, waits,
    writes,
};
use pi_rpc::{
    engine::{ExtensionSetup, HostedExtensions},
    protocol::Dialect::{self, Pi, Pi1, Pi073, Xcsh},
};
use serde_json::{Value, json};
use shorthand::{bash, calls, command, prompt, says as model_says};

const DIALECTS: [Dialect; 4] = [Pi, Pi073, Pi1, Xcsh];

/// An extension that wants a say in these hooks, and is done with each after a while.
fn hooks(name: &'static str, hooks: &[&str]) -> Extension {
    let extension = Extension::new(name, json!({ "hooks": hooks }));
    hooks.iter().fold(extension, |extension, hook| extension.on(&format!("hook {hook}"), [waits(50), done()]))
}

/// An extension that does this when the session has begun for the first time.
fn starts(does: impl IntoIterator<Item = PeerStep>) -> Extension {
    Extension::new("a", json!({ "hooks": ["session_start"] })).on("hook session_start", does)
}

#[test]
fn host_waits_for_session_start_hooks() {
    for dialect in DIALECTS {
        let played = scenario(json!([]))
            .extended(starts([waits(500), done()]))
            .extended(hooks("b", &["session_start"]))
            .host(10, command("get_state"))
            .play(dialect);
        assert_eq!(
            played.transcript(),
            ">a hook session_start · < get_state · <a done · >b hook session_start · <b done · ok get_state",
            "{dialect}"
        );
        assert_eq!(
            played.wrote(">a", "hook session_start")[0]["hook"],
            json!({ "type": "session_start", "reason": "startup" })
        );
    }
}

#[test]
fn dialog_of_session_start_ends_with_input() {
    let ask = || ui("mine", json!({ "method": "confirm", "title": "Sure?", "message": "Really?" }));
    let asks = || starts([ask()]).on("ui_answer mine", [done()]);
    let played = scenario(json!([]))
        .extended(asks())
        .host(10, command("get_state"))
        .host(20, answer(0, "confirmed", true))
        .play(Pi);
    assert_eq!(
        played.transcript(),
        ">a hook session_start · <a ui confirm · ui confirm · < get_state · < extension_ui_response · >a ui_answer mine · \
         <a done · ok get_state"
    );
    let played = scenario(json!([])).extended(asks()).host(10, command("get_state")).ends(20).finish(Pi);
    assert!(
        played.transcript().contains(">a ui_answer mine · <a done · ok get_state"),
        "{}",
        played.transcript()
    );
}

#[test]
fn silent_session_start_delays_host_thirty_seconds() {
    for dialect in DIALECTS {
        let played = scenario(json!([])).extended(starts([])).host(10, command("get_state")).play(dialect);
        let answered =
            played.steps.iter().find(|step| step.who == ">" && step.frame["command"] == "get_state");
        assert_eq!(answered.map(|step| step.at), Some(30_000), "{dialect}");
    }
}

#[test]
fn session_start_awaits_no_ended_extension() {
    let dies = Extension::new("a", json!({ "hooks": ["session_start"] }));
    let dies = dies
        .on("start", [waits(50), PeerStep::Ends("it fell")])
        .on("start", [])
        .on("hook session_start", [done()]);
    let slow = Extension::silent("b").on("hello", [waits(100), writes(json!({ "type": "register" }))]);
    let played = scenario(json!([])).extended(dies).extended(slow).host(10, command("get_state")).play(Pi);
    let answered = played.steps.iter().find(|step| step.who == ">" && step.frame["command"] == "get_state");
    assert_eq!(answered.map(|step| step.at), Some(100));
    assert_eq!(
        played.wrote(">a", "hook session_start").last().map(|it| &it["hook"]["reason"]),
        Some(&json!("reload"))
    );
}

#[test]
fn session_hooks_complete_before_the_response() {
    for dialect in DIALECTS {
        let fork = if dialect == Xcsh { "branch" } else { "fork" };
        for (question, reason, target) in [
            (json!({ "type": "new_session" }), "new", None),
            (
                json!({ "type": "switch_session", "sessionPath": "/sessions/x.jsonl" }),
                "resume",
                Some("/sessions/x.jsonl"),
            ),
            (json!({ "type": fork, "entryId": "$0" }), "fork", None),
        ] {
            let mut request = json!({ "id": "r" });
            question.as_object().unwrap().iter().for_each(|(key, value)| request[key] = value.clone());
            let played = prompted(json!([model_says("Well.")]))
                .kept()
                .extended(hooks("a", &["session_shutdown", "session_start"]))
                .host(200, request)
                .host(210, command("get_state"))
                .play(dialect);
            let talk = played.transcript();
            assert!(
                talk.contains(
                    "< r · >a hook session_shutdown · < get_state · ok get_state · <a done · >a hook session_start · <a done · ok r"
                ),
                "{dialect} {reason}: {talk}"
            );
            let left = &played.wrote(">a", "hook session_shutdown")[0]["hook"];
            assert_eq!(
                (&left["reason"], left["targetSessionFile"].as_str()),
                (&json!(reason), target),
                "{dialect}"
            );
            let begun = &played.wrote(">a", "hook session_start")[1]["hook"];
            assert_eq!(begun["reason"], reason, "{dialect}");
            assert!(
                begun["previousSessionFile"].as_str().is_some_and(|file| file.ends_with(".jsonl")),
                "{dialect}: {begun}"
            );
        }
    }
}

#[test]
fn failed_switch_restarts_old_session_for_extensions() {
    let played = prompted(json!([model_says("Well.")]))
        .kept()
        .file("/sessions/x.jsonl", "no session\n")
        .extended(hooks("a", &["session_shutdown", "session_start"]))
        .host(200, json!({ "id": "r", "type": "switch_session", "sessionPath": "/sessions/x.jsonl" }))
        .play(Pi073);
    let talk = played.transcript();
    assert!(
        talk.contains(">a hook session_shutdown · <a done · no r · >a hook session_start · <a done"),
        "{talk}"
    );
}

#[test]
fn user_bash_hook_exists_in_pi_1() {
    let made = json!({ "output": "mine", "exitCode": 3, "cancelled": false, "truncated": false });
    for (dialect, asks) in [(Pi, false), (Pi073, false), (Pi1, true)] {
        for (does, output) in [
            (says(json!({ "bash": made })), Some("mine")),
            (done(), None),
            (fails("no shell here"), Some("no shell here")),
        ] {
            let extension =
                Extension::new("a", json!({ "hooks": ["user_bash"] })).on("hook user_bash", [waits(5), does]);
            let played =
                scenario(json!([])).extended(extension).host(10, bash("b", "echo one")).play(dialect);
            assert_eq!(played.wrote(">a", "hook user_bash").len(), usize::from(asks), "{dialect}");
            let answer = played.answers("b")[0];
            let told = answer["data"]["output"].as_str().or(answer["error"].as_str());
            match output.filter(|_| asks) {
                Some(output) => assert_eq!(told, Some(output), "{dialect}"),
                None => assert_ne!(told, Some("mine"), "{dialect}"),
            }
        }
    }
}

#[test]
fn discovered_skills_and_templates_are_callable() {
    let paths = json!({ "skillPaths": ["/x/fly/SKILL.md"], "promptPaths": ["/x/go.md"] });
    let extension = Extension::new("a", json!({ "hooks": ["resources_discover"] }))
        .on("hook resources_discover", [waits(50), says(paths)]);
    let played = scenario(json!([model_says("Well.")]))
        .file("/x/fly/SKILL.md", "---\nname: fly\ndescription: To fly.\n---\nFlap.\n")
        .file("/x/go.md", "Go on, $1.\n")
        .extended(extension)
        .host(10, command("get_commands"))
        .host(20, prompt("p", "/go bird"))
        .play(Pi);
    let listed = played.answers("get_commands")[0]["data"]["commands"].as_array().unwrap();
    let names: Vec<&str> = listed.iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["go", "skill:fly"]);
    assert_eq!(
        played.called[0].messages[0]["content"][0]["text"].as_str().map(str::trim),
        Some("Go on, bird.")
    );
}

#[test]
fn resources_are_discovered_after_session_change() {
    for (dialect, hooks) in [(Pi, 1), (Pi073, 1), (Pi1, 2)] {
        let extension = Extension::new("a", json!({ "hooks": ["session_start", "resources_discover"] }))
            .on("hook session_start", [done()])
            .on("hook resources_discover", [done()]);
        let scenario = scenario(json!([])).extended(extension).host(10, command("new_session"));
        // The end of the input ends pi-1, hooks and all.
        let played = scenario.host(1000, command("get_state")).play(dialect);
        assert_eq!(played.wrote(">a", "hook resources_discover").len(), hooks, "{dialect}");
        assert_eq!(played.answers("new_session")[0]["data"], json!({ "cancelled": false }), "{dialect}");
    }
}

#[test]
fn equal_command_names_are_numbered_per_dialect() {
    let adds = |path: &str| json!({ "commands": [{ "name": "do", "path": path }] });
    for (dialect, names, calls) in
        [(Pi, ["do", "do"], "do"), (Pi073, ["do:1", "do:2"], "do:2"), (Pi1, ["do:1", "do:2"], "do:2")]
    {
        let played = scenario(json!([]))
            .extended(Extension::new("a", adds("/x/one.ts")).on("command do", [done()]))
            .extended(Extension::new("b", adds("/x/two.ts")).on("command do", [done()]))
            .host(10, command("get_commands"))
            .host(20, prompt("p", &format!("/{calls} it")))
            .play(dialect);
        let listed = played.answers("get_commands")[0]["data"]["commands"].as_array().unwrap();
        let listed: Vec<&str> = listed.iter().filter_map(|it| it["name"].as_str()).collect();
        assert_eq!(listed, names, "{dialect}");
        let who = if dialect == Pi { ">a" } else { ">b" };
        let mut called = played.wrote(who, "command do")[0].clone();
        called["id"].take();
        let path = if dialect == Pi { "/x/one.ts" } else { "/x/two.ts" };
        assert_eq!(
            called,
            json!({ "type": "command", "id": null, "name": "do", "arguments": "it", "path": path }),
            "{dialect}"
        );
    }
}

#[test]
fn second_registration_replaces_the_first() {
    let tool =
        |name: &str| json!({ "name": name, "description": "A tool.", "parameters": { "type": "object" } });
    let again = json!({ "type": "register", "tools": [tool("second"), tool("bash")], "commands": [{ "name": "new" }] });
    let extension = Extension::new("a", json!({ "tools": [tool("first")], "commands": [{ "name": "do" }] }))
        .on("command do", [writes(again), done()])
        .on("tool_call bash", [tool_result("mine")]);
    for dialect in DIALECTS {
        let played =
            scenario(json!([model_says("Well."), calls("t1", "bash", "echo one"), model_says("Well.")]))
                .extended(extension.clone())
                .host(10, prompt("p", "go"))
                .host(100, prompt("q", "/do"))
                .host(200, command("get_commands"))
                .host(300, prompt("r", "go"))
                .play(dialect);
        assert_eq!(played.called[0].tools, ["bash", "probe", "first"], "{dialect}");
        assert_eq!(played.called[1].tools, ["bash", "probe", "second"], "{dialect}");
        if dialect != Xcsh {
            let listed = played.answers("get_commands")[0]["data"]["commands"].as_array().unwrap();
            let listed: Vec<&str> = listed.iter().filter_map(|it| it["name"].as_str()).collect();
            assert_eq!(listed, ["new"], "{dialect}");
        }
        // Its tool has taken the place of the built-in one.
        assert_eq!(played.last("tool_execution_end")["result"]["content"][0]["text"], "mine", "{dialect}");
    }
}

#[test]
fn extension_error_before_registration_is_emitted() {
    let error = |path: &str, event: &str| {
        writes(json!({ "type": "error", "extensionPath": path, "event": event, "error": "broken" }))
    };
    let extension = Extension::silent("a")
        .on(
            "hello",
            [
                error("/x/one.ts", "load"),
                writes(json!({ "type": "register", "commands": [{ "name": "do" }] })),
            ],
        )
        .on("command do", [error("/x/two.ts", "turn_end"), done()]);
    for dialect in DIALECTS {
        let played =
            scenario(json!([])).extended(extension.clone()).host(10, prompt("p", "/do")).play(dialect);
        let told: Vec<&Value> = played.frames("extension_error").collect();
        let expected = |path: &str, event: &str| json!({ "type": "extension_error", "extensionPath": path, "event": event, "error": "broken" });
        assert_eq!(told, [&expected("/x/one.ts", "load"), &expected("/x/two.ts", "turn_end")], "{dialect}");
    }
}

#[test]
fn tool_call_hook_changes_arguments() {
    for dialect in DIALECTS {
        let changes = Extension::new("a", json!({ "hooks": ["tool_call", "tool_result"] }))
            .on("hook tool_call", [says(json!({ "input": { "command": "echo two" } }))])
            .on("hook tool_result", [done()]);
        let played = prompted(json!([calls("t1", "bash", "echo one"), model_says("Well.")]))
            .extended(changes)
            .play(dialect);
        assert_eq!(played.started, ["echo two"], "{dialect}");
        assert_eq!(played.last("tool_execution_start")["args"]["command"], "echo one", "{dialect}");
        assert_eq!(
            played.wrote(">a", "hook tool_result")[0]["hook"]["input"]["command"],
            "echo two",
            "{dialect}"
        );
    }
}

#[test]
fn a_blocked_call_may_end_the_run() {
    let blocks = Extension::new("a", json!({ "hooks": ["tool_call"] }))
        .on("hook tool_call", [says(json!({ "block": true, "reason": "no", "terminate": true }))]);
    let played =
        prompted(json!([calls("t1", "bash", "echo one"), model_says("Never.")])).extended(blocks).play(Pi1);
    assert_eq!(played.called.len(), 1);
}

#[test]
fn extension_host_process_registers_within_a_minute() {
    let member = |path: &str, source: Option<&str>| {
        let source = source
            .map(|source| json!({ "path": path, "source": source, "scope": "user", "origin": "package" }));
        let mut member = json!({ "path": path });
        source.into_iter().for_each(|source| member["sourceInfo"] = source);
        serde_json::from_value(member).expect("a member")
    };
    let hosted = HostedExtensions {
        place: 0,
        members: vec![member("/x/one.ts", Some("npm:one")), member("/x/two.ts", None)],
        arguments: vec!["--plan".to_owned()],
    };
    let extension_setup = || ExtensionSetup { hosted: Some(hosted.clone()), ..ExtensionSetup::default() };
    let commands = json!([{ "name": "one", "path": "/x/one.ts" }, { "name": "two", "path": "/x/two.ts" }]);
    let register = writes(json!({ "type": "register", "commands": commands }));
    let slow = Extension::silent("a").on("hello", [waits(59_000), register]);
    let played = scenario(json!([]))
        .extension_setup(extension_setup())
        .extended(slow)
        .host(10, command("get_commands"))
        .play(Pi073);
    let hello = &played.wrote(">a", "hello")[0];
    assert_eq!((&hello["api"], &hello["arguments"]), (&json!("0.73"), &json!(["--plan"])));
    let listed = played.answers("get_commands")[0]["data"]["commands"].as_array().unwrap();
    let sources: Vec<(&Value, &Value)> =
        listed.iter().map(|it| (&it["sourceInfo"]["path"], &it["sourceInfo"]["source"])).collect();
    assert_eq!(sources, [(&json!("/x/one.ts"), &json!("npm:one")), (&json!("/x/two.ts"), &json!("cli"))]);
    let never = scenario(json!([]))
        .extension_setup(extension_setup())
        .extended(Extension::silent("a"))
        .host(10, command("get_state"))
        .play(Pi073);
    let errors: Vec<&Value> =
        never.said.iter().filter(|it| it["event"] == "start").map(|it| &it["error"]).collect();
    assert_eq!(errors, ["It did not register within 60 s and was ended"]);
}

#[test]
fn sequential_tool_runs_alone() {
    let tool = |sequential: bool| {
        json!({
            "name": "mine", "description": "Mine.", "parameters": { "type": "object" }, "sequential": sequential,
        })
    };
    let call = |id: &str, tool: &str| json!({ "tool": tool, "id": id, "arguments": { "command": "echo" }, "size": 0 });
    for (sequential, order) in [(false, ["start t1", "start t2"]), (true, ["start t1", "end t1"])] {
        for dialect in [Pi073, Pi1] {
            let extension = Extension::new("a", json!({ "tools": [tool(sequential)] }))
                .on("tool_call mine", [waits(100), tool_result("done")]);
            let turns = json!([{ "say": [call("t1", "mine"), call("t2", "mine")] }, model_says("Well.")]);
            let played = prompted(turns).extended(extension).play(dialect);
            let steps = played.shape();
            let calls: Vec<&String> =
                steps.iter().filter(|it| it.starts_with("start ") || it.starts_with("end ")).collect();
            assert_eq!(calls[..2], order, "{dialect} {sequential}");
        }
    }
}
