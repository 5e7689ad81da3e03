//! The list of todos with the real binary.

use crate::serve_support::{Server, types, write_agent_file};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};

fn says(text: &str) -> Value {
    json!({ "say": [{ "text": text }] })
}

fn writes(op: Value) -> Value {
    json!({ "say": [{ "tool": "todo_write", "arguments": { "ops": [op] } }] })
}

/// The statuses of the todos that the host is shown.
fn statuses(server: &mut Server) -> Vec<String> {
    let state = server.data(json!({ "type": "get_state" }));
    let phases = state["todoPhases"].as_array().unwrap().iter();
    let tasks = phases.flat_map(|phase| phase["tasks"].as_array().unwrap());
    tasks.map(|task| format!("{} {}", task["id"], task["status"]).replace('"', "")).collect()
}

#[test]
fn plan_is_restored_in_next_process() {
    let tasks = json!([{ "content": "look" }, { "content": "write" }]);
    let turns = json!([
        writes(json!({ "op": "replace", "phases": [{ "name": "Plan", "tasks": tasks }] })),
        says("I have looked."),
        writes(json!({ "op": "update", "id": "task-1", "status": "completed" })),
        says("Later."),
        says("Tomorrow."),
    ]);
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::script_in(Dialect::Xcsh, dir, turns, &[]);
    let run = server.run("Write it.");
    assert_eq!(run[3]["message"]["customType"], "eager-todo-prelude", "{:?}", types(&run));
    for attempt in 1..=3 {
        let reminder = server.until_type("todo_reminder").pop().unwrap();
        assert_eq!((&reminder["attempt"], &reminder["maxAttempts"]), (&json!(attempt), &json!(3)));
        server.until_type("agent_end");
    }
    assert_eq!(statuses(&mut server), ["task-1 completed", "task-2 in_progress"]);
    let mut again =
        Server::script_in(Dialect::Xcsh, server.finishes(), json!([says("Yes.")]), &["--continue"]);
    assert_eq!(statuses(&mut again), ["task-2 in_progress"]);
    let list = json!([{ "name": "Mine", "tasks": [{ "content": "rest", "status": "completed" }] }]);
    again.data(json!({ "type": "set_todos", "phases": list }));
    assert_eq!(statuses(&mut again), ["task-1 completed"]);
    again.finishes();
}

#[test]
fn settings_choose_clear_delay_of_todos() {
    let dir = tempfile::tempdir().unwrap();
    write_agent_file(
        dir.path(),
        Dialect::Xcsh,
        "settings.json",
        &json!({ "tasks": { "todoClearDelay": 0.05 } }),
    );
    let mut server = Server::script_in(Dialect::Xcsh, dir, json!([]), &[]);
    let list = json!([{ "name": "Mine", "tasks": [{ "content": "rest", "status": "abandoned" }] }]);
    server.data(json!({ "type": "set_todos", "phases": list }));
    server.until_type("todo_auto_clear");
    assert_eq!(statuses(&mut server), Vec::<String>::new());
    server.finishes();
}
