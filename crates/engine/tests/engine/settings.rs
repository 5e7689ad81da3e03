//! Events about names, thinking levels and context usage, in the dialects that have them.

use pi_rpc_protocol::Dialect::{self, Pi, Pi1, Pi073};
use pi_rpc_test_kit::{Scenario, scenario, shorthand::*};
use serde_json::{Value, json};

const TELLING: [Dialect; 2] = [Pi073, Pi1];

fn named(id: &str, name: &str) -> Value {
    json!({ "id": id, "type": "set_session_name", "name": name })
}

fn level(level: &str) -> Value {
    json!({ "id": level, "type": "set_thinking_level", "level": level })
}

fn model(id: &str) -> Value {
    json!({ "id": id, "type": "set_model", "provider": "scripted", "modelId": id })
}

/// At once, in that order.
fn asked(frames: &[Value]) -> Scenario {
    frames.iter().fold(scenario(json!([])), |scenario, frame| scenario.host(0, frame.clone()))
}

fn shape(scenario: &Scenario, dialect: Dialect) -> String {
    scenario.finish(dialect).shape().join(" · ")
}

#[test]
fn name_event_precedes_response_even_unchanged() {
    let names = asked(&[named("a", "  mine "), named("b", "mine"), named("c", " ")]);
    for dialect in TELLING {
        assert_eq!(shape(&names, dialect), "named mine · ok a · named mine · ok b · no c", "{dialect}");
    }
    assert_eq!(shape(&names, Pi), "ok a · ok b · no c");
}

#[test]
fn pi_1_joins_name_lines() {
    let name = |dialect| {
        let played = asked(&[named("a", " one\r\n\ntwo  three\t\n")]).finish(dialect);
        played.last("session_info_changed")["name"].clone()
    };
    assert_eq!(name(Pi1), "one two  three");
    assert_eq!(name(Pi073), "one\r\n\ntwo  three");
}

#[test]
fn level_event_comes_only_on_change() {
    let levels = asked(&[level("high"), level("high"), level("xhigh"), command("cycle_thinking_level")]);
    for dialect in TELLING {
        let expected = "level high · ok high · ok high · ok xhigh · level off · ok cycle_thinking_level";
        assert_eq!(shape(&levels, dialect), expected, "{dialect}");
    }
}

#[test]
fn model_without_thinking_turns_level_off() {
    let there_and_back =
        asked(&[model("plain"), model("work"), command("cycle_model"), command("get_state")]);
    let off = "level off · ok plain · ok work · ok cycle_model · ok get_state";
    assert_eq!(shape(&there_and_back, Pi1), off, "and does not bring it back");
    let cycled = asked(&[model("plain"), command("cycle_model")]);
    assert_eq!(shape(&cycled, Pi073), "level off · ok plain · level medium · ok cycle_model");
    assert_eq!(shape(&cycled, Pi1), "level off · ok plain · ok cycle_model");
}

#[test]
fn the_levels_of_the_model_are_listed() {
    let levels = asked(&[command("get_available_thinking_levels")]);
    let all = json!({ "levels": ["off", "minimal", "low", "medium", "high"] });
    assert_eq!(levels.finish(Pi1).data("get_available_thinking_levels"), all);
    let levels = asked(&[model("plain"), command("get_available_thinking_levels")]);
    assert_eq!(levels.finish(Pi1).data("get_available_thinking_levels"), json!({ "levels": ["off"] }));
}

#[test]
fn statistics_include_context_usage() {
    let talk = scenario(json!([fills("One.", 12_800)])).host(0, command("get_session_stats"));
    let talk =
        talk.host(10, prompt("p", "hi")).host(20, json!({ "id": "after", "type": "get_session_stats" }));
    let usage =
        |tokens: u64, percent: u64| json!({ "tokens": tokens, "contextWindow": 128_000, "percent": percent });
    for dialect in TELLING {
        let before = talk.finish(dialect).data("get_session_stats")["contextUsage"].clone();
        assert_eq!(before, json!({ "tokens": 0, "contextWindow": 128_000, "percent": 0 }), "{dialect}");
        assert_eq!(talk.finish(dialect).data("after")["contextUsage"], usage(12_800, 10), "{dialect}");
    }
    assert_eq!(talk.finish(Pi).data("after")["contextUsage"], Value::Null);
}

#[test]
fn context_usage_is_unknown_after_compaction() {
    let stats = |id: &str| json!({ "id": id, "type": "get_session_stats" });
    let talk = scenario(json!([
        fills("One.", 50_000),
        fills("Two.", 60_000),
        summary("So far."),
        fills("Three.", 6_400),
    ]));
    let talk = talk
        .modes(|modes| modes.compaction.keep_recent = 10)
        .host(0, prompt("p", "hi"))
        .host(10, prompt("q", &"again ".repeat(40)))
        .host(20, command("compact"))
        .host(200, stats("unknown"))
        .host(210, prompt("r", "more"))
        .host(220, stats("known"));
    for dialect in TELLING {
        let unknown = json!({ "tokens": null, "contextWindow": 128_000, "percent": null });
        assert_eq!(talk.finish(dialect).data("unknown")["contextUsage"], unknown, "{dialect}");
        let known = json!({ "tokens": 6400, "contextWindow": 128_000, "percent": 5 });
        assert_eq!(talk.finish(dialect).data("known")["contextUsage"], known, "{dialect}");
    }
    let counted = |dialect, id: &str| talk.finish(dialect).data(id)["assistantMessages"].clone();
    assert_eq!(counted(Pi1, "known"), 3, "the whole session");
    assert_eq!(counted(Pi073, "known"), 2, "what is in memory");
}
