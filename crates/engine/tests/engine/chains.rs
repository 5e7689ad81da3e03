//! Frames of pi 1 around runs: system messages, members of answers about their request, and `agent_settled`.

use pi_rpc_protocol::{
    AgentMessage,
    Dialect::{self, Pi1, Pi1Login, Pi1Navigation, Pi115},
};
use pi_rpc_session::Tree;
use pi_rpc_test_kit::{Scenario, scenario, shorthand::*};
use serde_json::{Value, json};

/// The steps of the first run of a session, whose inputs the system message leads.
fn first(inputs: &str) -> String {
    run(inputs).replacen("turn_start · ", "turn_start · system · ", 1).replace("agent_end [", "agent_end [s")
}

/// One failure that passes, then an answer.
fn once() -> Scenario {
    scenario(json!([overloaded(), says("Done.")])).host(0, prompt("p", "hi"))
}

/// The steps up to its wait.
const WAITING: &str = "ok p · agent_start · turn_start · system · user hi · ms · me error · turn_end [] · \
                       agent_end [sua] · retry 1 · entry_appended";

/// The steps of its second try.
fn again() -> String {
    format!("{} · agent_settled", retried(1))
}

fn says_shape(scenario: &Scenario, expected: &str) {
    let played = scenario.play(Pi1);
    assert_eq!(played.shape().join(" · "), expected, "{}", played.log);
}

fn of_type<'a>(said: &'a [Value], kind: &str) -> Vec<&'a Value> {
    said.iter().filter(|frame| frame["type"] == kind).collect()
}

#[test]
fn system_message_opens_first_run() {
    let two =
        scenario(json!([says("One."), says("Two.")])).host(0, prompt("p", "hi")).host(9, prompt("q", "ho"));
    let shape =
        format!("ok p · {} · agent_settled · ok q · {} · agent_settled", first("user hi"), run("user ho"));
    says_shape(&two, &shape);
    let said = two.play(Pi1).said;
    let system = &of_type(&said, "message_start")[0]["message"];
    assert_eq!(system["sections"], json!({ "preamble": "Be brief." }));
    let keys: Vec<&String> = system.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["role", "content", "sections", "timestamp", "toolsAdded"]);
    let tool = &system["toolsAdded"][0];
    let keys: Vec<&String> = tool.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["name", "description", "parameters"]);
    assert_eq!(system, &of_type(&said, "agent_end")[0]["messages"][0]);
}

#[test]
fn system_message_is_persisted_once_per_session() {
    let resumed = |text: &str| {
        let again =
            scenario(json!([says("Two.")])).file("/sessions/old.jsonl", text).opened("/sessions/old.jsonl");
        again.host(0, prompt("q", "ho")).play(Pi1).shape().join(" · ")
    };
    let played = scenario(json!([says("One.")])).kept().host(0, prompt("p", "hi")).play(Pi1);
    let stored = played.disk.lines();
    let roles: Vec<&str> = stored.iter().filter_map(|line| line["message"]["role"].as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant"]);
    let lines: Vec<String> = stored.iter().map(|line| format!("{line}\n")).collect();
    assert_eq!(resumed(&lines.concat()), format!("ok q · {} · agent_settled", run("user ho")));
    // A file of an older version, which has no such message.
    let older = lines.iter().filter(|line| !line.contains(r#""role":"system""#)).map(|line| {
        let orphan = line.contains(r#""role":"user""#);
        if orphan { line.replacen(r#""parentId":""#, r#""parentId":"x"#, 1) } else { line.clone() }
    });
    let lost = "error session: entry 38dfe509: its parent xf9cbbd2c is missing; the conversation begins here";
    let expected = format!("{lost} · ok q · {} · agent_settled", first("user ho"));
    assert_eq!(resumed(&older.collect::<String>()), expected);
}

#[test]
fn message_starts_pending_and_ends_with_facts() {
    let slow = json!({ "firstDelayMs": 40, "say": [{ "text": "Done.", "size": 0 }] });
    let said = scenario(json!([slow])).host(0, prompt("p", "hi")).play(Pi1).said;
    let is_answer = |frame: &&&Value| frame["message"]["role"] == "assistant";
    let starts = of_type(&said, "message_start");
    let start = &starts.iter().find(is_answer).unwrap()["message"];
    assert_eq!([&start["stopReason"], &start["content"]], [&json!("pending"), &json!([])]);
    for key in ["durationMs", "thinkingLevel", "rawStopReason"] {
        assert_eq!(start.get(key), None, "{key} at the start");
    }
    let ends = of_type(&said, "message_end");
    let end = &ends.iter().find(is_answer).unwrap()["message"];
    let facts = ["stopReason", "rawStopReason", "durationMs", "thinkingLevel"].map(|key| end[key].clone());
    assert_eq!(facts, [json!("stop"), json!("stop"), json!(40), json!("medium")]);
    let usage = &end["usage"]["cost"]["totalFromProvider"];
    assert_eq!(usage, &json!(false));
}

#[test]
fn failed_request_starts_message_with_its_error() {
    let said = scenario(json!([refused()])).host(0, prompt("p", "hi")).play(Pi1).said;
    let of_answer = |kind: &str| {
        let frames = of_type(&said, kind);
        frames.into_iter().find(|frame| frame["message"]["role"] == "assistant").unwrap()["message"].clone()
    };
    assert_eq!(of_answer("message_start"), of_answer("message_end"));
    assert_eq!(of_answer("message_start")["stopReason"], "error");
    assert_eq!(of_type(&said, "agent_end")[0]["willRetry"], false);
}

#[test]
fn retried_runs_settle_once() {
    says_shape(&once(), &format!("{WAITING} · {}", again()));
    let said = once().play(Pi1).said;
    let will_retry: Vec<&Value> = of_type(&said, "agent_end").iter().map(|end| &end["willRetry"]).collect();
    assert_eq!(will_retry, [&json!(true), &json!(false)]);
    assert_eq!(of_type(&said, "agent_settled")[0], &json!({ "type": "agent_settled", "aborted": false }));
}

#[test]
fn context_edit_entry_removes_failed_message() {
    let played = once().kept().play(Pi1);
    assert_eq!(played.asked, ["turn play [su]", "turn play [su]"]);
    let lines = played.disk.lines();
    let failed = lines.iter().find(|line| line["message"]["stopReason"] == "error").unwrap();
    let edit = lines.iter().find(|line| line["type"] == "context_edit").unwrap();
    assert_eq!([&edit["targetId"], &edit["replacement"]], [&failed["id"], &Value::Null]);
    assert_eq!(of_type(&played.said, "entry_appended")[0]["entry"], *edit);
    let bytes: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let tree = Tree::read(bytes.into_bytes().into(), &mut fastrand::Rng::with_seed(1)).unwrap().tree;
    let messages = tree.context().messages;
    let roles = messages.iter().map(|message| match message.as_ref() {
        AgentMessage::Assistant(answer) => answer.stop_reason.as_str().to_owned(),
        other => other.kind().as_str().to_owned(),
    });
    assert_eq!(roles.collect::<Vec<_>>(), ["system", "user", "stop"]);
}

#[test]
fn agent_is_busy_until_settled() {
    let waiting = once().host(500, prompt("q", "now")).host(501, command("get_state"));
    let shape = format!("{WAITING} · no q · ok get_state · {}", again());
    says_shape(&waiting, &shape);
    let streaming = |at: u64| {
        let played = once().host(at, command("get_state")).play(Pi1);
        played.answers("get_state")[0]["data"]["isStreaming"].clone()
    };
    assert_eq!([streaming(500), streaming(5000)], [json!(true), json!(false)]);
}

#[test]
fn message_queued_before_retry_joins_it() {
    let queued = once().host(500, queued("q", "steer"));
    let tried =
        again().replace("turn_start · ms", "turn_start · queue [|] · user q · ms").replace("[a]", "[ua]");
    says_shape(&queued, &format!("{WAITING} · queue [q|] · ok q · {tried}"));
}

#[test]
fn queued_message_after_abort_retry_repeats_request() {
    let given_up = once().host(500, follow_up("q")).host(600, command("abort_retry"));
    let shape = format!(
        "{WAITING} · queue [|q] · ok q · retry_end! 1 · ok abort_retry · agent_start · turn_start · ms · text · me stop · \
         turn_end [] · turn_start · queue [|] · user q · ms · text · me stop · turn_end [] · agent_end [aua] · agent_settled"
    );
    says_shape(&given_up, &shape);
}

#[test]
fn final_failure_is_followed_by_queue() {
    let late = json!({ "fail": { "status": 401, "message": "no such key" }, "firstDelayMs": 100 });
    let played = scenario(json!([late, says("Two.")])).host(0, prompt("p", "hi")).host(50, follow_up("q"));
    let failed = "agent_start · turn_start · system · user hi · queue [|q] · ok q · ms · me error · turn_end [] · agent_end [sua]";
    let shape = run("user q").replace("turn_start · user q", "turn_start · queue [|] · user q");
    says_shape(&played, &format!("ok p · {failed} · {shape} · agent_settled"));
}

#[test]
fn abort_responds_once_settled_and_keeps_queue() {
    let slow = || json!({ "say": [{ "text": "Well, well.", "size": 4 }], "delayMs": 50 });
    let aborted = scenario(json!([slow(), says("Two.")]))
        .host(0, prompt("p", "hi"))
        .host(75, follow_up("q"))
        .host(80, command("abort"))
        .host(200, prompt("r", "ho"));
    let shape = "ok p · agent_start · turn_start · system · user hi · ms · text · queue [|q] · ok q · me aborted · \
                 turn_end [] · agent_end [sua] · agent_settled · ok abort · ok r · agent_start · turn_start · user ho · \
                 ms · text · me stop · turn_end [] · turn_start · queue [|] · user q · ms · text · me stop · turn_end [] · \
                 agent_end [uaua] · agent_settled";
    says_shape(&aborted, shape);
    let said = aborted.play(Pi1).said;
    let settled: Vec<&Value> = of_type(&said, "agent_settled").iter().map(|it| &it["aborted"]).collect();
    assert_eq!(settled, [&json!(true), &json!(false)]);
}

#[test]
fn abort_during_retry_delay_settles() {
    let shape = format!("{WAITING} · retry_end! 1 · agent_settled · ok abort");
    says_shape(&once().host(500, command("abort")), &shape);
}

#[test]
fn bash_before_retry_is_appended_after_it() {
    let roles = |frame: &Value| {
        let list = frame["data"]["messages"].as_array().into_iter().flatten();
        list.map(|message| message["role"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let asked = once().host(500, bash("b", "sleep 10")).host(5000, command("get_messages")).play(Pi1);
    assert_eq!(roles(asked.answers("get_messages")[0]), ["system", "user", "assistant", "bashExecution"]);
}

#[test]
fn only_pi_1_emits_settling_events() {
    for dialect in Dialect::ALL.into_iter().filter(|it| ![Pi1, Pi115, Pi1Login, Pi1Navigation].contains(it)) {
        let played = once().play(dialect);
        let kinds: Vec<&str> = played.said.iter().filter_map(|frame| frame["type"].as_str()).collect();
        for kind in ["agent_settled", "entry_appended"] {
            assert!(!kinds.contains(&kind), "{dialect}: {kind}");
        }
        assert!(!played.log.contains("willRetry") && !played.log.contains(r#""role":"system""#), "{dialect}");
    }
}

#[test]
fn last_text_is_that_of_version() {
    let turns = json!([says("One."), { "fail": { "status": 400, "message": "Bad field" } }]);
    let it = scenario(turns)
        .host(0, prompt("p", "hi"))
        .host(500, prompt("q", "again"))
        .host(1000, command("get_last_assistant_text"));
    for (dialect, data) in [(Pi1, json!({ "text": "One." })), (Pi115, json!({}))] {
        assert_eq!(it.play(dialect).answers("get_last_assistant_text")[0]["data"], data, "{dialect}");
    }
}
