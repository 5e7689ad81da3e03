//! Limits and deadlines of extensions, in virtual time.

use crate::bare_setup::bare_setup;
use pi_rpc_engine::{Engine, Input, Now, Output, Setup, Toolbox, limits::MAX_UNSHOWN_DIALOGS};
use pi_rpc_model::types::ToolSpec;
use pi_rpc_protocol::{Dialect, Encoder, ToExtension, read, read_line};
use serde_json::{Value, json};
use std::time::Duration;

const EXTENSION: &str = "/ext/one";

/// The time limit of a hook, in seconds.
const HOOK: u64 = 30;

/// An engine with one extension, at a time in seconds.
struct World {
    engine: Engine,
    seconds: u64,
    encoder: Encoder,
    /// What the host was told since it was last asked for.
    said: Vec<Value>,
    /// What the extension was told since.
    told: Vec<Value>,
    process: u64,
}

impl World {
    /// The extension has registered with `adds`.
    fn with(adds: Value) -> Self {
        Self::set_up(adds, |_| ())
    }

    fn set_up(mut adds: Value, change: impl FnOnce(&mut Setup)) -> Self {
        let mut setup = bare_setup();
        setup.extension_setup.extensions = vec![EXTENSION.to_owned()];
        change(&mut setup);
        let engine = Engine::new(setup, Now { monotonic: Duration::ZERO, wall: 0 });
        let (said, told) = (Vec::new(), Vec::new());
        let mut world =
            Self { engine, seconds: 0, encoder: Encoder::new(Dialect::Pi), said, told, process: 0 };
        world.perform();
        adds["type"] = "register".into();
        world.hears(adds);
        world.said.clear();
        world.told.clear();
        world
    }

    fn handle(&mut self, input: Input) {
        self.engine.handle(input, Now { monotonic: Duration::from_secs(self.seconds), wall: 0 });
        self.perform();
    }

    fn perform(&mut self) {
        while let Some(output) = self.engine.poll() {
            match output {
                Output::Emit(said) => {
                    let mut bytes = Vec::new();
                    self.encoder.encode(&said, &mut bytes);
                    self.said.push(serde_json::from_slice(&bytes).expect("JSON"));
                }
                Output::ToExtension { frame, .. } => {
                    let frame: &ToExtension = &frame;
                    self.told.push(serde_json::to_value(frame).expect("JSON"));
                }
                Output::StartExtension { process, .. } => self.process = process,
                Output::Violation(violation) => panic!("{violation}"),
                _ => {}
            }
        }
    }

    /// The extension says something.
    fn hears(&mut self, frame: Value) {
        let frame = Box::new(read(frame.to_string().as_bytes(), Dialect::Pi).expect("a frame"));
        self.handle(Input::Extension { from: self.process, frame });
    }

    /// The host says something.
    fn host(&mut self, frame: Value) {
        let line = read_line(frame.to_string().as_bytes(), Dialect::Pi).transpose().expect("no blank line");
        self.handle(Input::line(line));
    }

    /// It is that many seconds later; gives what the host is told.
    fn later(&mut self, seconds: u64) -> Vec<Value> {
        self.seconds += seconds;
        let due = self.engine.deadline().is_some_and(|due| due <= Duration::from_secs(self.seconds));
        if due {
            self.handle(Input::Time);
        }
        std::mem::take(&mut self.said)
    }
}

fn late() -> Value {
    let error = format!("No answer within {HOOK} s");
    json!({"type": "extension_error", "extensionPath": EXTENSION, "event": "input", "error": error})
}

/// The extension is asked about a prompt.
fn asked() -> World {
    let mut world = World::with(json!({"hooks": ["input"]}));
    world.host(json!({"type": "prompt", "message": "hello"}));
    assert_eq!(world.told.last().expect("the hook")["hook"]["text"], "hello");
    world
}

#[test]
fn hook_without_outcome_in_time_is_skipped() {
    let mut world = asked();
    assert_eq!(world.later(HOOK - 1), Vec::<Value>::new());
    assert_eq!(
        world.later(1)[..2],
        [late(), json!({"type": "response", "command": "prompt", "success": true})]
    );
}

#[test]
fn hook_deadline_pauses_while_extensions_are_unread() {
    let mut world = asked();
    world.later(HOOK - 1);
    world.handle(Input::ReadsExtensions(false));
    world.handle(Input::ReadsExtensions(false));
    assert_eq!(world.engine.deadline(), None);
    assert_eq!(world.later(10 * HOOK), Vec::<Value>::new());
    world.handle(Input::ReadsExtensions(true));
    assert_eq!(world.later(0), Vec::<Value>::new());
    assert_eq!(world.later(1)[0], late());
}

#[test]
fn outcome_sent_while_unread_still_counts() {
    let mut world = asked();
    world.handle(Input::ReadsExtensions(false));
    world.later(10 * HOOK);
    world.handle(Input::ReadsExtensions(true));
    let id = world.told.last().expect("the hook")["id"].clone();
    world.hears(json!({"type": "done", "id": id, "result": {"action": "handled"}}));
    assert_eq!(world.later(0), [json!({"type": "response", "command": "prompt", "success": true})]);
}

#[test]
fn abort_ends_hook_of_unread_extension() {
    let mut world = asked();
    world.handle(Input::ReadsExtensions(false));
    world.host(json!({"type": "abort"}));
    let said = world.later(2);
    assert!(said.iter().any(|frame| frame["command"] == "prompt"), "{said:?}");
}

#[test]
fn too_many_dialogs_end_the_extension() {
    let mut world = World::with(json!({}));
    let dialog = |id: usize| {
        let id = id.to_string();
        let request = json!({"type": "extension_ui_request", "id": id, "method": "confirm", "title": "T", "message": "M"});
        json!({"type": "ui", "request": request})
    };
    for id in 0..100 {
        world.hears(dialog(id));
    }
    assert_eq!((world.said.len(), world.told.len()), (100, 0));
    world.said.clear();
    world.hears(dialog(100));
    let answer = json!({"type": "extension_ui_response", "id": "100", "cancelled": true});
    assert_eq!(world.told, [json!({"type": "ui_answer", "response": answer})]);
    let told = |text: &str| json!({"type": "extension_error", "extensionPath": EXTENSION, "event": "frame", "error": text});
    assert_eq!(world.later(0), [told("A line is no frame: more than 100 dialogs are open")]);
    (0..15).for_each(|id| world.hears(dialog(id)));
    assert_eq!(world.later(0), [told("16 lines were no frames; the extension was ended")]);
    let wait = json!({"id": "1", "type": "get_state"});
    world.host(wait);
    assert_eq!(world.later(0)[0]["success"], true);
}

/// A dialog on behalf of the request `origin`.
fn asks_for(origin: &str, id: usize) -> Value {
    let id = id.to_string();
    let request = json!({"type": "extension_ui_request", "id": id, "method": "input", "title": "T"});
    json!({"type": "ui", "origin": origin, "request": request})
}

fn unanswered(id: usize) -> Value {
    let response = json!({"type": "extension_ui_response", "id": id.to_string(), "cancelled": true});
    json!({"type": "ui_answer", "response": response})
}

#[test]
fn dialog_loop_of_cancelled_request_is_withheld() {
    let mut world = asked();
    let origin = world.told.last().expect("the hook")["id"].as_str().expect("an id").to_owned();
    world.host(json!({"type": "abort"}));
    world.said.clear();
    world.told.clear();
    (0..MAX_UNSHOWN_DIALOGS).for_each(|id| world.hears(asks_for(&origin, id)));
    assert_eq!(world.told, (0..MAX_UNSHOWN_DIALOGS).map(unanswered).collect::<Vec<_>>());
    world.told.clear();
    world.hears(asks_for(&origin, MAX_UNSHOWN_DIALOGS));
    assert_eq!((world.said.len(), &*world.told), (0, &[][..]));
    world.later(2);
    assert_eq!(world.told, [unanswered(MAX_UNSHOWN_DIALOGS)], "the hook is over");
    world.hears(asks_for(&origin, MAX_UNSHOWN_DIALOGS + 1));
    let mut shown = world.later(0);
    let id = shown[0].as_object_mut().expect("an object").remove("id").expect("an id");
    assert_eq!(shown, [json!({"type": "extension_ui_request", "method": "input", "title": "T"})]);
    world.told.clear();
    world.host(json!({"type": "extension_ui_response", "id": id, "value": "two"}));
    let response =
        json!({"type": "extension_ui_response", "id": (MAX_UNSHOWN_DIALOGS + 1).to_string(), "value": "two"});
    assert_eq!(world.told, [json!({"type": "ui_answer", "response": response})]);
}

#[test]
fn dialog_loop_after_input_is_withheld() {
    let mut world = World::with(json!({"hooks": ["session_shutdown"]}));
    let dialog = |id: usize| {
        let request =
            json!({"type": "extension_ui_request", "id": id.to_string(), "method": "input", "title": "T"});
        json!({"type": "ui", "request": request})
    };
    world.host(json!({"type": "bash", "command": "sleep 60"}));
    world.handle(Input::EndOfInput);
    world.told.clear();
    (0..2 * MAX_UNSHOWN_DIALOGS).for_each(|id| world.hears(dialog(id)));
    assert_eq!(world.told, (0..MAX_UNSHOWN_DIALOGS).map(unanswered).collect::<Vec<_>>());
    world.told.clear();
    world.hears(json!({"type": "ui_cancel", "id": (2 * MAX_UNSHOWN_DIALOGS - 1).to_string()}));
    assert_eq!(world.told, [unanswered(2 * MAX_UNSHOWN_DIALOGS - 1)], "it was taken back");
}

#[test]
fn extension_being_ended_gets_dialog_default() {
    let mut world = World::with(json!({"hooks": ["input"]}));
    for _ in 0..2 {
        world.host(json!({"type": "prompt", "message": "/unknown", "streamingBehavior": "steer"}));
        world.later(HOOK);
    }
    world.told.clear();
    let request = json!({"type": "extension_ui_request", "id": "d", "method": "select", "title": "T", "options": ["one"]});
    world.hears(json!({"type": "ui", "request": request}));
    let answer = json!({"type": "extension_ui_response", "id": "d", "cancelled": true});
    assert_eq!(world.told, [json!({"type": "ui_answer", "response": answer})]);
    assert_eq!(world.later(0), Vec::<Value>::new());
    // What does not wait for an answer gets none; an action fails.
    world.told.clear();
    world.hears(json!({"type": "ui", "request": {"type": "extension_ui_request", "id": "n", "method": "setTitle", "title": "T"}}));
    world.hears(json!({"type": "wait_for_idle", "id": "w"}));
    let told: Vec<_> =
        world.told.iter().map(|frame| (&frame["type"], &frame["id"], &frame["success"])).collect();
    assert_eq!(told, [(&json!("response"), &json!("w"), &json!(false))]);
}

#[test]
fn question_about_run_tool_is_denied() {
    let (name, description) = ("bash".to_owned(), "Runs a command.".to_owned());
    let parameters = json!({ "type": "object" }).into();
    let bash = ToolSpec { name, description, parameters, exclusive: true, output: None };
    let mut world = World::set_up(json!({}), |setup| {
        setup.tools = Toolbox::new(vec![bash]);
        setup.extension_setup.confirm = vec!["bash".to_owned()];
    });
    world.hears(
        json!({ "type": "run_tool", "id": "r", "toolName": "bash", "arguments": { "command": "ls" } }),
    );
    assert_eq!(world.said.last().expect("the question")["method"], "select");
    assert!(world.engine.asks_permission());
    world.handle(Input::DenyQuestions);
    assert!(!world.engine.asks_permission());
    let told = world.told.last().expect("the answer");
    assert_eq!((&told["id"], &told["success"]), (&json!("r"), &json!(false)));
}
