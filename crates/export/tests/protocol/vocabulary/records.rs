//! Rules for the dialects' records, overlays already laid over their bases.

use super::*;

/// The schema of the records, which the bundle does not carry.
const RECORD: &str = include_str!("../../../../../schema/dialects/record.json");

pub fn records(bundle: &Value) -> Complaints {
    let schema: Value = serde_json::from_str(RECORD).expect("record.json is JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("record.json is a JSON Schema");
    let records = || items(&bundle["dialects"]);
    let is_base =
        |id: &Value| records().any(|record| record["frames"] == record["id"] && record["id"] == *id);
    let mut out = Complaints::new();
    let mut ids = Vec::new();
    for record in records() {
        let id = record["id"].as_str().unwrap_or_default();
        for error in validator.iter_errors(record) {
            let at = error.instance_path().to_string();
            out.push(format!("dialect {id}: {}{error}", if at.is_empty() { at } else { format!("{at}: ") }));
        }
        unknown_keys(&schema, record, &format!("dialect {id}"), &mut out);
        if record["extends"].is_string() && !is_base(&record["extends"]) {
            out.push(format!("dialect {id}: extends {}, which is no base dialect", record["extends"]));
        }
        if !["id", "extends"].iter().any(|key| record["frames"] == record[*key]) {
            out.push(format!(
                "dialect {id}: speaks the frames of {}, which it does not extend",
                record["frames"]
            ));
        }
        if ids.contains(&id) {
            out.push(format!("dialect {id}: there are two of it"));
        }
        ids.push(id);
    }
    out
}

fn unknown_keys(schema: &Value, record: &Value, at: &str, out: &mut Complaints) {
    for (key, value) in members(record) {
        match schema["properties"].get(key) {
            Some(property) => unknown_keys(property, value, &format!("{at}.{key}"), out),
            None if key == "x-source" && ["seed", "observed"].iter().any(|source| value == source) => {}
            None => out.push(format!("{at}: `{key}` is not in record.json")),
        }
    }
}
