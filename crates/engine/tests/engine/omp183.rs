//! What omp 18.3 has beside omp 18.2: the newest session of a folder, events that are selected, extensions without a user.

use pi_rpc_protocol::Dialect::Omp183;
use pi_rpc_test_kit::{Scenario, scenario, shorthand::*};
use serde_json::{Value, json};

/// A session in which something was said.
const EARLIER: &str = concat!(
    r#"{"type":"session","version":3,"id":"0193f00d","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/work"}"#,
    "\n",
    r#"{"type":"message","id":"00000003","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"earlier"}],"timestamp":1735689600000}}"#,
    "\n",
);

/// A session without entries, with a later name.
const EMPTY: &str = concat!(
    r#"{"type":"session","version":3,"id":"0193f00e","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/work"}"#,
    "\n",
);

fn open(folder: &str) -> Value {
    json!({ "id": "open", "type": "open_session", "sessionDir": folder })
}

fn talks() -> Scenario {
    let files = scenario(json!([says("One."), says("Two.")])).kept();
    files.file("/talks/a.jsonl", EARLIER).file("/talks/b.jsonl", EMPTY)
}

#[test]
fn newest_session_with_entries_is_taken_up() {
    let played = talks().host(0, open("/talks")).host(10, command("get_messages")).finish(Omp183);
    let expected = json!({
        "cancelled": false, "resumed": true, "sessionId": "0193f00d", "sessionFile": "/talks/a.jsonl",
    });
    assert_eq!(played.answers("open")[0]["data"], expected, "{}", played.log);
    let messages = &played.answers("get_messages")[0]["data"]["messages"];
    assert_eq!(messages.as_array().map(Vec::len), Some(1), "{}", played.log);
    let shape = played.shape().join(" · ");
    let (commands, response) = (shape.rfind("available_commands_update"), shape.find("ok open"));
    assert!(commands < response, "{shape}");
}

#[test]
fn empty_folder_begins_a_session_there() {
    let played = talks().host(0, open("/new")).host(10, command("get_state")).finish(Omp183);
    let data = &played.answers("open")[0]["data"];
    assert_eq!((&data["cancelled"], &data["resumed"]), (&json!(false), &json!(false)), "{}", played.log);
    assert!(data["sessionFile"].as_str().is_some_and(|file| file.starts_with("/new/")), "{data}");
    assert_eq!(played.answers("get_state")[0]["data"]["sessionId"], data["sessionId"], "{}", played.log);
}

#[test]
fn open_session_in_its_folder_keeps_run() {
    let slow = json!({ "say": [{ "text": "Well, well.", "size": 4 }], "delayMs": 50 });
    let talk = scenario(json!([slow])).kept().file("/talks/a.jsonl", EARLIER);
    let talk = talk.host(0, open("/talks")).host(10, prompt("p", "hi")).host(
        90,
        json!({
            "id": "again", "type": "open_session", "sessionDir": "/talks",
        }),
    );
    let played = talk.finish(Omp183);
    assert_eq!(played.answers("again")[0]["data"]["resumed"], true, "{}", played.log);
    assert_eq!(played.last("prompt_result")["status"], "completed", "{}", played.log);
}

#[test]
fn session_in_memory_opens_no_folder() {
    let played = scenario(json!([])).host(0, open("/talks")).finish(Omp183);
    let text = "open_session requires session persistence (omit --no-session)";
    assert_eq!(played.answers("open")[0]["error"], text, "{}", played.log);
}

#[test]
fn prompt_of_a_left_session_is_aborted() {
    let slow = json!({ "say": [{ "text": "Well, well.", "size": 4 }], "delayMs": 50 });
    let talk = scenario(json!([slow])).kept().file("/talks/a.jsonl", EARLIER);
    let played = talk.host(0, prompt("p", "hi")).host(100, open("/talks")).finish(Omp183);
    let result = played.last("prompt_result");
    assert_eq!((&result["id"], &result["status"]), (&json!("p"), &json!("aborted")), "{}", played.log);
    assert_eq!(played.answers("open")[0]["data"]["sessionId"], "0193f00d", "{}", played.log);
}

#[test]
fn selected_events_alone_are_sent() {
    let filter = json!({ "id": "f", "type": "set_event_filter", "events": ["turn_end", "turn_end"] });
    // The judge would miss the events that are not selected.
    let talk = scenario(json!([says("One."), says("Two.")])).unjudged().host(0, filter);
    let talk = talk.host(10, prompt("p", "hi"));
    let all = json!({ "id": "g", "type": "set_event_filter", "events": null });
    let played = talk.host(1000, all).host(1010, prompt("q", "ho")).finish(Omp183);
    assert_eq!(played.answers("f")[0]["data"], json!({ "events": ["turn_end"] }), "{}", played.log);
    assert_eq!(played.answers("g")[0]["data"], json!({ "events": null }), "{}", played.log);
    let counts = ["agent_start", "turn_end", "prompt_result", "session_settled"]
        .map(|kind| played.frames(kind).count());
    assert_eq!(counts, [1, 2, 2, 2], "{}", played.log);
}
