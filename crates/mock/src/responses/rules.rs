//! Rules of Responses beyond the shape of a request.

use crate::{prompt_context::items, refusal::VendorRefusal};
use serde_json::Value;
use std::collections::HashSet;

/// Types of calls and of their outputs.
const CALLS: [(&str, &str); 2] =
    [("function_call", "function_call_output"), ("custom_tool_call", "custom_tool_call_output")];

/// Checks the rules for a body of the right shape.
pub fn check(body: &Value) -> Result<(), VendorRefusal> {
    let input = items(&body["input"]);
    if body["input"].is_array() && input.is_empty() && body["previous_response_id"].is_null() {
        let message = "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array \
                       instead.";
        return Err(VendorRefusal::invalid(message).at("input").code("empty_array"));
    }
    if body["stream_options"].is_object() && body["stream"] != true {
        let message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
        return Err(VendorRefusal::invalid(message).at("stream_options"));
    }
    let mut ids = HashSet::new();
    let own = input.iter().filter(|item| item["type"] != "item_reference");
    if let Some(id) = own.filter_map(|item| item["id"].as_str()).find(|id| !ids.insert(*id)) {
        let message = format!(
            "Duplicate item found with id {id}. Remove duplicate items from your input and try again."
        );
        return Err(VendorRefusal::invalid(message).at("input"));
    }
    check_reasoning(input)?;
    // A stored conversation may hold the other half of a pair.
    if body["previous_response_id"].is_null() && body["conversation"].is_null() {
        CALLS.into_iter().try_for_each(|(call, output)| check_calls(input, call, output))?;
    }
    Ok(())
}

/// Checks that thinking is followed by an item of the model.
fn check_reasoning(input: &[Value]) -> Result<(), VendorRefusal> {
    for (index, item) in input.iter().enumerate().filter(|(_, item)| item["type"] == "reasoning") {
        let follows = input.get(index + 1).is_some_and(|next| {
            let kind = next["type"].as_str().unwrap_or("message");
            next["role"] == "assistant"
                || kind == "reasoning"
                || kind == "item_reference"
                || kind.ends_with("_call")
        });
        if !follows {
            let id = item["id"].as_str().unwrap_or_default();
            let message =
                format!("Item '{id}' of type 'reasoning' was provided without its required following item.");
            return Err(VendorRefusal::invalid(message).at("input"));
        }
    }
    Ok(())
}

fn check_calls(input: &[Value], call: &str, output: &str) -> Result<(), VendorRefusal> {
    let ids = |kind: &str| {
        let of_kind = input.iter().filter(move |item| item["type"] == kind);
        of_kind.filter_map(|item| item["call_id"].as_str()).collect::<Vec<&str>>()
    };
    let (calls, outputs) = (ids(call), ids(output));
    let words = output.replace('_', " ").replace(" output", "");
    if let Some(id) = outputs.iter().find(|id| !calls.contains(id)) {
        let message = format!("No tool call found for {words} output with call_id {id}.");
        return Err(VendorRefusal::invalid(message).at("input"));
    }
    if let Some(id) = calls.iter().find(|id| !outputs.contains(id)) {
        return Err(VendorRefusal::invalid(format!("No tool output found for {words} {id}.")).at("input"));
    }
    Ok(())
}
