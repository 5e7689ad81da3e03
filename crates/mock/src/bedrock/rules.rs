//! The rules of the Converse API beyond the shape of a request.
//!
//! Not checked: the length of a conversation, and what single models do not take.

use crate::{
    fault::{Fault, PathStep, Problem},
    prompt_context::items,
    refusal::VendorRefusal,
};
use serde_json::Value;
use std::collections::HashSet;

/// Most marks of a cache in a request.
const CACHE_POINTS: usize = 4;
/// Smallest budget for thinking, in tokens.
const LEAST_BUDGET: u64 = 1024;

/// Checks a body of the right shape, sent to `model`.
pub fn check(model: &str, body: &Value) -> Result<(), VendorRefusal> {
    let is_claude = model.contains("claude");
    let messages = items(&body["messages"]);
    check_roles(messages)?;
    for (at, message) in messages.iter().enumerate() {
        check_content(&format!("messages.{at}"), message)?;
        check_results(at, at.checked_sub(1).and_then(|at| messages.get(at)), message)?;
        if is_claude {
            check_failed_results(at, message)?;
        }
    }
    check_tools(body, messages)?;
    if is_claude { check_thinking(body) } else { Ok(()) }?;
    match cache_points(body) {
        count if count > CACHE_POINTS => Err(of_model(&format!(
            "A maximum of {CACHE_POINTS} blocks with cache_control may be provided. Found {count}."
        ))),
        _ => Ok(()),
    }
}

fn refusal(message: impl Into<String>) -> VendorRefusal {
    VendorRefusal::of(400, "ValidationException", message)
}

/// A refusal that the service passes on from the vendor of the model.
fn of_model(message: &str) -> VendorRefusal {
    refusal(format!("The model returned the following errors: {message}"))
}

fn check_roles(messages: &[Value]) -> Result<(), VendorRefusal> {
    if messages.first().is_some_and(|first| first["role"] != "user") {
        return Err(refusal(
            "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
        ));
    }
    match messages.windows(2).any(|pair| pair[0]["role"] == pair[1]["role"]) {
        true => Err(refusal(
            "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between \
             user and assistant roles and try again.",
        )),
        false => Ok(()),
    }
}

fn check_content(place: &str, message: &Value) -> Result<(), VendorRefusal> {
    let content = items(&message["content"]);
    if content.is_empty() {
        return Err(refusal(format!(
            "The content field in the Message object at {place} is empty. Add a ContentBlock object to the content field and \
             try again."
        )));
    }
    for (at, block) in content.iter().enumerate() {
        let place = format!("{place}.content.{at}");
        if block.as_object().is_some_and(|members| members.len() != 1) {
            return Err(refusal(format!(
                "The ContentBlock object at {place} must set exactly one of its members."
            )));
        }
        let blank = |text: &Value| text.as_str().is_some_and(|text| text.trim().is_empty());
        if blank(&block["text"]) {
            return Err(refusal(format!(
                "The text field in the ContentBlock object at {place} is blank. Add text to the text field, and try again."
            )));
        }
        if block["toolResult"].is_object() {
            check_content(&format!("{place}.toolResult"), &block["toolResult"])?;
        }
    }
    Ok(())
}

/// Each call has its result in the next message, and each result its call in the message before.
fn check_results(at: usize, before: Option<&Value>, message: &Value) -> Result<(), VendorRefusal> {
    let ids = |message: &Value, kind: &str| -> Vec<String> {
        let found = items(&message["content"]).iter().filter_map(|block| block[kind]["toolUseId"].as_str());
        found.map(str::to_owned).collect()
    };
    let called = before.map_or_else(Vec::new, |before| ids(before, "toolUse"));
    let returned = ids(message, "toolResult");
    let missing: Vec<&str> = called.iter().filter(|id| !returned.contains(id)).map(String::as_str).collect();
    if !missing.is_empty() {
        return Err(refusal(format!(
            "Expected toolResult blocks at messages.{at}.content for the following Ids: {}",
            missing.join(", ")
        )));
    }
    let unique: HashSet<&String> = returned.iter().collect();
    if returned.len() > called.len() || unique.len() < returned.len() {
        return Err(refusal(format!(
            "The number of toolResult blocks at messages.{at}.content exceeds the number of toolUse blocks of previous turn."
        )));
    }
    Ok(())
}

fn check_failed_results(at: usize, message: &Value) -> Result<(), VendorRefusal> {
    for (place, block) in items(&message["content"]).iter().enumerate() {
        let result = &block["toolResult"];
        if result["status"] == "error"
            && items(&result["content"]).iter().any(|part| !part["text"].is_string())
        {
            return Err(of_model(&format!(
                "messages.{at}.content.{place}: all content must be type \"text\" if \"is_error\" is true"
            )));
        }
    }
    Ok(())
}

fn check_tools(body: &Value, messages: &[Value]) -> Result<(), VendorRefusal> {
    let uses_tools = |block: &Value| block["toolUse"].is_object() || block["toolResult"].is_object();
    let uses_tools = messages.iter().flat_map(|message| items(&message["content"])).any(uses_tools);
    if uses_tools && !body["toolConfig"].is_object() {
        return Err(refusal(
            "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        ));
    }
    let mut names = HashSet::new();
    for tool in items(&body["toolConfig"]["tools"]) {
        let name = tool["toolSpec"]["name"].as_str().unwrap_or_default();
        if tool["toolSpec"].is_object() && !names.insert(name) {
            return Err(refusal(format!("The tool {name} is already defined at toolConfig.tools.")));
        }
        if tool["toolSpec"].is_object() && tool["toolSpec"]["inputSchema"]["json"]["type"] != "object" {
            return Err(refusal(format!(
                "The value at toolConfig.tools.{}.toolSpec.inputSchema.json.type must be one of the following: object.",
                names.len() - 1
            )));
        }
    }
    let chosen = &body["toolConfig"]["toolChoice"]["tool"]["name"];
    match chosen.as_str().filter(|name| !names.contains(name)) {
        Some(name) => Err(refusal(format!(
            "The tool {name} at toolConfig.toolChoice isn't defined. Define it in toolConfig.tools and try again."
        ))),
        None => Ok(()),
    }
}

fn check_thinking(body: &Value) -> Result<(), VendorRefusal> {
    let thinking = &body["additionalModelRequestFields"]["thinking"];
    let choice = &body["toolConfig"]["toolChoice"];
    if thinking.is_object() && (choice["tool"].is_object() || choice["any"].is_object()) {
        return Err(of_model("Thinking may not be enabled when tool_choice forces tool use."));
    }
    let Some(budget) = thinking["budget_tokens"].as_u64().filter(|_| thinking["type"] == "enabled") else {
        return Ok(());
    };
    if budget < LEAST_BUDGET {
        return Err(of_model(&format!(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to {LEAST_BUDGET}"
        )));
    }
    match body["inferenceConfig"]["maxTokens"].as_u64() {
        Some(most) if most <= budget => {
            Err(of_model("`max_tokens` must be greater than `thinking.budget_tokens`."))
        }
        _ => Ok(()),
    }
}

/// The marks of a cache, in instructions, tools and messages.
fn cache_points(body: &Value) -> usize {
    let contents = items(&body["messages"]).iter().flat_map(|message| items(&message["content"]));
    let all = items(&body["system"]).iter().chain(items(&body["toolConfig"]["tools"])).chain(contents);
    all.filter(|block| block["cachePoint"].is_object()).count()
}

/// Words a fault as the service does.
pub fn wording(fault: &Fault) -> VendorRefusal {
    let steps = fault.path.iter().filter_map(|step| match step {
        PathStep::Key(key) => Some(key.clone()),
        // The service counts members from 1.
        PathStep::Index(index) => Some(format!("{}.member", index + 1)),
        PathStep::Branch(_) => None,
    });
    let path = steps.collect::<Vec<_>>().join(".");
    let found = &fault.found;
    let constraint = |what: String| {
        let shown = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
        refusal(format!(
            "1 validation error detected: Value '{shown}' at '{path}' failed to satisfy constraint: Member must {what}"
        ))
    };
    match &fault.problem {
        Problem::Missing => refusal(format!(
            "1 validation error detected: Value null at '{path}' failed to satisfy constraint: Member must not be null"
        )),
        Problem::Unknown => {
            let (parent, name) = path.rsplit_once('.').unwrap_or(("", &path));
            let parent = parent.replace('.', "/");
            refusal(format!(
                "Malformed input request: #/{parent}: extraneous key [{name}] is not permitted, please reformat your input \
                 and try again."
            ))
        }
        Problem::Type(types) => {
            let kind = if found.is_string() { "STRING_VALUE" } else { "NUMBER_VALUE" };
            let wanted = types.first().map_or("value", String::as_str);
            VendorRefusal::of(
                400,
                "SerializationException",
                format!("{kind} can not be converted to {wanted} at {path}"),
            )
        }
        Problem::NoneOf(options) | Problem::Tag(options) => {
            let options: Vec<String> =
                options.iter().map(|it| it.as_str().unwrap_or_default().to_owned()).collect();
            constraint(format!("satisfy enum value set: [{}]", options.join(", ")))
        }
        Problem::Pattern(pattern) => constraint(format!("satisfy regular expression pattern: {pattern}")),
        Problem::Below(limit) => constraint(format!("have value greater than or equal to {limit}")),
        Problem::Above(limit) => constraint(format!("have value less than or equal to {limit}")),
        Problem::Shorter(limit) | Problem::Fewer(limit) => {
            constraint(format!("have length greater than or equal to {limit}"))
        }
        Problem::Longer(limit) | Problem::More(limit) => {
            constraint(format!("have length less than or equal to {limit}"))
        }
        Problem::Other(text) => refusal(format!("1 validation error detected at '{path}': {text}")),
    }
}
