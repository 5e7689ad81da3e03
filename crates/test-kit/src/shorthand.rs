//! Short constructors of host commands and of model turns, and of the expected steps of a run.

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

/// Command without members; its id is its name.
pub fn command(id: &str) -> Value {
    json!({ "id": id, "type": id })
}

pub fn bash(id: &str, plan: &str) -> Value {
    json!({ "id": id, "type": "bash", "command": plan })
}

/// Model turn with a text in one delta.
pub fn says(text: &str) -> Value {
    json!({ "say": [{ "text": text, "size": 0 }] })
}

/// Model turn with a text in one delta, after which the context has `tokens` tokens.
pub fn fills(text: &str, tokens: u64) -> Value {
    json!({ "say": [{ "text": text, "size": 0 }], "usage": { "input": tokens, "output": 0 } })
}

/// Tool call, as a part of a model turn.
pub fn call(id: &str, tool: &str, plan: &str) -> Value {
    json!({ "tool": tool, "id": id, "arguments": { "command": plan }, "size": 0 })
}

/// Model turn with one tool call.
pub fn calls(id: &str, tool: &str, plan: &str) -> Value {
    json!({ "say": [call(id, tool, plan)] })
}

/// Model turn that fails with a transient error.
pub fn overloaded() -> Value {
    json!({ "fail": { "status": 529 } })
}

/// Model turn that fails with a permanent error.
pub fn refused() -> Value {
    json!({ "fail": { "status": 401, "message": "no such key" } })
}

/// Model turn that fails because the request is too long.
pub fn too_long() -> Value {
    json!({ "fail": { "status": 400, "message": "prompt is too long: 9 tokens > 8 maximum" } })
}

/// Answer to a request for a summary.
pub fn summary(text: &str) -> Value {
    json!({ "summary": true, "say": [{ "text": text, "size": 0 }], "firstDelayMs": 50 })
}

/// Failure of a request for a summary.
pub fn no_summary() -> Value {
    json!({ "summary": true, "fail": { "status": 500, "message": "out of ink" }, "firstDelayMs": 50 })
}

/// Expected steps of a run that answers `inputs` with a text.
pub fn run(inputs: &str) -> String {
    let roles: String = inputs.split('·').filter(|it| !it.trim().is_empty()).map(role).collect();
    let inputs = if inputs.is_empty() { String::new() } else { format!("{inputs} · ") };
    format!("agent_start · turn_start · {inputs}ms · text · me stop · turn_end [] · agent_end [{roles}a]")
}

/// Expected steps of a run whose request fails.
pub fn fails(inputs: &str) -> String {
    ends(inputs, "error")
}

/// Expected steps of a run that is aborted before its model answers.
pub fn aborts(inputs: &str) -> String {
    ends(inputs, "aborted")
}

/// Expected steps of the run of a retry that answers with a text.
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
