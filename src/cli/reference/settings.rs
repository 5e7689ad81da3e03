//! Files of settings, from their JSON Schemas: one row a member, nested members by their path.

use super::{code, table};
use pi_rpc_config::{Effect, unhonoured_settings};
use serde_json::Value;

/// The members of the file that `schema` describes, and of each object that it names.
pub(super) fn members(schema: &str) -> String {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let mut rows = Vec::new();
    inner(&schema, &schema, "", &mut rows);
    table(["Member", "Type", "Meaning"], rows)
}

/// Members of pi's settings that are not read.
pub(super) fn unhonoured() -> String {
    let rows = unhonoured_settings().iter().map(|(path, setting)| {
        let here = match (setting.effect, setting.text.as_str()) {
            (Effect::Screen, "") => "about pi's screen".to_owned(),
            (Effect::Screen, text) => format!("about pi's screen: {text}"),
            (Effect::None, text) => text.to_owned(),
            (Effect::Missing, text) => {
                let same: Vec<String> = setting.same.iter().map(|value| format!("`{value}`")).collect();
                let but =
                    if same.is_empty() { String::new() } else { format!(", but for {}", same.join(" and ")) };
                format!("**not honoured**{but}: {text}")
            }
        };
        [code(path), here]
    });
    table(["Member", "Here"], rows)
}

/// How deep objects within objects are followed.
const DEEPEST: usize = 6;

fn inner(whole: &Value, schema: &Value, path: &str, rows: &mut Vec<[String; 3]>) {
    if path.matches('.').count() >= DEEPEST {
        return;
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        if name.starts_with('$') {
            continue;
        }
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let target = resolved(whole, member);
        let description =
            member["description"].as_str().or(target["description"].as_str()).unwrap_or_default();
        rows.push([code(&path), kind(whole, member), description.to_owned()]);
        inner(whole, target, &path, rows);
        let values = resolved(whole, &target["additionalProperties"]);
        inner(whole, values, &format!("{path}.NAME"), rows);
        let items = resolved(whole, &target["items"]);
        let items = items["anyOf"].as_array().and_then(|forms| forms.last()).unwrap_or(items);
        inner(whole, items, &format!("{path}[]"), rows);
    }
}

/// The def that a schema names, else itself.
fn resolved<'a>(whole: &'a Value, schema: &'a Value) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/"));
    name.map_or(schema, |name| &whole["$defs"][name])
}

/// What a member may hold, in words.
fn kind(whole: &Value, member: &Value) -> String {
    let schema = resolved(whole, member);
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().filter_map(Value::as_str).map(code);
        return values.collect::<Vec<_>>().join(", ");
    }
    if let Some(value) = schema["const"].as_str() {
        return code(value);
    }
    let forms = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    if let Some(forms) = forms {
        return forms.iter().map(|form| kind(whole, form)).collect::<Vec<_>>().join(" or ");
    }
    let types = schema["type"].as_array().map_or(vec![&schema["type"]], |list| list.iter().collect());
    let name = types.into_iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("any");
    match name {
        "array" => format!("list of {}", kind(whole, &schema["items"])),
        name => name.to_owned(),
    }
}
