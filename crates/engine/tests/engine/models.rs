//! Usable and unusable models, scopes and thinking levels, at the engine.

use pi_rpc_engine::{
    Engine, ExtensionSetup, Input, ModelChoice, Modes, Now, Output, SessionStorage, Setup, Toolbox,
    limits::Limits,
};
use pi_rpc_protocol::{Dialect, Encoder, ThinkingLevel, read_line};
use serde_json::{Value, json};
use std::time::Duration;

const NOW: Now = Now { monotonic: Duration::ZERO, wall: 1_700_000_000_000 };

/// A model that thinks up to `high`, with the hint of one that has no key.
fn choice(id: &str, hint: Option<&str>) -> ModelChoice {
    let model = json!({
        "id": id, "name": id, "api": "scripted", "provider": "lab", "baseUrl": "", "reasoning": true,
        "input": ["text"], "contextWindow": 128_000, "maxTokens": 16_384,
        "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 },
    });
    let model = serde_json::from_value(model).expect("a model");
    ModelChoice {
        model,
        levels: ThinkingLevel::ALL[..5].to_vec(),
        preferred: None,
        unusable: hint.map(str::to_owned),
    }
}

/// What a session with these models answers to `lines`; models are asked and never answer.
fn answers(
    dialect: Dialect,
    models: Vec<ModelChoice>,
    scope: Option<Vec<(usize, Option<ThinkingLevel>)>>,
    lines: &[Value],
) -> Vec<Value> {
    let setup = Setup {
        dialect,
        models,
        start: 0,
        chosen: false,
        reloads_models: false,
        scope,
        level: None,
        modes: Modes::of(dialect),
        limits: Limits::default(),
        place: SessionStorage::in_memory("/work"),
        session: None,
        tools: Toolbox::new(Vec::new()),
        system_prompt: "".into(),
        extension_setup: ExtensionSetup::default(),
        name: None,
        seed: 1,
        checked: true,
    };
    let mut engine = Engine::new(setup, NOW);
    let mut encoder = Encoder::new(Dialect::Pi);
    let mut said = Vec::new();
    let mut read = |engine: &mut Engine| {
        while let Some(output) = engine.poll() {
            match output {
                Output::Emit(frame) => {
                    let mut bytes = Vec::new();
                    encoder.encode(&frame, &mut bytes);
                    said.push(serde_json::from_slice(&bytes).expect("JSON"));
                }
                Output::Violation(violation) => panic!("{violation}"),
                _ => {}
            }
        }
    };
    read(&mut engine);
    for line in lines {
        let frame = read_line(line.to_string().as_bytes(), dialect).transpose().expect("no blank line");
        engine.handle(Input::line(frame), NOW);
        read(&mut engine);
    }
    said.retain(|frame: &Value| frame["type"] != "ready");
    said
}

fn ids(response: &Value) -> Vec<&str> {
    let models = response["data"]["models"].as_array().expect("models");
    models.iter().map(|model| model["id"].as_str().expect("an id")).collect()
}

const NO_KEY: &str = "No API key found for lab.\n\nSet LAB_API_KEY.";

#[test]
fn prompt_to_model_without_key_is_refused() {
    let models = || vec![choice("locked", Some(NO_KEY)), choice("open", None)];
    let prompt = json!({ "id": "p", "type": "prompt", "message": "hi" });
    let refusal = json!({
        "id": "p", "type": "response", "command": "prompt", "success": false, "error": NO_KEY
    });
    let acknowledged = json!({ "id": "p", "type": "response", "command": "prompt", "success": true });
    let lines = [prompt];
    let [pi, xcsh] = [Dialect::Pi, Dialect::Xcsh].map(|dialect| answers(dialect, models(), None, &lines));
    assert_eq!(xcsh, [acknowledged, refusal]);
    assert_eq!(pi, xcsh[1..]);
}

#[test]
fn model_without_key_is_never_available() {
    let models = vec![choice("locked", Some("x")), choice("a", None), choice("b", None)];
    let said = answers(
        Dialect::Pi,
        models,
        None,
        &[
            json!({ "id": "1", "type": "get_available_models" }),
            json!({ "id": "2", "type": "set_model", "provider": "lab", "modelId": "locked" }),
            json!({ "id": "3", "type": "cycle_model" }),
            json!({ "id": "4", "type": "cycle_model" }),
            json!({ "id": "5", "type": "cycle_model" }),
        ],
    );
    assert_eq!(ids(&said[0]), ["a", "b"]);
    assert_eq!(said[1]["error"], "Model not found: lab/locked");
    // As pi has it: a model outside of the round counts as its first.
    let round: Vec<&Value> = said[2..].iter().map(|frame| &frame["data"]["model"]["id"]).collect();
    assert_eq!(round, ["b", "a", "b"]);
}

#[test]
fn cycling_from_unlisted_model_differs_by_dialect() {
    let cycled = |dialect, hints: &[(&str, bool)]| {
        let models = hints.iter().map(|(id, is_usable)| choice(id, (!is_usable).then_some("x"))).collect();
        let said = answers(dialect, models, None, &[json!({ "id": "c", "type": "cycle_model" })]);
        said.iter().find(|frame| frame["id"] == "c").expect("a response")["data"]["model"]["id"].clone()
    };
    let several = [("locked", false), ("a", true), ("b", true)];
    for (dialect, expected) in
        [(Dialect::Pi, "b"), (Dialect::Pi073, "b"), (Dialect::Xcsh, "b"), (Dialect::Pi1, "a")]
    {
        assert_eq!(cycled(dialect, &several), expected, "{dialect}");
    }
    let one = [("locked", false), ("a", true)];
    assert_eq!([cycled(Dialect::Pi, &one), cycled(Dialect::Pi1, &one)], [Value::Null, json!("a")]);
}

#[test]
fn scoped_models_cycle_with_their_levels() {
    let models = vec![choice("a", None), choice("b", None), choice("c", None)];
    let scope = vec![(2, Some(ThinkingLevel::Xhigh)), (0, None)];
    let cycle = json!({ "type": "cycle_model" });
    let said = answers(Dialect::Pi, models, Some(scope), &[cycle.clone(), cycle]);
    let round: Vec<_> = said.iter().map(|frame| &frame["data"]).collect();
    assert_eq!(
        round
            .iter()
            .map(|data| [&data["model"]["id"], &data["thinkingLevel"], &data["isScoped"]])
            .collect::<Vec<_>>(),
        [[&json!("c"), &json!("high"), &json!(true)], [&json!("a"), &json!("high"), &json!(true)],]
    );
}

#[test]
fn missing_level_becomes_nearest_higher_or_lower() {
    let mut gaps = choice("gaps", None);
    gaps.levels = vec![ThinkingLevel::Low, ThinkingLevel::High];
    let set = |level: &str| json!({ "type": "set_thinking_level", "level": level });
    let state = json!({ "type": "get_state" });
    let lines = [set("off"), state.clone(), set("medium"), state.clone(), set("xhigh"), state];
    let said = answers(Dialect::Pi, vec![gaps], None, &lines);
    let levels: Vec<&Value> =
        said.iter().map(|frame| &frame["data"]["thinkingLevel"]).filter(|it| !it.is_null()).collect();
    assert_eq!(levels, ["low", "high", "high"]);
}

#[test]
fn model_sets_its_preferred_level() {
    let mut work = choice("work", None);
    work.preferred = Some(ThinkingLevel::Low);
    let mut deep = choice("deep", None);
    deep.levels.push(ThinkingLevel::Max);
    deep.preferred = Some(ThinkingLevel::Max);
    let set = |model: &str| json!({ "type": "set_model", "provider": "lab", "modelId": model });
    let lines = [set("work"), set("deep"), set("plain"), set("plain")];
    let said = answers(Dialect::Pi1, vec![choice("plain", None), work, deep], None, &lines);
    let levels: Vec<&Value> = said.iter().filter_map(|frame| frame.get("level")).collect();
    // What the one before was asked with, where nothing is set: as much of it as the model takes.
    assert_eq!(levels, ["low", "max", "high"]);
}

#[test]
fn level_max_exists_only_in_pi_1() {
    let mut deep = choice("deep", None);
    deep.levels.extend([ThinkingLevel::Xhigh, ThinkingLevel::Max]);
    let lines = [
        json!({ "id": "s", "type": "set_thinking_level", "level": "max" }),
        json!({ "id": "l", "type": "get_available_thinking_levels" }),
    ];
    let said = answers(Dialect::Pi1, vec![deep], None, &lines);
    let all = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];
    assert_eq!(said[0], json!({ "type": "thinking_level_changed", "level": "max" }));
    assert_eq!(said[2]["data"], json!({ "levels": all }));
    let said = answers(Dialect::Pi, vec![choice("a", None)], None, &lines[..1]);
    assert_eq!(said[0]["success"], false, "{}", said[0]);
}

#[test]
fn virtual_model_follows_its_provider() {
    let of = |provider: &str, id: &str| {
        let mut choice = choice(id, None);
        choice.model.provider = provider.to_owned();
        choice
    };
    let models = || vec![of("lab", "a"), of("router", "auto"), of("lab", "late")];
    let lines =
        [json!({ "id": "1", "type": "get_available_models" }), json!({ "id": "2", "type": "cycle_model" })];
    for (dialect, listed, next) in
        [(Dialect::Pi1, ["a", "late", "auto"], "late"), (Dialect::Pi, ["a", "auto", "late"], "auto")]
    {
        let said = answers(dialect, models(), None, &lines);
        assert_eq!(ids(&said[0]), listed, "{dialect}");
        let cycled = said.iter().find(|frame| frame["id"] == "2").expect("a response");
        assert_eq!(cycled["data"]["model"]["id"], next, "{dialect}");
    }
}

#[test]
fn new_session_begins_as_process_does() {
    let lines = [
        json!({ "id": "1", "type": "set_model", "provider": "lab", "modelId": "b" }),
        json!({ "id": "2", "type": "set_thinking_level", "level": "high" }),
        json!({ "id": "3", "type": "new_session" }),
        json!({ "id": "4", "type": "get_state" }),
    ];
    for (dialect, model, level) in
        [(Dialect::Pi1, "a", "medium"), (Dialect::Pi073, "b", "high"), (Dialect::Pi, "b", "high")]
    {
        let said = answers(dialect, vec![choice("a", None), choice("b", None)], None, &lines);
        let state = said.iter().find(|frame| frame["id"] == "4").expect("a response");
        let selected = json!([state["data"]["model"]["id"], state["data"]["thinkingLevel"]]);
        assert_eq!(selected, json!([model, level]), "{dialect}");
    }
}
