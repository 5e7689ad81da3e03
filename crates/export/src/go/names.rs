//! Names of Go types, fields and constants.

use serde_json::Value;

/// Words that Go writes in capitals.
const INITIALISMS: [&str; 6] = ["api", "html", "id", "json", "url", "xml"];

/// The exported identifier for a name of the wire: `modelId` and `model_id` both become `ModelID`.
pub fn exported(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).flat_map(camel_words);
    words.map(|word| capitalised(&word)).collect()
}

/// The type of a constant. The value stands in it as it is: `toolResult` and `tool_result` are two.
pub fn constant_type(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let plain: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("const_{plain}")
}

/// The words of a name in camel case.
fn camel_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut was_lower = false;
    for c in name.chars() {
        match words.last_mut() {
            Some(word) if !(was_lower && c.is_ascii_uppercase()) => word.push(c),
            _ => words.push(c.to_string()),
        }
        was_lower = !c.is_ascii_uppercase();
    }
    words
}

fn capitalised(word: &str) -> String {
    if INITIALISMS.iter().any(|known| word.eq_ignore_ascii_case(known)) {
        return word.to_ascii_uppercase();
    }
    let mut chars = word.chars();
    chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_names_become_exported_identifiers() {
        for (name, expected) in [
            ("modelId", "ModelID"),
            ("set_editor_text", "SetEditorText"),
            ("one-at-a-time", "OneAtATime"),
            ("baseUrl", "BaseURL"),
            ("toolCallId", "ToolCallID"),
            ("type", "Type"),
        ] {
            assert_eq!(exported(name), expected, "{name}");
        }
    }
}
