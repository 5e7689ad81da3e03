//! `navigate_tree` of a host, as whole frames in virtual time: where the session continues, and what gives it up.

use pi_rpc_engine::CompactionPlan;
use pi_rpc_protocol::Dialect::{Pi1, Pi1Login, Pi1Navigation};
use pi_rpc_test_kit::{Playback, Scenario, scenario, shorthand::*};
use serde_json::{Value, json};

/// Two prompts and what answers them, then `turns`.
fn two_prompts(turns: &[Value]) -> Scenario {
    let turns: Vec<Value> = [says("1"), says("2")].into_iter().chain(turns.iter().cloned()).collect();
    scenario(json!(turns)).kept().host(10, prompt("p", "one")).host(100, prompt("q", "two"))
}

fn navigate(target: &str, rest: Value) -> Value {
    let mut frame = json!({ "id": "n", "type": "navigate_tree", "targetId": target });
    for (key, value) in rest.as_object().into_iter().flatten() {
        frame[key] = value.clone();
    }
    frame
}

/// The entries of a session, which are the same in each play of a conversation.
struct Ids {
    second_prompt: String,
    first_answer: String,
    second_answer: String,
}

fn ids() -> Ids {
    let listed = two_prompts(&[]).host(300, command("get_entries")).finish(Pi1Navigation).data("get_entries");
    let of = |role: &str, nth: usize| {
        let entries = listed["entries"].as_array().into_iter().flatten();
        let entry = entries.filter(|entry| entry["message"]["role"] == role).nth(nth);
        entry.expect("an entry")["id"].as_str().expect("an id").to_owned()
    };
    Ids { second_prompt: of("user", 1), first_answer: of("assistant", 0), second_answer: of("assistant", 1) }
}

fn done(data: Value) -> Value {
    json!({ "id": "n", "type": "response", "command": "navigate_tree", "success": true, "data": data })
}

fn refused(error: &str) -> Value {
    json!({ "id": "n", "type": "response", "command": "navigate_tree", "success": false, "error": error })
}

fn given_up() -> Value {
    done(json!({ "cancelled": true, "aborted": true }))
}

/// The model's last request, without what it was told of itself.
fn last_asked(played: &Playback) -> String {
    let (what, roles) = played.asked.last().and_then(|it| it.split_once('[')).unwrap_or_default();
    format!("{what}[{}", roles.replace('s', ""))
}

/// The parent of the newest prompt.
fn parent_of_prompt(played: &Playback) -> Value {
    let lines = played.disk.lines();
    lines.iter().rfind(|line| line["message"]["role"] == "user").expect("a prompt")["parentId"].clone()
}

const IN_RUN: &str = "Wait for the current response to finish before navigating the session tree.";
const BUSY: &str =
    "Wait for the current compaction or tree navigation to finish before navigating the session tree.";

#[test]
fn prompt_is_returned_and_replaced() {
    let ids = ids();
    let played = two_prompts(&[says("3")])
        .host(300, navigate(&ids.second_prompt, json!({})))
        .host(310, command("get_tree"))
        .host(400, prompt("r", "three"))
        .finish(Pi1Navigation);
    let moved = done(json!({ "cancelled": false, "editorText": "two" }));
    assert_eq!(played.answers("n"), [&moved], "{}", played.log);
    assert_eq!(played.data("get_tree")["leafId"], ids.first_answer, "{}", played.log);
    assert_eq!(parent_of_prompt(&played), ids.first_answer, "{}", played.log);
    assert_eq!(last_asked(&played), "turn play [uau]");
}

#[test]
fn session_continues_after_an_answer() {
    let ids = ids();
    let played = two_prompts(&[says("3")])
        .host(300, navigate(&ids.first_answer, json!({})))
        .host(310, command("get_messages"))
        .host(400, prompt("r", "three"))
        .finish(Pi1Navigation);
    assert_eq!(played.answers("n"), [&done(json!({ "cancelled": false }))], "{}", played.log);
    assert_eq!(parent_of_prompt(&played), ids.first_answer, "{}", played.log);
    let messages = played.data("get_messages")["messages"].clone();
    let roles = messages.as_array().into_iter().flatten().map(|message| message["role"].clone());
    let roles: Vec<Value> = roles.filter(|role| role != "system").collect();
    assert_eq!(roles, ["user", "assistant"], "{}", played.log);
}

#[test]
fn navigation_to_the_leaf_changes_nothing() {
    let ids = ids();
    let played = two_prompts(&[]).host(300, navigate(&ids.second_answer, json!({}))).finish(Pi1Navigation);
    assert_eq!(played.answers("n"), [&done(json!({ "cancelled": false }))], "{}", played.log);
}

#[test]
fn left_branch_is_summarised_as_asked() {
    let ids = ids();
    let options = json!({ "summarize": true, "customInstructions": "Name the files.", "label": "before" });
    let played = two_prompts(&[summary("The sum."), says("3")])
        .host(200, command("get_entries"))
        .host(300, navigate(&ids.second_prompt, options))
        .host(500, json!({ "id": "later", "type": "get_entries" }))
        .finish(Pi1Navigation);
    let before = played.data("get_entries")["entries"].as_array().map_or(0, Vec::len);
    let later = played.data("later");
    let added = &later["entries"].as_array().expect("entries")[before..];
    let [summary, label] = added else { panic!("{} entries\n{}", added.len(), played.log) };
    let moved = done(json!({ "cancelled": false, "editorText": "two", "summaryEntry": summary }));
    assert_eq!(played.answers("n"), [&moved], "{}", played.log);
    assert_eq!(summary["parentId"], ids.first_answer);
    assert_eq!(summary["fromId"], ids.second_answer);
    assert!(summary["summary"].as_str().is_some_and(|it| it.contains("The sum.")), "{summary}");
    assert_eq!((&label["type"], &label["targetId"]), (&json!("label"), &summary["id"]));
    assert_eq!(later["leafId"], label["id"]);
    assert_eq!(last_asked(&played), "summary play [u]");
}

#[test]
fn failed_summary_keeps_the_branch() {
    let ids = ids();
    let played = two_prompts(&[no_summary(), says("3")])
        .host(300, navigate(&ids.second_prompt, json!({ "summarize": true })))
        .host(800, prompt("r", "three"))
        .finish(Pi1Navigation);
    let [answer] = played.answers("n")[..] else { panic!("{}", played.log) };
    assert_eq!(answer["success"], false, "{}", played.log);
    assert!(answer["error"].as_str().is_some_and(|it| it.contains("out of ink")), "{answer}");
    assert_eq!(last_asked(&played), "turn play [uauau]");
}

#[test]
fn unknown_entry_is_refused() {
    let played = two_prompts(&[]).host(300, navigate("nowhere", json!({}))).finish(Pi1Navigation);
    assert_eq!(played.answers("n"), [&refused("Entry nowhere not found")], "{}", played.log);
}

#[test]
fn navigation_is_refused_while_work_goes_on() {
    let ids = ids();
    let wanted = navigate(&ids.first_answer, json!({}));
    let run = two_prompts(&[calls("t1", "bash", "sleep 1000"), says("4")])
        .host(200, prompt("r", "three"))
        .host(300, wanted.clone());
    let played = run.finish(Pi1Navigation);
    assert_eq!(played.answers("n"), [&refused(IN_RUN)], "{}", played.log);
    let slow = json!({ "summary": true, "say": [{ "text": "The sum." }], "firstDelayMs": 500 });
    let compaction = two_prompts(&[slow.clone(), slow.clone(), slow.clone()])
        .modes(|modes| modes.compaction.keep_recent = 1)
        .host(200, command("compact"))
        .host(300, wanted.clone());
    let played = compaction.finish(Pi1Navigation);
    assert_eq!(played.answers("n"), [&refused(BUSY)], "{}", played.log);
    let mut first = navigate(&ids.second_prompt, json!({ "summarize": true }));
    first["id"] = "first".into();
    let played = two_prompts(&[slow]).host(200, first).host(300, wanted).finish(Pi1Navigation);
    assert_eq!(played.answers("n"), [&refused(BUSY)], "{}", played.log);
    assert_eq!(played.data("first")["cancelled"], false, "{}", played.log);
}

#[test]
fn other_work_gives_navigation_up() {
    let ids = ids();
    let slow = json!({ "summary": true, "say": [{ "text": "The sum." }], "firstDelayMs": 5000 });
    let begun = || {
        two_prompts(&[slow.clone(), says("3")])
            .host(200, navigate(&ids.second_prompt, json!({ "summarize": true })))
    };
    for other in [prompt("r", "three"), command("abort"), command("new_session")] {
        let played = begun().host(300, other.clone()).finish(Pi1Navigation);
        assert_eq!(played.answers("n"), [&given_up()], "{other}\n{}", played.log);
    }
    for close in [Scenario::ends, Scenario::stops] {
        let played = close(begun(), 300).finish(Pi1Navigation);
        assert_eq!(played.answers("n"), [&given_up()], "{}", played.log);
    }
}

#[test]
fn compaction_before_a_prompt_gives_it_up() {
    let mut full = says("Answer number two.");
    full["usage"] = json!({ "input": 127_500, "output": 0 });
    // The summary of the branch would be there before that of the compaction.
    let sums =
        |text: &str, delay: u64| json!({ "summary": true, "say": [{ "text": text }], "firstDelayMs": delay });
    let switch = |enabled: bool| json!({ "type": "set_auto_compaction", "enabled": enabled });
    let asked = [says("Answer number one."), full, sums("The branch.", 150), sums("So far.", 500), says("3")];
    let played = scenario(json!(asked))
        .kept()
        .modes(|modes| modes.compaction = CompactionPlan { reserve: 1000, keep_recent: 6 })
        .host(0, switch(false))
        .host(10, prompt("p", "one"))
        .host(100, prompt("q", "two"))
        .host(200, switch(true))
        .host(300, navigate(&ids().second_prompt, json!({ "summarize": true })))
        .host(400, prompt("r", "three"))
        .finish(Pi1Navigation);
    assert_eq!(played.answers("n"), [&given_up()], "{}", played.log);
    assert!(played.shape().join(" · ").contains("compact_end done"), "{}", played.log);
}

#[test]
fn unpersisted_branch_is_not_entered() {
    let ids = ids();
    let played = two_prompts(&[says("3")])
        .host(300, navigate(&ids.second_prompt, json!({ "label": "here" })))
        .disk_full(250, 400)
        .host(500, prompt("r", "three"))
        .finish(Pi1Navigation);
    assert_eq!(played.answers("n")[0]["success"], false, "{}", played.log);
    assert_eq!(last_asked(&played), "turn play [uauau]");
}

#[test]
fn other_dialects_do_not_know_the_command() {
    for dialect in [Pi1, Pi1Login] {
        let played = scenario(json!([])).host(0, navigate("a", json!({}))).finish(dialect);
        assert_eq!(played.answers("n"), [&refused("Unknown command: navigate_tree")], "{dialect}");
    }
}

#[test]
fn reads_between_navigations_agree() {
    let ids = ids();
    let reads =
        ["get_entries", "get_tree", "get_messages", "get_state", "get_session_stats", "get_fork_messages"];
    let mut talk = two_prompts(&[says("3"), summary("The sum."), says("4"), says("5")]);
    let targets = [&ids.second_prompt, &ids.second_answer, &ids.first_answer];
    for (round, target) in targets.into_iter().enumerate() {
        let at = 1000 * (round as u64 + 1);
        let mut wanted = navigate(target, json!({ "summarize": round == 1 }));
        wanted["id"] = format!("n{round}").into();
        talk = talk.host(at, wanted);
        // The last round reads only after its prompt.
        let moments = if round == 2 { vec![400] } else { vec![200, 400] };
        for moment in moments {
            for read in reads {
                let id = format!("{read} {round} {moment}");
                talk = talk.host(at + moment, json!({ "id": id, "type": read }));
            }
        }
        talk = talk.host(at + 300, prompt(&format!("p{round}"), "more"));
    }
    // Each play is judged.
    let played = talk.finish(Pi1Navigation);
    for round in 0..3 {
        assert_eq!(played.data(&format!("n{round}"))["cancelled"], false, "{}", played.log);
    }
    let leaf = |id: &str| played.data(id)["leafId"].clone();
    assert_eq!(leaf("get_entries 0 200"), ids.first_answer);
    assert_eq!(leaf("get_tree 2 400"), leaf("get_entries 2 400"));
}
