//! The answers of the server as TypeScript types, for the page.

use super::wire;
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// The head of the file.
const HEAD: &str = "\
// What the page and the server of `pi-rpc inspect` say to each other. Written by `cargo bless`.
// Paths are relative to the page, whose address has the token.
";

/// Requests: method and path, the type of the body, the type of the answer.
const REQUESTS: &[(&str, &str, &str)] = &[
    ("GET api/session", "", "Session"),
    ("GET api/protocol", "", "Protocol"),
    ("GET api/schema", "", "the dialect's JSON Schema"),
    ("GET api/meta", "", "what `pi-rpc schema --format meta` prints"),
    ("GET api/chart.svg", "", "the chart as a drawing"),
    (
        "GET api/records?from&count&back&pos&near&dir&kind&hide&findings&changes&item&session&id&text&regex",
        "",
        "RecordPage",
    ),
    ("GET api/count?…the same filters", "", "MatchCount"),
    ("GET api/records/N", "", "RecordDetail"),
    ("GET api/records/N/text", "", "the whole line"),
    ("GET api/records/N/image?at=POINTER", "", "an image in it"),
    ("GET api/state/N", "", "Moment"),
    ("GET api/items?from&count&back&at", "", "ItemPage"),
    ("GET api/items/N?at", "", "Item"),
    ("GET api/findings?from&count&rule", "", "FindingPage"),
    ("GET api/timing", "", "Timing"),
    ("GET api/requests?from&count", "", "RequestPage"),
    ("GET api/copy/N?as=json|scenario|python|typescript|rust&to=M", "", "Copied"),
    ("POST api/send", "SendRequest", "Sent"),
    ("POST api/validate", "SendRequest", "Problems"),
    ("POST api/process", "ProcessRequest", "Session"),
    ("POST api/dialect", "DialectRequest", "Session"),
    ("GET api/sessions", "", "HostSessions"),
    ("POST api/attach", "AttachRequest", "Session"),
    ("GET api/scripts", "", "Scripts"),
    ("PUT api/scripts/NAME", "ScriptBody", "Scripts"),
    ("DELETE api/scripts/NAME", "", "Scripts"),
    ("POST api/scripts/NAME/run", "", "Scripts"),
    ("GET api/report", "", "the report of `check` as JSON"),
    ("GET api/report.html", "", "the same as a page"),
    ("GET api/recording", "", "the recording"),
    ("socket api/live", "FromPage", "FromServer"),
];

/// The types of all answers, and the list of requests.
pub fn contract() -> String {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut add = |schema: fn(&mut schemars::SchemaGenerator) -> Schema| {
        schema(&mut generator);
    };
    for root in [
        subschema::<wire::Session>,
        subschema::<wire::Protocol>,
        subschema::<wire::RecordPage>,
        subschema::<wire::MatchCount>,
        subschema::<wire::RecordDetail>,
        subschema::<wire::Moment>,
        subschema::<wire::ItemPage>,
        subschema::<wire::FindingPage>,
        subschema::<wire::Timing>,
        subschema::<wire::RequestPage>,
        subschema::<wire::Copied>,
        subschema::<wire::SendRequest>,
        subschema::<wire::Sent>,
        subschema::<wire::Problems>,
        subschema::<wire::ProcessRequest>,
        subschema::<wire::DialectRequest>,
        subschema::<wire::HostSessions>,
        subschema::<wire::AttachRequest>,
        subschema::<wire::Scripts>,
        subschema::<wire::ScriptBody>,
        subschema::<wire::Failure>,
        subschema::<wire::FromServer>,
        subschema::<wire::FromPage>,
    ] {
        add(root);
    }
    let mut definitions: Vec<(String, Value)> = generator.take_definitions(true).into_iter().collect();
    definitions.sort_by(|one, other| one.0.cmp(&other.0));
    let mut text = HEAD.to_owned();
    for (request, body, answer) in REQUESTS {
        let body = if body.is_empty() { String::new() } else { format!(" {body}") };
        // Writing to a string does not fail.
        let _ = writeln!(text, "// {request}{body} → {answer}");
    }
    text.push_str("// A request that fails is answered with a status from 400 on, and a Failure.\n");
    for (name, schema) in definitions {
        text.push('\n');
        comment(&schema, "", &mut text);
        let _ = match schema.get("properties").filter(|_| schema.get("oneOf").is_none()) {
            Some(_) => writeln!(text, "export interface {name} {}", object(&schema, "")),
            None => writeln!(text, "export type {name} = {};", type_of(&schema, "")),
        };
    }
    text
}

fn subschema<T: JsonSchema>(generator: &mut schemars::SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn comment(schema: &Value, indent: &str, out: &mut String) {
    if let Some(text) = schema["description"].as_str() {
        let _ = writeln!(out, "{indent}/** {} */", text.replace('\n', " "));
    }
}

fn object(schema: &Value, indent: &str) -> String {
    let empty = Map::new();
    let inner = format!("{indent}  ");
    let required =
        |name: &str| schema["required"].as_array().into_iter().flatten().any(|required| required == name);
    let mut text = "{\n".to_owned();
    for (name, property) in schema["properties"].as_object().unwrap_or(&empty) {
        comment(property, &inner, &mut text);
        let mark = if required(name) { "" } else { "?" };
        let _ = writeln!(text, "{inner}{name}{mark}: {};", type_of(property, &inner));
    }
    text + indent + "}"
}

fn type_of(schema: &Value, indent: &str) -> String {
    let own = own_type(schema, indent);
    match (schema["$ref"].as_str(), own) {
        (Some(reference), Some(own)) => format!("{own} & {}", name_of(reference)),
        (Some(reference), None) => name_of(reference).to_owned(),
        (None, own) => own.unwrap_or_else(|| "unknown".to_owned()),
    }
}

fn own_type(schema: &Value, indent: &str) -> Option<String> {
    if let Some(constant) = schema.get("const") {
        return Some(constant.to_string());
    }
    if let Some(values) = schema["enum"].as_array() {
        return Some(values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | "));
    }
    for union in ["oneOf", "anyOf"] {
        if let Some(branches) = schema[union].as_array() {
            let branches: Vec<String> = branches.iter().map(|branch| type_of(branch, indent)).collect();
            return Some(branches.join(" | "));
        }
    }
    if let Some(parts) = schema["allOf"].as_array() {
        return Some(parts.iter().map(|part| type_of(part, indent)).collect::<Vec<_>>().join(" & "));
    }
    let named = |name: &str| {
        Some(match name {
            "string" => "string".to_owned(),
            "integer" | "number" => "number".to_owned(),
            "boolean" => "boolean".to_owned(),
            "null" => "null".to_owned(),
            "array" => format!("Array<{}>", type_of(&schema["items"], indent)),
            "object" if schema["properties"].is_object() => object(schema, indent),
            "object" => "Record<string, unknown>".to_owned(),
            _ => return None,
        })
    };
    match &schema["type"] {
        Value::String(name) => named(name),
        Value::Array(names) => {
            let names: Vec<String> = names.iter().filter_map(Value::as_str).filter_map(named).collect();
            Some(names.join(" | "))
        }
        _ => None,
    }
}

fn name_of(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or_default()
}
