//! Scenario files: what fits a pattern, what a name stands for, and what is told of a file that is wrong.

use pi_rpc::{
    oracle::scenario::{Pattern, Scenario, Variables},
    protocol::Dialect,
};
use serde_json::{Value, json};

#[test]
fn pattern_matches_only_its_named_parts() {
    let frame = json!({
        "type": "response", "n": 1, "none": null, "list": [{ "role": "user" }, { "role": "assistant" }], "text": "one two",
    });
    let rows: [(Value, bool); 25] = [
        (json!({}), true),
        (json!({ "type": "response" }), true),
        (json!({ "type": "event" }), false),
        (json!({ "n": 1.0 }), true),
        (json!({ "none": null }), true),
        (json!({ "missing": null }), false),
        (json!({ "missing": { "$absent": true } }), true),
        (json!({ "none": { "$absent": true } }), false),
        (json!({ "none": { "$any": true } }), true),
        (json!({ "missing": { "$any": true } }), false),
        (json!({ "missing": {} }), false),
        (json!({ "list": [{ "role": "user" }, {}] }), true),
        (json!({ "list": [{ "role": "user" }] }), false),
        (json!({ "list": { "$contains": { "role": "assistant" } } }), true),
        (json!({ "list": { "$contains": { "role": "custom" } } }), false),
        (json!({ "text": { "$contains": "two" } }), true),
        (json!({ "text": { "$prefix": "one" } }), true),
        (json!({ "text": { "$prefix": "two" } }), false),
        (json!({ "text": { "$reason": "one {number}" } }), true),
        (json!({ "text": { "$reason": "two {number}" } }), false),
        (json!({ "text": { "$reason": "{number}" } }), true),
        (json!({ "n": { "$one": [0, 1] } }), true),
        (json!({ "n": { "$one": [] } }), false),
        (json!({ "n": { "$not": 2 } }), true),
        (json!({ "list": { "$not": { "$contains": { "role": "user" } } } }), false),
    ];
    for (pattern, expected) in rows {
        let fits = Pattern::try_from(pattern.clone()).unwrap().fits(&frame);
        assert_eq!(fits, expected, "{pattern}");
    }
}

/// A server that refuses everything, whatever the reason, passes no scenario that expects a refusal.
#[test]
fn expected_refusals_name_their_reason() {
    fn lacks_reason(value: &Value) -> bool {
        match value {
            Value::Object(members) => {
                let refuses = members.get("success") == Some(&json!(false))
                    && members.get("type") != Some(&json!("auto_retry_end"));
                (refuses && !members.contains_key("error")) || members.values().any(lacks_reason)
            }
            Value::Array(items) => items.iter().any(lacks_reason),
            _ => false,
        }
    }
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let lacking: Vec<_> = files
        .filter(|path| lacks_reason(&serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()))
        .collect();
    assert!(lacking.is_empty(), "add a pattern for `error`: {lacking:?}");
}

#[test]
fn name_is_replaced_by_its_value() {
    let mut variables = Variables::default();
    variables.set("id", "a");
    variables.set("n", 7);
    let filled = variables.fill(&json!({ "${id}": ["${n}", "${n}${id}", "${", "$n"], "x": true }));
    assert_eq!(filled, Ok(json!({ "a": [7, "7a", "${", "$n"], "x": true })));
    assert_eq!(variables.fill_text("${other}"), Err("`${other}` has no value here".to_owned()));
}

#[test]
fn invalid_file_is_reported_with_place() {
    let with = |steps: Value| json!({ "name": "a", "title": "A.", "steps": steps }).to_string();
    let rows = [
        ("{".to_owned(), "the scenario is not JSON: EOF while parsing an object at line 1 column 1"),
        ("{}".to_owned(), "scenario error at .: missing field `name` at line 1 column 2"),
        (
            with(json!([{}])),
            "scenario error at steps[0]: expected one of the keys send, sendRaw, ask, expect, idle, put, expectFile, signal, closeInput, closeOutput, reading, expectExit, restart, only",
        ),
        (
            with(json!([{ "send": {}, "withinMs": 1 }])),
            "scenario error at steps[0]: `withinMs`: unknown field `withinMs`, expected `send`",
        ),
        (
            with(json!([{ "expect": { "a": { "$some": 1 } } }])),
            "scenario error at steps[0]: `expect`: `$some` is none of $any, $absent, $prefix, $contains, $reason, $one, $not",
        ),
        (
            with(json!([{ "expect": [] }])),
            "scenario error at steps[0]: `expect`: expected at least one pattern",
        ),
        (
            with(json!([{ "expect": { "$any": 1 } }])),
            "scenario error at steps[0]: `expect`: `$any`: expected true",
        ),
        (with(json!([{ "idle": false }])), "scenario error at steps[0]: `idle`: expected true"),
        (
            with(json!([{ "only": ["none"], "steps": [] }])),
            "scenario error at steps[0]: `only`: unknown dialect \"none\"; known: DIALECTS",
        ),
    ];
    let known = Dialect::ALL.map(|it| it.as_str()).join(", ");
    for (text, expected) in rows {
        let expected = expected.replace("DIALECTS", &known);
        let error = Scenario::from_json(&text).expect_err(&text).to_string();
        // serde_json adds where in the text the step ends.
        let told = error.split(" at line").next().unwrap_or_default();
        assert_eq!(told, expected.split(" at line").next().unwrap_or_default(), "{text}");
    }
}

#[test]
fn base_includes_its_overlays() {
    let scenario = |dialects: Value| {
        let text = json!({ "name": "a", "title": "A.", "dialects": dialects, "steps": [] }).to_string();
        let scenario = Scenario::from_json(&text).unwrap();
        Dialect::ALL.into_iter().filter(|dialect| scenario.is_for(*dialect)).collect::<Vec<_>>()
    };
    assert_eq!(scenario(json!([])), Dialect::ALL);
    assert_eq!(scenario(json!(["pi"])), [Dialect::Pi, Dialect::Pi058, Dialect::Pi0584]);
    assert_eq!(scenario(json!(["pi@0.58"])), [Dialect::Pi058]);
    assert_eq!(scenario(json!(["xcsh"])), [Dialect::Xcsh]);
    assert_eq!(scenario(json!(["pi", "!pi@0.58"])), [Dialect::Pi, Dialect::Pi0584]);
}
