//! Rules that stop an answer, in a conversation. See `sequences.rs` for the notation.

use pi_rpc_engine::ExtensionSetup;
use pi_rpc_protocol::Dialect::Xcsh;
use pi_rpc_test_kit::{
    Playback, Scenario, scenario,
    shorthand::{command, overloaded, prompt, says, steer},
};
use serde_json::{Value, json};
use std::path::Path;

/// A rule of this name against a word.
fn rule(name: &str, word: &str) -> Value {
    json!({
        "name": name, "path": format!("/work/.xcsh/rules/{name}.md"), "content": format!("Do not write {word}."),
        "condition": [word], "_source": { "level": "project" },
    })
}

/// A conversation in which these rules hold.
fn ruled(rules: &[Value], turns: Value) -> Scenario {
    let rules = rules.iter().map(|rule| serde_json::from_value(rule.clone()).expect("a rule")).collect();
    scenario(turns).extension_setup(ExtensionSetup { rules, ..ExtensionSetup::default() })
}

/// A conversation with one rule, `plain`, against `forbidden`.
fn plain(turns: Value) -> Scenario {
    ruled(&[rule("plain", "forbidden")], turns)
}

/// A text that comes word by word, one each 10 ms.
fn slow(text: &str) -> Value {
    json!({ "say": [{ "text": text, "size": 10, "delayMs": 10 }] })
}

/// The names of the rules that stopped each answer.
fn triggered(played: &Playback) -> Vec<Vec<String>> {
    let events = played.frames("ttsr_triggered");
    let names = events.map(|frame| {
        let rules = frame["rules"].as_array().expect("a list");
        rules.iter().map(|rule| rule["name"].as_str().expect("a name").to_owned()).collect()
    });
    names.collect()
}

/// The messages of the injections, whole.
fn injections(played: &Playback) -> Vec<Value> {
    let is_one =
        |frame: &&Value| frame["type"] == "message_end" && frame["message"]["customType"] == "ttsr-injection";
    played.said.iter().filter(is_one).map(|frame| frame["message"].clone()).collect()
}

/// What a run with an answer that is stopped looks like, and the one that follows.
const STOPPED: &str =
    "ok p · agent_start · turn_start · user go · ms · text · ttsr_triggered · me aborted · turn_end [] ·
     agent_end [ua] · agent_start · turn_start · custom ttsr-injection · ms · text · me stop · turn_end [] ·
     agent_end [ca]";

#[test]
fn answer_breaking_rule_is_requested_again() {
    let turns =
        json!([slow("Here is a forbidden word, and more of it."), says("Here is none."), says("So.")]);
    let it = plain(turns).kept().host(0, prompt("p", "go"));
    it.is("rules", &[Xcsh], STOPPED);
    let played = it.host(500, prompt("q", "and?")).play(Xcsh);
    assert_eq!(played.asked, ["turn play [u]", "turn play [uc]", "turn play [ucau]"]);
    assert_eq!(triggered(&played), [["plain"]]);
    let [injection] = &injections(&played)[..] else { panic!("{}", played.log) };
    assert_eq!((&injection["display"], &injection["attribution"]), (&json!(false), &json!("agent")));
    assert!(injection["content"].as_str().unwrap().contains("Do not write forbidden."), "{injection}");
    let entries: Vec<String> = played.disk.lines().iter().map(kind).collect();
    assert_eq!(
        entries,
        [
            "session",
            "model_change",
            "thinking_level_change",
            "message user",
            "message assistant",
            "ttsr_injection",
            "custom_message",
            "message assistant",
            "message user",
            "message assistant",
        ]
    );
}

fn kind(line: &Value) -> String {
    let [kind, role] =
        [&line["type"], &line["message"]["role"]].map(|text| text.as_str().unwrap_or_default());
    format!("{kind} {role}").trim_end().to_owned()
}

#[test]
fn rules_apply_to_streamed_thinking_and_arguments() {
    let shape = |block: &str, roles: &str, results: &str| {
        format!(
            "ok p · agent_start · turn_start · user go · ms · {block} · ttsr_triggered · me aborted · {results} · \
             agent_end [{roles}] · agent_start · turn_start · custom ttsr-injection · ms · text · me stop · \
             turn_end [] · agent_end [ca]"
        )
    };
    let thinking =
        json!({ "say": [{ "thinking": "A forbidden thought, at length.", "size": 10, "delayMs": 10 }] });
    plain(json!([thinking, says("Fine.")])).kept().host(0, prompt("p", "go")).is(
        "rules_thinking",
        &[Xcsh],
        &shape("thinking", "ua", "turn_end []"),
    );
    let call = json!({ "say": [
        { "tool": "bash", "id": "t1", "arguments": { "command": "echo forbidden; echo more" }, "size": 10, "delayMs": 10 },
    ] });
    let it = plain(json!([call, says("Fine.")])).kept().host(0, prompt("p", "go"));
    // As after any answer that is cut off, the dialect makes up a result.
    let unrun = shape("toolcall", "uat", "start t1 · end! t1 · result! t1 · turn_end [t1]");
    it.is("rules_arguments", &[Xcsh], &unrun);
    let played = it.play(Xcsh);
    assert_eq!((played.started.len(), &played.asked[1][..]), (0, "turn play [uc]"));
}

#[test]
fn rule_is_injected_once() {
    let word = "The forbidden word.";
    let turns = json!([says(word), says(word), says(word)]);
    let played = plain(turns).host(0, prompt("p", "go")).host(100, prompt("q", "go on")).play(Xcsh);
    assert_eq!(triggered(&played), [["plain"]]);
    assert_eq!(played.asked, ["turn play [u]", "turn play [uc]", "turn play [ucau]"]);
}

#[test]
fn triggered_rules_are_restored_per_session() {
    const PATH: &str = "/sessions/2025-11-24T16-00-00-000Z_19ab697e800707e7.jsonl";
    let word = "The forbidden word.";
    let again = json!([says(word), says(word), says(word), says("Fine."), says(word)]);
    let played = plain(again)
        .kept()
        .host(0, prompt("p", "go"))
        .host(100, command("new_session"))
        .host(110, prompt("q", "go"))
        .host(200, json!({ "id": "switch", "type": "switch_session", "sessionPath": PATH }))
        .host(210, prompt("r", "go on"))
        .play(Xcsh);
    assert_eq!(triggered(&played), [["plain"], ["plain"]]);
    // The answer that was thrown away is in the file; no vendor is told of it.
    assert_eq!(played.asked.last().unwrap(), "turn play [uacau]");
    let file = played.disk.text(Path::new(PATH)).expect("the first session");
    let resumed =
        plain(json!([says(word)])).file(PATH, file).opened(PATH).host(0, prompt("p", "go on")).play(Xcsh);
    assert_eq!(triggered(&resumed), Vec::<Vec<String>>::new());
}

#[test]
fn simultaneous_rules_share_one_message() {
    let rules = [rule("one", "forbidden"), rule("two", "word"), rule("three", "thing")];
    let turns = json!([says("A forbidden word."), says("Some thing."), says("Fine.")]);
    let played = ruled(&rules, turns).host(0, prompt("p", "go")).play(Xcsh);
    assert_eq!(triggered(&played), [vec!["one", "two"], vec!["three"]]);
    assert_eq!(played.asked, ["turn play [u]", "turn play [uc]", "turn play [ucc]"]);
    let told = injections(&played);
    let blocks = |at: usize| told[at]["content"].as_str().unwrap().matches("<system-interrupt ").count();
    assert_eq!((told.len(), blocks(0), blocks(1)), (2, 2, 1));
}

#[test]
fn queued_messages_follow_the_injected_rules() {
    let follow_up = json!({ "id": "f", "type": "follow_up", "message": "f" });
    let played = plain(json!([slow("Here is a forbidden word."), says("Fine."), says("So.")]))
        .host(0, prompt("p", "go"))
        .host(5, steer("S1"))
        .host(6, follow_up)
        .play(Xcsh);
    assert_eq!(played.asked, ["turn play [u]", "turn play [ucu]", "turn play [ucuau]"]);
    let shape = "ok p · agent_start · turn_start · user go · ms · text · ok S1 · ok f · text · ttsr_triggered · me aborted ·
                 turn_end [] · agent_end [ua] · agent_start · turn_start · custom ttsr-injection · user S1 · ms · text ·
                 me stop · turn_end [] · turn_start · user f · ms · text · me stop · turn_end [] · agent_end [cuaua]";
    assert_eq!(played.shape(), shape.split('·').map(str::trim).collect::<Vec<_>>());
}

#[test]
fn abort_ends_run_started_by_rule() {
    let stopped =
        "ok p · agent_start · turn_start · user go · ms · text · ttsr_triggered · me aborted · turn_end [] ·
                   agent_end [ua] · agent_start · turn_start · custom ttsr-injection · ms";
    let forever = json!({ "hang": true });
    let shape = format!("{stopped} · me aborted · turn_end [] · agent_end [ca] · ok abort");
    let at_once = plain(json!([says("The forbidden word."), forever])).host(0, prompt("p", "go"));
    at_once.host(1, command("abort")).is("rules_abort", &[Xcsh], &shape);
    // It left nothing behind: the next prompt is answered.
    let played = plain(json!([says("The forbidden word."), json!({ "hang": true }), says("Fine.")]))
        .host(0, prompt("p", "go"))
        .host(50, command("abort"))
        .host(60, prompt("q", "again"))
        .play(Xcsh);
    assert_eq!(played.asked, ["turn play [u]", "turn play [uc]", "turn play [ucau]"]);
}

#[test]
fn an_answer_is_not_stopped_twice() {
    let played = plain(json!([slow("Here is a forbidden word."), says("Fine.")]))
        .host(0, prompt("p", "go"))
        .host(15, command("abort"))
        .play(Xcsh);
    assert_eq!(triggered(&played), Vec::<Vec<String>>::new());
    let shape = "ok p · agent_start · turn_start · user go · ms · text · me aborted · turn_end [] · agent_end [ua] · ok abort";
    assert_eq!(played.shape(), shape.split('·').map(str::trim).collect::<Vec<_>>());
}

#[test]
fn retry_stopped_by_rule_continues_with_it() {
    let turns = json!([overloaded(), says("The forbidden word."), says("Fine.")]);
    let played = plain(turns).host(0, prompt("p", "go")).play(Xcsh);
    let shape = "ok p · agent_start · turn_start · user go · ms · me error · turn_end [] · agent_end [ua] · retry 1 ·
                 agent_start · turn_start · ms · text · ttsr_triggered · me aborted · turn_end [] · agent_end [a] ·
                 agent_start · turn_start · custom ttsr-injection · ms · text · me stop · retry_end 1 · turn_end [] ·
                 agent_end [ca]";
    assert_eq!(played.shape(), shape.split('·').map(str::trim).collect::<Vec<_>>());
    assert_eq!(played.asked, ["turn play [u]", "turn play [u]", "turn play [uc]"]);
}

#[test]
fn failed_run_with_rule_is_retried() {
    let turns = json!([says("The forbidden word."), overloaded(), says("The forbidden word.")]);
    let played = plain(turns).host(0, prompt("p", "go")).play(Xcsh);
    assert_eq!(played.asked, ["turn play [u]", "turn play [uc]", "turn play [uc]"]);
    assert_eq!(triggered(&played), [["plain"]]);
}

#[test]
fn end_and_new_session_drop_rule_run() {
    let begun = || {
        plain(json!([says("The forbidden word."), json!({ "hang": true })])).kept().host(0, prompt("p", "go"))
    };
    let ended = begun().ends(10).finish(Xcsh);
    assert!(ended.log.ends_with("   10 > exit\n"), "{}", ended.log);
    let left = begun().host(10, command("new_session")).host(20, command("get_messages")).play(Xcsh);
    assert_eq!(left.answers("get_messages")[0]["data"]["messages"], json!([]));
}

#[test]
fn other_dialects_have_no_rules() {
    let played = plain(json!([says("The forbidden word.")]))
        .host(0, prompt("p", "go"))
        .play(pi_rpc_protocol::Dialect::Pi);
    assert_eq!(triggered(&played), Vec::<Vec<String>>::new());
}
