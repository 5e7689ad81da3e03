//! Arguments as models write them: what fits, what is made to fit, and the text that a model reads when nothing helps.

use pi_rpc_engine::Toolbox;
use pi_rpc_protocol::Dialect;
use pi_rpc_tools as tools;
use serde_json::{Value, json};

fn check(tool: &str, arguments: Value) -> Result<Value, String> {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let toolbox = Toolbox::new(tools::specs(&Dialect::Pi.record().tools));
    toolbox.check(Dialect::Pi.base(), tool, &arguments).map(Value::Object)
}

#[test]
fn fitting_arguments_stay_as_they_are() {
    let given = json!({"path": "a", "offset": 2, "limit": 1.5, "extra": {"kept": true}});
    assert_eq!(check("read", given.clone()), Ok(given));
}

#[test]
fn scalars_of_wrong_type_are_coerced() {
    assert_eq!(check("read", json!({"path": 5, "offset": "7"})), Ok(json!({"path": "5", "offset": 7})));
    assert_eq!(
        check("bash", json!({"command": true, "timeout": "0.5"})),
        Ok(json!({"command": "true", "timeout": 0.5}))
    );
}

#[test]
fn null_optional_argument_counts_as_absent() {
    assert_eq!(check("ls", json!({"path": null, "limit": null})), Ok(json!({})));
}

#[test]
fn every_problem_is_listed_with_received_arguments() {
    let expected = "Validation failed for tool \"read\":\n  - path: must have required property 'path'\n  \
                    - offset: must be number\n\n\
                    Received arguments:\n{\n  \"offset\": \"many\",\n  \"other\": [\n    1\n  ]\n}";
    assert_eq!(check("read", json!({"offset": "many", "other": [1]})), Err(expected.to_owned()));
}

#[test]
fn numbers_that_are_none_are_refused() {
    for text in ["inf", "NaN", "1e400", ""] {
        assert!(check("ls", json!({"limit": text})).is_err(), "{text}");
    }
}

#[test]
fn an_unknown_tool_is_named() {
    assert_eq!(check("fly", json!({})), Err("Tool fly not found".to_owned()));
}
