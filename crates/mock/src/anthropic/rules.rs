//! Rules of Anthropic Messages beyond the shape of a request.
//!
//! Left out on purpose: a final assistant message must begin with thinking when thinking is on. A script may call a
//! tool without thinking, and its client could only send that back.

use crate::{prompt_context::items, refusal::VendorRefusal};
use axum::http::HeaderMap;
use serde_json::Value;
use std::collections::HashSet;

const MAX_CACHE_MARKS: usize = 4;

/// The version of the API, from the header `anthropic-version`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// `2023-06-01` and earlier.
    Of2023,
    /// `2026-10-21`.
    Of2026,
}

/// Reads the version from the headers.
pub fn version(headers: &HeaderMap) -> Result<Version, VendorRefusal> {
    let Some(version) = headers.get("anthropic-version") else {
        return Err(VendorRefusal::invalid("anthropic-version: header is required"));
    };
    match version.as_bytes() {
        b"2023-01-01" | b"2023-06-01" => Ok(Version::Of2023),
        b"2026-10-21" => Ok(Version::Of2026),
        other => {
            let text = String::from_utf8_lossy(other);
            Err(VendorRefusal::invalid(format!("anthropic-version: {text:?} is not a valid version")))
        }
    }
}

/// Refuses members of features that the headers `anthropic-beta` do not ask for.
pub fn check_betas(headers: &HeaderMap, body: &Value) -> Result<(), VendorRefusal> {
    let values = headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok());
    let asked: Vec<&str> = values.flat_map(|value| value.split(',')).map(str::trim).collect();
    let change = items(&body["messages"]).iter().position(|message| message.get("output_config").is_some());
    let changed = change.map(|index| format!("messages.{index}.output_config"));
    let binding = body["thinking"].get("block_binding").map(|_| "thinking.block_binding".to_owned());
    let wanted = [
        ("mid-conversation-output-config-2026-07-01", changed),
        ("thinking-binding-controls-2026-08-01", binding),
    ];
    for (beta, place) in wanted {
        if let Some(place) = place.filter(|_| !asked.contains(&beta)) {
            return Err(VendorRefusal::invalid(format!("{place}: Extra inputs are not permitted")));
        }
    }
    Ok(())
}

/// Checks the rules for a body of the right shape.
pub fn check(version: Version, body: &Value) -> Result<(), VendorRefusal> {
    if version >= Version::Of2026 {
        check_removed(body)?;
    }
    check_thinking(body)?;
    check_tools(body)?;
    check_cache_marks(body)?;
    check_texts(items(&body["system"]), "system")?;
    let messages = items(&body["messages"]);
    if messages.first().is_some_and(|message| message["role"] != "user") {
        return Err(VendorRefusal::invalid("messages: first message must use the \"user\" role"));
    }
    for (index, message) in messages.iter().enumerate() {
        check_message(index, message, index + 1 == messages.len())?;
    }
    // Instructions within a conversation are no turn.
    let spoken: Vec<(usize, &Value)> =
        messages.iter().enumerate().filter(|(_, message)| message["role"] != "system").collect();
    check_calls(&spoken)
}

/// Refuses members that the version of 2026 has removed. The texts are ours: the vendor documents the status only.
fn check_removed(body: &Value) -> Result<(), VendorRefusal> {
    for name in ["temperature", "top_p", "top_k"] {
        if body.get(name).is_some() {
            return Err(VendorRefusal::invalid(format!("{name}: Extra inputs are not permitted")));
        }
    }
    for (index, message) in items(&body["messages"]).iter().enumerate() {
        for (place, block) in items(&message["content"]).iter().enumerate() {
            let cites = |block: &Value| !items(&block["citations"]).is_empty();
            let wrong = match message["role"].as_str() {
                Some("assistant") if block["type"] == "document" => "`document` blocks may not be provided",
                Some("user") if cites(block) || items(&block["content"]).iter().any(cites) => {
                    "`citations` may not be provided"
                }
                _ => continue,
            };
            let role = &message["role"].as_str().unwrap_or_default();
            return Err(VendorRefusal::invalid(format!(
                "messages.{index}.content.{place}: {wrong} in {role} messages"
            )));
        }
    }
    Ok(())
}

fn check_thinking(body: &Value) -> Result<(), VendorRefusal> {
    let thinking = &body["thinking"];
    if let (Some(budget), Some(max)) = (thinking["budget_tokens"].as_u64(), body["max_tokens"].as_u64())
        && max <= budget
    {
        return Err(VendorRefusal::invalid("`max_tokens` must be greater than `thinking.budget_tokens`."));
    }
    if !matches!(thinking["type"].as_str(), Some("enabled" | "adaptive")) {
        return Ok(());
    }
    if body["temperature"].as_f64().is_some_and(|temperature| temperature < 1.0) {
        return Err(VendorRefusal::invalid("`temperature` may only be set to 1 when thinking is enabled."));
    }
    if body["top_k"].is_number() {
        return Err(VendorRefusal::invalid("`top_k` must be unset when thinking is enabled."));
    }
    if matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool")) {
        return Err(VendorRefusal::invalid("Thinking may not be enabled when tool_choice forces tool use."));
    }
    Ok(())
}

fn check_tools(body: &Value) -> Result<(), VendorRefusal> {
    let tools = items(&body["tools"]);
    let mut names = HashSet::new();
    if tools.iter().filter_map(|tool| tool["name"].as_str()).any(|name| !names.insert(name)) {
        return Err(VendorRefusal::invalid("tools: Tool names must be unique."));
    }
    match body["tool_choice"]["name"].as_str() {
        Some(name) if !names.contains(name) => {
            Err(VendorRefusal::invalid(format!("Tool '{name}' not found in provided tools")))
        }
        None if tools.is_empty()
            && body["tool_choice"].is_object()
            && body["tool_choice"]["type"] != "none" =>
        {
            Err(VendorRefusal::invalid(
                "tool_choice: `tool_choice` may only be specified while providing `tools`.",
            ))
        }
        _ => Ok(()),
    }
}

fn check_cache_marks(body: &Value) -> Result<(), VendorRefusal> {
    let blocks = items(&body["messages"]).iter().flat_map(|message| items(&message["content"]));
    let nested = blocks.clone().flat_map(|block| items(&block["content"]));
    let all = items(&body["system"]).iter().chain(items(&body["tools"])).chain(blocks).chain(nested);
    let marks = all.chain([body]).filter(|place| place["cache_control"].is_object()).count();
    if marks > MAX_CACHE_MARKS {
        return Err(VendorRefusal::invalid(format!(
            "A maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {marks}."
        )));
    }
    Ok(())
}

fn check_message(index: usize, message: &Value, is_last: bool) -> Result<(), VendorRefusal> {
    let content = &message["content"];
    let is_assistant = message["role"] == "assistant";
    let is_empty = content.as_str().map_or_else(|| items(content).is_empty(), str::is_empty);
    let changes_effort = message["role"] == "system" && message.get("output_config").is_some();
    if is_empty && !changes_effort && !(is_last && is_assistant) {
        return Err(VendorRefusal::invalid(format!(
            "messages.{index}: all messages must have non-empty content except for the optional final assistant message"
        )));
    }
    if content.as_str().is_some_and(|text| !text.is_empty() && text.trim().is_empty()) {
        return Err(VendorRefusal::invalid("messages: text content blocks must contain non-whitespace text"));
    }
    check_texts(items(content), "messages")?;
    for (place, block) in items(content).iter().enumerate() {
        let kind = block["type"].as_str().unwrap_or_default();
        let wrong = match kind {
            "tool_use" | "thinking" | "redacted_thinking" | "server_tool_use" => !is_assistant,
            "tool_result" | "image" | "search_result" => is_assistant,
            _ => false,
        };
        if wrong {
            let role = if is_assistant { "assistant" } else { "user" };
            return Err(VendorRefusal::invalid(format!(
                "messages.{index}.content.{place}: `{kind}` blocks may not be provided in {role} messages"
            )));
        }
        check_texts(items(&block["content"]), "messages")?;
        let images_only = items(&block["content"]).iter().any(|part| part["type"] != "text");
        if block["is_error"] == true && images_only {
            return Err(VendorRefusal::invalid(format!(
                "messages.{index}.content.{place}.tool_result: all content must be type \"text\" if `is_error` is true"
            )));
        }
    }
    let last_text = content.as_str().or_else(|| items(content).last()?["text"].as_str());
    if is_last && is_assistant && last_text.is_some_and(|text| text.ends_with(char::is_whitespace)) {
        return Err(VendorRefusal::invalid(
            "messages: final assistant content cannot end with trailing whitespace",
        ));
    }
    Ok(())
}

fn check_texts(blocks: &[Value], place: &str) -> Result<(), VendorRefusal> {
    for text in
        blocks.iter().filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str())
    {
        if text.is_empty() {
            return Err(VendorRefusal::invalid(format!("{place}: text content blocks must be non-empty")));
        }
        if text.trim().is_empty() {
            return Err(VendorRefusal::invalid(format!(
                "{place}: text content blocks must contain non-whitespace text"
            )));
        }
    }
    Ok(())
}

/// Checks that every call is answered at the beginning of the next message; consecutive messages of one role count as
/// one.
fn check_calls(messages: &[(usize, &Value)]) -> Result<(), VendorRefusal> {
    let mut seen = HashSet::new();
    let mut open: Option<(usize, Vec<&str>)> = None;
    for turn in messages.chunk_by(|(_, one), (_, two)| one["role"] == two["role"]) {
        let (first, speaker) = turn[0];
        if speaker["role"] == "assistant" {
            let calls = turn.iter().flat_map(|(_, message)| items(&message["content"]));
            let calls =
                calls.filter(|block| block["type"] == "tool_use").filter_map(|block| block["id"].as_str());
            let calls: Vec<&str> = calls.collect();
            if let Some(place) = calls.iter().position(|id| !seen.insert(*id)) {
                return Err(VendorRefusal::invalid(format!(
                    "messages.{first}.content.{place}: `tool_use` ids must be unique"
                )));
            }
            open = (!calls.is_empty()).then_some((first, calls));
        } else {
            check_results(turn, open.take())?;
        }
    }
    // Without a next message, the results are missing as well.
    open.map_or(Ok(()), |(index, calls)| Err(without_results(index, &calls)))
}

fn check_results(turn: &[(usize, &Value)], calls: Option<(usize, Vec<&str>)>) -> Result<(), VendorRefusal> {
    let called = calls.as_ref().map_or(&[][..], |(_, calls)| calls);
    let mut answered = HashSet::new();
    let mut leading = true;
    let mut late = HashSet::new();
    for (index, message) in turn {
        leading &= !message["content"].is_string();
        for (place, block) in items(&message["content"]).iter().enumerate() {
            let Some(id) = block["tool_use_id"].as_str().filter(|_| block["type"] == "tool_result") else {
                leading = false;
                continue;
            };
            if !called.contains(&id) {
                return Err(VendorRefusal::invalid(format!(
                    "messages.{index}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. \
                     Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                )));
            }
            if !answered.insert(id) {
                return Err(VendorRefusal::invalid(format!(
                    "messages.{index}.content.{place}: each tool_use must have a single result. Found multiple \
                     `tool_result` blocks with id: {id}"
                )));
            }
            if !leading {
                late.insert(id);
            }
        }
    }
    let Some((index, calls)) = calls else { return Ok(()) };
    let missing: Vec<&str> =
        calls.into_iter().filter(|id| !answered.contains(id) || late.contains(id)).collect();
    if missing.is_empty() { Ok(()) } else { Err(without_results(index, &missing)) }
}

fn without_results(index: usize, ids: &[&str]) -> VendorRefusal {
    VendorRefusal::invalid(format!(
        "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each \
         `tool_use` block must have a corresponding `tool_result` block in the next message.",
        ids.join(", ")
    ))
}
