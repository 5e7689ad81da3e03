//! The dialects: what each is, and what makes it differ beside its frames.

use super::{code, codes, table};
use pi_rpc_export as export;
use pi_rpc_protocol::{BUNDLE, Dialect};
use serde_json::Value;

/// Who speaks what.
pub(super) fn who() -> String {
    let row = |dialect: Dialect| {
        let record = dialect.record();
        let base = record.extends.map(code).unwrap_or_default();
        [
            code(record.id),
            format!("{}. {}", record.title, record.description),
            base,
            record.version.to_owned(),
        ]
    };
    table(["Dialect", "Who speaks it", "Extends", "Version of its schema"], Dialect::ALL.map(row))
}

/// What is in the table of dialects already.
const ELSEWHERE: [&str; 7] = ["id", "title", "description", "extends", "frames", "startedAs", "version"];

/// Each property of the records, with its value in each dialect; dialects with the same value together.
pub(super) fn records() -> String {
    let bundle: Value = serde_json::from_str(BUNDLE).unwrap_or_default();
    let records: Vec<(Dialect, Value)> =
        Dialect::ALL.into_iter().map(|dialect| (dialect, export::meta(dialect).record)).collect();
    let mut rows = Vec::new();
    for (name, schema) in bundle["record"]["properties"].as_object().into_iter().flatten() {
        if !ELSEWHERE.contains(&name.as_str()) {
            property(&records, &[name], schema, &mut rows);
        }
    }
    table(["Property", "What it says", "Value"], rows)
}

fn property(records: &[(Dialect, Value)], path: &[&str], schema: &Value, rows: &mut Vec<[String; 3]>) {
    if let Some(inner) = schema["properties"].as_object() {
        for (name, schema) in inner {
            property(records, &[path, &[name]].concat(), schema, rows);
        }
        return;
    }
    let mut values: Vec<(Vec<&str>, String)> = Vec::new();
    for (dialect, record) in records {
        let value = shown(path.iter().fold(record, |at, key| &at[*key]));
        match values.iter_mut().find(|(_, known)| *known == value) {
            Some((dialects, _)) => dialects.push(dialect.as_str()),
            None => values.push((vec![dialect.as_str()], value)),
        }
    }
    let values = match &values[..] {
        [(_, same)] => same.clone(),
        _ => values
            .iter()
            .map(|(dialects, value)| format!("{}: {value}", codes(dialects)))
            .collect::<Vec<_>>()
            .join("; "),
    };
    rows.push([code(&path.join(".")), schema["description"].as_str().unwrap_or_default().to_owned(), values]);
}

/// A value in a cell.
fn shown(value: &Value) -> String {
    match value {
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Null => "none".to_owned(),
        Value::Array(list) if list.is_empty() => "none".to_owned(),
        Value::Array(list) => list.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::String(text) if text.contains('`') => format!("`` {text} ``"),
        Value::String(text) => code(&text.replace('\n', "\\n")),
        other => other.to_string(),
    }
}
