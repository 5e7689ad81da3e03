//! Error texts for lines that are not frames; they are in `snapshots/`, for review as a whole.

use crate::frames_common::{Choices, Frames, ref_name};
use pi_rpc_export::json_schema;
use pi_rpc_protocol::{Dialect, HostResponseKind, Inbound, LineError, read, read_line};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const BASES: [Dialect; 2] = [Dialect::Pi, Dialect::Xcsh];

/// A command with one field wrong.
struct Wrong {
    /// Member, as errors spell it.
    path: String,
    /// Its value; `None`: absent.
    value: Option<Value>,
    /// The whole command.
    line: Value,
}

/// Every command of the dialect with each of its members, at any depth, missing or wrong.
fn wrong_commands(dialect: Dialect) -> Vec<(String, Vec<Wrong>)> {
    let frames = Frames::of(dialect);
    let defs = &json_schema(dialect)["$defs"];
    let commands = frames.leaves("RpcCommand").into_iter();
    commands
        .map(|def| {
            let mut all = Vec::new();
            let whole = fullest(&frames, defs, &def);
            let kind = whole["type"].as_str().expect("a tag").to_owned();
            walk(defs, &defs[&def], "", "", &mut |path, pointer, value| {
                let mut line = whole.clone();
                match &value {
                    Some(value) => *line.pointer_mut(pointer).expect(pointer) = value.clone(),
                    None => remove(&mut line, pointer),
                }
                all.push(Wrong { path: path.to_owned(), value, line });
            });
            (kind, all)
        })
        .collect()
}

/// The simplest value of `def` that has every field, and one element in every list.
fn fullest(frames: &Frames, defs: &Value, def: &str) -> Value {
    fn of(frames: &Frames, defs: &Value, schema: &Value) -> Value {
        if let Some(name) = ref_name(schema) {
            return match defs[name].get("properties") {
                Some(_) => fullest(frames, defs, name),
                None => frames.value(name, &mut Choices::new(&[]), &mut BTreeSet::new()),
            };
        }
        match schema["type"].as_str() {
            _ if schema.get("const").is_some() => schema["const"].clone(),
            Some("array") => json!([of(frames, defs, &schema["items"])]),
            Some("boolean") => json!(true),
            _ => json!("text"),
        }
    }
    let properties = defs[def]["properties"].as_object().expect("an object");
    properties.iter().map(|(key, schema)| (key.clone(), of(frames, defs, schema))).collect()
}

/// Calls `spoil` with the path, the pointer and the wrong value of every field but the command's own tag.
fn walk(
    defs: &Value,
    def: &Value,
    path: &str,
    pointer: &str,
    spoil: &mut impl FnMut(&str, &str, Option<Value>),
) {
    let required: Vec<&str> =
        def["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (key, schema) in def["properties"].as_object().expect("an object") {
        if pointer.is_empty() && (key == "type" || key == "id") {
            continue;
        }
        let joint = if path.is_empty() { "" } else { "." };
        let (path, pointer) = (format!("{path}{joint}{key}"), format!("{pointer}/{key}"));
        if required.contains(&key.as_str()) {
            spoil(&path, &pointer, None);
        }
        field(defs, schema, &path, &pointer, !required.contains(&key.as_str()), spoil);
    }
}

fn field(
    defs: &Value,
    schema: &Value,
    path: &str,
    pointer: &str,
    is_optional: bool,
    spoil: &mut impl FnMut(&str, &str, Option<Value>),
) {
    let schema = ref_name(schema).map_or(schema, |name| &defs[name]);
    let wrong = match schema["type"].as_str() {
        Some("string") => json!(5),
        Some("array") => json!({}),
        None if schema["const"].is_string() => json!(5),
        _ => json!("text"),
    };
    spoil(path, pointer, Some(wrong));
    if !is_optional {
        spoil(path, pointer, Some(Value::Null));
    }
    if schema.get("enum").is_some() || schema.get("const").is_some() {
        spoil(path, pointer, Some(json!("nonsense")));
    }
    if schema["type"] == "array" {
        field(defs, &schema["items"], &format!("{path}[0]"), &format!("{pointer}/0"), false, spoil);
    }
    if schema.get("properties").is_some() {
        spoil(path, pointer, Some(json!([])));
        walk(defs, schema, path, pointer, spoil);
    }
}

fn remove(line: &mut Value, pointer: &str) {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let parent = line.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object");
    parent.shift_remove(key).expect("a field");
}

fn reason(line: &[u8], dialect: Dialect) -> String {
    match read::<Inbound>(line, dialect) {
        Err(error) => error.to_string(),
        Ok(frame) => panic!("{}: {frame:?}", String::from_utf8_lossy(line)),
    }
}

/// A frame with its members in the reverse order: its type comes last.
fn backwards(frame: &Value) -> String {
    let members = frame.as_object().expect("an object").clone().into_iter();
    Value::Object(members.rev().collect()).to_string()
}

#[test]
fn wrong_field_is_named_with_expected_type() {
    let mut rows: Vec<(String, String, Vec<&str>)> = Vec::new();
    for dialect in BASES {
        for (kind, wrongs) in wrong_commands(dialect) {
            for wrong in wrongs {
                let text = reason(wrong.line.to_string().as_bytes(), dialect);
                let (parent, field) = wrong.path.rsplit_once('.').unwrap_or(("", &wrong.path));
                let names_it = match &wrong.value {
                    Some(_) => text.starts_with(&format!("`{}`: ", wrong.path)) && text.contains("expected "),
                    None => text.contains(&format!("missing field `{field}`")) && text.contains(parent),
                };
                assert!(names_it, "{}: {text}", wrong.line);
                let backwards = backwards(&wrong.line);
                assert_eq!(reason(backwards.as_bytes(), dialect), text, "{backwards}");
                let value = wrong.value.map_or("absent".to_owned(), |value| value.to_string());
                let place = format!("{kind} {} {value}", wrong.path);
                match rows.iter_mut().find(|(known, told, _)| *known == place && *told == text) {
                    Some((.., dialects)) => dialects.push(dialect.as_str()),
                    None => rows.push((place, text, vec![dialect.as_str()])),
                }
            }
        }
    }
    let table = rows.into_iter().map(|(place, text, dialects)| {
        let only = if dialects.len() == 2 { String::new() } else { format!(" ({} only)", dialects[0]) };
        format!("{place}{only}\n    {text}\n")
    });
    snapshot("field_errors", &table.collect::<String>());
}

#[test]
fn foreign_field_is_ignored() {
    let line = br#"{"type":"prompt","message":"x","locale":5}"#;
    assert!(matches!(read_line(line, Dialect::Pi), Ok(Some(Inbound::Command(_)))));
    assert_eq!(reason(line, Dialect::Xcsh), "`locale`: invalid type: integer `5`, expected a string");
}

/// Lines that are hard to read, by their problem.
fn hostile_lines() -> Vec<(&'static str, Vec<u8>)> {
    let nested = |open: &str, close: &str| {
        format!(r#"{{"id":"a","type":"prompt","message":{}0{}}}"#, open.repeat(20_000), close.repeat(20_000))
    };
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        ("not JSON", text("hello")),
        ("half of an object", text(r#"{"id":"a","type":"pro"#)),
        ("single quotes", text("{'type':'abort'}")),
        ("a comment", text(r#"{"type":"abort"} // stop"#)),
        ("a trailing comma", text(r#"{"type":"abort",}"#)),
        ("empty", text("")),
        ("blanks", text(" \t ")),
        ("only a carriage return", text("\r")),
        ("null", text("null")),
        ("a number", text("42")),
        ("an array", text("[]")),
        ("an array that holds a command", text(r#"[{"id":"a","type":"abort"}]"#)),
        ("a string", text(r#""x""#)),
        ("an empty object", text("{}")),
        ("no type", text(r#"{"id":"a"}"#)),
        ("type null", text(r#"{"id":"a","type":null}"#)),
        ("type a number", text(r#"{"id":"a","type":5}"#)),
        ("type an object", text(r#"{"id":"a","type":{}}"#)),
        ("type empty", text(r#"{"id":"a","type":""}"#)),
        ("type with other case", text(r#"{"id":"a","type":"Prompt"}"#)),
        ("an unknown command with id", text(r#"{"id":"a","type":"fly"}"#)),
        ("an unknown command without id", text(r#"{"type":"fly"}"#)),
        ("a command of xcsh only", text(r#"{"id":"a","type":"set_todos"}"#)),
        ("a command of pi only", text(r#"{"id":"a","type":"fork"}"#)),
        ("what only servers say", text(r#"{"id":"a","type":"agent_start"}"#)),
        ("an answer to no dialog", text(r#"{"type":"extension_ui_response","id":"a"}"#)),
        (
            "two answers at once",
            text(r#"{"type":"extension_ui_response","id":"a","value":"x","cancelled":true}"#),
        ),
        ("a host tool result without result", text(r#"{"type":"host_tool_result","id":"a"}"#)),
        ("a key twice", text(r#"{"id":"a","type":"abort","type":"abort"}"#)),
        ("the id twice", text(r#"{"id":"a","id":"b","type":"abort"}"#)),
        ("an unknown key twice", text(r#"{"id":"a","type":"abort","x":1,"x":2}"#)),
        (
            "a key twice further in",
            text(
                r#"{"id":"a","type":"prompt","message":"x","images":[{"type":"image","data":"","data":""}]}"#,
            ),
        ),
        (
            "a key twice in what is not looked at",
            text(r#"{"id":"a","type":"abort","x":[{"y":1,"\u0079":2}]}"#),
        ),
        ("invalid UTF-8", b"{\"id\":\"a\",\"type\":\"prompt\",\"message\":\"\xff\"}".to_vec()),
        ("UTF-8 cut off", b"{\"id\":\"a\",\"type\":\"prompt\",\"message\":\"\xf0\x9f\"}".to_vec()),
        ("UTF-16", "{\"type\":\"abort\"}".encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("a NUL byte in a string", text("{\"id\":\"a\",\"type\":\"prompt\",\"message\":\"\0\"}")),
        ("a NUL byte behind", text("{\"id\":\"a\",\"type\":\"abort\"}\0")),
        ("a tab in a string", text("{\"id\":\"a\",\"type\":\"prompt\",\"message\":\"\t\"}")),
        ("a byte order mark", text("\u{feff}{\"id\":\"a\",\"type\":\"abort\"}")),
        ("two byte order marks", text("\u{feff}\u{feff}{\"id\":\"a\",\"type\":\"abort\"}")),
        ("only a byte order mark", text("\u{feff}")),
        ("garbage behind", text(r#"{"id":"a","type":"abort"} x"#)),
        ("two objects", text(r#"{"id":"a","type":"abort"}{"id":"b","type":"abort"}"#)),
        ("CR LF", text("{\"id\":\"a\",\"type\":\"abort\"}\r")),
        ("two carriage returns", text("{\"id\":\"a\",\"type\":\"abort\"}\r\r")),
        ("20,000 arrays in each other", nested("[", "]").into_bytes()),
        ("20,000 objects in each other", nested(r#"{"x":"#, "}").into_bytes()),
        ("20,000 brackets that never close", "[".repeat(20_000).into_bytes()),
        ("half a surrogate pair", text(r#"{"id":"a","type":"prompt","message":"\ud83d"}"#)),
        ("half a surrogate pair in a key", text(r#"{"id":"a","type":"abort","\udc00":1}"#)),
        ("a number too large for a double", text(r#"{"id":"a","type":"abort","x":1e999}"#)),
        ("NaN", text(r#"{"id":"a","type":"abort","x":NaN}"#)),
        ("a number as id", text(r#"{"id":5,"type":"fly"}"#)),
        ("a number as id of a command", text(r#"{"id":5,"type":"abort"}"#)),
        ("a large number as id", text(r#"{"id":18446744073709551615,"type":"prompt"}"#)),
        ("a fraction as id", text(r#"{"id":0.5,"type":"prompt"}"#)),
        ("a truth value as id", text(r#"{"id":true,"type":"prompt"}"#)),
        ("null as id", text(r#"{"id":null,"type":"prompt"}"#)),
        ("an object as id", text(r#"{"id":{"a":1},"type":"prompt","message":"x"}"#)),
        ("an array as id of an unknown command", text(r#"{"id":[],"type":"fly"}"#)),
        ("null for an optional field", text(r#"{"id":"a","type":"steer","message":"x","images":null}"#)),
        ("null for a required field", text(r#"{"id":"a","type":"steer","message":null,"images":null}"#)),
        ("a field missing", text(r#"{"id":"a","type":"prompt"}"#)),
        ("a field missing, the type last", text(r#"{"id":"a","message":5,"type":"prompt"}"#)),
    ]
}

fn response(line: &[u8], dialect: Dialect) -> String {
    match read_line(line, dialect) {
        Ok(None) => "skipped".to_owned(),
        Ok(Some(frame)) => format!("read as {}", serde_json::to_string(&frame).expect("JSON")),
        Err(error) if !error.is_answered() => format!("no answer: {error:?}"),
        Err(error) => serde_json::to_string(&error.response(dialect)).expect("JSON"),
    }
}

#[test]
fn every_hostile_line_gets_one_clear_answer() {
    let mut table = String::new();
    for (name, line) in hostile_lines() {
        let [pi, xcsh] = BASES.map(|dialect| response(&line, dialect));
        for overlay in [Dialect::Pi058, Dialect::Pi0584] {
            assert_eq!(response(&line, overlay), pi, "{name}");
        }
        table += &match pi == xcsh {
            true => format!("{name}\n    both: {pi}\n"),
            false => format!("{name}\n    pi:   {pi}\n    xcsh: {xcsh}\n"),
        };
    }
    snapshot("hostile_lines", &table);
}

/// Compares a text with the one in `snapshots`.
fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn host_responses_of_a_dialect_are_frames() {
    for dialect in [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh, Dialect::Omp] {
        for kind in HostResponseKind::ALL {
            let line = format!(r#"{{"id":"a","type":"{kind}"}}"#, kind = kind.as_str());
            let is_unknown = matches!(read_line(line.as_bytes(), dialect), Err(LineError::Unknown { .. }));
            assert_eq!(is_unknown, !kind.is_in(dialect.base()), "{dialect}: {}", kind.as_str());
        }
    }
}
