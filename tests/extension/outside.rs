//! What extensions have done outside of the conversation.

use crate::asking_support::{Extension, Playback, scenario, shorthand, waits, writes};
use pi_rpc::{
    engine::ExtensionSetup,
    prompt::PromptSource,
    protocol::Dialect::{self, Pi, Pi1, Pi073, Xcsh},
};
use serde_json::{Value, json};
use shorthand::{calls, prompt, says as model_says};

const DIALECTS: [Dialect; 4] = [Pi, Pi073, Pi1, Xcsh];

fn at_300(frames: &[Value]) -> Extension {
    let does = frames.iter().flat_map(|frame| [writes(frame.clone()), waits(50)]);
    Extension::new("a", json!({})).on("start", [waits(300)].into_iter().chain(does))
}

fn responses<'p>(played: &'p Playback, id: &str) -> Vec<&'p Value> {
    played.wrote(">a", &format!("response {id}"))
}

#[test]
fn label_is_persisted_unless_entry_is_unknown() {
    for dialect in DIALECTS {
        let turns = json!([model_says("1")]);
        let first =
            scenario(turns.clone()).kept().extended(at_300(&[])).host(10, prompt("p", "one")).play(dialect);
        let entry = first.disk.lines().last().expect("one")["id"].clone();
        let played = scenario(turns)
            .kept()
            .extended(at_300(&[
                json!({ "type": "set_label", "id": "l", "entryId": entry, "label": "here" }),
                json!({ "type": "set_label", "id": "n", "entryId": "nowhere", "label": "here" }),
                json!({ "type": "set_label", "entryId": entry }),
            ]))
            .host(10, prompt("p", "one"))
            .play(dialect);
        assert_eq!(*responses(&played, "l")[0], json!({ "type": "response", "id": "l", "success": true }));
        assert_eq!(responses(&played, "n")[0]["error"], "Entry nowhere not found", "{dialect}");
        let lines = played.disk.lines();
        let labels: Vec<Value> = lines[first.disk.lines().len()..]
            .iter()
            .map(|it| json!([it["type"], it["targetId"], it["label"]]))
            .collect();
        assert_eq!(labels, [json!(["label", entry, "here"]), json!(["label", entry, null])], "{dialect}");
    }
}

#[test]
fn set_leaf_continues_at_given_entry() {
    for dialect in DIALECTS {
        let turns = json!([model_says("1"), model_says("2")]);
        let first = scenario(turns.clone())
            .kept()
            .extended(at_300(&[]))
            .host(10, prompt("p", "one"))
            .play(dialect)
            .disk
            .lines();
        let root = first.iter().find(|line| line["message"]["role"] == "user").expect("one")["id"].clone();
        let played = scenario(turns)
            .kept()
            .extended(at_300(&[
                json!({ "type": "set_leaf", "id": "n", "entryId": "nowhere" }),
                json!({ "type": "set_leaf", "id": "l", "entryId": root }),
            ]))
            .host(10, prompt("p", "one"))
            .host(1000, prompt("q", "two"))
            .play(dialect);
        assert_eq!(responses(&played, "n")[0]["error"], "Entry nowhere not found", "{dialect}");
        assert_eq!(*responses(&played, "l")[0], json!({ "type": "response", "id": "l", "success": true }));
        let lines = played.disk.lines();
        assert_eq!(lines[..first.len()], first, "{dialect}: what was left stays");
        assert_eq!(lines[first.len()]["parentId"], root, "{dialect}");
    }
}

#[test]
fn set_leaf_in_a_run_is_refused() {
    for dialect in DIALECTS {
        let played = scenario(json!([calls("t1", "bash", "sleep 500"), model_says("2")]))
            .extended(at_300(&[json!({ "type": "set_leaf", "id": "l", "entryId": "any" })]))
            .host(10, prompt("p", "one"))
            .play(dialect);
        let error = pi_rpc::protocol::errors::navigation_in_run(dialect.base());
        let refused = json!({ "type": "response", "id": "l", "success": false, "error": error });
        assert_eq!(*responses(&played, "l")[0], refused, "{dialect}");
    }
}

#[test]
fn active_tools_apply_from_next_request() {
    let choose = |names: Value| json!({ "type": "set_active_tools", "id": "s", "names": names });
    for dialect in DIALECTS {
        let played = scenario(json!([calls("t1", "bash", "sleep 500"), model_says("2"), model_says("3")]))
            .extended(
                Extension::new("a", json!({}))
                    .on("start", [waits(300), writes(choose(json!(["probe", "nothing"])))]),
            )
            .host(10, prompt("p", "one"))
            .host(1000, prompt("q", "two"))
            .play(dialect);
        let offered: Vec<&[String]> = played.called.iter().map(|it| &it.tools[..]).collect();
        let (both, one) = (["bash".to_owned(), "probe".to_owned()], ["probe".to_owned()]);
        assert_eq!(offered, [&both[..], &one[..], &one[..]], "{dialect}");
        assert_eq!(responses(&played, "s")[0]["success"], true, "{dialect}");
    }
}

#[test]
fn run_tool_emits_no_event() {
    for dialect in DIALECTS {
        let played = scenario(json!([]))
            .extended(at_300(&[
                json!({ "type": "run_tool", "id": "r", "toolName": "bash", "arguments": { "command": "sleep 100" } }),
                json!({ "type": "run_tool", "id": "n", "toolName": "nothing", "arguments": {} }),
            ]))
            .play(dialect);
        let all = responses(&played, "r");
        assert_eq!(all.len(), 1, "{dialect}");
        assert_eq!(
            (&all[0]["success"], &all[0]["data"]["isError"]),
            (&json!(true), &json!(false)),
            "{dialect}"
        );
        assert!(all[0]["data"]["result"]["content"].is_array(), "{dialect}: {}", all[0]);
        assert_eq!(responses(&played, "n")[0]["error"], "Tool nothing not found", "{dialect}");
        assert!(played.said.iter().all(|it| it["type"] != "tool_execution_start"), "{dialect}");
    }
}

#[test]
fn withdrawn_tool_ends_with_its_output() {
    for dialect in DIALECTS {
        let played = scenario(json!([]))
            .extended(at_300(&[
                json!({ "type": "run_tool", "id": "r", "toolName": "bash", "arguments": { "command": "sleep 60000" } }),
                json!({ "type": "withdraw", "id": "r" }),
            ]))
            .play(dialect);
        assert_eq!(responses(&played, "r")[0]["data"]["isError"], true, "{dialect}");
        assert!(played.steps.last().is_some_and(|step| step.at < 5000), "{dialect}");
    }
}

fn complete(id: &str) -> Value {
    json!({
        "type": "complete", "id": id, "provider": "scripted", "modelId": "work", "systemPrompt": "Rhyme.",
        "messages": [{ "role": "user", "content": "Say something.", "timestamp": 1 }], "level": "high", "maxTokens": 99,
    })
}

#[test]
fn complete_runs_beside_run_without_event() {
    for dialect in DIALECTS {
        let played =
            scenario(json!([calls("t1", "bash", "sleep 800"), model_says("A rhyme."), model_says("Done.")]))
                .extended(at_300(&[complete("c")]))
                .host(10, prompt("p", "one"))
                .play(dialect);
        let all = responses(&played, "c");
        assert_eq!(all.len(), 1, "{dialect}");
        let message = &all[0]["data"]["message"];
        assert_eq!(
            json!([message["role"], message["content"][0]["text"], message["stopReason"], message["model"]]),
            json!(["assistant", "A rhyme.", "stop", "work"]),
            "{dialect}"
        );
        assert_eq!(played.called[1].instructions, "Rhyme.", "{dialect}");
        let told = |it: &Value| it.to_string().contains("A rhyme.");
        assert!(!played.said.iter().any(told), "{dialect}");
        let asked =
            played.asked.iter().map(|it| it.split(' ').next().unwrap_or_default()).collect::<Vec<_>>();
        assert_eq!(asked, ["turn", "outside", "turn"], "{dialect}");
    }
}

#[test]
fn withdrawn_completion_is_aborted() {
    for dialect in DIALECTS {
        let slow = json!({ "say": [{ "text": "A rhyme." }], "firstDelayMs": 5000 });
        let played = scenario(json!([slow]))
            .extended(at_300(&[complete("c"), json!({ "type": "withdraw", "id": "c" })]))
            .play(dialect);
        let message = &responses(&played, "c")[0]["data"]["message"];
        assert_eq!(message["stopReason"], "aborted", "{dialect}");
        assert!(message["errorMessage"].is_string(), "{dialect}");
    }
}

#[test]
fn unknown_or_failing_model_is_reported() {
    for dialect in DIALECTS {
        let mut unknown = complete("u");
        unknown["modelId"] = "nobody".into();
        let played = scenario(json!([{ "fail": { "status": 500, "message": "overloaded" } }]))
            .extended(at_300(&[unknown, complete("c")]))
            .play(dialect);
        assert_eq!(responses(&played, "u")[0]["error"], "Model not found: scripted/nobody", "{dialect}");
        let message = &responses(&played, "c")[0]["data"]["message"];
        assert_eq!(message["stopReason"], "error", "{dialect}");
        assert!(
            message["errorMessage"].as_str().is_some_and(|it| it.contains("overloaded")),
            "{dialect}: {message}"
        );
    }
}

#[test]
fn outstanding_actions_fail_at_shutdown() {
    for dialect in DIALECTS {
        let slow = json!({ "say": [{ "text": "A rhyme." }], "firstDelayMs": 5000 });
        let played = scenario(json!([calls("t1", "bash", "sleep 60000"), slow]))
            .extended(at_300(&[
                complete("c"),
                json!({ "type": "run_tool", "id": "r", "toolName": "bash", "arguments": { "command": "sleep 60000" } }),
                json!({ "type": "wait_for_idle", "id": "w" }),
            ]))
            .host(10, prompt("p", "one"))
            .stops(800)
            .finish(dialect);
        for id in ["c", "r"] {
            let all = responses(&played, id);
            assert_eq!(all.len(), 1, "{id} in {dialect}");
            assert_eq!(all[0]["error"], "The server is shutting down.", "{id} in {dialect}");
        }
        assert_eq!(responses(&played, "w").len(), 1, "{dialect}");
    }
}

#[test]
fn active_tools_change_the_system_prompt() {
    let choose = |names: Value| json!({ "type": "set_active_tools", "names": names });
    let tool = json!({
        "name": "count", "description": "Counts.", "parameters": { "type": "object" }, "promptSnippet": "count things",
    });
    for dialect in DIALECTS {
        let source = PromptSource {
            date: "2026-01-01".to_owned(),
            cwd: "/work".to_owned(),
            in_sections: dialect == Pi1,
            ..PromptSource::default()
        };
        let played = scenario(json!([model_says("1"), model_says("2")]))
            .kept()
            .extended(
                Extension::new("a", json!({ "tools": [tool] }))
                    .on("start", [waits(300), writes(choose(json!(["probe"])))]),
            )
            .extension_setup(ExtensionSetup { prompt_source: Some(source), ..ExtensionSetup::default() })
            .host(10, prompt("p", "one"))
            .host(1000, prompt("q", "two"))
            .play(dialect);
        let lists: Vec<[bool; 2]> = played
            .called
            .iter()
            .map(|it| ["- bash: ", "- count: count things"].map(|line| it.instructions.contains(line)))
            .collect();
        assert_eq!(lists, [[true, true], [false, false]], "{dialect}\n{}", played.called[1].instructions);
        if dialect == Pi1 {
            let told = played.disk.lines().into_iter().rfind(|it| it["message"]["role"] == "system");
            let removed = told.expect("a system message")["message"]["toolsRemoved"].clone();
            assert_eq!(removed, json!([{ "name": "bash" }, { "name": "count" }]));
        }
    }
}
