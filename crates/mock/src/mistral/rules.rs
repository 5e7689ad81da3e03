//! The rules of Mistral's chat completions beyond the shape of a request.
//!
//! Not checked: the length of a conversation and the name of the model.

use crate::{
    fault::{Fault, PathStep, Problem},
    prompt_context::items,
    refusal::VendorRefusal,
    wording,
};
use serde_json::Value;
use std::collections::HashSet;

/// Checks the rules for a body of the right shape.
pub fn check(body: &Value) -> Result<(), VendorRefusal> {
    check_tools(body)?;
    let messages = items(&body["messages"]);
    let mut open: Option<HashSet<&str>> = None;
    for message in messages {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            check_id(id)?;
            let Some(calls) = &mut open else {
                return Err(order("Unexpected role 'tool' after role 'user'".to_owned()));
            };
            if !calls.remove(id) {
                return Err(order(format!("Unexpected tool call id {id} in tool results")));
            }
            continue;
        }
        check_results_present(open.take())?;
        if message["role"] == "assistant" {
            open = calls(message)?;
        }
    }
    check_results_present(open)?;
    check_last(messages.last())
}

/// The ids of the message's calls; `None`: there are no calls.
fn calls(message: &Value) -> Result<Option<HashSet<&str>>, VendorRefusal> {
    let calls = items(&message["tool_calls"]);
    let content = &message["content"];
    let is_empty = content.as_str().map_or_else(|| items(content).is_empty(), str::is_empty);
    if is_empty && calls.is_empty() {
        let text = "Assistant message must have either content or tool_calls, but not none.";
        return Err(VendorRefusal::of(400, "invalid_request_assistant_message", text).code("3240"));
    }
    let mut ids = HashSet::new();
    for call in calls {
        let id = call["id"].as_str().unwrap_or("null");
        check_id(id)?;
        check_name(&call["function"]["name"])?;
        if !ids.insert(id) {
            return Err(function_fault(format!("Duplicate tool call id {id} in assistant message")));
        }
        let arguments = &call["function"]["arguments"];
        let is_object = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
        if arguments.as_str().is_some_and(|text| !is_object(text)) {
            return Err(function_fault(format!("Invalid JSON in arguments of the tool call {id}")));
        }
    }
    Ok((!ids.is_empty()).then_some(ids))
}

fn check_results_present(open: Option<HashSet<&str>>) -> Result<(), VendorRefusal> {
    match open {
        Some(calls) if !calls.is_empty() => {
            Err(order("Not the same number of function calls and responses".to_owned()))
        }
        _ => Ok(()),
    }
}

fn check_last(last: Option<&Value>) -> Result<(), VendorRefusal> {
    let Some(last) = last else {
        return Err(order("Conversation must have at least one message".to_owned()));
    };
    match last["role"].as_str() {
        Some("user" | "tool") => Ok(()),
        Some("assistant") if last["prefix"] == true => Ok(()),
        role => Err(order(format!(
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got {}",
            role.unwrap_or_default()
        ))),
    }
}

fn check_tools(body: &Value) -> Result<(), VendorRefusal> {
    let tools = items(&body["tools"]);
    for tool in tools.iter().filter(|tool| tool["type"] == "function") {
        check_name(&tool["function"]["name"])?;
    }
    let choice = &body["tool_choice"];
    let forces = matches!(choice.as_str(), Some("any" | "required")) || choice.is_object();
    if forces && tools.is_empty() {
        return Err(VendorRefusal::invalid("Tool choice requires tools.").code("3051"));
    }
    let wanted = &choice["function"]["name"];
    if wanted.is_string() && !tools.iter().any(|tool| tool["function"]["name"] == *wanted) {
        return Err(
            VendorRefusal::invalid(format!("Tool choice {wanted} is not among the tools.")).code("3051")
        );
    }
    Ok(())
}

fn check_id(id: &str) -> Result<(), VendorRefusal> {
    if id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Ok(());
    }
    Err(function_fault(format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.")))
}

fn check_name(name: &Value) -> Result<(), VendorRefusal> {
    let name = name.as_str().unwrap_or_default();
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if !name.is_empty() && name.len() <= 64 && is_plain {
        return Ok(());
    }
    Err(function_fault(format!(
        "Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length \
         of 64."
    )))
}

fn function_fault(message: String) -> VendorRefusal {
    VendorRefusal::of(400, "invalid_function_call", message).code("3280")
}

fn order(message: String) -> VendorRefusal {
    VendorRefusal::of(400, "invalid_request_message_order", message).code("3230")
}

/// Words a fault of the body's shape: its place, and the text that the validator of Anthropic's API has, too.
pub fn wording(fault: &Fault, body: &Value) -> VendorRefusal {
    let mut at = body;
    let step = |step: &PathStep| match step {
        PathStep::Key(key) => {
            at = &at[key.as_str()];
            key.clone()
        }
        PathStep::Index(index) => {
            at = &at[*index];
            index.to_string()
        }
        // Messages are told apart by their role.
        PathStep::Branch(tag) => at["role"].as_str().unwrap_or(tag).to_owned(),
    };
    let place: Vec<String> = ["body".to_owned()].into_iter().chain(fault.path.iter().map(step)).collect();
    let kind = match &fault.problem {
        Problem::Missing => "missing",
        Problem::Unknown => "extra_forbidden",
        Problem::NoneOf(_) => "enum",
        Problem::Tag(_) => "union_tag_invalid",
        Problem::Below(_) => "greater_than_equal",
        Problem::Above(_) => "less_than_equal",
        Problem::Pattern(_) => "string_pattern_mismatch",
        _ => "type_error",
    };
    let message = wording::anthropic(fault).message;
    let message = message.split_once(": ").map_or(message.as_str(), |(_, text)| text);
    VendorRefusal::of(422, kind, message).at(place.join("."))
}
