//! Records become JSON, steps of a scenario, and tests with the clients.

use crate::inspect_support::Page;
use serde_json::{Value, json};
use std::fs;

fn page() -> (tempfile::TempDir, Page) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.jsonl");
    let record = |dir: &str, frame: Value| format!("{}\n", json!({ "t": 0, "dir": dir, "frame": frame }));
    let lines = [
        record("meta", json!({ "event": "spawn", "dialect": "pi-1", "argv": ["pi"] })),
        record("in", json!({ "id": "1", "type": "set_session_name", "name": "A \"b\"" })),
        record(
            "out",
            json!({ "id": "1", "type": "response", "command": "set_session_name", "success": true }),
        ),
        record("out", json!({ "type": "session_info_changed", "name": "A \"b\"" })),
        record("in", json!({ "id": "2", "type": "set_model", "provider": "x", "modelId": "y" })),
        record(
            "out",
            json!({ "id": "2", "type": "response", "command": "set_model", "success": false, "error": "Model not found: x/y" }),
        ),
    ];
    fs::write(&path, lines.concat()).unwrap();
    (folder, Page::of_file(&path))
}

#[test]
fn frames_become_steps_of_a_scenario() {
    let (_folder, page) = page();
    let one = page.get("api/copy/2?as=scenario");
    assert_eq!(
        one,
        json!({ "as": "scenario", "text": r#"{"send":{"type":"set_session_name","name":"A \"b\""}}"#, "language": "json" })
    );
    let all = page.get("api/copy/2?to=6&as=scenario");
    let steps: Value = serde_json::from_str(all["text"].as_str().unwrap()).unwrap();
    let expected = json!({ "steps": [
        { "ask": { "type": "set_session_name", "name": "A \"b\"" } },
        { "expect": { "type": "session_info_changed" } },
        { "ask": { "type": "set_model", "provider": "x", "modelId": "y" } }
    ] });
    assert_eq!(steps, expected);
}

#[test]
fn frames_become_tests_of_clients() {
    let (_folder, page) = page();
    for form in ["python", "typescript", "rust"] {
        let copied = page.get(&format!("api/copy/2?to=6&as={form}"));
        insta::assert_snapshot!(format!("copy_{form}"), copied["text"].as_str().unwrap());
    }
}

#[test]
fn unknown_forms_are_refused() {
    let (_folder, page) = page();
    let answer = page.request("GET", "api/copy/2?as=perl", "");
    let error = "as=perl: expected json, scenario, python, typescript or rust";
    assert_eq!((answer.status, answer.json()), (400, json!({ "error": error })));
}
