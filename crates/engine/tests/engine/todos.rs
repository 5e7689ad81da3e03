//! The list of todos in a conversation: the prelude, what the model and the host write, reminders, the timers. See
//! `sequences.rs` for the notation.

use pi_rpc_engine::{ExtensionSetup, todos::CLEAR_AFTER};
use pi_rpc_protocol::Dialect::{Omp, Xcsh};
use pi_rpc_test_kit::{
    self, Extension, PeerStep, Playback, Scenario, scenario,
    shorthand::{command, overloaded, prompt, says},
};
use serde_json::{Value, json};
use std::time::Duration;

/// A conversation in which the model has `todo_write`; what is done goes after a minute.
fn todos(turns: Value) -> Scenario {
    clearing(turns, Some(CLEAR_AFTER))
}

fn clearing(turns: Value, clear_todos_after: Option<Duration>) -> Scenario {
    scenario(turns).todos().extension_setup(ExtensionSetup { clear_todos_after, ..ExtensionSetup::default() })
}

/// The host sets a list of one phase with todos of these statuses.
fn set(id: &str, statuses: &[&str]) -> Value {
    let task =
        |(at, status): (usize, &&str)| json!({ "content": format!("do {}", at + 1), "status": status });
    let tasks: Vec<Value> = statuses.iter().enumerate().map(task).collect();
    let phases = if tasks.is_empty() { json!([]) } else { json!([{ "name": "Work", "tasks": tasks }]) };
    json!({ "id": id, "type": "set_todos", "phases": phases })
}

/// The model writes the list.
fn writes(id: &str, ops: Value) -> Value {
    json!({ "say": [{ "tool": "todo_write", "id": id, "arguments": { "ops": ops }, "size": 0 }] })
}

/// The model begins a list of one phase with todos of these contents.
fn plans(id: &str, contents: &[&str]) -> Value {
    let tasks: Vec<Value> = contents.iter().map(|content| json!({ "content": content })).collect();
    writes(id, json!([{ "op": "replace", "phases": [{ "name": "Plan", "tasks": tasks }] }]))
}

fn done(task: &str) -> Value {
    json!({ "op": "update", "id": task, "status": "completed" })
}

/// The list that the answer to a request shows: `phase: status content, …`.
fn shown(played: &Playback, id: &str) -> Vec<String> {
    let answers = played.answers(id);
    let phases = answers[0]["data"]["todoPhases"].as_array().expect("a list");
    let phases = phases.iter().map(|phase| {
        let tasks = phase["tasks"].as_array().expect("a list").iter();
        let tasks = tasks.map(|task| [&task["id"], &task["status"], &task["content"]].map(text).join(" "));
        format!("{}: {}", text(&phase["name"]), tasks.collect::<Vec<_>>().join(", "))
    });
    phases.collect()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// How often each reminder was told.
fn attempts(played: &Playback) -> Vec<u64> {
    let reminders = played.frames("todo_reminder");
    reminders.map(|frame| frame["attempt"].as_u64().expect("a number")).collect()
}

fn preludes(played: &Playback) -> usize {
    let is_prelude = |frame: &&Value| {
        frame["type"] == "message_end" && frame["message"]["customType"] == "eager-todo-prelude"
    };
    played.said.iter().filter(is_prelude).count()
}

#[test]
fn todos_are_planned_and_reminded_until_done() {
    let turns = json!([
        plans("t1", &["look", "write"]),
        says("I have looked."),
        writes("t2", json!([done("task-1")])),
        says("It is half done."),
        writes("t3", json!([done("task-2")])),
        says("It is done."),
    ]);
    let shape = "ok p · agent_start · turn_start · custom eager-todo-prelude · user Write it. · ms · toolcall ·
                 me toolUse · start t1 · end t1 · result t1 · turn_end [t1] · turn_start · ms · text · me stop ·
                 turn_end [] · agent_end [cuata] · todo_reminder · agent_start · turn_start · ms · toolcall ·
                 me toolUse · start t2 · end t2 · result t2 · turn_end [t2] · turn_start · ms · text · me stop ·
                 turn_end [] · agent_end [ata] · todo_reminder · agent_start · turn_start · ms · toolcall ·
                 me toolUse · start t3 · end t3 · result t3 · turn_end [t3] · turn_start · ms · text · me stop ·
                 turn_end [] · agent_end [ata] · ok get_state · todo_auto_clear · todo_auto_clear · ok cleared";
    let cleared = json!({ "id": "cleared", "type": "get_state" });
    let it = todos(turns)
        .kept()
        .host(0, prompt("p", "Write it."))
        .host(100, command("get_state"))
        .host(60_100, cleared);
    it.is("todos", &[Xcsh], shape);
    let played = it.play(Xcsh);
    assert_eq!(
        played.asked,
        [
            "turn play [cu] must todo_write",
            "turn play [cuat]",
            "turn play [cuatad]",
            "turn play [cuatadat]",
            "turn play [cuatadatad]",
            "turn play [cuatadatadat]",
        ]
    );
    assert_eq!(shown(&played, "get_state"), ["Plan: task-1 completed look, task-2 completed write"]);
    assert_eq!(shown(&played, "cleared"), Vec::<String>::new());
}

#[test]
fn host_todos_are_stored_and_errors_named() {
    let task =
        |task: Value| json!({ "id": "s", "type": "set_todos", "phases": [{ "name": "A", "tasks": [task] }] });
    let error = |frame: Value| {
        let played = todos(json!([])).host(0, frame).host(10, command("get_state")).play(Xcsh);
        assert_eq!(shown(&played, "get_state"), Vec::<String>::new());
        played.error("s").to_owned()
    };
    let refused = "Failed to parse command: ";
    for (frame, field) in [
        (json!({ "id": "s", "type": "set_todos" }), "`phases`"),
        (json!({ "id": "s", "type": "set_todos", "phases": "x" }), "`phases`"),
        (
            json!({ "id": "s", "type": "set_todos", "phases": [{ "name": 1, "tasks": [] }] }),
            "`phases[0].name`",
        ),
        (task(json!({ "status": "pending" })), "`content`"),
        (task(json!({ "content": "do it", "status": "soon" })), "`phases[0].tasks[0].status`"),
        (task(json!({ "content": "do it", "notes": 5 })), "`phases[0].tasks[0].notes`"),
    ] {
        let said = error(frame);
        assert!(said.starts_with(refused) && said.contains(field), "{field}: {said}");
    }
    let played = todos(json!([]))
        .host(0, set("s", &["completed", "in_progress", "in_progress", "abandoned"]))
        .host(10, command("get_state"))
        .play(Xcsh);
    let all = [
        "Work: task-1 completed do 1, task-2 in_progress do 2, task-3 in_progress do 3, task-4 abandoned do 4",
    ];
    assert_eq!(shown(&played, "s"), all);
    assert_eq!(shown(&played, "get_state"), all);
}

#[test]
fn model_changes_todos_of_host() {
    let ops = json!([
        { "op": "add_phase", "name": "More" },
        { "op": "add_task", "phase": "phase-2", "content": "test", "notes": "all of it" },
        { "op": "update", "id": "task-2", "status": "in_progress" },
        { "op": "remove_task", "id": "task-1" },
        { "op": "remove_task", "id": "task-9" },
    ]);
    let played = todos(json!([writes("t1", ops), says("Done."), says("Yes."), says("Yes."), says("Yes.")]))
        .host(0, set("s", &["pending", "pending"]))
        .host(0, prompt("p", "go"))
        .host(100, command("get_state"))
        .play(Xcsh);
    assert_eq!(shown(&played, "get_state"), ["Work: task-2 in_progress do 2", "More: task-3 pending test"]);
    let end = played.last("tool_execution_end");
    assert_eq!((&end["isError"], &end["result"]["details"]["storage"]), (&json!(false), &json!("memory")));
    let told = text(&end["result"]["content"][0]["text"]);
    assert!(told.starts_with("Not done: Task \"task-9\" not found\n\nTodos: 2, of which 2 open."), "{told}");
    // The host has planned: nobody else has to.
    assert_eq!(played.asked[0], "turn play [u]");
}

#[test]
fn three_reminders_follow_each_prompt() {
    let played = todos(json!([{ "repeat": true, "say": [{ "text": "Later.", "size": 0 }] }]))
        .host(0, set("s", &["pending", "completed", "in_progress"]))
        .host(0, prompt("p", "go"))
        .host(100, prompt("q", "go on"))
        .play(Xcsh);
    assert_eq!(attempts(&played), [1, 2, 3, 1, 2, 3]);
    let open = json!([
        { "id": "task-1", "content": "do 1", "status": "pending" },
        { "id": "task-3", "content": "do 3", "status": "in_progress" },
    ]);
    let reminder = json!({ "type": "todo_reminder", "todos": open, "attempt": 3, "maxAttempts": 3 });
    assert_eq!(*played.last("todo_reminder"), reminder);
    assert_eq!(played.asked[3..5], ["turn play [uadadad]", "turn play [uadadadau]"]);
}

#[test]
fn reminders_reach_only_the_model() {
    let played = todos(json!([{ "repeat": true, "say": [{ "text": "Later.", "size": 0 }] }]))
        .kept()
        .host(0, set("s", &["pending"]))
        .host(0, prompt("p", "go"))
        .play(Xcsh);
    assert_eq!(attempts(&played), [1, 2, 3]);
    let roles = |frames: Vec<&Value>| -> Vec<String> {
        frames.iter().map(|frame| text(&frame["message"]["role"]).to_owned()).collect()
    };
    let ends = played.frames("message_end").collect();
    assert_eq!(roles(ends), ["user", "assistant", "assistant", "assistant", "assistant"]);
    let lines = played.disk.lines();
    let messages = lines.iter().filter(|line| line["type"] == "message").collect();
    assert_eq!(roles(messages), ["user", "assistant", "assistant", "assistant", "assistant"]);
}

#[test]
fn failed_run_gives_no_reminder() {
    let open = |turns: Value| todos(turns).host(0, set("s", &["pending"])).host(0, prompt("p", "go"));
    let slow = json!({ "say": [{ "text": "Well, well.", "size": 4 }], "delayMs": 50 });
    let cut_off = json!({ "say": [{ "text": "Well", "size": 0 }], "stop": "length" });
    let calls =
        json!({ "say": [{ "tool": "bash", "id": "t", "arguments": { "command": "sleep 900" }, "size": 0 }] });
    for (name, scenario) in [
        ("refused", open(json!([pi_rpc_test_kit::shorthand::refused()]))),
        ("aborted", open(json!([slow])).host(75, command("abort"))),
        ("aborted in a call", open(json!([calls])).host(75, command("abort"))),
        ("left for another session", open(json!([slow])).host(75, command("new_session"))),
        ("cut off", open(json!([cut_off]))),
        ("stopped", open(json!([slow])).stops(75)),
    ] {
        let played = scenario.play(Xcsh);
        assert_eq!(attempts(&played), [0; 0], "{name}\n{}", played.log);
    }
}

#[test]
fn queued_message_precedes_a_reminder() {
    let slow = json!({ "say": [{ "text": "Well, well.", "size": 4 }], "delayMs": 50 });
    let follow_up = json!({ "id": "f", "type": "follow_up", "message": "And then?" });
    let steer = json!({ "id": "t", "type": "steer", "message": "No." });
    let played = todos(json!([slow, says("So."), says("Yes."), says("No."), says("No."), says("No.")]))
        .host(0, set("s", &["pending"]))
        .host(0, prompt("p", "go"))
        .host(75, follow_up)
        .host(76, steer)
        .play(Xcsh);
    assert_eq!(
        played.asked,
        [
            "turn play [u]",
            "turn play [uau]",
            "turn play [uauau]",
            "turn play [uauauad]",
            "turn play [uauauadad]",
            "turn play [uauauadadad]",
        ]
    );
    assert_eq!(attempts(&played), [1, 2, 3]);
}

#[test]
fn steering_joins_the_run_of_a_reminder() {
    let slow = json!({ "say": [{ "text": "Well, well.", "size": 4 }], "delayMs": 50 });
    let steer = json!({ "id": "t", "type": "steer", "message": "No." });
    let done = writes("t1", json!([done("task-1")]));
    let played = todos(json!([says("Later."), slow, done, says("Done.")]))
        .host(0, set("s", &["pending"]))
        .host(0, prompt("p", "go"))
        .host(75, steer)
        .play(Xcsh);
    let shape = "ok s · ok p · agent_start · turn_start · user go · ms · text · me stop · turn_end [] ·
                 agent_end [ua] · todo_reminder · agent_start · turn_start · ms · text · ok t · text · me stop ·
                 turn_end [] · turn_start · user No. · ms · toolcall · me toolUse · start t1 · end t1 · result t1 ·
                 turn_end [t1] · turn_start · ms · text · me stop · turn_end [] · agent_end [auata] · todo_auto_clear";
    assert_eq!(played.shape(), shape.split('·').map(str::trim).collect::<Vec<_>>());
}

#[test]
fn reminder_run_is_an_ordinary_run() {
    let slow = json!({ "say": [{ "text": "Well, well.", "size": 4 }], "delayMs": 50 });
    let begun = || {
        todos(json!([says("Later."), slow])).kept().host(0, set("s", &["pending"])).host(0, prompt("p", "go"))
    };
    let shape = |end: &str| {
        format!(
            "ok s · ok p · agent_start · turn_start · user go · ms · text · me stop · turn_end [] · agent_end [ua] · \
             todo_reminder · agent_start · turn_start · ms · text · {end}"
        )
    };
    let aborted = "me aborted · turn_end [] · agent_end [a] · ok abort";
    begun().host(75, command("abort")).is("todos_abort", &[Xcsh], &shape(aborted));
    // The dialect leaves at once.
    let played = begun().ends(75).finish(Xcsh);
    assert_eq!(played.shape().last().map(String::as_str), Some("text"), "{}", played.log);
    assert!(played.log.ends_with("   75 > exit\n"), "{}", played.log);
    let busy = begun().host(75, prompt("q", "now")).play(Xcsh);
    assert!(busy.error("q").starts_with("Agent is already processing"), "{}", busy.log);
}

#[test]
fn failed_run_is_retried_before_reminder() {
    let played = todos(json!([overloaded(), says("Later."), says("No."), says("No."), says("No.")]))
        .host(0, set("s", &["pending"]))
        .host(0, prompt("p", "go"))
        .play(Xcsh);
    assert_eq!(attempts(&played), [1, 2, 3]);
    assert_eq!(played.asked[..3], ["turn play [u]", "turn play [u]", "turn play [uad]"]);
}

#[test]
fn done_todos_are_cleared_after_delay() {
    let cleared = |clear_after: Option<u64>| {
        let played = clearing(json!([]), clear_after.map(Duration::from_secs))
            .host(0, set("s", &["completed", "pending"]))
            .host(10_000, set("later", &["completed", "abandoned"]))
            .host(200_000, command("get_state"))
            .play(Xcsh);
        let of = |line: &&str| line.contains("todo_auto_clear");
        let times =
            played.log.lines().filter(of).map(|line| line[..line.find('>').unwrap()].trim().to_owned());
        let times: Vec<String> = times.collect();
        let all =
            played.answers("s").len() + played.answers("later").len() + played.answers("get_state").len();
        assert_eq!(all, 3);
        (times, shown(&played, "get_state"))
    };
    let none = Vec::<String>::new();
    // The first todo of the second list is the same, by its id: its time has begun before.
    assert_eq!(cleared(Some(60)), (vec!["60000".to_owned(), "70000".to_owned()], none.clone()));
    assert_eq!(
        cleared(Some(0)),
        (vec!["0".to_owned(), "10000".to_owned(), "10000".to_owned()], none.clone())
    );
    let kept = vec!["Work: task-1 completed do 1, task-2 abandoned do 2".to_owned()];
    assert_eq!(cleared(None), (none, kept));
}

#[test]
fn list_is_cleared_during_run() {
    let slow = json!({ "say": [{ "text": "Well, well.", "size": 4 }], "delayMs": 25_000 });
    let played = todos(json!([slow])).host(0, set("s", &["completed"])).host(0, prompt("p", "go")).play(Xcsh);
    let shape =
        "ok s · ok p · agent_start · turn_start · user go · ms · text · todo_auto_clear · text · me stop ·
                 turn_end [] · agent_end [ua]";
    assert_eq!(played.shape(), shape.split('·').map(str::trim).collect::<Vec<_>>());
}

#[test]
fn only_first_prompt_is_planned() {
    let begins = |text: &str| {
        let played = todos(json!([says("Yes."), says("Yes.")]))
            .host(0, prompt("p", text))
            .host(100, prompt("q", "go on"));
        let played = played.play(Xcsh);
        (preludes(&played), played.asked[1].clone())
    };
    assert_eq!(begins("Write it"), (1, "turn play [cuau]".to_owned()));
    for text in ["Is it written?", "Write it! \n", "?"] {
        assert_eq!(begins(text), (0, "turn play [uau]".to_owned()), "{text}");
    }
    let without = scenario(json!([says("Yes.")])).host(0, prompt("p", "Write it")).play(Xcsh);
    assert_eq!((preludes(&without), &without.asked[0][..]), (0, "turn play [u]"));
    let again = json!({ "id": "p", "type": "abort_and_prompt", "message": "Write it" });
    let played = todos(json!([says("Yes.")])).host(0, again).play(Xcsh);
    assert_eq!((preludes(&played), &played.asked[0][..]), (1, "turn play [cu] must todo_write"));
}

#[test]
fn omp_begins_without_plan() {
    let played = todos(json!([says("Yes.")])).host(0, prompt("p", "Write it")).finish(Omp);
    assert_eq!((preludes(&played), &played.asked[0][..]), (0, "turn play [u]"));
}

#[test]
fn each_session_begins_with_a_plan() {
    let played = todos(json!([says("Yes."), says("Yes.")]))
        .host(0, prompt("p", "Write it"))
        .host(100, command("new_session"))
        .host(110, prompt("q", "Write another"))
        .play(Xcsh);
    assert_eq!(preludes(&played), 2);
    assert_eq!(played.asked, ["turn play [cu] must todo_write"; 2]);
}

/// The file of the session that a conversation begins with.
const FIRST: &str = "/sessions/2025-11-24T16-00-00-000Z_19ab697e800707e7.jsonl";

#[test]
fn todo_list_follows_session_leaf() {
    let turns = json!([
        plans("t1", &["look", "write", "test"]),
        says("One."),
        says("Two."),
        says("Three."),
        says("Four."),
        writes("t2", json!([done("task-1"), { "op": "add_task", "phase": "phase-1", "content": "ship" }])),
        says("Five."),
        says("Six."),
        says("Seven."),
        says("Eight."),
    ]);
    let state = |id: &str| json!({ "id": id, "type": "get_state" });
    let branch = json!({ "id": "branch", "type": "branch", "entryId": "$1" });
    let played = todos(turns)
        .kept()
        .host(0, prompt("p", "Write it"))
        .host(100, prompt("q", "go on"))
        .host(200, set("s", &["pending"]))
        .host(210, command("new_session"))
        .host(220, state("new"))
        .host(230, json!({ "id": "switch", "type": "switch_session", "sessionPath": FIRST }))
        .host(240, state("back"))
        .host(250, branch)
        .host(260, state("earlier"))
        .play(Xcsh);
    assert_eq!(shown(&played, "new"), Vec::<String>::new());
    let open = "task-2 in_progress write, task-3 pending test, task-4 pending ship";
    assert_eq!(shown(&played, "back"), [format!("Plan: {open}")], "what the host had set was of no session");
    let earlier = ["Plan: task-1 in_progress look, task-2 pending write, task-3 pending test"];
    assert_eq!(shown(&played, "earlier"), earlier);

    let file = played.disk.text(std::path::Path::new(FIRST)).expect("the first session");
    let again = todos(json!([says("Yes."), says("No."), says("No."), says("No.")]))
        .file(FIRST, file)
        .opened(FIRST)
        .host(0, command("get_state"))
        .host(10, prompt("p", "And now?"))
        .play(Xcsh);
    assert_eq!(shown(&again, "get_state"), [format!("Plan: {open}")]);
    assert_eq!((preludes(&again), attempts(&again)), (0, vec![1, 2, 3]));
}

#[test]
fn a_list_outlives_a_compaction() {
    let turns = json!([
        says("One."),
        says("Two."),
        pi_rpc_test_kit::shorthand::summary("So far."),
        says("Three."),
        says("Four."),
        says("Five."),
        says("Six."),
    ]);
    let played = todos(turns)
        .modes(|modes| modes.compaction.keep_recent = 1)
        .host(0, prompt("p", "Is it there?"))
        .host(10, prompt("q", "Is it good?"))
        .host(100, set("s", &["in_progress"]))
        .host(110, command("compact"))
        .host(300, command("get_state"))
        .host(310, prompt("r", "go on"))
        .play(Xcsh);
    assert!(played.answers("compact")[0]["success"] == true, "{}", played.log);
    assert_eq!(shown(&played, "get_state"), ["Work: task-1 in_progress do 1"]);
    assert_eq!((preludes(&played), attempts(&played)), (0, vec![1, 2, 3]));
}

#[test]
fn summary_alone_counts_as_new_conversation() {
    let turns =
        json!([says("One."), says("Two."), pi_rpc_test_kit::shorthand::summary("So far."), says("Three.")]);
    let played = todos(turns)
        .modes(|modes| modes.compaction.keep_recent = 1)
        .host(0, prompt("p", "Is it there?"))
        .host(10, prompt("q", "Is it good?"))
        .host(110, command("compact"))
        .host(310, prompt("r", "go on"))
        .play(Xcsh);
    assert!(played.answers("compact")[0]["success"] == true, "{}", played.log);
    // As it was recorded.
    assert_eq!(
        (preludes(&played), &played.asked.last().unwrap()[..]),
        (1, "turn play [Sacu] must todo_write")
    );
}

#[test]
fn extension_messages_follow_user_message() {
    let message = |kind: &str| json!({ "customType": kind, "content": kind, "display": true });
    let later = json!({ "type": "send_message", "origin": "$", "message": message("later"), "deliverAs": "nextTurn" });
    let adds = json!({ "commands": [{ "name": "later" }], "hooks": ["before_agent_start"] });
    let done = |result: Value| PeerStep::Writes(json!({ "type": "done", "id": "$", "result": result }));
    let extension = Extension::new("a", adds)
        .on("command later", [PeerStep::Writes(later), done(Value::Null)])
        .on("hook before_agent_start", [done(json!({ "message": message("added") }))]);
    let played = todos(json!([says("Yes.")]))
        .extended(extension)
        .host(0, prompt("l", "/later"))
        .host(10, prompt("p", "Write it."))
        .play(Xcsh);
    let shape =
        "ok l · ok p · agent_start · turn_start · custom eager-todo-prelude · user Write it. · custom later ·
                 custom added · ms · text · me stop · turn_end [] · agent_end [cucca]";
    assert_eq!(played.shape(), shape.split('·').map(str::trim).collect::<Vec<_>>());
    assert_eq!(played.asked, ["turn play [cucc] must todo_write"]);
}
