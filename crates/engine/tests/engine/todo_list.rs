//! The list of todos by itself: set, written, restored, cleared, and reminded of.

use pi_rpc_engine::{
    Toolbox,
    todos::{CLEAR_AFTER, MOST_REMINDERS, TODO_WRITE, Todos, spec},
};
use pi_rpc_export::laid_out;
use pi_rpc_protocol::{
    AgentToolResult, Base, JsonObject, TodoPhaseInput, TodoReminderEvent, TodoStatus, ToolResultMessage,
    UserContent,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

const START: Duration = Duration::from_secs(1000);

fn seconds(seconds: u64) -> Duration {
    START + Duration::from_secs(seconds)
}

fn todos() -> Todos {
    Todos::new(Some(CLEAR_AFTER))
}

fn set(todos: &mut Todos, phases: Value, now: Duration) {
    let phases: Vec<TodoPhaseInput> = serde_json::from_value(phases).unwrap();
    todos.set(phases, now);
}

fn write(todos: &mut Todos, ops: Value, now: Duration) -> AgentToolResult {
    let arguments = json!({ "ops": ops }).as_object().unwrap().clone();
    let toolbox = Toolbox::new(vec![spec()]);
    let checked = toolbox.check(Base::Xcsh, TODO_WRITE, &arguments).unwrap();
    todos.write(&checked, true, now).unwrap()
}

fn text(result: &AgentToolResult) -> &str {
    match &result.content[..] {
        [UserContent::Text(text)] => &text.text,
        other => panic!("not one text: {other:?}"),
    }
}

/// The list in short: `phase: id status content, …`, a line for each phase.
fn shown(todos: &Todos) -> Vec<String> {
    let phases = todos.view().into_iter().map(|phase| {
        let tasks = phase.tasks.iter().map(|task| {
            format!("{} {} {}", task.id.as_deref().unwrap_or_default(), task.status, task.content)
        });
        format!(
            "{} {}: {}",
            phase.id.as_deref().unwrap_or_default(),
            phase.name,
            tasks.collect::<Vec<_>>().join(", ")
        )
    });
    phases.collect()
}

/// A result of `todo_write` as a session keeps it.
fn kept(result: AgentToolResult) -> ToolResultMessage {
    let AgentToolResult { content, details, .. } = result;
    ToolResultMessage {
        tool_call_id: "c".to_owned(),
        tool_name: TODO_WRITE.to_owned(),
        content,
        details,
        is_error: false,
        is_warning: None,
        attribution: None,
        pruned_at: None,
        timestamp: 0,
        usage: None,
        duration_ms: None,
        nested_calls: None,
    }
}

fn snapshots() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}

#[test]
fn todos_set_by_host_are_unchanged() {
    let mut todos = todos();
    let phases = json!([
        { "id": "phase-1", "name": "Phase one", "tasks": [
            { "id": "t1", "content": "do a", "status": "pending" },
            { "id": "t2", "content": "do b", "status": "in_progress", "notes": "soon" },
            { "id": "t3", "content": "do c", "status": "in_progress" },
        ] },
        { "id": "later", "name": "Phase two", "tasks": [] },
    ]);
    set(&mut todos, phases.clone(), START);
    assert_eq!(serde_json::to_value(todos.view()).unwrap(), phases);
    set(&mut todos, json!([]), START);
    assert_eq!(todos.view(), []);
}

#[test]
fn missing_empty_and_duplicate_ids_are_generated() {
    let mut todos = todos();
    set(
        &mut todos,
        json!([
            { "name": "a", "tasks": [{ "content": "1" }, { "id": "task-7", "content": "2" }, { "id": "", "content": "3" }] },
            { "id": "phase-1", "name": "b", "tasks": [{ "id": "task-7", "content": "4", "status": "completed" }] },
            { "id": "phase-1", "name": "c", "tasks": [{ "id": "task-99999999999999999999", "content": "5" }] },
        ]),
        START,
    );
    assert_eq!(
        shown(&todos),
        [
            "phase-2 a: task-8 pending 1, task-7 pending 2, task-9 pending 3",
            "phase-1 b: task-10 completed 4",
            "phase-3 c: task-99999999999999999999 pending 5",
        ]
    );
}

#[test]
fn every_operation_changes_list_and_result() {
    let mut todos = todos();
    let first = write(
        &mut todos,
        json!([{ "op": "replace", "phases": [
            { "name": "Look", "tasks": [
                { "content": "Read the parser", "details": "src/parse.rs\nsrc/lex.rs", "notes": null },
                { "content": "List the callers" },
            ] },
            { "name": "Do" },
        ] }]),
        START,
    );
    assert_eq!(
        first,
        AgentToolResult {
            content: first.content.clone(),
            details: Some(json!({
                "phases": [
                    { "id": "phase-1", "name": "Look", "tasks": [
                        {
                            "id": "task-1", "content": "Read the parser", "status": "in_progress",
                            "details": "src/parse.rs\nsrc/lex.rs",
                        },
                        { "id": "task-2", "content": "List the callers", "status": "pending" },
                    ] },
                    { "id": "phase-2", "name": "Do", "tasks": [] },
                ],
                "storage": "session",
            })),
            is_warning: None,
            structured_content: None,
            is_error: None,
            usage: None,
            terminate: None
        }
    );
    let second = write(
        &mut todos,
        json!([
            { "op": "add_task", "phase": "phase-2", "content": "Split it", "notes": "in two" },
            { "op": "update", "id": "task-1", "status": "completed", "details": "" },
            { "op": "remove_task", "id": "task-2" },
            { "op": "add_phase", "name": "Check", "tasks": [{ "content": "Run the tests" }] },
            { "op": "update", "id": "task-3", "content": "Cut it up", "details": "at the comma" },
        ]),
        START,
    );
    assert_eq!(
        [text(&first), text(&second)].join("\n====\n"),
        "Todos: 2, of which 2 open.\n\n\
         phase-1 Look\n- task-1 [in_progress] Read the parser\n  src/parse.rs\n  src/lex.rs\n\
         - task-2 [pending] List the callers\n\n\
         phase-2 Do\n\
         ====\n\
         Todos: 3, of which 2 open.\n\n\
         phase-1 Look\n- task-1 [completed] Read the parser\n\n\
         phase-2 Do\n- task-3 [in_progress] Cut it up\n  in two\n  at the comma\n\n\
         phase-3 Check\n- task-4 [pending] Run the tests"
    );
    // Hosts see no details.
    assert_eq!(
        serde_json::to_value(todos.view()).unwrap(),
        json!([
            { "id": "phase-1", "name": "Look", "tasks": [
                { "id": "task-1", "content": "Read the parser", "status": "completed" },
            ] },
            { "id": "phase-2", "name": "Do", "tasks": [
                { "id": "task-3", "content": "Cut it up", "status": "in_progress", "notes": "in two" },
            ] },
            { "id": "phase-3", "name": "Check", "tasks": [
                { "id": "task-4", "content": "Run the tests", "status": "pending" },
            ] },
        ])
    );
}

#[test]
fn failed_operations_are_reported_others_done() {
    let mut todos = todos();
    let result = write(
        &mut todos,
        json!([
            { "op": "update", "id": "task-1", "status": "completed" },
            { "op": "add_phase", "name": "p" },
            { "op": "add_task", "phase": "phase-9", "content": "lost" },
            { "op": "remove_task", "id": "x\"y" },
            { "op": "add_task", "phase": "phase-1", "content": "kept" },
        ]),
        START,
    );
    assert_eq!(
        text(&result),
        "Not done: Task \"task-1\" not found; Phase \"phase-9\" not found; Task \"x\"y\" not found\n\n\
         Todos: 1, of which 1 open.\n\nphase-1 p\n- task-2 [in_progress] kept"
    );
    assert_eq!(
        text(&write(&mut todos, json!([{ "op": "replace", "phases": [] }]), START)),
        "The list is empty."
    );
}

#[test]
fn ids_continue_and_restart_on_replace() {
    let mut todos = todos();
    set(
        &mut todos,
        json!([{ "id": "phase-4", "name": "p", "tasks": [{ "id": "task-9", "content": "a" }] }]),
        START,
    );
    let add = json!({ "op": "add_task", "phase": "phase-4", "content": "b" });
    write(
        &mut todos,
        json!([{ "op": "remove_task", "id": "task-9" }, add, { "op": "add_phase", "name": "q" }]),
        START,
    );
    assert_eq!(shown(&todos), ["phase-4 p: task-10 in_progress b", "phase-5 q: "]);
    let new = json!({ "op": "replace", "phases": [{ "name": "r", "tasks": [{ "content": "c" }] }] });
    write(&mut todos, json!([add, new]), START);
    assert_eq!(shown(&todos), ["phase-1 r: task-1 in_progress c"]);
}

#[test]
fn write_leaves_one_todo_in_progress() {
    let after = |statuses: &[&str]| {
        let tasks: Vec<Value> =
            statuses.iter().map(|status| json!({ "content": "x", "status": status })).collect();
        let mut todos = todos();
        write(&mut todos, json!([{ "op": "replace", "phases": [{ "name": "p", "tasks": tasks }] }]), START);
        let tasks = todos.view().remove(0).tasks;
        tasks.into_iter().map(|task| task.status.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(
        after(&["pending", "in_progress", "in_progress", "pending"]),
        ["pending", "in_progress", "pending", "pending"]
    );
    assert_eq!(after(&["completed", "pending", "pending"]), ["completed", "in_progress", "pending"]);
    assert_eq!(after(&["completed", "abandoned"]), ["completed", "abandoned"]);
}

#[test]
fn tool_is_exclusive_and_refuses_invalid_operations() {
    let spec = spec();
    assert!(spec.exclusive);
    snapshots().bind(|| insta::assert_snapshot!("todo_write_parameters", laid_out(&spec.parameters, 140)));
    let toolbox = Toolbox::new(vec![spec]);
    let refused = |ops: Value| {
        let arguments: JsonObject = json!({ "ops": ops }).as_object().unwrap().clone();
        let by_schema = toolbox.check(Base::Xcsh, TODO_WRITE, &arguments).is_err();
        let mut todos = todos();
        set(&mut todos, json!([{ "name": "p", "tasks": [] }]), START);
        let before = todos.view();
        let by_tool = todos.write(&arguments, true, START).is_err();
        assert_eq!(todos.view(), before);
        (by_schema, by_tool)
    };
    for ops in [
        json!("x"),
        json!([{ "op": "clear" }]),
        json!([{ "op": "add_phase", "name": "q" }, { "op": "update" }]),
        json!([{ "op": "update", "id": "task-1", "status": "done" }]),
        json!([{ "op": "replace", "phases": [{ "tasks": [] }] }]),
    ] {
        assert_eq!(refused(ops.clone()), (true, true), "{ops}");
    }
}

#[test]
fn newest_list_is_restored_without_done_todos() {
    let mut old = todos();
    let older = kept(write(&mut old, json!([{ "op": "add_phase", "name": "old" }]), START));
    let newest = write(
        &mut old,
        json!([{ "op": "replace", "phases": [
            { "name": "a", "tasks": [{ "content": "1", "status": "completed" }, { "content": "2", "details": "how" }] },
            { "name": "b", "tasks": [{ "content": "3", "status": "abandoned" }] },
            { "name": "c" },
        ] }]),
        START,
    );
    let newest = kept(newest);
    let failed = ToolResultMessage { is_error: true, ..older.clone() };
    let other = ToolResultMessage { tool_name: "bash".to_owned(), ..older.clone() };
    let empty = ToolResultMessage { details: Some(json!({})), ..older.clone() };
    let mut todos = todos();
    set(
        &mut todos,
        json!([{ "name": "of the host", "tasks": [{ "content": "x", "status": "completed" }] }]),
        START,
    );
    todos.restore([&failed, &other, &empty, &newest, &older]);
    assert_eq!((shown(&todos), todos.due()), (vec!["phase-1 a: task-2 in_progress 2".to_owned()], None));
    // Its details are there, too: the model is shown them when it writes again.
    assert_eq!(
        text(&write(&mut todos, json!([]), START)),
        "Todos: 1, of which 1 open.\n\nphase-1 a\n- task-2 [in_progress] 2\n  how"
    );
    todos.restore([&failed, &other]);
    assert_eq!(todos.view(), []);
}

#[test]
fn lists_of_vintages_without_ids_get_them() {
    let mut todos = todos();
    let details = json!({ "phases": [
        { "name": "a", "tasks": [{ "content": "1", "status": "pending" }, { "content": "2", "status": "pending" }] },
    ] });
    let result = AgentToolResult {
        content: vec![],
        details: Some(details),
        is_warning: None,
        structured_content: None,
        is_error: None,
        usage: None,
        terminate: None,
    };
    todos.restore([&kept(result)]);
    assert_eq!(shown(&todos), ["phase-1 a: task-1 pending 1, task-2 pending 2"]);
}

#[test]
fn done_todo_is_cleared_after_its_delay() {
    let mut todos = todos();
    let list = |a: &str, b: &str| {
        json!([
            { "id": "p", "name": "p", "tasks": [{ "id": "a", "content": "a", "status": a }] },
            { "id": "q", "name": "q", "tasks": [
                { "id": "b", "content": "b", "status": b }, { "id": "c", "content": "c" },
            ] },
            { "id": "r", "name": "r", "tasks": [] },
        ])
    };
    set(&mut todos, list("completed", "pending"), seconds(0));
    write(&mut todos, json!([{ "op": "update", "id": "b", "status": "abandoned" }]), seconds(10));
    assert_eq!((todos.due(), todos.clear_due(seconds(59))), (Some(seconds(60)), 0));
    assert_eq!(shown(&todos).len(), 3);
    assert_eq!(todos.clear_due(seconds(60)), 1);
    assert_eq!(shown(&todos), ["q q: b abandoned b, c in_progress c"]);
    assert_eq!((todos.due(), todos.clear_due(seconds(80))), (Some(seconds(70)), 1));
    assert_eq!((todos.due(), shown(&todos)), (None, vec!["q q: c in_progress c".to_owned()]));
    assert_eq!(todos.clear_due(seconds(1000)), 0);
}

#[test]
fn todos_done_together_are_cleared_together() {
    let mut todos = todos();
    set(
        &mut todos,
        json!([{ "name": "p", "tasks": [{ "content": "a", "status": "completed" }, { "content": "b", "status": "abandoned" }] }]),
        START,
    );
    assert_eq!((todos.clear_due(seconds(60)), todos.view(), todos.due()), (2, vec![], None));
}

#[test]
fn reopened_or_removed_todo_loses_its_timer() {
    let mut todos = todos();
    let list =
        |status: &str| json!([{ "name": "p", "tasks": [{ "id": "a", "content": "a", "status": status }] }]);
    set(&mut todos, list("completed"), seconds(0));
    // Still done: the timer goes on.
    set(&mut todos, list("abandoned"), seconds(20));
    assert_eq!(todos.due(), Some(seconds(60)));
    write(&mut todos, json!([{ "op": "update", "id": "a", "status": "pending" }]), seconds(30));
    assert_eq!(todos.due(), None);
    set(&mut todos, list("completed"), seconds(40));
    assert_eq!(todos.due(), Some(seconds(100)));
    write(&mut todos, json!([{ "op": "remove_task", "id": "a" }]), seconds(50));
    assert_eq!(todos.due(), None);
}

#[test]
fn replaced_list_has_its_own_timers() {
    let mut todos = todos();
    let new = json!([{ "op": "replace", "phases": [{ "name": "p", "tasks": [{ "content": "a", "status": "completed" }] }] }]);
    write(&mut todos, new.clone(), seconds(0));
    write(&mut todos, new, seconds(30));
    assert_eq!(todos.due(), Some(seconds(90)));
}

#[test]
fn clear_delay_may_be_zero_or_infinite() {
    let list = json!([{ "name": "p", "tasks": [{ "content": "a", "status": "completed" }] }]);
    let mut at_once = Todos::new(Some(Duration::ZERO));
    set(&mut at_once, list.clone(), START);
    assert_eq!((at_once.due(), at_once.clear_due(START)), (Some(START), 1));
    let mut never = Todos::new(None);
    set(&mut never, list.clone(), START);
    assert_eq!((never.due(), never.clear_due(Duration::MAX)), (None, 0));
    let mut long = Todos::new(Some(Duration::MAX));
    set(&mut long, list, START);
    assert_eq!(long.due(), Some(Duration::MAX));
}

#[test]
fn open_todos_give_a_reminder() {
    let mut todos = todos();
    set(
        &mut todos,
        json!([
            { "name": "Done {list}", "tasks": [{ "content": "x", "status": "completed" }] },
            { "name": "Build", "tasks": [
                { "content": "y", "status": "abandoned" },
                { "id": "a", "content": "Write {attempt}", "status": "in_progress" },
            ] },
            { "name": "Check", "tasks": [{ "id": "b", "content": "Run it", "notes": "twice" }] },
        ]),
        START,
    );
    let reminder = todos.reminder().unwrap();
    let event = json!({
        "type": "todo_reminder",
        "todos": [
            { "id": "a", "content": "Write {attempt}", "status": "in_progress" },
            { "id": "b", "content": "Run it", "status": "pending" },
        ],
        "attempt": 1, "maxAttempts": 3,
    });
    assert_eq!(reminder.event, serde_json::from_value::<TodoReminderEvent>(event).unwrap());
    snapshots().bind(|| insta::assert_snapshot!("todo_reminder", reminder.text));
    let message = serde_json::to_value(reminder.message(7)).unwrap();
    let expected =
        json!({ "role": "developer", "content": reminder.text, "attribution": "agent", "timestamp": 7 });
    assert_eq!(message, expected);
}

#[test]
fn reminders_are_counted_from_the_prompt() {
    let mut todos = todos();
    assert_eq!(todos.reminder(), None);
    let list =
        |status: &str| json!([{ "name": "p", "tasks": [{ "id": "a", "content": "a", "status": status }] }]);
    set(&mut todos, list("pending"), START);
    let attempts = |todos: &mut Todos| {
        let attempts = (0..5).map_while(|_| todos.reminder()).map(|reminder| reminder.event.attempt);
        attempts.collect::<Vec<_>>()
    };
    assert_eq!(attempts(&mut todos), (1..=MOST_REMINDERS).collect::<Vec<_>>());
    assert_eq!(attempts(&mut todos), Vec::<u64>::new());
    todos.reset_reminders();
    assert_eq!(attempts(&mut todos), [1, 2, 3]);
    // When nothing is left, too.
    set(&mut todos, list("completed"), START);
    assert_eq!(attempts(&mut todos), Vec::<u64>::new());
    set(&mut todos, list("in_progress"), START);
    assert_eq!(attempts(&mut todos), [1, 2, 3]);
}

#[test]
fn plan_request_message_is_hidden() {
    let mut message = serde_json::to_value(Todos::prelude(5)).unwrap();
    let content = message["content"].take();
    let expected = json!({
        "role": "custom", "customType": "eager-todo-prelude", "content": null, "display": false,
        "attribution": "agent", "timestamp": 5,
    });
    assert_eq!(message.to_string(), expected.to_string());
    snapshots().bind(|| insta::assert_snapshot!("todo_prelude", content.as_str().unwrap()));
}

#[test]
fn conversation_with_task_needs_plan() {
    let mut todos = todos();
    for (is_first, text, wanted) in [
        (true, "Build it.", true),
        (true, "", true),
        (true, "Why? Build it", true),
        (true, "Why is it slow?", false),
        (true, "Why?? \n", false),
        (true, "Hello!", false),
        (false, "Build it.", false),
    ] {
        assert_eq!(todos.needs_prelude(is_first, text), wanted, "{is_first} {text:?}");
    }
    set(&mut todos, json!([{ "name": "no todos", "tasks": [] }]), START);
    assert!(todos.needs_prelude(true, "Build it."));
    set(&mut todos, json!([{ "name": "p", "tasks": [{ "content": "a", "status": "completed" }] }]), START);
    assert!(!todos.needs_prelude(true, "Build it."));
}

/// One thing that happens to a list; ids are among those that a short list has.
fn step() -> impl Strategy<Value = Value> {
    let status = prop::sample::select(&TodoStatus::ALL[..]).prop_map(TodoStatus::as_str);
    let id = || (1..6u8).prop_map(|n| format!("task-{n}"));
    let task = || status.clone().prop_map(|status| json!({ "content": "x", "status": status }));
    let tasks = || prop::collection::vec(task(), 0..4);
    prop_oneof![
        tasks().prop_map(|tasks| json!({ "op": "add_phase", "name": "p", "tasks": tasks })),
        tasks().prop_map(|tasks| json!({ "op": "replace", "phases": [{ "name": "p", "tasks": tasks }] })),
        (1..4u8, status.clone())
            .prop_map(|(n, status)| json!({ "op": "add_task", "phase": format!("phase-{n}"), "content": "y", "status": status })),
        (id(), status.clone()).prop_map(|(id, status)| json!({ "op": "update", "id": id, "status": status })),
        id().prop_map(|id| json!({ "op": "remove_task", "id": id })),
        // Not an operation: the host gives back what it sees.
        Just(json!({ "op": "host" })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_operations_keep_todo_list_consistent(steps in prop::collection::vec((step(), 0..40u64), 1..20)) {
        let mut todos = todos();
        let mut now = START;
        for (step, pause) in steps {
            now += Duration::from_secs(pause);
            let before = todos.view().iter().map(|phase| phase.tasks.len()).sum::<usize>();
            let cleared = todos.clear_due(now);
            let after = todos.view().iter().map(|phase| phase.tasks.len()).sum::<usize>();
            prop_assert_eq!(before - after, cleared);
            let seen = serde_json::to_value(todos.view()).unwrap();
            match step["op"] == "host" {
                true => set(&mut todos, seen, now),
                false => drop(write(&mut todos, json!([step]), now)),
            }
            let view = todos.view();
            let tasks: Vec<_> = view.iter().flat_map(|phase| &phase.tasks).collect();
            let ids: BTreeSet<&str> = tasks.iter().map(|task| task.id.as_deref().unwrap_or_default()).collect();
            prop_assert_eq!(ids.len(), tasks.len());
            let count = |wanted| tasks.iter().filter(|task| task.status == wanted).count();
            let (pending, running) = (count(TodoStatus::Pending), count(TodoStatus::InProgress));
            prop_assert_eq!(running, usize::from(pending + running > 0));
            let is_done = tasks.len() > pending + running;
            prop_assert_eq!(todos.due().is_some(), is_done);
            prop_assert!(todos.due().is_none_or(|due| due > now && due <= now + CLEAR_AFTER));
        }
        todos.clear_due(now + CLEAR_AFTER);
        prop_assert_eq!(todos.due(), None);
        let left: Vec<TodoStatus> = todos.view().into_iter().flat_map(|phase| phase.tasks).map(|task| task.status).collect();
        prop_assert!(!left.contains(&TodoStatus::Completed) && !left.contains(&TodoStatus::Abandoned), "{:?}", left);
    }
}
