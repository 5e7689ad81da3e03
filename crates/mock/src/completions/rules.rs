//! Rules of Chat Completions beyond the shape of a request.

use crate::{prompt_context::items, refusal::VendorRefusal};
use serde_json::Value;
use std::collections::HashSet;

/// Checks the rules for a body of the right shape.
pub fn check(body: &Value) -> Result<(), VendorRefusal> {
    check_options(body)?;
    let mut open: Option<(usize, Vec<&str>)> = None;
    for (index, message) in items(&body["messages"]).iter().enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some((_, calls)) = &mut open else { return Err(without_call(index)) };
            let Some(place) = calls.iter().position(|call| *call == id) else {
                return Err(without_call(index));
            };
            calls.remove(place);
            continue;
        }
        check_results_present(open.take())?;
        if message["role"] == "assistant" {
            check_content(index, message)?;
            let calls = items(&message["tool_calls"]).iter().filter_map(|call| call["id"].as_str());
            let calls: Vec<&str> = calls.collect();
            let mut ids = HashSet::new();
            if let Some(id) = calls.iter().find(|id| !ids.insert(**id)) {
                let message = format!("Duplicate value for 'tool_call_id' of '{id}' in message[{index}].");
                return Err(VendorRefusal::invalid(message).at(format!("messages.[{index}].tool_calls")));
            }
            open = (!calls.is_empty()).then_some((index, calls));
        }
    }
    check_results_present(open)
}

fn check_options(body: &Value) -> Result<(), VendorRefusal> {
    if body["stream_options"].is_object() && body["stream"] != true {
        let message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
        return Err(VendorRefusal::invalid(message).at("stream_options"));
    }
    if body["max_tokens"].is_number() && body["max_completion_tokens"].is_number() {
        let message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
        return Err(VendorRefusal::invalid(message).at("max_tokens").code("invalid_parameter_combination"));
    }
    let tools = items(&body["tools"]);
    for option in ["tool_choice", "parallel_tool_calls"] {
        if tools.is_empty() && !body[option].is_null() && body[option] != "none" {
            let message = format!("'{option}' is only allowed when 'tools' are specified.");
            return Err(VendorRefusal::invalid(message).at(option));
        }
    }
    let wanted = &body["tool_choice"]["function"]["name"];
    if wanted.is_string() && !tools.iter().any(|tool| tool["function"]["name"] == *wanted) {
        let message = format!("Tool choice {wanted} not found in 'tools' parameter.");
        return Err(VendorRefusal::invalid(message).at("tool_choice"));
    }
    Ok(())
}

/// Checks that a message has content, unless it has calls (or what replaces content).
fn check_content(index: usize, message: &Value) -> Result<(), VendorRefusal> {
    let stands_in = ["tool_calls", "function_call", "refusal", "audio"];
    if message["content"].is_null() && stands_in.iter().all(|key| message[*key].is_null()) {
        let text = "Invalid value for 'content': expected a string, got null.";
        return Err(VendorRefusal::invalid(text).at(format!("messages.[{index}].content")));
    }
    Ok(())
}

fn check_results_present(open: Option<(usize, Vec<&str>)>) -> Result<(), VendorRefusal> {
    match open {
        Some((index, calls)) if !calls.is_empty() => {
            let message = format!(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
                 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
                calls.join(", ")
            );
            Err(VendorRefusal::invalid(message).at(format!("messages.[{index}].role")))
        }
        _ => Ok(()),
    }
}

fn without_call(index: usize) -> VendorRefusal {
    let message = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with \
                   'tool_calls'.";
    VendorRefusal::invalid(message).at(format!("messages.[{index}].role"))
}
