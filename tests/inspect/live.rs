//! The page follows by small updates, and none comes before the last is acknowledged.

use crate::inspect_support::{Page, recording, without_times};
use serde_json::json;

#[test]
fn first_messages_are_session_and_update() {
    let page = Page::of_file(&recording("pi-1/plain.jsonl"));
    let mut live = page.follow();
    let session = live.next();
    assert_eq!(session["type"], "session");
    assert_eq!(session["session"], page.get("api/session"));
    let update = live.next();
    assert_eq!(update["type"], "update");
    let total = update["totals"]["records"].as_u64().unwrap();
    let rows = page.get(&format!("api/records?count={total}"));
    assert_eq!(
        without_times(json!([update["rows"], update["missed"]])),
        without_times(json!([rows["rows"], 0]))
    );
    assert!(update["commands"].as_array().unwrap().iter().any(|command| command["type"] == "prompt"));
    assert_eq!(update["dialogs"], json!([]));
}

#[test]
fn updates_wait_for_their_acknowledgement() {
    let script = "for i in 1 2 3 4 5; do read line; echo '{\"type\":\"turn_start\"}'; done; read line";
    let page = Page::of_command(&["sh", "-c", script], None);
    let mut live = page.follow();
    let first = live.next_of("update");
    let seen = first["totals"]["records"].as_u64().unwrap();
    for _ in 0..5 {
        page.send(&json!({ "type": "get_state" }));
    }
    page.until_records(11);
    live.acknowledge();
    let second = live.next_of("update");
    let records = second["totals"]["records"].as_u64().unwrap();
    assert_eq!(
        second["rows"].as_array().unwrap().len() as u64 + second["missed"].as_u64().unwrap(),
        records - seen
    );
    assert!(records >= 11, "{second}");
}
