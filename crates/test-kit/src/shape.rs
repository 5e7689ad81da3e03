//! Short form of the order of frames, as in the worked sequences of the documents.

use serde_json::Value;

/// Formats frames as steps, one for each, except that consecutive updates of a block are one step, and so are start and end
/// of a message that is complete at its start.
pub fn of(said: &[Value]) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    for frame in said.iter().filter(|frame| frame["type"] != "ready") {
        let step = step(frame);
        if steps.last() == Some(&step) && is_joined(frame) {
            continue;
        }
        steps.push(step);
    }
    steps
}

pub(crate) fn is_joined(frame: &Value) -> bool {
    match frame["type"].as_str() {
        Some("message_update") => !kind(frame).ends_with("_start"),
        Some("message_end") => frame["message"]["role"] != "assistant",
        _ => false,
    }
}

fn kind(frame: &Value) -> &str {
    frame["assistantMessageEvent"]["type"].as_str().unwrap_or_default()
}

pub(crate) fn step(frame: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let error = |value: &Value| if value["isError"] == true { "!" } else { "" };
    let message = &frame["message"];
    match frame["type"].as_str().unwrap_or_default() {
        "response" => {
            let how = if frame["success"] == true { "ok" } else { "no" };
            // Errors have no id in some dialects.
            let id = if frame["id"].is_string() { &frame["id"] } else { &frame["command"] };
            format!("{how} {}", text(id))
        }
        "message_update" => kind(frame).split('_').next().unwrap_or_default().to_owned(),
        "message_start" | "message_end" if message["role"] == "user" => {
            format!("user {}", text(&message["content"][0]["text"]))
        }
        "message_start" | "message_end" if message["role"] == "toolResult" => {
            format!("result{} {}", error(message), text(&message["toolCallId"]))
        }
        "message_start" | "message_end" if message["role"] == "custom" => {
            format!("custom {}", text(&message["customType"]))
        }
        "message_start" | "message_end" if message["role"] == "developer" => "developer".to_owned(),
        "message_start" | "message_end" if message["role"] == "system" => "system".to_owned(),
        "extension_ui_request" => format!("ui {}", text(&frame["method"])),
        "extension_error" => format!("error {}: {}", text(&frame["event"]), text(&frame["error"])),
        "host_tool_call" => format!("host_tool_call {}", text(&frame["toolCallId"])),
        "message_start" => "ms".to_owned(),
        "message_end" => format!("me {}", text(&message["stopReason"])),
        kind @ ("tool_execution_start" | "tool_execution_update" | "tool_execution_end") => {
            let kind = kind.replace("tool_execution_", "");
            format!("{kind}{} {}", error(frame), text(&frame["toolCallId"]))
        }
        "turn_end" => {
            let results = frame["toolResults"].as_array().into_iter().flatten();
            let ids: Vec<String> = results.map(|result| text(&result["toolCallId"])).collect();
            format!("turn_end [{}]", ids.join(" "))
        }
        "agent_end" => {
            let roles = frame["messages"].as_array().into_iter().flatten();
            let roles: Vec<String> =
                roles.map(|message| text(&message["role"]).chars().take(1).collect()).collect();
            format!("agent_end [{}]", roles.concat())
        }
        "auto_retry_start" => format!("retry {}", frame["attempt"]),
        "auto_retry_end" => {
            format!("retry_end{} {}", if frame["success"] == true { "" } else { "!" }, frame["attempt"])
        }
        "queue_update" => {
            let waiting = |queue: &Value| {
                let texts = queue.as_array().into_iter().flatten();
                texts.map(text).collect::<Vec<_>>().join(" ")
            };
            format!("queue [{}|{}]", waiting(&frame["steering"]), waiting(&frame["followUp"]))
        }
        "thinking_level_changed" => format!("level {}", text(&frame["level"])),
        "session_info_changed" => format!("named {}", text(&frame["name"])),
        "auto_compaction_start" | "compaction_start" => format!("compact {}", text(&frame["reason"])),
        "auto_compaction_end" | "compaction_end" => format!("compact_end {}", outcome(frame)),
        other => other.to_owned(),
    }
}

/// Outcome of a compaction.
fn outcome(frame: &Value) -> &'static str {
    if frame["errorMessage"].is_string() {
        "failed"
    } else if frame["aborted"] == true {
        "aborted"
    } else if frame["willRetry"] == true {
        "retry"
    } else if frame["result"].is_object() {
        "done"
    } else if frame["skipped"] == true {
        "skipped"
    } else {
        "nothing"
    }
}
