//! What omp does otherwise than xcsh: one end for a chain of runs, runs of queued messages, pages, versions.

use pi_rpc_protocol::Dialect::Omp;
use pi_rpc_test_kit::{Scenario, scenario, shorthand::*};
use serde_json::json;

/// A run whose answer has begun to come, at 75 ms; two more turns follow at most.
fn streaming() -> Scenario {
    let slow = json!({ "say": [{ "text": "Well, well.", "size": 4 }], "delayMs": 50 });
    scenario(json!([slow, says("Two."), says("Three.")])).host(0, prompt("p", "hi"))
}

fn shape(scenario: &Scenario) -> String {
    scenario.finish(Omp).shape().join(" · ")
}

#[test]
fn steer_when_idle_starts_run() {
    let played = scenario(json!([says("One.")])).host(0, steer("S1")).finish(Omp);
    let shape = played.shape().join(" · ");
    assert!(shape.contains("ok S1 · agent_start · turn_start · user S1 · ms"), "{shape}");
    let user = played.frames("message_end").next().expect("a message");
    assert_eq!(user["message"]["steering"], true, "{}", played.log);
}

#[test]
fn follow_up_when_idle_starts_run() {
    let shape = shape(&scenario(json!([says("One.")])).host(0, follow_up("F1")));
    assert!(shape.contains("ok F1 · agent_start · turn_start · user F1 · ms"), "{shape}");
}

#[test]
fn abort_is_followed_by_queued_messages() {
    let aborted = streaming().host(75, follow_up("F1")).host(80, command("abort"));
    let shape = shape(&aborted);
    let end = shape.find("agent_end").expect("an end");
    let response = shape.find("ok abort").expect("a response");
    let next = shape.rfind("agent_start").expect("a second run");
    assert!(end < response && response < next, "{shape}");
    assert!(shape[next..].contains("user F1"), "{shape}");
}

#[test]
fn retried_run_has_one_end() {
    let turns = json!([overloaded(), says("Done.")]);
    let played = scenario(turns).host(0, prompt("p", "hi")).finish(Omp);
    let kinds = ["agent_start", "auto_retry_start", "agent_end"].map(|kind| played.frames(kind).count());
    assert_eq!(kinds, [2, 1, 1], "{}", played.log);
    let shape = played.shape().join(" · ");
    let (end, success) = (shape.find("agent_end").expect("an end"), shape.find("retry_end"));
    assert!(success.is_none_or(|success| end < success), "{shape}");
    assert_eq!(played.last("auto_retry_end")["success"], true, "{}", played.log);
}

#[test]
fn completion_time_is_in_message_end_only() {
    let played = scenario(json!([says("One.")])).host(0, prompt("p", "hi")).finish(Omp);
    assert!(played.last("message_end")["message"]["completedAt"].is_u64(), "{}", played.log);
    assert_eq!(played.last("turn_end")["message"].get("completedAt"), None, "{}", played.log);
    let end = played.last("agent_end");
    assert_eq!(end["isTerminal"], true, "{}", played.log);
    assert_eq!(end["messages"][1].get("completedAt"), None, "{}", played.log);
}

#[test]
fn other_versions_are_refused() {
    let negotiate = |id: &str, version: u64| json!({ "id": id, "type": "negotiate_protocol", "protocolVersion": version });
    let played = scenario(json!([])).host(0, negotiate("three", 3)).host(1, negotiate("two", 2)).finish(Omp);
    assert_eq!(played.error("three"), "Unsupported RPC protocol version: 3", "{}", played.log);
    assert_eq!(played.data("two"), json!({ "protocolVersion": 2 }), "{}", played.log);
}

#[test]
fn pages_are_slices_of_all_messages() {
    let page = |id: &str, cursor: Option<&str>| json!({ "id": id, "type": "get_messages_page", "limit": 1, "cursor": cursor });
    let first =
        scenario(json!([says("One.")])).host(0, prompt("p", "hi")).host(500, page("a", None)).finish(Omp);
    let cursor = first.data("a")["nextCursor"].as_str().expect("a cursor").to_owned();
    let both = scenario(json!([says("One.")]))
        .host(0, prompt("p", "hi"))
        .host(500, page("a", None))
        .host(501, page("b", Some(&cursor)))
        .host(502, command("get_messages"))
        .finish(Omp);
    let all = both.data("get_messages")["messages"].clone();
    assert_eq!(both.data("a")["messages"], json!([all[0]]), "{}", both.log);
    assert_eq!(both.data("b"), json!({ "messages": [all[1]], "totalMessages": 2 }), "{}", both.log);
}

#[test]
fn page_is_refused_during_run() {
    let page = json!({ "id": "a", "type": "get_messages_page" });
    let played = streaming().host(75, page).finish(Omp);
    assert_eq!(played.error("a"), "Cannot page messages while the session is changing", "{}", played.log);
    assert_eq!(played.answers("a")[0]["code"], "session_busy", "{}", played.log);
}

#[test]
fn invalid_cursor_and_limit_are_refused() {
    let page = |id: &str, member: &str, value: serde_json::Value| {
        let mut page = json!({ "id": id, "type": "get_messages_page" });
        page[member] = value;
        page
    };
    let played = scenario(json!([]))
        .host(0, page("a", "cursor", json!("none")))
        .host(1, page("b", "limit", json!(257)))
        .host(2, page("c", "cursor", json!("0-0-0")))
        .finish(Omp);
    let errors = ["a", "b", "c"].map(|id| played.error(id).to_owned());
    let expected = [
        "Invalid RPC message cursor",
        "RPC message page limit must be between 1 and 256",
        "RPC message cursor is stale",
    ];
    assert_eq!(errors, expected, "{}", played.log);
}

#[test]
fn bash_commands_run_side_by_side() {
    let played = scenario(json!([]))
        .host(0, bash("slow", "sleep 500; echo one"))
        .host(1, bash("fast", "sleep 100; echo two"))
        .host(2, json!({ "id": "mode", "type": "set_steering_mode", "mode": "all" }))
        .finish(Omp);
    let answered: Vec<_> = played.frames("response").map(|frame| frame["id"].clone()).collect();
    assert_eq!(answered, ["mode", "fast", "slow"], "{}", played.log);
    assert_eq!(played.data("fast")["workingDir"], "/work", "{}", played.log);
}

#[test]
fn calls_end_as_they_complete() {
    let two = [call("slow", "bash", "sleep 500; echo one"), call("fast", "bash", "sleep 100; echo two")];
    let turns = json!([{ "say": two }, says("Done.")]);
    let played = scenario(turns).host(0, prompt("p", "both")).finish(Omp);
    let ends: Vec<_> = played.frames("tool_execution_end").map(|frame| frame["toolCallId"].clone()).collect();
    assert_eq!(ends, ["fast", "slow"], "{}", played.log);
    let results = played.frames("turn_end").next().expect("a turn")["toolResults"].clone();
    assert_eq!(results[0]["toolCallId"], "fast", "{}", played.log);
}

#[test]
fn slow_answer_has_a_speed() {
    let slow = json!({ "say": [{ "text": "Well, well.", "size": 4 }], "delayMs": 50 });
    let played = scenario(json!([slow, says("Two.")]))
        .host(0, command("get_state"))
        .host(1, prompt("p", "hi"))
        .host(1000, json!({ "id": "after", "type": "get_state" }))
        .finish(Omp);
    assert_eq!(played.data("get_state")["tokensPerSecond"], json!(null), "{}", played.log);
    assert!(played.data("after")["tokensPerSecond"].is_number(), "{}", played.log);
}

#[test]
fn full_disk_refuses_idle_steer_once() {
    let played = scenario(json!([says("One.")]))
        .kept()
        .host(0, prompt("p", "hi"))
        .disk_full(400, 900)
        .host(500, steer("S1"))
        .host(600, steer("S2"))
        .finish(Omp);
    assert_eq!(played.answers("S2").len(), 1, "{}", played.log);
    assert_eq!(played.answers("S2")[0]["success"], false, "{}", played.log);
}
