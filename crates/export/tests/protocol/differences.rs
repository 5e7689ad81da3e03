//! `--diff` for single changes: whom they break, and the version that they require.

use pi_rpc_export::{Bump, bump, diff, json_schema, meta};
use pi_rpc_protocol::Dialect;
use serde_json::{Value, json};

/// Change (a JSON pointer and the new value; null removes it), the expected differences, and the required bump.
type Row = (&'static str, Value, &'static [(&'static str, &'static str)], Bump);

const BOTH: &str = "both";
const CLIENTS: &str = "clients";
const SERVERS: &str = "servers";
const NOBODY: &str = "nobody";

#[track_caller]
fn all_are_told(old: &Value, rows: Vec<Row>) {
    for (pointer, value, expected, asked) in rows {
        let mut new = old.clone();
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        match (new.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}")), value) {
            (Value::Object(map), Value::Null) => assert!(map.shift_remove(key).is_some(), "{pointer}"),
            (Value::Object(map), value) => drop(map.insert(key.to_owned(), value)),
            (Value::Array(list), Value::Null) => drop(list.remove(key.parse().expect("an index"))),
            (Value::Array(list), value) => list[key.parse::<usize>().expect("an index")] = value,
            (other, _) => panic!("{pointer}: {other}"),
        }
        let found = diff(old, &new).unwrap_or_else(|error| panic!("{pointer}: {error}"));
        let told: Vec<(String, &str)> = found
            .iter()
            .map(|it| {
                let whom = match (it.breaks_client, it.breaks_server) {
                    (true, true) => BOTH,
                    (true, false) => CLIENTS,
                    (false, true) => SERVERS,
                    (false, false) => NOBODY,
                };
                (format!("{}: {}", it.at, it.what), whom)
            })
            .collect();
        let told: Vec<(&str, &str)> = told.iter().map(|(text, whom)| (text.as_str(), *whom)).collect();
        assert_eq!(told, expected, "{pointer}");
        assert_eq!(bump(old, &new), Ok(asked), "{pointer}");
    }
}

#[test]
fn frame_change_lists_broken_sides() {
    let text = || json!({ "type": "string" });
    let rows: Vec<Row> = vec![
        ("/$defs/AgentEndEvent/description", json!("It ends."), &[], Bump::Patch),
        ("/$id", json!("urn:pi-rpc:pi:7.0.0"), &[], Bump::None),
        (
            "/$defs/AgentEndEvent/properties/why",
            text(),
            &[("AgentEndEvent: `why` is new and optional", NOBODY)],
            Bump::Minor,
        ),
        (
            "/$defs/AgentEndEvent/properties/messages",
            Value::Null,
            &[("AgentEndEvent: `messages`, which was required, is gone", CLIENTS)],
            Bump::Major,
        ),
        (
            "/$defs/AgentEndEvent/required",
            json!(["type"]),
            &[("AgentEndEvent: `messages` is optional, was required", CLIENTS)],
            Bump::Major,
        ),
        (
            "/$defs/SteerCommand/required",
            json!(["type"]),
            &[("SteerCommand: `message` is optional, was required", SERVERS)],
            Bump::Major,
        ),
        (
            "/$defs/PromptCommand/required",
            json!(["type", "message", "images"]),
            &[("PromptCommand: `images` is required, was optional", CLIENTS)],
            Bump::Major,
        ),
        // Written by either side.
        (
            "/$defs/QueueMode/enum/0",
            Value::Null,
            &[("QueueMode: may no longer be \"all\"", BOTH)],
            Bump::Major,
        ),
        (
            "/$defs/StopReason/enum/0",
            Value::Null,
            &[("StopReason: may no longer be \"stop\"", SERVERS)],
            Bump::Major,
        ),
        (
            "/$defs/RpcCommand/discriminator/mapping/steer",
            json!("#/$defs/FollowUpCommand"),
            &[
                ("RpcCommand(steer).type: may also be \"follow_up\"", SERVERS),
                ("RpcCommand(steer).type: may no longer be \"steer\"", CLIENTS),
            ],
            Bump::Major,
        ),
        (
            "/$defs/SteerCommand/properties/message/minLength",
            json!(1),
            &[("SteerCommand.message: `minLength` is 1, was null", BOTH)],
            Bump::Major,
        ),
        (
            "/$defs/SteerCommand/additionalProperties",
            json!(false),
            &[("SteerCommand.*: is false, was {}", BOTH)],
            Bump::Major,
        ),
    ];
    all_are_told(&json_schema(Dialect::Pi), rows);
}

#[test]
fn behaviour_change_lists_broken_sides() {
    let rows: Vec<Row> = vec![
        (
            "/commands/0/states/streaming.turn/0",
            Value::Null,
            &[(
                "commands prompt: states.streaming.turn: is reject (busy), was queue if streamingBehavior is steer or followUp, else reject (busy)",
                CLIENTS,
            )],
            Bump::Major,
        ),
        (
            "/commands/0/states/streaming.turn/0/when/is",
            json!(["steer"]),
            &[(
                "commands prompt: states.streaming.turn: is queue if streamingBehavior is steer, else reject (busy), was queue if streamingBehavior is steer or followUp, else reject (busy)",
                CLIENTS,
            )],
            Bump::Major,
        ),
        ("/commands/1", Value::Null, &[("commands steer: is gone", CLIENTS)], Bump::Major),
        ("/events/0", Value::Null, &[("events agent_start: is gone", CLIENTS)], Bump::Major),
        (
            "/dialogs/0/answer",
            json!("confirmed"),
            &[("dialogs select: answer: is \"confirmed\", was \"value\"", BOTH)],
            Bump::Major,
        ),
        (
            "/commands/0/response",
            json!("SteerResponse"),
            &[("commands prompt: response: is \"SteerResponse\", was \"PromptResponse\"", NOBODY)],
            Bump::Minor,
        ),
        ("/rules/framing", Value::Null, &[("rules framing: is absent, was \"MUST\"", CLIENTS)], Bump::Major),
        ("/limits/frame", json!(1), &[("limits frame: is 1, was 67108864", NOBODY)], Bump::Minor),
        (
            "/errors/busy/text",
            json!("Busy."),
            &[(
                "errors busy: is \"Busy.\", was \"Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.\"",
                NOBODY,
            )],
            Bump::Minor,
        ),
        (
            "/chart/regions/1/transitions/0",
            Value::Null,
            &[("chart asks: none → awaiting_ui: extension_ui_request of a dialog: is gone", NOBODY)],
            Bump::Minor,
        ),
        ("/commands/0/description", json!("Prompts."), &[], Bump::Patch),
        ("/commands/7/data/description", json!("The model."), &[], Bump::Patch),
    ];
    all_are_told(&json!(meta(Dialect::Pi)), rows);
}

#[test]
fn def_names_do_not_count_as_differences() {
    let old = json_schema(Dialect::Pi);
    let text = old.to_string().replace("#/$defs/Usage\"", "#/$defs/Use\"");
    let mut new: Value = serde_json::from_str(&text).expect("JSON");
    let usage = new["$defs"]["Usage"].take();
    new["$defs"]["Use"] = usage;
    new["$defs"].as_object_mut().expect("defs").shift_remove("Usage");
    assert_eq!(diff(&old, &new), Ok(Vec::new()));
    let mut new = old.clone();
    new["$defs"]["Count"]["type"] = json!("number");
    let found = diff(&old, &new).expect("both exported");
    let told: Vec<(&str, bool, bool)> =
        found.iter().map(|it| (it.what.as_str(), it.breaks_client, it.breaks_server)).collect();
    // Hosts write counts in dialogs of their own, too.
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].0, told[0].1), ("may be a fraction", true));
}
