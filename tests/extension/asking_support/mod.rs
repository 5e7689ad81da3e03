//! Conversations with extensions, dialogs and host tools, in virtual time: the worked sequences' world, and the words in
//! which extensions write.

pub use pi_rpc_test_kit::{Extension, PeerStep, Playback, Scenario, scenario, shorthand};

use serde_json::{Value, json};

/// A conversation of one prompt `go` after 10 ms, and the answers of the model.
pub fn prompted(turns: Value) -> Scenario {
    scenario(turns).host(10, shorthand::prompt("p", "go"))
}

/// An extension that wants a say in `hook`, and does this when it is asked.
pub fn hooks(name: &'static str, hook: &str, does: impl IntoIterator<Item = PeerStep>) -> Extension {
    Extension::new(name, json!({ "hooks": [hook] })).on(&format!("hook {hook}"), does)
}

/// An extension with the command `do`, which does this.
pub fn does(steps: impl IntoIterator<Item = PeerStep>) -> Extension {
    Extension::new("a", json!({ "commands": [{ "name": "do", "description": "Does it." }] }))
        .on("command do", steps)
}

pub fn waits(time: u64) -> PeerStep {
    PeerStep::Waits(time)
}

pub fn writes(frame: Value) -> PeerStep {
    PeerStep::Writes(frame)
}

/// The request is done.
pub fn done() -> PeerStep {
    writes(json!({ "type": "done", "id": "$" }))
}

/// The hook is done, and this is the extension's say.
pub fn says(result: Value) -> PeerStep {
    writes(json!({ "type": "done", "id": "$", "result": result }))
}

pub fn accepts() -> PeerStep {
    writes(json!({ "type": "accept", "id": "$" }))
}

pub fn fails(error: &str) -> PeerStep {
    writes(json!({ "type": "failed", "id": "$", "error": error }))
}

/// Wants something of the user interface, on behalf of the request; `own` is its own id of it.
pub fn ui(own: &str, request: Value) -> PeerStep {
    writes(json!({ "type": "ui", "origin": "$", "request": with_id(own, request) }))
}

/// The same on nobody's behalf.
pub fn ui_of_none(own: &str, request: Value) -> PeerStep {
    writes(json!({ "type": "ui", "request": with_id(own, request) }))
}

fn with_id(own: &str, request: Value) -> Value {
    let mut frame = json!({ "type": "extension_ui_request", "id": own });
    for (key, value) in request.as_object().into_iter().flatten() {
        frame[key] = value.clone();
    }
    frame
}

/// A result with that text.
pub fn result(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

pub fn tool_result(text: &str) -> PeerStep {
    writes(json!({ "type": "tool_result", "id": "$", "result": result(text) }))
}

pub fn tool_update(text: &str) -> PeerStep {
    writes(json!({ "type": "tool_update", "id": "$", "partialResult": result(text) }))
}

/// The host's answer to the dialog of that number.
pub fn answer(number: usize, key: &str, value: impl Into<Value>) -> Value {
    let mut frame = json!({ "type": "extension_ui_response", "id": format!("ui {number}") });
    frame[key] = value.into();
    frame
}
