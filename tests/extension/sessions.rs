//! Extensions that go from session to session and from branch to branch.

use crate::asking_support::{Extension, Playback, done, says, scenario, shorthand, waits, writes};
use pi_rpc::protocol::Dialect::{self, Pi, Pi1, Pi073, Xcsh};
use serde_json::{Value, json};
use shorthand::{calls, prompt, says as model_says, summary};

const DIALECTS: [Dialect; 4] = [Pi, Pi073, Pi1, Xcsh];

/// An action with the id `r`.
fn action(kind: &str, rest: Value) -> Value {
    let mut frame = json!({ "type": kind, "id": "r" });
    for (key, value) in rest.as_object().into_iter().flatten() {
        frame[key] = value.clone();
    }
    frame
}

/// An extension with these hooks that does this at 300 ms.
fn at_300(hooks: Value, frame: Value) -> Extension {
    Extension::new("a", json!({ "hooks": hooks })).on("start", [waits(300), writes(frame)])
}

/// The only response to the action.
fn response(played: &Playback) -> &Value {
    let all = played.wrote(">a", "response r");
    let [response] = all[..] else { panic!("{} responses\n{}", all.len(), played.log) };
    response
}

/// The id of the entry on disk in which `text` was said.
fn said(played: &Playback, text: &str) -> String {
    let lines = played.disk.lines();
    let is_it = |line: &&Value| line["message"]["role"] == "user" && line.to_string().contains(text);
    lines.iter().find(is_it).expect("said")["id"].as_str().expect("an id").to_owned()
}

/// What the model was asked last, without what it was told of itself.
fn last_asked(played: &Playback) -> String {
    let (what, roles) = played.asked.last().and_then(|it| it.split_once('[')).unwrap_or_default();
    format!("{what}[{}", roles.replace('s', ""))
}

/// Two prompts of a conversation that is kept, and what the model says.
fn two_prompts(turns: Value) -> crate::asking_support::Scenario {
    scenario(turns).kept().host(10, prompt("p", "one")).host(100, prompt("q", "two"))
}

#[test]
fn new_session_starts_with_given_entries() {
    let wanted = action(
        "new_session",
        json!({ "parentSession": "/sessions/old.jsonl", "entries": [
            { "role": "user", "content": "As I said." },
            { "role": "custom", "customType": "note", "content": "By the way.", "display": true },
        ] }),
    );
    for dialect in DIALECTS {
        let played = two_prompts(json!([model_says("1"), model_says("2"), model_says("3")]))
            .extended(
                at_300(json!(["session_before_switch"]), wanted.clone())
                    .on("hook session_before_switch", [done()]),
            )
            .host(400, prompt("r", "three"))
            .play(dialect);
        assert_eq!(
            *response(&played),
            json!({ "type": "response", "id": "r", "success": true, "data": { "cancelled": false } })
        );
        assert_eq!(played.wrote(">a", "hook session_before_switch").len(), 1, "{dialect}");
        assert_eq!(last_asked(&played), "turn play [ucu]", "{dialect}\n{}", played.log);
        assert!(played.answers("r").iter().all(|it| it["command"] == "prompt"), "{dialect}");
    }
}

#[test]
fn invalid_initial_entries_are_refused_without_effect() {
    let wanted = action(
        "new_session",
        json!({ "entries": [{ "role": "user", "content": "a" }, { "role": "nobody" }] }),
    );
    let played =
        two_prompts(json!([model_says("1"), model_says("2")])).extended(at_300(json!([]), wanted)).play(Pi);
    let error = response(&played)["error"].as_str().expect("an error");
    assert!(error.starts_with("entries[1]: "), "{error}");
    assert_eq!(played.disk.paths().count(), 1);
}

#[test]
fn extension_forks_before_or_at_entry() {
    for dialect in DIALECTS {
        for (position, asked) in
            [(None, "turn play [uau]"), (Some("before"), "turn play [uau]"), (Some("at"), "turn play [uauu]")]
        {
            let mut wanted = action("fork", json!({ "entryId": "$second" }));
            if let Some(position) = position {
                wanted["position"] = position.into();
            }
            // The same conversation has the same ids.
            let first = two_prompts(json!([model_says("1"), model_says("2")]))
                .extended(at_300(json!([]), json!({ "type": "accept", "id": "0" })))
                .play(dialect);
            wanted["entryId"] = said(&first, "two").into();
            let played = two_prompts(json!([model_says("1"), model_says("2"), model_says("3")]))
                .extended(
                    at_300(json!(["session_before_fork"]), wanted).on("hook session_before_fork", [done()]),
                )
                .host(400, prompt("r", "three"))
                .play(dialect);
            assert_eq!(
                response(&played)["data"]["cancelled"],
                false,
                "{dialect} {position:?}: {}",
                response(&played)
            );
            let hook = played.wrote(">a", "hook session_before_fork")[0];
            assert_eq!(hook["hook"]["position"] == "at", position == Some("at"), "{dialect} {position:?}");
            assert_eq!(last_asked(&played), asked, "{dialect} {position:?}");
        }
    }
}

#[test]
fn veto_stops_session_action_of_another_extension() {
    for (kind, hook, rest) in [
        ("new_session", "session_before_switch", json!({})),
        ("switch_session", "session_before_switch", json!({ "sessionPath": "/sessions/x.jsonl" })),
    ] {
        for dialect in DIALECTS {
            let played = two_prompts(json!([model_says("1"), model_says("2")]))
                .extended(at_300(json!([]), action(kind, rest.clone())))
                .extended(
                    Extension::new("b", json!({ "hooks": [hook] }))
                        .on(&format!("hook {hook}"), [says(json!({ "cancel": true }))]),
                )
                .play(dialect);
            assert_eq!(response(&played)["data"], json!({ "cancelled": true }), "{kind} in {dialect}");
        }
    }
}

#[test]
fn switch_session_succeeds_or_reports_reason() {
    for dialect in DIALECTS {
        let wanted = |path: &str| action("switch_session", json!({ "sessionPath": path }));
        let played = two_prompts(json!([model_says("1"), model_says("2")]))
            .file("/sessions/bad.jsonl", "no session\n")
            .extended(at_300(json!([]), wanted("/sessions/bad.jsonl")))
            .play(dialect);
        assert_eq!(response(&played)["success"], false, "{dialect}");
        assert!(response(&played)["error"].as_str().is_some_and(|it| it.contains("bad.jsonl")), "{dialect}");
        let played = two_prompts(json!([model_says("1"), model_says("2"), model_says("3")]))
            .extended(at_300(json!([]), wanted("/sessions/new.jsonl")))
            .host(400, prompt("r", "three"))
            .play(dialect);
        assert_eq!(response(&played)["data"], json!({ "cancelled": false }), "{dialect}");
        assert_eq!(last_asked(&played), "turn play [u]", "{dialect}");
    }
}

#[test]
fn new_session_of_extension_ends_run() {
    for dialect in DIALECTS {
        let played = scenario(json!([calls("t1", "bash", "sleep 5000"), model_says("2")]))
            .kept()
            .extended(at_300(json!([]), action("new_session", json!({}))))
            .host(10, prompt("p", "one"))
            .play(dialect);
        assert_eq!(response(&played)["data"], json!({ "cancelled": false }), "{dialect}");
        assert_eq!(played.last("agent_end")["type"], "agent_end", "{dialect}");
        assert_eq!(played.asked.len(), 1, "{dialect}");
    }
}

#[test]
fn compact_result_goes_only_to_extension() {
    for dialect in DIALECTS {
        let played = two_prompts(json!([
            model_says("1"),
            model_says("2"),
            summary("The sum."),
            summary("The sum."),
            summary("Short.")
        ]))
        .modes(|modes| modes.compaction.keep_recent = 1)
        .extended(at_300(json!([]), action("compact", json!({ "customInstructions": "the tests" }))))
        .play(dialect);
        let data = &response(&played)["data"];
        assert!(data["summary"].as_str().is_some_and(|it| it.contains("The sum.")), "{dialect}: {data}");
        assert!(data["firstKeptEntryId"].is_string(), "{dialect}: {data}");
        assert!(played.said.iter().all(|it| it["command"] != "compact"), "{dialect}");
    }
}

#[test]
fn withdrawn_or_needless_compaction_fails() {
    for dialect in DIALECTS {
        let slow = json!({ "summary": true, "say": [{ "text": "The sum." }], "firstDelayMs": 5000 });
        let withdraw = json!({ "type": "withdraw", "id": "r" });
        let played = two_prompts(json!([model_says("1"), model_says("2"), slow]))
            .modes(|modes| modes.compaction.keep_recent = 1)
            .extended(Extension::new("a", json!({})).on(
                "start",
                [waits(300), writes(action("compact", json!({}))), waits(100), writes(withdraw)],
            ))
            .play(dialect);
        assert_eq!(response(&played)["error"], "Compaction cancelled", "{dialect}");
        let played =
            scenario(json!([])).extended(at_300(json!([]), action("compact", json!({})))).play(dialect);
        assert_eq!(response(&played)["success"], false, "{dialect}");
    }
}

#[test]
fn abort_of_extension_ends_the_run() {
    for dialect in DIALECTS {
        let played = scenario(json!([calls("t1", "bash", "sleep 5000"), model_says("2")]))
            .extended(at_300(json!([]), action("abort", json!({}))))
            .host(10, prompt("p", "one"))
            .play(dialect);
        assert_eq!(
            *response(&played),
            json!({ "type": "response", "id": "r", "success": true }),
            "{dialect}"
        );
        assert_eq!(played.asked.len(), 1, "{dialect}");
        assert!(played.said.iter().all(|it| it["command"] != "abort"), "{dialect}");
    }
}

#[test]
fn wait_for_idle_completes_when_idle() {
    for dialect in DIALECTS {
        let played = scenario(json!([calls("t1", "bash", "sleep 1000"), model_says("2")]))
            .extended(at_300(json!([]), action("wait_for_idle", json!({}))))
            .host(10, prompt("p", "one"))
            .play(dialect);
        assert_eq!(
            *response(&played),
            json!({ "type": "response", "id": "r", "success": true }),
            "{dialect}"
        );
        let place = |wanted: &dyn Fn(&str, &Value) -> bool| {
            played.steps.iter().rposition(|step| wanted(&step.who, &step.frame))
        };
        let over = place(&|who, frame| who == ">" && frame["type"] == "agent_end");
        assert!(over < place(&|who, frame| who == ">a" && frame["type"] == "response"), "{dialect}");
        // Nothing goes on: at once.
        let played =
            scenario(json!([])).extended(at_300(json!([]), action("wait_for_idle", json!({})))).play(dialect);
        assert_eq!(response(&played)["success"], true, "{dialect}");
    }
}

/// What navigation to the second prompt comes to.
struct Navigated {
    rest: Value,
    /// What `session_before_tree` is answered.
    say: Value,
    asked: &'static [&'static str],
    data: Value,
    /// The kinds of entries that were added.
    kept: &'static [&'static str],
}

#[test]
fn an_extension_takes_up_another_branch() {
    let cases = [
        Navigated {
            rest: json!({}),
            say: json!({}),
            asked: &["turn play [uau]"],
            data: json!({ "cancelled": false, "editorText": "two" }),
            kept: &[],
        },
        Navigated {
            rest: json!({}),
            say: json!({ "cancel": true }),
            asked: &["turn play [uauau]"],
            data: json!({ "cancelled": true }),
            kept: &[],
        },
        Navigated {
            rest: json!({ "label": "here" }),
            say: json!({ "label": "there" }),
            asked: &["turn play [uau]"],
            data: json!({ "cancelled": false, "editorText": "two" }),
            kept: &["label"],
        },
        Navigated {
            rest: json!({ "summarize": true, "label": "here" }),
            say: json!({}),
            asked: &["summary play [u]", "turn play [ua?u]"],
            data: json!({ "cancelled": false, "editorText": "two" }),
            kept: &["branch_summary", "label"],
        },
        Navigated {
            rest: json!({ "summarize": true }),
            say: json!({ "summary": { "summary": "Mine.", "details": { "own": 1 } } }),
            asked: &["turn play [ua?u]"],
            data: json!({ "cancelled": false, "editorText": "two" }),
            kept: &["branch_summary"],
        },
    ];
    for dialect in DIALECTS {
        let turns = json!([model_says("1"), model_says("2"), summary("The sum."), model_says("3")]);
        let first = two_prompts(turns.clone())
            .extended(at_300(json!([]), json!({ "type": "accept", "id": "0" })))
            .play(dialect);
        let target = said(&first, "two");
        for case in &cases {
            let mut wanted = action("navigate_tree", case.rest.clone());
            wanted["targetId"] = target.clone().into();
            let played = two_prompts(turns.clone())
                .extended(
                    at_300(json!(["session_before_tree", "session_tree"]), wanted)
                        .on("hook session_before_tree", [says(case.say.clone())])
                        .on("hook session_tree", [waits(20), done()]),
                )
                .host(500, prompt("r", "three"))
                .play(dialect);
            let case_is = format!("{} {} in {dialect}\n{}", case.rest, case.say, played.log);
            let mut data = response(&played)["data"].clone();
            let entry = data.as_object_mut().and_then(|it| it.remove("summaryEntry"));
            assert_eq!(data, case.data, "{case_is}");
            let asked: Vec<String> = played.asked[2..].iter().map(|it| it.replace("[s", "[")).collect();
            assert_eq!(asked, case.asked, "{case_is}");
            let before = first.disk.lines().len();
            let kinds: Vec<Value> =
                played.disk.lines()[before..].iter().map(|it| it["type"].clone()).collect();
            assert_eq!(
                kinds[..case.kept.len()],
                case.kept.iter().map(|it| json!(it)).collect::<Vec<_>>()[..],
                "{case_is}"
            );
            let told = played.wrote(">a", "hook session_tree");
            assert_eq!(told.len(), usize::from(case.data["cancelled"] == false), "{case_is}");
            if let Some(entry) = entry {
                assert_eq!(told[0]["hook"]["summaryEntry"], entry, "{case_is}");
                let left = &first.disk.lines()[before - 1]["id"];
                let from = if dialect == Pi1 { left } else { &entry["parentId"] };
                assert_eq!(&entry["fromId"], from, "{case_is}");
                let own = case.say["summary"]["summary"].as_str().unwrap_or("The sum.");
                assert!(entry["summary"].as_str().is_some_and(|it| it.contains(own)), "{case_is}");
            }
        }
    }
}

#[test]
fn branch_without_messages_has_empty_details() {
    for dialect in DIALECTS {
        let turns = json!([model_says("1"), model_says("2")]);
        let note = || action("append_entry", json!({ "customType": "note", "data": 1 }));
        let first = two_prompts(turns.clone()).extended(at_300(json!([]), note())).play(dialect);
        let lines = first.disk.lines();
        let answer = lines.iter().rfind(|line| line["message"]["role"] == "assistant").expect("an answer");
        let wanted = action("navigate_tree", json!({ "targetId": answer["id"], "summarize": true }));
        let extension = Extension::new("a", json!({ "hooks": [] }))
            .on("start", [waits(300), writes(note()), waits(10), writes(wanted)]);
        let played = two_prompts(turns).extended(extension).play(dialect);
        let entry = played.disk.lines().into_iter().find(|line| line["type"] == "branch_summary");
        let entry = entry.expect("a summary");
        assert_eq!(entry["summary"], "No content to summarize", "{dialect}");
        assert_eq!(entry["details"], json!({ "readFiles": [], "modifiedFiles": [] }), "{dialect}");
        assert_eq!(played.asked.len(), 2, "{dialect}: no model is asked");
    }
}

#[test]
fn usage_of_extension_summary_counts() {
    let turns = json!([model_says("1"), model_says("2")]);
    let first = two_prompts(turns.clone())
        .extended(at_300(json!([]), json!({ "type": "accept", "id": "0" })))
        .play(Pi1);
    let wanted = action("navigate_tree", json!({ "targetId": said(&first, "two"), "summarize": true }));
    let summary = json!({ "summary": "Mine.", "usage": {
        "input": 7, "output": 3, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 10,
        "cost": { "input": 0.25, "output": 0.25, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.5 },
    } });
    let stats = |id: &str| json!({ "id": id, "type": "get_session_stats" });
    let played = two_prompts(turns)
        .extended(
            at_300(json!(["session_before_tree"]), wanted)
                .on("hook session_before_tree", [says(json!({ "summary": summary }))]),
        )
        .host(200, stats("before"))
        .host(500, stats("after"))
        // No frame shows that the extension has acted.
        .unjudged()
        .play(Pi1);
    let (before, after) = (played.data("before"), played.data("after"));
    assert_eq!(after["tokens"]["total"].as_u64(), before["tokens"]["total"].as_u64().map(|it| it + 10));
    assert_eq!(after["cost"].as_f64(), before["cost"].as_f64().map(|it| it + 0.5));
    assert_eq!(response(&played)["data"]["summaryEntry"]["usage"], summary["usage"]);
}

#[test]
fn unknown_branch_is_refused_and_current_kept() {
    for dialect in DIALECTS {
        let played = two_prompts(json!([model_says("1"), model_says("2")]))
            .extended(at_300(json!([]), action("navigate_tree", json!({ "targetId": "nowhere" }))))
            .play(dialect);
        assert_eq!(response(&played)["error"], "Entry nowhere not found", "{dialect}");
        let leaf = played.disk.lines().last().expect("one")["id"].clone();
        let played = two_prompts(json!([model_says("1"), model_says("2")]))
            .extended(at_300(
                json!(["session_before_tree"]),
                action("navigate_tree", json!({ "targetId": leaf })),
            ))
            .play(dialect);
        assert_eq!(response(&played)["data"], json!({ "cancelled": false }), "{dialect}");
    }
}

#[test]
fn prompt_cancels_branch_summary() {
    for dialect in DIALECTS {
        let slow = json!({ "summary": true, "say": [{ "text": "The sum." }], "firstDelayMs": 5000 });
        let turns = json!([model_says("1"), model_says("2"), slow, model_says("4")]);
        let first = two_prompts(turns.clone())
            .extended(at_300(json!([]), json!({ "type": "accept", "id": "0" })))
            .play(dialect);
        let target = said(&first, "two");
        let wanted = action("navigate_tree", json!({ "targetId": target, "summarize": true }));
        let played = two_prompts(turns)
            .extended(at_300(json!([]), wanted))
            .host(500, prompt("r", "three"))
            .play(dialect);
        assert_eq!(response(&played)["data"], json!({ "cancelled": true, "aborted": true }), "{dialect}");
        assert_eq!(last_asked(&played), "turn play [uauau]", "{dialect}");
    }
}

#[test]
fn unpersisted_branch_is_not_entered() {
    for dialect in DIALECTS {
        let turns = json!([model_says("1"), model_says("2"), model_says("3")]);
        let first = two_prompts(turns.clone())
            .extended(at_300(json!([]), json!({ "type": "accept", "id": "0" })))
            .play(dialect);
        let wanted = action("navigate_tree", json!({ "targetId": said(&first, "two"), "label": "here" }));
        let played = two_prompts(turns)
            .extended(at_300(json!([]), wanted))
            .disk_full(250, 400)
            .host(500, prompt("r", "three"))
            .play(dialect);
        assert_eq!(response(&played)["success"], false, "{dialect}");
        assert_eq!(last_asked(&played), "turn play [uauau]", "{dialect}");
    }
}

#[test]
fn tree_navigation_is_refused_while_busy() {
    for dialect in DIALECTS {
        let wanted = action("navigate_tree", json!({ "targetId": "anything" }));
        let played = scenario(json!([calls("t1", "bash", "sleep 1000"), model_says("2")]))
            .kept()
            .extended(at_300(json!([]), wanted.clone()))
            .host(10, prompt("p", "one"))
            .play(dialect);
        let text = "Wait for the current response to finish before navigating the session tree.";
        assert_eq!(response(&played)["error"], text, "{dialect}");
        assert_eq!(played.asked.len(), 2, "{dialect}");
        let slow = json!({ "summary": true, "say": [{ "text": "The sum." }], "firstDelayMs": 500 });
        let played = two_prompts(json!([model_says("1"), model_says("2"), slow, slow, slow]))
            .modes(|modes| modes.compaction.keep_recent = 1)
            .extended(at_300(json!([]), wanted))
            .host(200, json!({ "id": "c", "type": "compact" }))
            .play(dialect);
        let text = "Wait for the current compaction or tree navigation to finish before navigating the session tree.";
        assert_eq!(response(&played)["error"], text, "{dialect}");
    }
}
