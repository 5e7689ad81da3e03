//! The rules of the Gemini API beyond the shape of a request.
//!
//! Not checked: the length of a conversation and the name of the model.

use crate::{
    fault::{Fault, PathStep, Problem},
    prompt_context::items,
    refusal::VendorRefusal,
};
use serde_json::Value;
use std::collections::HashSet;

/// Members of a part; it has exactly one of them.
const DATA: [&str; 7] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
];

/// Signatures that the service does not check. Source: the vendor's page on thought signatures.
const UNCHECKED: [&str; 2] = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

/// Checks a body of the right shape, sent to `model`.
pub fn check(model: &str, body: &Value) -> Result<(), VendorRefusal> {
    check_thinking(model, &body["generationConfig"])?;
    check_tools(body)?;
    check_parts("system_instruction", &body["systemInstruction"])?;
    let contents = items(&body["contents"]);
    for (at, content) in contents.iter().enumerate() {
        if !matches!(content["role"].as_str(), None | Some("user" | "model")) {
            return Err(VendorRefusal::invalid("Please use a valid role: user, model."));
        }
        check_parts(&format!("contents[{at}]"), content)?;
    }
    if let [.., last] = contents
        && calls(last) > 0
    {
        return Err(VendorRefusal::invalid(UNEQUAL));
    }
    check_turns(contents)?;
    if generation(model) >= Some(3) { check_signatures(contents) } else { Ok(()) }
}

/// The generation of a Gemini model; `None` for other models.
fn generation(model: &str) -> Option<u64> {
    let rest = model.strip_prefix("gemini-")?;
    rest[..rest.find(|found: char| !found.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
}

fn check_thinking(model: &str, config: &Value) -> Result<(), VendorRefusal> {
    let thinking = &config["thinkingConfig"];
    let generation = generation(model);
    if thinking["thinkingLevel"].is_string() {
        if thinking["thinkingBudget"].is_number() {
            return Err(VendorRefusal::invalid(
                "You can only set only one of thinking budget and thinking level.",
            ));
        }
        if generation.is_some_and(|generation| generation < 3) {
            return Err(VendorRefusal::invalid("Thinking level is not supported for this model."));
        }
    }
    let ranges = [("2.5-pro", 128, 32_768), ("2.5-flash-lite", 512, 24_576), ("2.5-flash", 1, 24_576)];
    let range = ranges.iter().find(|(name, ..)| model.contains(name));
    match (thinking["thinkingBudget"].as_i64(), range) {
        (Some(0), Some(("2.5-pro", ..))) => {
            Err(VendorRefusal::invalid("Budget 0 is invalid. This model only works in thinking mode."))
        }
        (None | Some(0 | -1), _) | (_, None) => Ok(()),
        (Some(budget), Some((_, least, most))) if budget < *least || budget > *most => {
            Err(VendorRefusal::invalid(format!(
                "The thinking budget {budget} is invalid. Please choose a value between {least} and {most}."
            )))
        }
        _ => Ok(()),
    }
}

fn check_tools(body: &Value) -> Result<(), VendorRefusal> {
    let declared = items(&body["tools"]).iter().flat_map(|tool| items(&tool["functionDeclarations"]));
    let mut names = HashSet::new();
    for function in declared {
        let name = function["name"].as_str().unwrap_or_default();
        if !names.insert(name) {
            return Err(VendorRefusal::invalid(format!("Duplicate function declaration found: {name}")));
        }
        if function["parameters"].is_object() && function["parametersJsonSchema"].is_object() {
            return Err(VendorRefusal::invalid(format!(
                "Function declaration {name} may have `parameters` or `parameters_json_schema`, not both."
            )));
        }
    }
    let calling = &body["toolConfig"]["functionCallingConfig"];
    if calling["mode"] == "ANY" && names.is_empty() {
        return Err(VendorRefusal::invalid("Function calling mode ANY requires function declarations."));
    }
    for name in items(&calling["allowedFunctionNames"]).iter().filter_map(Value::as_str) {
        if !matches!(calling["mode"].as_str(), Some("ANY" | "VALIDATED")) {
            return Err(VendorRefusal::invalid(
                "Allowed function names should only be set when function calling mode is ANY or VALIDATED.",
            ));
        }
        if !names.contains(name) {
            return Err(VendorRefusal::invalid(format!("Allowed function name {name} is not declared.")));
        }
    }
    Ok(())
}

fn check_parts(place: &str, content: &Value) -> Result<(), VendorRefusal> {
    if content.is_object() && items(&content["parts"]).is_empty() {
        return Err(VendorRefusal::invalid(format!(
            "* GenerateContentRequest.{place}.parts: contents.parts must not be empty.\n"
        )));
    }
    for (at, part) in items(&content["parts"]).iter().enumerate() {
        let place = format!("{place}.parts[{at}]");
        let mut data = DATA.iter().filter(|key| !part[**key].is_null());
        match (data.next(), data.next()) {
            (None, _) => {
                return Err(VendorRefusal::invalid(format!(
                    "* GenerateContentRequest.{place}.data: required oneof field 'data' must have one initialized \
                     field\n"
                )));
            }
            (Some(_), Some(_)) => {
                return Err(VendorRefusal::invalid(format!(
                    "Invalid value at '{place}' (oneof), oneof field 'data' is already set."
                )));
            }
            (Some(_), None) => {}
        }
        let blobs = [&part["inlineData"]["data"], &part["thoughtSignature"]];
        let wrong = blobs.into_iter().filter_map(Value::as_str).find(|text| !is_base64(text));
        if let Some(text) = wrong.filter(|text| !UNCHECKED.contains(text)) {
            return Err(VendorRefusal::invalid(format!(
                "Invalid value at '{place}' (TYPE_BYTES), Base64 decoding failed for \"{text}\""
            )));
        }
    }
    Ok(())
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    text.len() % 4 != 1 && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte))
}

const UNEQUAL: &str = "Please ensure that the number of function response parts is equal to the number of function call \
                       parts of the function call turn.";

/// Calls follow a content of the user; the next content has as many results.
fn check_turns(contents: &[Value]) -> Result<(), VendorRefusal> {
    for (at, content) in contents.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| contents.get(at));
        let called = before.map_or(0, calls);
        let returned = count(content, "functionResponse");
        if called != returned && (called > 0 || returned > 0) {
            return Err(match called {
                0 => VendorRefusal::invalid(
                    "Please ensure that function response turn comes immediately after a function call turn.",
                ),
                _ => VendorRefusal::invalid(UNEQUAL),
            });
        }
        if calls(content) > 0 && before.is_none_or(|before| before["role"] == "model") {
            return Err(VendorRefusal::invalid(
                "Please ensure that function call turn comes immediately after a user turn or after a function response \
                 turn.",
            ));
        }
        if let Some(before) = before.filter(|_| called > 0) {
            check_pairs(before, content)?;
        }
    }
    Ok(())
}

/// Each result matches the call with its id, or at its position.
fn check_pairs(calls: &Value, results: &Value) -> Result<(), VendorRefusal> {
    let of = |content: &'static str, parts: &Value| -> Vec<(Value, Value)> {
        let found =
            items(&parts["parts"]).iter().map(|part| &part[content]).filter(|found| found.is_object());
        found.map(|found| (found["id"].clone(), found["name"].clone())).collect()
    };
    let (calls, results) = (of("functionCall", calls), of("functionResponse", results));
    let fits = |(place, (id, name)): (usize, &(Value, Value))| match id {
        Value::String(_) => calls.iter().any(|(called, by)| called == id && by == name),
        _ => calls.get(place).is_some_and(|(_, called)| called == name),
    };
    match results.iter().enumerate().all(fits) {
        true => Ok(()),
        false => Err(VendorRefusal::invalid(
            "Please ensure that function response parts have the id and the name of the function call parts.",
        )),
    }
}

/// The first call of each content since the newest prompt has a signature.
fn check_signatures(contents: &[Value]) -> Result<(), VendorRefusal> {
    let is_prompt = |content: &Value| content["role"] != "model" && count(content, "functionResponse") == 0;
    let current = contents.iter().rposition(is_prompt).unwrap_or(0);
    for (at, content) in contents.iter().enumerate().skip(current) {
        let first = items(&content["parts"]).iter().find(|part| part["functionCall"].is_object());
        let Some(call) = first.filter(|part| part["thoughtSignature"].is_null()) else { continue };
        let name = call["functionCall"]["name"].as_str().unwrap_or_default();
        return Err(VendorRefusal::invalid(format!(
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work \
             correctly, and missing thought_signature may lead to degraded model performance. Additional data, function \
             call `default_api:{name}` , position {}. Please refer to \
             https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
            at + 1
        )));
    }
    Ok(())
}

fn calls(content: &Value) -> usize {
    count(content, "functionCall")
}

fn count(content: &Value, kind: &str) -> usize {
    items(&content["parts"]).iter().filter(|part| part[kind].is_object()).count()
}

/// Words a fault as the service does: with the names of its own fields.
pub fn wording(fault: &Fault) -> VendorRefusal {
    let mut path = String::new();
    for place in &fault.path {
        match place {
            PathStep::Key(key) if path.is_empty() => path.push_str(&snake_case(key)),
            PathStep::Key(key) => path.extend([".", &snake_case(key)]),
            PathStep::Index(index) => path.push_str(&format!("[{index}]")),
            PathStep::Branch(_) => {}
        }
    }
    let found = &fault.found;
    VendorRefusal::invalid(match &fault.problem {
        Problem::Unknown => {
            let (parent, _) = path.rsplit_once('.').unwrap_or(("", &path));
            let name = match fault.path.last() {
                Some(PathStep::Key(key)) => key.as_str(),
                _ => path.as_str(),
            };
            let at = if parent.is_empty() { String::new() } else { format!(" at '{parent}'") };
            format!("Invalid JSON payload received. Unknown name \"{name}\"{at}: Cannot find field.")
        }
        Problem::Missing | Problem::Fewer(_) => {
            let (_, name) = path.rsplit_once('.').unwrap_or(("", &path));
            format!("* GenerateContentRequest.{path}: {name} is not specified\n")
        }
        Problem::Type(types) => {
            let kind = match types.first().map(String::as_str) {
                Some("integer") => "TYPE_INT32",
                Some("number") => "TYPE_FLOAT",
                Some("boolean") => "TYPE_BOOL",
                Some("string") => "TYPE_STRING",
                _ => "TYPE_MESSAGE",
            };
            format!("Invalid value at '{path}' ({kind}), {found}")
        }
        Problem::NoneOf(_) | Problem::Tag(_) => format!("Invalid value at '{path}' (TYPE_ENUM), {found}"),
        Problem::Pattern(_) | Problem::Shorter(_) | Problem::Longer(_) => {
            format!("* GenerateContentRequest.{path}: {found} is not valid\n")
        }
        Problem::Below(limit) | Problem::Above(limit) => {
            format!("* GenerateContentRequest.{path}: {found} is out of range, whose end is {limit}\n")
        }
        Problem::More(limit) => format!("* GenerateContentRequest.{path}: at most {limit} are supported\n"),
        Problem::Other(text) => format!("* GenerateContentRequest.{path}: {text}\n"),
    })
}

fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
