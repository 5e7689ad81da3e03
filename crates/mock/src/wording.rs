//! Faults of requests as texts in the vendors' words.

use super::{
    fault::{Fault, PathStep, Problem},
    refusal::VendorRefusal,
};
use serde_json::Value;

/// Words a fault like Anthropic: `messages.0.content: Field required`, with the branches of unions in the path.
pub(super) fn anthropic(fault: &Fault) -> VendorRefusal {
    let path: Vec<String> = fault
        .path
        .iter()
        .map(|place| match place {
            PathStep::Key(key) | PathStep::Branch(key) => key.clone(),
            PathStep::Index(index) => index.to_string(),
        })
        .collect();
    let path = path.join(".");
    let text = match &fault.problem {
        Problem::Missing => "Field required".to_owned(),
        Problem::Unknown => "Extra inputs are not permitted".to_owned(),
        Problem::Type(types) => format!("Input should be a valid {}", pydantic_type(types)),
        Problem::NoneOf(options) => format!("Input should be {}", list(options, "or")),
        Problem::Tag(options) => {
            let (base, tag) = path.rsplit_once('.').unwrap_or(("", &path));
            let found = shown(&fault.found);
            let expected =
                options.iter().filter(|option| !option.is_null()).map(shown).collect::<Vec<_>>().join(", ");
            return VendorRefusal::invalid(format!(
                "{base}: Input tag {found} found using '{tag}' does not match any of the expected tags: {expected}"
            ));
        }
        Problem::Below(limit) => format!("Input should be greater than or equal to {limit}"),
        Problem::Above(limit) => format!("Input should be less than or equal to {limit}"),
        Problem::Shorter(limit) => format!("String should have at least {limit} {}", characters(*limit)),
        Problem::Longer(limit) => format!("String should have at most {limit} {}", characters(*limit)),
        Problem::Fewer(_) if path == "messages" => "at least one message is required".to_owned(),
        Problem::Fewer(limit) => format!("List should have at least {limit} items"),
        Problem::More(limit) => format!("List should have at most {limit} items"),
        Problem::Pattern(pattern) => format!("String should match pattern '{pattern}'"),
        Problem::Other(text) => text.clone(),
    };
    VendorRefusal::invalid(format!("{path}: {text}"))
}

/// Words a fault like OpenAI: `Invalid type for 'messages[0].content': …`, with the path as `param`.
pub(super) fn openai(fault: &Fault) -> VendorRefusal {
    let path = openai_path(&fault.path);
    let integer = fault.found.is_i64() || fault.found.is_u64();
    let (message, code) = match &fault.problem {
        Problem::Missing => (format!("Missing required parameter: '{path}'."), "missing_required_parameter"),
        Problem::Unknown => (format!("Unknown parameter: '{path}'."), "unknown_parameter"),
        Problem::Type(types) => {
            let expected = types.iter().filter(|one| *one != "null").map(|one| openai_type(one));
            let expected = match expected.collect::<Vec<_>>().as_slice() {
                [one] => (*one).to_owned(),
                many => format!("one of {}", many.join(" or ")),
            };
            let found = openai_type(name_of(&fault.found));
            let found = if found == "null" { found.to_owned() } else { format!("{found} instead") };
            (format!("Invalid type for '{path}': expected {expected}, but got {found}."), "invalid_type")
        }
        Problem::NoneOf(options) | Problem::Tag(options) => {
            let found = shown(&fault.found);
            let options = list(options, "and");
            (format!("Invalid value: {found}. Supported values are: {options}."), "invalid_value")
        }
        Problem::Below(limit) => {
            let (kind, code) = if integer {
                ("integer", "integer_below_min_value")
            } else {
                ("decimal", "decimal_below_min_value")
            };
            let found = &fault.found;
            let text = format!(
                "Invalid '{path}': {kind} below minimum value. Expected a value >= {limit}, but got {found} instead."
            );
            (text, code)
        }
        Problem::Above(limit) => {
            let (kind, code) = if integer {
                ("integer", "integer_above_max_value")
            } else {
                ("decimal", "decimal_above_max_value")
            };
            let found = &fault.found;
            let text = format!(
                "Invalid '{path}': {kind} above maximum value. Expected a value <= {limit}, but got {found} instead."
            );
            (text, code)
        }
        Problem::Shorter(limit) => (
            format!(
                "Invalid '{path}': empty string. Expected a string with minimum length {limit}, but got an empty \
                 string instead."
            ),
            "empty_string",
        ),
        Problem::Longer(limit) => {
            let length = fault.found.as_str().unwrap_or_default().chars().count();
            let text = format!(
                "Invalid '{path}': string too long. Expected a string with maximum length {limit}, but got a string \
                 with length {length} instead."
            );
            (text, "string_above_max_length")
        }
        Problem::Fewer(limit) => (
            format!(
                "Invalid '{path}': empty array. Expected an array with minimum length {limit}, but got an empty array \
                 instead."
            ),
            "empty_array",
        ),
        Problem::More(limit) => (
            format!("Invalid '{path}': array too long. Expected an array with maximum length {limit}."),
            "array_above_max_length",
        ),
        Problem::Pattern(pattern) if path.ends_with("id") && pattern.starts_with('^') => {
            let (found, prefix) = (shown(&fault.found), &pattern[1..]);
            let text = format!("Invalid '{path}': {found}. Expected an ID that begins with '{prefix}'.");
            (text, "invalid_value")
        }
        Problem::Pattern(pattern) => (
            format!(
                "Invalid '{path}': string does not match pattern. Expected a string that matches the pattern \
                 '{pattern}'."
            ),
            "invalid_value",
        ),
        Problem::Other(text) => (format!("Invalid '{path}': {text}"), "invalid_value"),
    };
    VendorRefusal::invalid(message).at(path).code(code)
}

fn openai_path(places: &[PathStep]) -> String {
    let mut path = String::new();
    for place in places {
        match place {
            PathStep::Key(key) if path.is_empty() => path.push_str(key),
            PathStep::Key(key) => {
                path.push('.');
                path.push_str(key);
            }
            PathStep::Index(index) => path.push_str(&format!("[{index}]")),
            PathStep::Branch(_) => {}
        }
    }
    path
}

/// The type's name in Pydantic; of several, the last one but null.
fn pydantic_type(types: &[String]) -> &str {
    match types.iter().rfind(|one| *one != "null").map_or("null", String::as_str) {
        "array" => "list",
        "object" => "dictionary",
        other => other,
    }
}

fn openai_type(name: &str) -> &str {
    match name {
        "array" => "an array",
        "boolean" => "a boolean",
        "integer" => "an integer",
        "number" => "a decimal",
        "object" => "an object",
        "string" => "a string",
        other => other,
    }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Joins options as `'a', 'b' or 'c'`; vendors do not mention null.
fn list(options: &[Value], last: &str) -> String {
    let shown: Vec<String> = options.iter().filter(|option| !option.is_null()).map(shown).collect();
    match shown.as_slice() {
        [many @ .., end] if !many.is_empty() => format!("{} {last} {end}", many.join(", ")),
        few => few.concat(),
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| format!("'{text}'"))
}

const fn characters(count: u64) -> &'static str {
    if count == 1 { "character" } else { "characters" }
}
