//! What hosts write and models say, in few words.

use serde_json::{Value, json};

pub fn prompt(id: &str, message: &str) -> Value {
    json!({ "id": id, "type": "prompt", "message": message })
}

pub fn queued(id: &str, behavior: &str) -> Value {
    json!({ "id": id, "type": "prompt", "message": id, "streamingBehavior": behavior })
}

pub fn steer(id: &str) -> Value {
    json!({ "id": id, "type": "steer", "message": id })
}

pub fn follow_up(id: &str) -> Value {
    json!({ "id": id, "type": "follow_up", "message": id })
}

/// A command that has no fields; its id is its name.
pub fn command(id: &str) -> Value {
    json!({ "id": id, "type": id })
}

pub fn bash(id: &str, plan: &str) -> Value {
    json!({ "id": id, "type": "bash", "command": plan })
}

/// An answer in one piece.
pub fn says(text: &str) -> Value {
    json!({ "say": [{ "text": text, "size": 0 }] })
}

/// An answer in one piece, after which the context has so many tokens.
pub fn fills(text: &str, tokens: u64) -> Value {
    json!({ "say": [{ "text": text, "size": 0 }], "usage": { "input": tokens, "output": 0 } })
}

/// A call that `id` names, as a part of an answer.
pub fn call(id: &str, tool: &str, plan: &str) -> Value {
    json!({ "tool": tool, "id": id, "arguments": { "command": plan }, "size": 0 })
}

/// An answer that is such a call.
pub fn calls(id: &str, tool: &str, plan: &str) -> Value {
    json!({ "say": [call(id, tool, plan)] })
}

/// A failure that passes by itself.
pub fn overloaded() -> Value {
    json!({ "fail": { "status": 529 } })
}

/// A failure for good.
pub fn refused() -> Value {
    json!({ "fail": { "status": 401, "message": "no such key" } })
}

/// A request that does not fit into the context.
pub fn too_long() -> Value {
    json!({ "fail": { "status": 400, "message": "prompt is too long: 9 tokens > 8 maximum" } })
}

/// The answer to a request for a summary.
pub fn summary(text: &str) -> Value {
    json!({ "summary": true, "say": [{ "text": text, "size": 0 }], "firstDelayMs": 50 })
}

/// A summary that is never written.
pub fn no_summary() -> Value {
    json!({ "summary": true, "fail": { "status": 500, "message": "out of ink" }, "firstDelayMs": 50 })
}

/// The steps of a run that answers `inputs` with a text.
pub fn run(inputs: &str) -> String {
    let roles: String = inputs.split('·').filter(|it| !it.trim().is_empty()).map(role).collect();
    let inputs = if inputs.is_empty() { String::new() } else { format!("{inputs} · ") };
    format!("agent_start · turn_start · {inputs}ms · text · me stop · turn_end [] · agent_end [{roles}a]")
}

/// The steps of a run whose request fails.
pub fn fails(inputs: &str) -> String {
    ends(inputs, "error")
}

/// The steps of a run that is aborted before its model says anything.
pub fn aborts(inputs: &str) -> String {
    ends(inputs, "aborted")
}

/// The steps of the run of a second try that answers with a text.
pub fn retried(attempt: u32) -> String {
    format!(
        "agent_start · turn_start · ms · text · me stop · retry_end {attempt} · turn_end [] · agent_end [a]"
    )
}

fn ends(inputs: &str, reason: &str) -> String {
    run(inputs).replace("text · me stop", &format!("me {reason}"))
}

fn role(input: &str) -> char {
    input.trim().chars().next().unwrap_or('?')
}
