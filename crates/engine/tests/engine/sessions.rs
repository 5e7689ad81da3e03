//! Changes of the session: new, switch, fork; the state that goes with them, and the fate of an open run.

use pi_rpc_protocol::Dialect::{self, Pi, Pi1, Xcsh};
use pi_rpc_test_kit::{Scenario, scenario, shorthand::*};
use serde_json::{Value, json};
use std::path::Path;

const SEEDS: [Dialect; 2] = [Pi, Xcsh];

/// A session that was left with a model and a level, and in which something was said.
const OTHER: &str = concat!(
    r#"{"type":"session","version":3,"id":"0193f00d","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/work"}"#,
    "\n",
    r#"{"type":"model_change","id":"00000001","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","provider":"scripted","modelId":"work"}"#,
    "\n",
    r#"{"type":"thinking_level_change","id":"00000002","parentId":"00000001","timestamp":"2025-01-01T00:00:00.000Z","thinkingLevel":"low"}"#,
    "\n",
    r#"{"type":"message","id":"00000003","parentId":"00000002","timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"earlier"}],"timestamp":1735689600000}}"#,
    "\n",
);

const PATH: &str = "/sessions/other.jsonl";

fn switch(path: &str) -> Value {
    json!({ "id": "switch", "type": "switch_session", "sessionPath": path })
}

fn fork(kind: &str, entry: &str) -> Value {
    json!({ "id": "fork", "type": kind, "entryId": entry })
}

const FORKS: [(Dialect, &str); 2] = [(Pi, "fork"), (Xcsh, "branch")];

/// A run whose answer has begun to come, at 100 ms.
fn streaming() -> Scenario {
    let slow = json!({ "say": [{ "text": "Well, well.", "size": 4 }], "delayMs": 50 });
    scenario(json!([slow, says("Fine.")])).file(PATH, OTHER).host(0, prompt("p", "hi"))
}

#[test]
fn left_session_cancels_its_shell_command() {
    let left = || scenario(json!([])).kept().host(0, bash("b", "echo one; sleep 900; echo two"));
    let left = left().host(100, command("new_session")).host(2000, command("get_messages"));
    for dialect in [Pi, Pi1] {
        let played = left.finish(dialect);
        assert_eq!(played.shape().last().map(String::as_str), Some("ok get_messages"), "{}", played.log);
        let answer = played.answers("b")[0];
        let data = &answer["data"];
        assert_eq!((&data["cancelled"], data.get("exitCode")), (&json!(true), None), "{dialect}: {answer}");
        assert_eq!(played.answers("get_messages")[0]["data"]["messages"], json!([]), "{dialect}");
    }
}

#[test]
fn leaving_the_session_closes_open_run() {
    let shape = |answer: &str| {
        format!(
            "ok p · agent_start · turn_start · user hi · ms · text · me aborted · turn_end [] · \
             agent_end [ua] · {answer}"
        )
    };
    let leave = |frame: Value| streaming().host(75, frame);
    leave(command("new_session")).is("session_new", &SEEDS, &shape("ok new_session"));
    leave(switch(PATH)).is("session_switch", &SEEDS, &shape("ok switch"));
    for (dialect, kind) in FORKS {
        leave(fork(kind, "$0")).is("session_fork", &[dialect], &shape("ok fork"));
    }
}

#[test]
fn closed_run_is_persisted_in_its_session() {
    let played = streaming().host(75, switch(PATH)).play(Pi);
    assert_eq!(played.disk.text(Path::new(PATH)), Some(OTHER));
    let begun = played.disk.paths().find(|path| *path != Path::new(PATH)).expect("a file of its own");
    let text = played.disk.text(begun).expect("its text");
    assert!(text.lines().last().is_some_and(|line| line.contains("\"aborted\"")), "{text}");
}

#[test]
fn switch_restores_messages_model_and_level() {
    for dialect in SEEDS {
        let switched = scenario(json!([says("Fine.")]))
            .file(PATH, OTHER)
            .host(0, switch(PATH))
            .host(1, command("get_state"))
            .host(2, command("get_messages"))
            .host(3, prompt("p", "now"));
        let state = switched.play(dialect).data("get_state");
        let known =
            [&state["model"]["id"], &state["thinkingLevel"], &state["sessionId"], &state["sessionFile"]];
        assert_eq!(known, ["work", "low", "0193f00d", PATH], "{dialect}");
        let messages = switched.play(dialect).data("get_messages");
        assert_eq!(messages["messages"][0]["content"][0]["text"], "earlier", "{dialect}");
        let played = switched.play(dialect);
        assert_eq!(played.asked, ["turn work [uu]"], "{dialect}");
        let text = played.disk.text(Path::new(PATH)).expect("the file");
        assert!(text.starts_with(OTHER) && text.lines().count() == 6, "{dialect}: {text}");
    }
}

#[test]
fn process_starts_with_session_restored() {
    for dialect in SEEDS {
        let opened = scenario(json!([])).file(PATH, OTHER).opened(PATH).host(0, command("get_state"));
        let state = opened.play(dialect).data("get_state");
        let known = [&state["model"]["id"], &state["thinkingLevel"], &state["messageCount"]];
        assert_eq!(known, [&json!("work"), &json!("low"), &json!(1)], "{dialect}");
    }
}

#[test]
fn missing_model_is_not_restored() {
    let gone = OTHER.replace("\"work\"", "\"gone\"");
    for dialect in SEEDS {
        let switched =
            scenario(json!([])).file(PATH, &gone).host(0, switch(PATH)).host(1, command("get_state"));
        let state = switched.play(dialect).data("get_state");
        assert_eq!([&state["model"]["id"], &state["thinkingLevel"]], ["play", "low"], "{dialect}");
    }
}

#[test]
fn session_without_level_persists_default_level() {
    let unset: String =
        OTHER.lines().filter(|line| !line.contains("thinking")).map(|l| format!("{l}\n")).collect();
    let unset = unset.replace("\"parentId\":\"00000002\"", "\"parentId\":\"00000001\"");
    for (dialect, level) in [(Pi, "medium"), (Xcsh, "high")] {
        let switched = scenario(json!([says("Fine.")]))
            .file(PATH, &unset)
            .host(0, switch(PATH))
            .host(1, command("get_state"))
            .host(2, prompt("p", "now"));
        assert_eq!(switched.play(dialect).data("get_state")["thinkingLevel"], level, "{dialect}");
        let kept = switched.play(dialect).disk.tree().expect("a session").context().level;
        assert_eq!(kept.map(|it| it.as_str()), Some(level), "{dialect}");
    }
}

#[test]
fn missing_or_empty_file_begins_session() {
    for dialect in SEEDS {
        for files in [&[][..], &[(PATH, "")]] {
            let mut begun = scenario(json!([says("One."), says("Two.")])).kept();
            for (path, text) in files {
                begun = begun.file(path, *text);
            }
            let begun = begun
                .host(0, prompt("p1", "one"))
                .host(10, switch(PATH))
                .host(20, command("get_state"))
                .host(30, prompt("p2", "two"));
            let state = begun.play(dialect).data("get_state");
            let known = [&state["sessionFile"], &state["messageCount"]];
            assert_eq!(known, [&json!(PATH), &json!(0)], "{dialect}");
            let played = begun.play(dialect);
            assert_eq!(played.disk.open_file(), Some(Path::new(PATH)), "{dialect}");
            assert_eq!(played.asked, ["turn play [u]", "turn play [u]"], "{dialect}");
        }
    }
}

#[test]
fn invalid_file_is_refused_and_session_continues() {
    for dialect in SEEDS {
        let played = scenario(json!([says("One."), says("Two.")]))
            .file(PATH, "no session\n")
            .host(0, prompt("p1", "one"))
            .host(5, steer("S1"))
            .host(10, switch(PATH))
            .host(20, prompt("p2", "two"))
            .play(dialect);
        assert!(played.error("switch").contains("Not a session file"), "{dialect}");
        assert_eq!(played.asked, ["turn play [u]", "turn play [uauu]"], "{dialect}: queues stay, too");
        assert_eq!(played.disk.text(Path::new(PATH)), Some("no session\n"), "{dialect}");
    }
}

#[test]
fn new_session_keeps_only_model_and_level() {
    for dialect in SEEDS {
        let new = json!({ "id": "new", "type": "new_session", "parentSession": "/old.jsonl" });
        let begun = scenario(json!([says("One."), says("Two.")]))
            .kept()
            .host(0, json!({ "id": "m", "type": "set_model", "provider": "scripted", "modelId": "work" }))
            .host(1, json!({ "id": "l", "type": "set_thinking_level", "level": "low" }))
            .host(2, prompt("p1", "one"))
            .host(10, steer("S1"))
            .host(11, follow_up("F1"))
            .host(12, new)
            .host(13, command("get_state"))
            .host(20, prompt("p2", "two"));
        let state = begun.play(dialect).data("get_state");
        let known = [&state["model"]["id"], &state["thinkingLevel"], &state["messageCount"]];
        assert_eq!(known, [&json!("work"), &json!("low"), &json!(0)], "{dialect}");
        let played = begun.play(dialect);
        assert_eq!(played.asked, ["turn work [u]", "turn work [u]"], "{dialect}");
        let header = played.disk.tree().expect("a session").header().clone();
        assert_eq!(header.parent_session.as_deref(), Some("/old.jsonl"), "{dialect}");
    }
}

#[test]
fn fork_precedes_message_and_returns_its_text() {
    for (dialect, kind) in FORKS {
        let forked = scenario(json!([says("One."), says("Two."), says("Three.")]))
            .kept()
            .host(0, prompt("p1", "one"))
            .host(10, prompt("p2", "two"))
            .host(20, fork(kind, "$1"))
            .host(30, prompt("p3", "three"));
        let answer = forked.play(dialect).data("fork");
        assert_eq!(answer, json!({ "text": "two", "cancelled": false }), "{dialect}");
        let played = forked.play(dialect);
        assert_eq!(played.asked.last().map(String::as_str), Some("turn play [uau]"), "{dialect}");
        let parent = played.disk.tree().expect("a session").header().parent_session.clone();
        let parent = parent.expect("a parent");
        let before = played.disk.text(Path::new(&parent)).expect("its file");
        assert_eq!(before.matches("\"role\":\"user\"").count(), 2, "{dialect}: it is as it was");
    }
}

#[test]
fn fork_at_first_message_is_empty() {
    for (dialect, kind) in FORKS {
        let forked = scenario(json!([says("One."), says("Two.")]))
            .kept()
            .host(0, prompt("p1", "one"))
            .host(10, fork(kind, "$0"))
            .host(20, command("get_state"))
            .host(30, prompt("p2", "two"));
        assert_eq!(forked.play(dialect).data("get_state")["messageCount"], 0, "{dialect}");
        let played = forked.play(dialect);
        assert_eq!(played.disk.paths().count(), 2, "{dialect}");
        assert_eq!(played.asked, ["turn play [u]", "turn play [u]"], "{dialect}");
    }
}

#[test]
fn fork_at_non_user_entry_is_refused() {
    for (dialect, kind) in FORKS {
        let played = scenario(json!([says("One.")]))
            .kept()
            .host(0, prompt("p1", "one"))
            .host(10, fork(kind, "0badcafe"))
            .play(dialect);
        let text =
            if dialect == Pi { "Invalid entry ID for forking" } else { "Invalid entry ID for branching" };
        assert!(played.error("fork").ends_with(text), "{dialect}: {}", played.error("fork"));
    }
}

#[test]
fn fork_messages_are_user_messages_with_text() {
    for (dialect, list) in [(Pi, "get_fork_messages"), (Xcsh, "get_branch_messages")] {
        let asked = scenario(json!([says("One."), says("Two."), says("Three.")]))
            .kept()
            .host(0, prompt("p1", "one"))
            .host(10, prompt("p2", ""))
            .host(20, prompt("p3", "three"))
            .host(30, command(list));
        let messages = asked.play(dialect).data(list)["messages"].clone();
        let texts: Vec<&Value> = messages.as_array().into_iter().flatten().map(|it| &it["text"]).collect();
        assert_eq!(texts, ["one", "three"], "{dialect}");
    }
}

#[test]
fn session_name_is_persisted_per_dialect() {
    let named = |name: &str| {
        scenario(json!([says("One.")]))
            .kept()
            .host(0, prompt("p1", "one"))
            .host(10, json!({ "id": "name", "type": "set_session_name", "name": name }))
            .host(20, command("get_state"))
    };
    for (dialect, name) in [(Pi, "a\tgood  name"), (Xcsh, "a good name")] {
        let state = named(" a\tgood  name ").play(dialect).data("get_state");
        assert_eq!(state["sessionName"], name, "{dialect}");
    }
    let lines = named("Work").play(Pi).disk.lines();
    assert_eq!(
        lines.last().map(|line| (&line["type"], &line["name"])),
        Some((&json!("session_info"), &json!("Work")))
    );
    let lines = named("Work").play(Xcsh).disk.lines();
    assert_eq!([&lines[0]["title"], &lines[0]["titleSource"]], ["Work", "user"]);
    for dialect in SEEDS {
        assert!(
            named("  ").play(dialect).error("name").ends_with("Session name cannot be empty"),
            "{dialect}"
        );
    }
}

#[test]
fn export_needs_session_begun_in_file() {
    let begun = || scenario(json!([says("One.")])).kept().host(0, prompt("p", "one"));
    let export = json!({ "id": "e", "type": "export_html", "outputPath": "/tmp/page.html" });
    for dialect in SEEDS {
        let exported = begun().host(10, export.clone());
        assert_eq!(exported.play(dialect).data("e"), json!({ "path": "/tmp/page.html" }), "{dialect}");
        let memory = scenario(json!([])).host(0, export.clone()).play(dialect);
        assert!(memory.error("e").ends_with("Cannot export in-memory session to HTML"), "{dialect}");
    }
    let early = scenario(json!([])).kept().host(0, export).play(Pi);
    assert_eq!(early.error("e"), "Nothing to export yet - start a conversation first");
}

#[test]
fn in_memory_sessions_start_and_fork() {
    for (dialect, kind) in FORKS {
        let list = if dialect == Pi { "get_fork_messages" } else { "get_branch_messages" };
        let asked = scenario(json!([says("One.")])).host(0, prompt("p1", "one")).host(10, command(list));
        let entry = asked.play(dialect).data(list)["messages"][0]["entryId"].clone();
        let played = scenario(json!([says("One."), says("Two.")]))
            .host(0, prompt("p1", "one"))
            .host(20, fork(kind, entry.as_str().expect("an id")))
            .host(30, command("get_state"))
            .host(40, command("new_session"))
            .host(50, prompt("p2", "two"))
            .play(dialect);
        assert_eq!(played.answers("fork")[0]["success"], true, "{dialect}");
        assert_eq!(played.answers("get_state")[0]["data"]["messageCount"], 0, "{dialect}");
        assert_eq!(played.asked.len(), 2, "{dialect}");
        assert_eq!(played.disk.paths().count(), 0, "{dialect}");
    }
}
