//! Reads the other forms that models give the arguments of `edit`, where a call takes a list of replacements.

use pi_rpc_protocol::JsonObject;
use serde_json::Value;

/// The tool.
pub(super) const EDIT: &str = "edit";

/// The member with the list of replacements.
pub(super) const EDITS: &str = "edits";

/// The members of a replacement.
const TEXTS: [&str; 2] = ["oldText", "newText"];

/// Makes a list of one replacement alone, of a JSON text with one or several, and of a replacement beside the list.
/// Everything else stays, for the schema to judge. Source: pi 1.6.0 source, observed.
pub(super) fn gather_edits(arguments: &mut JsonObject) {
    if let Some(edits) = arguments.get_mut(EDITS) {
        let parsed = edits.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        if let Some(parsed) = parsed.filter(|parsed| parsed.is_array() || is_replacement(parsed)) {
            *edits = parsed;
        }
        if is_replacement(edits) {
            *edits = Value::Array(vec![edits.take()]);
        }
    }
    if TEXTS.iter().all(|name| arguments.get(*name).is_some_and(Value::is_string)) {
        let beside = TEXTS.iter().filter_map(|name| arguments.shift_remove_entry(*name)).collect();
        let mut edits = match arguments.shift_remove(EDITS) {
            Some(Value::Array(edits)) => edits,
            _ => Vec::new(),
        };
        edits.push(Value::Object(beside));
        arguments.insert(EDITS.to_owned(), Value::Array(edits));
    }
}

/// Whether a value has both texts of a replacement.
fn is_replacement(value: &Value) -> bool {
    TEXTS.iter().all(|name| value.get(name).is_some_and(Value::is_string))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn other_forms_of_edits_become_a_list() {
        let one = json!({ "oldText": "a", "newText": "b" });
        let list = json!({ "path": "f", "edits": [one] });
        for given in [
            list.clone(),
            json!({ "path": "f", "edits": one }),
            json!({ "path": "f", "edits": one.to_string() }),
            json!({ "path": "f", "edits": json!([one]).to_string() }),
            json!({ "path": "f", "oldText": "a", "newText": "b" }),
            json!({ "path": "f", "edits": [], "oldText": "a", "newText": "b" }),
            json!({ "path": "f", "edits": "no list", "oldText": "a", "newText": "b" }),
        ] {
            let mut arguments = given.as_object().unwrap().clone();
            gather_edits(&mut arguments);
            assert_eq!(Value::Object(arguments), list, "{given}");
        }
        for other in [
            json!({ "path": "f" }),
            json!({ "path": "f", "edits": "[1" }),
            json!({ "path": "f", "edits": { "oldText": "a" } }),
            json!({ "path": "f", "oldText": "a" }),
        ] {
            let mut arguments = other.as_object().unwrap().clone();
            gather_edits(&mut arguments);
            assert_eq!(Value::Object(arguments), other);
        }
    }
}
