//! The setup of an engine that tests drive by themselves, without the simulator.

use pi_rpc_engine::{ExtensionSetup, ModelChoice, Modes, SessionStorage, Setup, Toolbox, limits::Limits};
use pi_rpc_protocol::{Dialect, ThinkingLevel};
use serde_json::json;

/// A session of `pi` in memory with one model, and without tools and extensions.
pub fn bare_setup() -> Setup {
    let model = json!({
        "id": "m", "name": "m", "api": "scripted", "provider": "lab", "baseUrl": "", "reasoning": false,
        "input": ["text"], "contextWindow": 128_000, "maxTokens": 16_384,
        "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 },
    });
    let model = serde_json::from_value(model).expect("a model");
    Setup {
        dialect: Dialect::Pi,
        models: vec![ModelChoice {
            model,
            levels: vec![ThinkingLevel::Off],
            preferred: None,
            unusable: None,
        }],
        start: 0,
        chosen: false,
        reloads_models: false,
        scope: None,
        level: None,
        modes: Modes::of(Dialect::Pi),
        limits: Limits::default(),
        place: SessionStorage::in_memory("/work"),
        session: None,
        tools: Toolbox::new(Vec::new()),
        system_prompt: "".into(),
        extension_setup: ExtensionSetup::default(),
        name: None,
        seed: 1,
        checked: true,
    }
}
