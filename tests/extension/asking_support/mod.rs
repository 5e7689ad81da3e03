//! Conversations with extensions, dialogs and host tools, in virtual time: the worked sequences' world, and the words in
//! which extensions write.

pub use pi_rpc_test_kit::{Extension, PeerStep, Playback, Scenario, scenario, shorthand};

use serde_json::{Value, json};

/// A conversation of one prompt `go` after 10 ms, and the answers of the model.
pub fn prompted(turns: Value) -> Scenario {
    scenario(turns).host(10, shorthand::prompt("p", "go"))
}

/// Extension with one hook, to which it reacts with these steps.
pub fn hooks(name: &'static str, hook: &str, does: impl IntoIterator<Item = PeerStep>) -> Extension {
    Extension::new(name, json!({ "hooks": [hook] })).on(&format!("hook {hook}"), does)
}

/// Extension with the command `do`, which runs these steps.
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

/// Step that completes the request.
pub fn done() -> PeerStep {
    writes(json!({ "type": "done", "id": "$" }))
}

/// Step that completes the hook with this outcome.
pub fn says(result: Value) -> PeerStep {
    writes(json!({ "type": "done", "id": "$", "result": result }))
}

pub fn accepts() -> PeerStep {
    writes(json!({ "type": "accept", "id": "$" }))
}

pub fn fails(error: &str) -> PeerStep {
    writes(json!({ "type": "failed", "id": "$", "error": error }))
}

/// Step that opens a UI request on behalf of the request; `own` is the extension's id.
pub fn ui(own: &str, request: Value) -> PeerStep {
    writes(json!({ "type": "ui", "origin": "$", "request": with_id(own, request) }))
}

/// Step that opens a UI request without an origin.
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

/// Tool result with this text.
pub fn result(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

pub fn tool_result(text: &str) -> PeerStep {
    writes(json!({ "type": "tool_result", "id": "$", "result": result(text) }))
}

pub fn tool_update(text: &str) -> PeerStep {
    writes(json!({ "type": "tool_update", "id": "$", "partialResult": result(text) }))
}

/// Response of the host to the dialog with this number.
pub fn answer(number: usize, key: &str, value: impl Into<Value>) -> Value {
    let mut frame = json!({ "type": "extension_ui_response", "id": format!("ui {number}") });
    frame[key] = value.into();
    frame
}
