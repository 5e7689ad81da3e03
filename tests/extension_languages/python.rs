//! The module for extensions in Python: what it says and does, seen by a server that the test plays.
//!
//! Without a Python nothing is tested, which is told on stderr; `PI_RPC_REQUIRE_PYTHON=1` makes that a failure, and
//! `PI_RPC_PYTHON` names another one than `python3`.

use crate::python_support::{Played, examples, python};
use serde_json::{Value, json};

const BEGINNING: &str =
    "from pi_rpc_extension import Extension, Cancelled, block, cancel, result\next = Extension()\n";

/// An extension with these definitions, behind its registration.
#[track_caller]
fn with(python: &str, definitions: &str) -> Played {
    Played::start(python, &format!("{BEGINNING}{definitions}\next.run()\n")).0
}

fn command(id: &str, name: &str) -> Value {
    json!({"type": "command", "id": id, "name": name, "arguments": "a b"})
}

fn tool_call(id: &str, arguments: Value) -> Value {
    json!({"type": "tool_call", "id": id, "toolCallId": "call_1", "toolName": "work", "arguments": arguments})
}

fn hook(id: &str, event: Value) -> Value {
    json!({"type": "hook", "id": id, "hook": event})
}

fn accept(id: &str) -> Value {
    json!({"type": "accept", "id": id})
}

fn done(id: &str) -> Value {
    json!({"type": "done", "id": id})
}

fn failed(id: &str, error: &str) -> Value {
    json!({"type": "failed", "id": id, "error": error})
}

#[test]
fn everything_that_is_added_is_registered() {
    let Some(python) = python() else { return };
    let source = r#"
@ext.command("one", "the first")
def one(ctx, arguments): pass
@ext.tool("work", "works", {"type": "object", "properties": {"n": {"type": "integer"}}}, label="Work")
def work(ctx, arguments): pass
@ext.tool("play", "plays")
def play(ctx, arguments): pass
@ext.hook("input")
def heard(ctx, event): pass
@ext.on("turn_end", "agent_end")
def seen(ctx, event): pass
@ext.on("turn_end")
def seen_again(ctx, event): pass
ext.run()
"#;
    let (played, registered) = Played::start(&python, &format!("{BEGINNING}{source}"));
    let wanted = json!({
        "type": "register",
        "commands": [{"name": "one", "description": "the first"}],
        "tools": [
            {
                "name": "work", "description": "works", "label": "Work",
                "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}},
            },
            {"name": "play", "description": "plays", "parameters": {"type": "object"}},
        ],
        "hooks": ["input"],
        "events": ["turn_end", "agent_end"],
    });
    assert_eq!(registered, wanted);
    let (status, frames, stderr) = played.ends();
    assert_eq!((status.code(), frames, stderr), (Some(0), vec![], String::new()));
}

#[test]
fn dialogs_return_their_responses() {
    let Some(python) = python() else { return };
    let mut played = with(
        &python,
        r#"
@ext.command("ask")
def ask(ctx, arguments):
    ui = ctx.ui
    said = [ui.select("S", ["x", "y"], timeout=1.5), ui.confirm("C", "m"), ui.input("I", "here", timeout=0), ui.editor("E", "text")]
    ui.notify(repr(said))
"#,
    );
    let asked = [
        json!({"method": "select", "title": "S", "options": ["x", "y"], "timeout": 1500}),
        json!({"method": "confirm", "title": "C", "message": "m"}),
        json!({"method": "input", "title": "I", "placeholder": "here", "timeout": 0}),
        json!({"method": "editor", "title": "E", "prefill": "text"}),
    ];
    let answers = [
        (
            json!({"value": "y"}),
            json!({"confirmed": true}),
            json!({"value": "Ada"}),
            json!({"value": "t"}),
            "['y', True, 'Ada', 't']",
        ),
        (
            json!({"cancelled": true}),
            json!({"cancelled": true}),
            json!({"cancelled": true}),
            json!({"cancelled": true}),
            "[None, False, None, None]",
        ),
    ];
    for (id, (select, confirm, input, editor, told)) in ["1", "2"].into_iter().zip(answers) {
        assert_eq!(played.done(command(id, "ask")), accept(id));
        for (wanted, mut answer) in asked.iter().zip([select, confirm, input, editor]) {
            let mut frame = played.next();
            assert_eq!((&frame["type"], &frame["origin"]), (&json!("ui"), &json!(id)));
            let own = frame["request"].as_object_mut().unwrap().remove("id").unwrap();
            frame["request"].as_object_mut().unwrap().remove("type");
            assert_eq!(&frame["request"], wanted);
            (answer["type"], answer["id"]) = (json!("extension_ui_response"), own);
            played.tell(json!({"type": "ui_answer", "response": answer}));
        }
        assert_eq!(played.next()["request"]["message"], told);
        assert_eq!(played.next(), done(id));
    }
}

#[test]
fn notices_wait_for_nothing() {
    let Some(python) = python() else { return };
    let mut played = with(
        &python,
        r#"
@ext.command("show")
def show(ctx, arguments):
    ui = ctx.ui
    ui.notify(arguments, "warning"); ui.set_status("k", "t"); ui.set_status("k"); ui.set_widget("w", ["l"], "belowEditor")
    ui.set_widget("w"); ui.set_title("T"); ui.set_editor_text("E")
"#,
    );
    assert_eq!(played.done(command("1", "show")), accept("1"));
    let shown = [
        json!({"method": "notify", "message": "a b", "notifyType": "warning"}),
        json!({"method": "setStatus", "statusKey": "k", "statusText": "t"}),
        json!({"method": "setStatus", "statusKey": "k"}),
        json!({"method": "setWidget", "widgetKey": "w", "widgetLines": ["l"], "widgetPlacement": "belowEditor"}),
        json!({"method": "setWidget", "widgetKey": "w"}),
        json!({"method": "setTitle", "title": "T"}),
        json!({"method": "set_editor_text", "text": "E"}),
    ];
    for (at, mut wanted) in shown.into_iter().enumerate() {
        (wanted["type"], wanted["id"]) = (json!("extension_ui_request"), json!((at + 1).to_string()));
        assert_eq!(played.next(), json!({"type": "ui", "origin": "1", "request": wanted}));
    }
    assert_eq!(played.next(), done("1"));
}

#[test]
fn a_dialog_can_be_taken_back() {
    let Some(python) = python() else { return };
    let mut played = with(
        &python,
        r#"
asking = []
@ext.command("ask")
def ask(ctx, arguments):
    asking.append(ctx.ui)
    ctx.ui.notify(repr(ctx.ui.input("I")))
@ext.command("take")
def take(ctx, arguments):
    asking[0].cancel()
"#,
    );
    assert_eq!(played.done(command("1", "ask")), accept("1"));
    let asked = played.next()["request"]["id"].clone();
    assert_eq!(played.done(command("2", "take")), accept("2"));
    assert_eq!(played.next(), json!({"type": "ui_cancel", "id": asked}));
    assert_eq!(played.next(), done("2"));
    let answer = json!({"type": "extension_ui_response", "id": asked, "cancelled": true});
    played.tell(json!({"type": "ui_answer", "response": answer}));
    assert_eq!(played.next()["request"]["message"], "None");
    assert_eq!(played.next(), done("1"));
    // None is open any more.
    assert_eq!([played.done(command("3", "take")), played.next()], [accept("3"), done("3")]);
}

#[test]
fn tool_reports_progress_and_ends_on_cancel() {
    let Some(python) = python() else { return };
    let mut played = with(
        &python,
        r#"
@ext.tool("work", "works")
def work(ctx, arguments):
    ctx.update("begun")
    ctx.update(result("more", details={"n": 1}))
    ctx.sleep(arguments["for"])
    return arguments["said"]
"#,
    );
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let cases = [
        (json!("all"), json!({"content": text("all")})),
        (Value::Null, json!({"content": text("")})),
        (json!(5), json!({"content": text("5")})),
        (json!({"content": []}), json!({"content": []})),
    ];
    for (said, wanted) in cases {
        let begun = played.done(tool_call("1", json!({"for": 0, "said": said})));
        let update = |result: Value| json!({"type": "tool_update", "id": "1", "partialResult": result});
        assert_eq!(begun, update(json!({"content": text("begun")})));
        assert_eq!(played.next(), update(json!({"content": text("more"), "details": {"n": 1}})));
        assert_eq!(played.next(), json!({"type": "tool_result", "id": "1", "result": wanted}));
    }
    played.tell(tool_call("2", json!({"for": 1000, "said": ""})));
    played.next();
    played.next();
    played.tell(json!({"type": "cancel", "id": "2"}));
    assert_eq!(played.next(), failed("2", "cancelled"));
    // What is over already cannot be cancelled.
    played.tell(json!({"type": "cancel", "id": "2"}));
    let (status, frames, stderr) = played.ends();
    assert_eq!((status.code(), frames, stderr), (Some(0), vec![], String::new()));
}

#[test]
fn hook_outcome_is_the_handlers_value() {
    let Some(python) = python() else { return };
    let mut played = with(
        &python,
        r#"
@ext.hook("tool_call")
def guard(ctx, event):
    return block("not " + event["toolName"]) if event["input"] else None
@ext.hook("session_before_switch")
def keep(ctx, event):
    return cancel()
"#,
    );
    let call =
        |input: Value| json!({"type": "tool_call", "toolCallId": "c", "toolName": "bash", "input": input});
    assert_eq!(played.done(hook("1", call(json!({})))), done("1"));
    let wanted = json!({"type": "done", "id": "2", "result": {"block": true, "reason": "not bash"}});
    assert_eq!(played.done(hook("2", call(json!({"command": "ls"})))), wanted);
    let wanted = json!({"type": "done", "id": "3", "result": {"cancel": true}});
    assert_eq!(played.done(hook("3", json!({"type": "session_before_switch", "reason": "new"}))), wanted);
}

#[test]
fn waiting_handler_blocks_no_other() {
    let Some(python) = python() else { return };
    let mut played =
        with(&python, "@ext.command('ask')\ndef ask(ctx, arguments): ctx.ui.notify(ctx.ui.input(ctx.id))\n");
    let mut open = Vec::new();
    for id in ["1", "2"] {
        assert_eq!(played.done(command(id, "ask")), accept(id));
        let asked = played.next();
        assert_eq!(asked["request"]["title"], id);
        open.push(asked["request"]["id"].clone());
    }
    for (id, asked) in ["2", "1"].into_iter().zip(open.into_iter().rev()) {
        let answer = json!({"type": "extension_ui_response", "id": asked, "value": format!("for {id}")});
        played.tell(json!({"type": "ui_answer", "response": answer}));
        assert_eq!(played.next()["request"]["message"], format!("for {id}"));
        assert_eq!(played.next(), done(id));
    }
}

#[test]
fn actions_await_their_response() {
    let Some(python) = python() else { return };
    let mut played = with(
        &python,
        r#"
@ext.command("act")
def act(ctx, arguments):
    ctx.send_message("kind", "text", display=False, details=1, deliver_as="nextTurn", trigger_turn=True)
    ctx.send_user_message("text", deliver_as="steer")
    ctx.append_entry("kind", {"a": 1})
    ctx.set_model("p", "m")
    ctx.set_thinking_level("low")
    ctx.set_session_name("name")
    ctx.shutdown()
"#,
    );
    assert_eq!(played.done(command("c", "act")), accept("c"));
    let message = json!({"customType": "kind", "content": "text", "display": false, "details": 1});
    let actions = [
        json!({"type": "send_message", "message": message, "deliverAs": "nextTurn", "triggerTurn": true}),
        json!({"type": "send_user_message", "content": "text", "deliverAs": "steer"}),
        json!({"type": "append_entry", "customType": "kind", "data": {"a": 1}}),
        json!({"type": "set_model", "provider": "p", "modelId": "m"}),
        json!({"type": "set_thinking_level", "level": "low"}),
        json!({"type": "set_session_name", "name": "name"}),
        json!({"type": "shutdown"}),
    ];
    for (at, mut wanted) in actions.into_iter().enumerate() {
        let id = (at + 1).to_string();
        (wanted["origin"], wanted["id"]) = (json!("c"), json!(id));
        assert_eq!(played.next(), wanted);
        let last = wanted["type"] == "shutdown";
        played.tell(match last {
            true => json!({"type": "response", "id": id, "success": false, "error": "not now"}),
            false => json!({"type": "response", "id": id, "success": true}),
        });
    }
    assert_eq!(played.next(), failed("c", "not now"));
}

#[test]
fn exception_is_reported_with_traceback_on_stderr() {
    let Some(python) = python() else { return };
    let mut played = with(
        &python,
        r#"
import sys
@ext.command("act")
def act(ctx, arguments): raise RuntimeError("boom happened")
@ext.command("leave")
def leave(ctx, arguments): sys.exit(3)
@ext.hook("input")
def heard(ctx, event): raise KeyError
@ext.tool("work", "works")
def work(ctx, arguments): return {"content": [], "details": arguments["details"] * 2000}
"#,
    );
    assert_eq!(played.done(command("1", "act")), accept("1"));
    assert_eq!(played.next(), failed("1", "boom happened"));
    assert_eq!(played.done(command("2", "leave")), accept("2"));
    assert_eq!(played.next(), failed("2", "3"));
    assert_eq!(
        played.done(hook("3", json!({"type": "input", "text": "t", "source": "rpc"}))),
        failed("3", "KeyError")
    );
    let too_long = failed("4", "a tool_result of 2069 bytes is too long");
    assert_eq!(played.done(tool_call("4", json!({"details": "x"}))), too_long);
    let (status, frames, stderr) = played.ends();
    assert_eq!((status.code(), frames), (Some(0), vec![]));
    for line in ["RuntimeError: boom happened", "SystemExit: 3", "KeyError", "in heard"] {
        assert!(stderr.contains(line), "{line}: {stderr}");
    }
}

#[test]
fn observers_run_in_order_despite_exceptions() {
    let Some(python) = python() else { return };
    let mut played = with(
        &python,
        r#"
@ext.on("turn_start")
def bad(ctx, event): raise RuntimeError("no")
@ext.on("*")
def seen(ctx, event): ctx.ui.notify(event["type"])
"#,
    );
    for kind in ["turn_start", "turn_end"] {
        played.tell(json!({"type": "event", "event": {"type": kind}}));
        let told = played.next();
        assert_eq!((&told["request"]["message"], told.get("origin")), (&json!(kind), None));
    }
}

#[test]
fn print_and_children_stay_off_stdout() {
    let Some(python) = python() else { return };
    let mut played = with(
        &python,
        r#"
import subprocess, sys
@ext.command("act")
def act(ctx, arguments):
    print("printed")
    subprocess.run(["sh", "-c", "cat; echo by a child"])
    ctx.ui.notify("x")
"#,
    );
    assert_eq!(played.done(command("1", "act")), accept("1"));
    assert_eq!(played.next()["request"]["message"], "x");
    // At once, while it goes on.
    assert_eq!([played.remark(), played.remark()], ["printed", "by a child"]);
    assert_eq!(played.next(), done("1"));
}

#[test]
fn frames_of_later_protocol_are_ignored() {
    let Some(python) = python() else { return };
    let mut played = with(&python, "@ext.command('act')\ndef act(ctx, arguments): pass\n");
    played.tell(json!({"type": "novelty", "id": "9"}));
    played.tell(json!({"type": "response", "id": "unknown", "success": true}));
    assert_eq!(played.done(command("1", "act")), accept("1"));
    assert_eq!(played.next(), done("1"));
}

#[test]
fn started_by_hand_extension_explains_itself() {
    let Some(python) = python() else { return };
    for name in ["confirm_new_session", "long_task", "permission_gate", "ui_check"] {
        let source = std::fs::read_to_string(examples().join(format!("{name}.py"))).unwrap();
        let (status, frames, stderr) = Played::ungreeted(&python, &source, false).ends();
        assert_eq!((status.code(), frames), (Some(1), vec![]));
        assert!(stderr.starts_with("This is an extension. Start it with: pi-rpc serve -e "), "{stderr}");
    }
}
