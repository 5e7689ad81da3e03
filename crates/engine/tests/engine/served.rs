//! Exactly the commands that the schema marks as not served are refused.

use pi_rpc_export::{Examples, json_schema, meta};
use pi_rpc_protocol::Dialect::{Pi, Pi1, Xcsh};
use pi_rpc_test_kit::{scenario, shorthand::*};
use serde_json::json;

#[test]
fn unserved_commands_alone_are_not_implemented() {
    let mut refused = Vec::new();
    for dialect in [Pi, Pi1, Xcsh] {
        let (schema, examples) = (json_schema(dialect), Examples::new());
        for command in meta(dialect).commands {
            let mut frame = examples.of(&schema["$defs"], &command.request);
            frame["id"] = json!("it");
            let played = scenario(json!([says("One."), says("Two.")])).host(0, frame).finish(dialect);
            let answers = played.answers("it");
            let is_refused = answers.iter().any(|answer| {
                answer["error"]
                    .as_str()
                    .is_some_and(|error| error.contains("is not implemented by this version"))
            });
            assert_eq!(is_refused, !command.served, "{dialect}: {}: {answers:?}", command.r#type);
            refused.extend(is_refused.then_some((dialect, command.r#type)));
        }
    }
    let wanted = ["set_locale", "get_integrations"].map(|name| (Xcsh, name.to_owned()));
    assert_eq!(refused, wanted);
}
