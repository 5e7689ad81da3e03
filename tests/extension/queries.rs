//! What extensions want to know is answered at once, in order with what they did before.

use crate::asking_support::{Extension, Playback, done, scenario, shorthand, waits, writes};
use pi_rpc::protocol::Dialect::{self, Pi, Pi1, Pi073, Xcsh};
use serde_json::{Value, json};
use shorthand::{calls, prompt, says as model_says};

const DIALECTS: [Dialect; 4] = [Pi, Pi073, Pi1, Xcsh];

fn query(about: &str) -> Value {
    json!({ "type": "query", "id": about, "about": about })
}

/// What was answered, in order.
fn answers(played: &Playback) -> Vec<&Value> {
    let steps = played.steps.iter().filter(|step| step.who == ">a" && step.frame["type"] == "answer");
    steps.map(|step| &step.frame).collect()
}

#[test]
fn state_query_returns_current_state() {
    for dialect in DIALECTS {
        let played = scenario(json!([calls("t1", "bash", "sleep 200"), model_says("Well.")]))
            .kept()
            .extended(Extension::new("a", json!({})).on(
                "start",
                [
                    waits(5),
                    writes(query("state")),
                    waits(100),
                    writes(query("state")),
                    waits(500),
                    writes(query("state")),
                ],
            ))
            .host(10, prompt("p", "go"))
            .host(50, json!({ "id": "s", "type": "steer", "message": "and" }))
            .play(dialect);
        let answers = answers(&played);
        let [before, during, after] = answers[..] else { panic!("{dialect}: {answers:?}") };
        let brief = |answer: &Value| {
            let data = &answer["data"];
            json!([data["isIdle"], data["hasPendingMessages"], data["activeTools"], data["model"]["id"]])
        };
        assert_eq!(brief(before), json!([true, false, ["bash", "probe"], "play"]), "{dialect}");
        assert_eq!(brief(during), json!([false, true, ["bash", "probe"], "play"]), "{dialect}");
        assert_eq!(brief(after), json!([true, false, ["bash", "probe"], "play"]), "{dialect}");
        assert!(during["data"]["entryCount"].as_u64() < after["data"]["entryCount"].as_u64(), "{dialect}");
        let file = after["data"]["sessionFile"].as_str().expect("a file");
        assert!(file.starts_with("/sessions/"), "{dialect}: {file}");
        assert_eq!(after["data"]["sessionDirectory"], "/sessions", "{dialect}");
    }
}

#[test]
fn entries_query_returns_only_new_lines() {
    for dialect in DIALECTS {
        let since = |since: u64| json!({ "type": "query", "id": "e", "about": "entries", "since": since });
        let entry = json!({ "type": "append_entry", "customType": "count", "data": { "n": 1 } });
        let played = scenario(json!([model_says("Well.")]))
            .kept()
            .extended(Extension::new("a", json!({})).on(
                "start",
                [waits(100), writes(query("entries")), writes(entry), writes(since(4)), writes(since(99))],
            ))
            .host(10, prompt("p", "go"))
            .play(dialect);
        let lines = played.disk.lines();
        let answers = answers(&played);
        let [all, news, none] = answers[..] else { panic!("{dialect}: {answers:?}") };
        assert_eq!(all["data"]["header"], lines[0], "{dialect}");
        let told = all["data"]["entries"].as_array().expect("entries");
        assert_eq!(told[..], lines[1..=told.len()], "{dialect}");
        assert_eq!(all["data"]["leafId"], told.last().expect("one")["id"], "{dialect}");
        let last = news["data"]["entries"].as_array().and_then(|it| it.last()).expect("one");
        assert_eq!((&last["customType"], &last["data"]["n"]), (&json!("count"), &json!(1)), "{dialect}");
        assert_eq!(Some(last), lines.last(), "{dialect}");
        assert_eq!(none["data"]["entries"], json!([]), "{dialect}");
    }
}

#[test]
fn tools_and_commands_name_their_source() {
    let tool = json!({
        "name": "count", "description": "Counts.", "parameters": { "type": "object" }, "path": "/x/count.ts",
        "promptGuidelines": ["Count slowly"],
    });
    let adds = json!({ "tools": [tool], "commands": [{ "name": "go", "description": "Goes." }] });
    for dialect in DIALECTS {
        let played = scenario(json!([]))
            .extended(
                Extension::new("a", adds.clone())
                    .on("start", [waits(100), writes(query("tools")), writes(query("commands"))]),
            )
            .play(dialect);
        let answers = answers(&played);
        let [tools, commands] = answers[..] else { panic!("{dialect}: {answers:?}") };
        let names: Vec<_> = tools["data"]["tools"].as_array().expect("tools").iter().collect();
        let brief: Vec<Value> =
            names.iter().map(|it| json!([it["name"], it["path"], it["active"]])).collect();
        assert_eq!(
            brief,
            [
                json!(["bash", null, true]),
                json!(["probe", null, true]),
                json!(["count", "/x/count.ts", true])
            ],
            "{dialect}"
        );
        assert_eq!(names[2]["promptGuidelines"], json!(["Count slowly"]), "{dialect}");
        assert_eq!(commands["data"]["commands"][0]["name"], "go", "{dialect}");
    }
}

#[test]
fn server_queries_answer_only_their_sender() {
    let played = scenario(json!([]))
        .extended(Extension::new("a", json!({})).on(
            "start",
            [waits(100), writes(query("models")), writes(query("settings")), writes(query("api_key"))],
        ))
        .extended(Extension::new("b", json!({})))
        .play(Pi);
    let told: Vec<Value> =
        answers(&played).into_iter().map(|it| json!([it["id"], it["data"]["about"]])).collect();
    assert_eq!(told, ["models", "settings", "api_key"].map(|about| json!([about, about])));
}

#[test]
fn query_is_answered_before_greeting() {
    // The other one keeps everybody waiting.
    let played = scenario(json!([]))
        .extended(Extension::new("a", json!({})).on("start", [waits(10), writes(query("state"))]))
        .extended(Extension::silent("b").on("hello", [waits(900), writes(json!({ "type": "register" }))]))
        .host(5, json!({ "id": "g", "type": "get_state" }))
        .play(Xcsh);
    let at = |wanted: &dyn Fn(&Value, &str) -> bool| {
        played.steps.iter().find(|step| wanted(&step.frame, &step.who)).map(|step| step.at)
    };
    assert_eq!(at(&|frame, who| who == ">a" && frame["type"] == "answer"), Some(10));
    assert_eq!(at(&|frame, _| frame["type"] == "ready"), Some(900));
    assert_eq!(played.answers("g").len(), 1);
}

#[test]
fn query_within_hook_includes_current_prompt() {
    let hooks = json!({ "hooks": ["before_agent_start"] });
    for dialect in DIALECTS {
        let played = scenario(json!([model_says("Well.")]))
            .extended(Extension::new("a", hooks.clone()).on(
                "hook before_agent_start",
                [writes(query("state")), writes(query("system_prompt")), done()],
            ))
            .host(10, prompt("p", "go"))
            .play(dialect);
        let answers = answers(&played);
        let [state, prompt] = answers[..] else { panic!("{dialect}: {answers:?}") };
        assert_eq!(state["data"]["isIdle"], false, "{dialect}");
        assert_eq!(
            prompt["data"],
            json!({ "systemPrompt": "Be brief.", "options": { "cwd": "/work", "selectedTools": ["bash", "probe"] } }),
            "{dialect}"
        );
    }
}
