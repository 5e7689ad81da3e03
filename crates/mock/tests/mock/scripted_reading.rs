//! Reading script files: what is accepted, how errors are told, the schema.

use std::fs;
use std::path::Path;

use pi_rpc_model::scripted::{Input, Script, script_schema};
use serde_json::{Value, json};

/// The error of a script with these `turns`.
fn error_of(turns: Value) -> String {
    let text = json!({ "turns": turns }).to_string();
    Script::from_json(&text).expect_err(&text).to_string()
}

#[test]
fn examples_are_scripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scripts");
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let script = Script::from_json(&fs::read_to_string(&path).unwrap());
        assert!(!script.unwrap().turns().is_empty(), "{path:?}");
        names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
    }
    names.sort();
    assert_eq!(names, ["errors.json", "extensions.json", "full.json", "hang.json", "tools.json"]);
}

#[test]
fn model_card_gets_defaults() {
    let script = Script::from_json(
        r#"{"$schema": "x", "model": {"name": "Me", "input": ["text", "image"], "cost": {"cacheWrite": 3.75}}, "turns": []}"#,
    );
    let card = script.unwrap().model;
    assert_eq!(card.name.as_deref(), Some("Me"));
    assert_eq!(card.input, [Input::Text, Input::Image]);
    assert_eq!((card.context_window, card.max_tokens, card.reasoning), (128_000, 16_384, false));
    assert_eq!((card.cost.input, card.cost.cache_write), (0.0, 3.75));
}

#[test]
fn script_errors_name_place_and_expectation() {
    let cases = [
        (json!({}), "turns", "invalid type: map, expected a sequence"),
        (json!([{"sya": []}]), "turns[0].sya", "unknown field `sya`, expected one of `match`"),
        (json!([{}, {"repeat": 1}]), "turns[1].repeat", "expected a boolean"),
        (json!([{"stop": "end"}]), "turns[0].stop", "expected one of `stop`, `length`, `toolUse`"),
        (json!([{"say": [{"text": "a"}, {"size": 5}]}]), "turns[0].say[1]", "`text`, `thinking`, `tool`"),
        (json!([{"say": [{"text": "a", "delayMs": "1"}]}]), "turns[0].say[0]", "`delayMs`: invalid type"),
        (json!([{"say": [{"text": "a", "tool": "b"}]}]), "turns[0].say[0]", "`text`: unknown field"),
        (json!([{"say": [{"tool": "b", "arguments": []}]}]), "turns[0].say[0]", "`arguments`: invalid type"),
        (json!([{"match": 3}]), "turns[0].match", "expected a text to look for, or {\"regex\""),
        (json!([{"match": {"regex": "("}}]), "turns[0].match", "found open group without closing"),
        (json!([{"fail": {"status": "529"}}]), "turns[0].fail.status", "expected u16"),
    ];
    let contradictions = [
        (json!([{"fail": {"status": 200}}]), "turns[0].fail.status"),
        (json!([{"fail": {}}]), "turns[0].fail"),
        (json!([{"fail": {"message": ""}}]), "turns[0].fail"),
        (json!([{"fail": {"body": {}}}]), "turns[0].fail"),
        (json!([{"fail": {"status": 500, "body": {}, "kind": "x"}}]), "turns[0].fail"),
        (json!([{"say": [{"text": "a"}], "fail": {"status": 500, "body": ""}}]), "turns[0].fail.body"),
        (json!([{"fail": {"status": 500}, "hang": true}]), "turns[0]"),
        (json!([{"stop": "stop", "hang": true}]), "turns[0]"),
        (json!([{"say": [{"text": "a"}], "afterDeltas": 1}]), "turns[0]"),
        (json!([{"hang": true, "afterDeltas": 1}]), "turns[0]"),
        (json!([{"fail": {"message": "reset", "retryAfter": 1}}]), "turns[0].fail"),
        (json!([{"say": [{"text": "a"}], "fail": {"status": 529, "retryAfter": 1}}]), "turns[0].fail"),
        (json!([{"say": [{"tool": "a", "arguments": {}, "rawArguments": ""}]}]), "turns[0].say[0]"),
        (json!([{"say": [{"text": "a", "times": 1, "deltas": 1}]}]), "turns[0].say[0]"),
        (json!([{"say": [{"text": "", "deltas": 1}]}]), "turns[0].say[0]"),
        (json!([{"say": [{"deltas": 1}], "size": 0}]), "turns[0].say[0]"),
        (json!([{"say": [{"deltas": 4_000_000_000_u32, "size": 4_000_000_000_u32}]}]), "turns[0].say[0]"),
        (json!([{"say": [{"text": "ab", "times": 4_000_000_000_u32}]}]), "turns[0].say[0]"),
    ];
    for (turns, path, expected) in
        cases.into_iter().chain(contradictions.map(|(turns, path)| (turns, path, "")))
    {
        let error = error_of(turns.clone());
        assert!(error.starts_with(&format!("script error at {path}: ")), "{turns}: {error}");
        assert!(error.contains(expected), "{turns}: {error}");
    }
}

#[test]
fn invalid_json_names_its_line() {
    for text in ["", "{\n\"turns\": [,]}", r#"{"turns": []} x"#] {
        let error = Script::from_json(text).expect_err(text).to_string();
        assert!(error.starts_with("the script is not JSON: "), "{error}");
        assert!(error.contains("line "), "{error}");
    }
}

#[test]
fn schema_describes_every_block() {
    let schema = script_schema();
    assert_eq!(schema["title"], "pi-rpc script");
    assert_eq!(schema["required"], json!(["turns"]));
    let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["$schema", "model", "turns"]);

    let required = |name: &str| &schema["$defs"][name]["required"];
    let kinds = schema["$defs"]["Block"]["anyOf"].as_array().unwrap();
    let required: Vec<&Value> = kinds
        .iter()
        .map(|kind| kind["$ref"].as_str().unwrap().trim_start_matches("#/$defs/"))
        .map(required)
        .collect();
    let expected =
        [json!(["text"]), json!(["thinking"]), json!(["tool"]), json!(["redacted"]), json!(["deltas"])];
    assert_eq!(required, expected.iter().collect::<Vec<_>>());

    let is_closed = |def: &Value| def["type"] != "object" || def["additionalProperties"] == false;
    assert!(schema["$defs"].as_object().unwrap().values().all(is_closed), "{schema:#}");
}
