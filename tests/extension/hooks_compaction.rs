//! The hook before a compaction: an extension prevents it, sums up by itself, or leaves it to a model.

use crate::asking_support::{
    self, Extension, PeerStep, Playback, Scenario, done, fails, says, scenario, shorthand, waits,
};
use pi_rpc::{
    engine::{CompactionPlan, Modes},
    protocol::Dialect::{self, Pi, Pi1, Xcsh},
};
use serde_json::{Value, json};
use shorthand::{command, fills, prompt, says as model_says, summary};

const DIALECTS: [Dialect; 2] = [Pi, Xcsh];

/// Little is kept, so that short conversations can be compacted.
fn briefly(modes: &mut Modes) {
    modes.compaction = CompactionPlan { reserve: 1000, keep_recent: 6 };
}

/// Two turns have been had at 200 ms; the host wants them compacted at 300.
fn asked(does: impl IntoIterator<Item = PeerStep>) -> Scenario {
    talked(does).host(300, json!({ "id": "c", "type": "compact", "customInstructions": "the names" }))
}

fn talked(does: impl IntoIterator<Item = PeerStep>) -> Scenario {
    let turns = json!([
        model_says("Answer number one."),
        model_says("Answer number two."),
        summary("What was said."),
        summary("In short."),
        model_says("Well."),
    ]);
    let extension = Extension::new("a", json!({ "hooks": ["session_before_compact"] })).on(HOOK, does);
    scenario(turns)
        .kept()
        .modes(briefly)
        .extended(extension)
        .host(0, prompt("p", "question number one"))
        .host(100, prompt("q", "question number two"))
}

const HOOK: &str = "hook session_before_compact";

/// What was written from the compaction on.
fn talk(played: &Playback) -> String {
    let talk = played.transcript();
    talk[talk.find("< c").unwrap_or_default()..].to_owned()
}

/// What the extension is told of the compaction.
fn told(played: &Playback) -> Value {
    played.wrote(">a", HOOK)[0]["hook"].clone()
}

/// The id that the first entry which stays will have, and what is counted before: the engine gives the same ids each time.
fn known(dialect: Dialect) -> (Value, Value) {
    let told = told(&asked([done()]).play(dialect));
    (told["firstKeptEntryId"].clone(), told["tokensBefore"].clone())
}

#[test]
fn compaction_hook_gets_prepared_messages() {
    for dialect in DIALECTS {
        let played = asked([done()]).play(dialect);
        assert_eq!(talk(&played), format!("< c · >a {HOOK} · <a done · ok c"), "{dialect}");
        let mut told = told(&played);
        let kept = told["firstKeptEntryId"].take();
        let lines = played.disk.lines();
        let entry = lines.iter().find(|line| line["id"] == kept).expect("an entry");
        assert_eq!(entry["message"]["content"][0]["text"], "question number two", "{dialect}");
        let texts: Vec<String> = told["messagesToSummarize"]
            .take()
            .as_array()
            .expect("a list")
            .iter()
            .map(|it| format!("{} {}", it["role"], it["content"][0]["text"]))
            .collect();
        assert_eq!(
            texts,
            [r#""user" "question number one""#, r#""assistant" "Answer number one.""#],
            "{dialect}"
        );
        assert!(told["tokensBefore"].take().as_u64().is_some_and(|tokens| tokens > 0), "{dialect}");
        assert_eq!(
            told,
            json!({
                "type": "session_before_compact", "firstKeptEntryId": null, "tokensBefore": null,
                "customInstructions": "the names", "messagesToSummarize": null,
                "isSplitTurn": false, "turnPrefixMessages": [], "readFiles": [], "modifiedFiles": [],
                "reserveTokens": 1000, "keepRecentTokens": 6, "reason": "manual", "willRetry": false,
            }),
            "{dialect}"
        );
    }
}

#[test]
fn an_extension_prevents_a_compaction() {
    for dialect in DIALECTS {
        let played = asked([says(json!({ "cancel": true }))]).play(dialect);
        assert_eq!(
            talk(&played).split(" · ").last(),
            Some(if dialect == Pi { "no c" } else { "no parse" }),
            "{dialect}"
        );
        assert!(played.error("c").ends_with("Compaction cancelled"), "{dialect}");
        assert_eq!(played.asked.len(), 2, "{dialect}: no model is asked");
    }
}

#[test]
fn usage_of_replaced_compaction_counts() {
    let (kept, tokens) = known(Pi1);
    let usage = json!({
        "input": 7, "output": 3, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 10,
        "cost": { "input": 0.25, "output": 0.25, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.5 },
    });
    let compaction = json!({
        "summary": "All of it.", "firstKeptEntryId": kept, "tokensBefore": tokens, "usage": usage,
    });
    let stats = |id: &str| json!({ "id": id, "type": "get_session_stats" });
    let played = asked([says(json!({ "compaction": compaction }))])
        .host(250, stats("before"))
        .host(500, stats("after"))
        .play(Pi1);
    let (before, after) = (played.data("before"), played.data("after"));
    assert_eq!(after["tokens"]["total"].as_u64(), before["tokens"]["total"].as_u64().map(|it| it + 10));
    assert_eq!(after["cost"].as_f64(), before["cost"].as_f64().map(|it| it + 0.5));
    assert_eq!(played.data("c")["usage"], usage);
}

#[test]
fn compaction_hook_replaces_model_summary() {
    for dialect in DIALECTS {
        let (kept, tokens) = known(dialect);
        let compaction = json!({
            "summary": "All of it.", "firstKeptEntryId": kept, "tokensBefore": tokens, "details": { "by": "a" },
        });
        let played = asked([waits(50), says(json!({ "compaction": compaction }))])
            .host(500, prompt("r", "three"))
            .play(dialect);
        let data = &played.answers("c")[0]["data"];
        let said = |key: &str| data[key].clone();
        assert_eq!(
            json!({
                "summary": said("summary"), "firstKeptEntryId": said("firstKeptEntryId"),
                "tokensBefore": said("tokensBefore"), "details": said("details"),
            }),
            compaction,
            "{dialect}"
        );
        assert_eq!(played.asked[2..], ["turn play [Suau]"], "{dialect}");
        let entry =
            played.disk.lines().into_iter().find(|line| line["type"] == "compaction").expect("an entry");
        assert_eq!(
            (&entry["summary"], &entry[if dialect == Pi { "fromHook" } else { "fromExtension" }]),
            (&json!("All of it."), &json!(true)),
            "{dialect}"
        );
    }
}

#[test]
fn unknown_kept_entry_fails_compaction() {
    for dialect in DIALECTS {
        let compaction = json!({ "summary": "All of it.", "firstKeptEntryId": "nobody", "tokensBefore": 1 });
        let played = asked([says(json!({ "compaction": compaction }))]).play(dialect);
        let text = "The extension keeps entries from \"nobody\" on, which is not on the path";
        assert!(played.error("c").ends_with(text), "{dialect}: {}", played.error("c"));
        assert_eq!(
            played.disk.lines().into_iter().filter(|line| line["type"] == "compaction").count(),
            0,
            "{dialect}"
        );
    }
}

#[test]
fn failed_compaction_hook_falls_back_to_model() {
    for dialect in DIALECTS {
        for (does, reason) in [(vec![fails("no idea")], "no idea"), (vec![], "No answer within 30 s")] {
            let played = asked(does).play(dialect);
            assert_eq!(played.last("extension_error")["error"], reason, "{dialect}");
            assert_eq!(played.answers("c")[0]["data"]["summary"], "What was said.", "{dialect}");
        }
    }
}

#[test]
fn new_session_cancels_outstanding_compaction_hook() {
    for dialect in DIALECTS {
        let played = talked([]).host(300, command("compact")).host(400, command("new_session")).play(dialect);
        let talk = played.transcript();
        let end = match dialect {
            // Served one by one: the compaction is answered first.
            Xcsh => {
                "< new_session · >a cancel · error session_before_compact: No answer within 30 s · ok compact · ok new_session"
            }
            _ => "< new_session · >a cancel · no compact · ok new_session",
        };
        assert!(talk.ends_with(end), "{dialect}: {talk}");
    }
}

/// The context is full after the first answer.
fn full(does: impl IntoIterator<Item = PeerStep>) -> Scenario {
    let extension = Extension::new("a", json!({ "hooks": ["session_before_compact"] })).on(HOOK, does);
    scenario(json!([
        model_says("Answer number one."),
        fills("Answer number two.", 127_500),
        summary("What was said."),
        summary("In short."),
        model_says("Well.")
    ]))
    .modes(briefly)
    .extended(extension)
    .host(0, prompt("p", "question number one"))
    .host(100, prompt("q", "question number two"))
}

#[test]
fn vetoed_automatic_compaction_ends_as_aborted() {
    for dialect in DIALECTS {
        let played = full([waits(50), says(json!({ "cancel": true }))]).play(dialect);
        let talk = played.transcript();
        let end = format!("agent_end [ua] · compact threshold · >a {HOOK} · <a done · compact_end aborted");
        assert!(talk.ends_with(&end), "{dialect}: {talk}");
    }
}

#[test]
fn dialog_may_be_open_during_automatic_compaction() {
    let ask = json!({ "method": "confirm", "title": "Compact?", "message": "It is full." });
    for dialect in DIALECTS {
        let played = full([asking_support::ui("mine", ask.clone())])
            .host(200, asking_support::answer(0, "confirmed", true))
            .host(300, command("abort"))
            .host(400, command("new_session"))
            .play(dialect);
        let asked = played.steps.iter().find(|step| step.frame["type"] == "extension_ui_request");
        assert_eq!(asked.map(|step| step.state.as_str()), Some("compacting+awaiting_ui"), "{dialect}");
        let end = "< extension_ui_response · >a ui_answer mine · < abort · ok abort · < new_session · >a cancel · \
                   compact_end aborted · ok new_session";
        assert!(played.transcript().ends_with(end), "{dialect}: {}", played.transcript());
    }
}
