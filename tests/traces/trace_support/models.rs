//! The models of the recordings, and the fake vendor that is behind them.

use crate::serve_support::{FakeVendor, write_models_file};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::path::Path;

/// Script of the vendor, for every model.
const SCRIPT: &str = include_str!("../model.json");

/// The options that choose the model that every recording starts with.
pub const START: [&str; 4] = ["--provider", "fake", "--model", "fake-1"];

/// A vendor for one server. `home` is the server's, where its models.json is put.
pub fn vendor(home: &Path, dialect: Dialect) -> FakeVendor {
    let vendor = FakeVendor::plays(&serde_json::from_str(SCRIPT).unwrap());
    write_models_file(home, dialect, &models(&format!("http://{}", vendor.address)));
    vendor
}

/// Models of the recordings: one that thinks, one that does not, and one for each other API.
fn models(base: &str) -> Value {
    let free = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0});
    let openai = |api: &str, id: &str, name: &str| {
        let model = json!({
            "id": id, "name": name, "reasoning": true, "input": ["text"],
            "contextWindow": 200_000, "maxTokens": 16_384, "cost": free,
        });
        json!({"baseUrl": format!("{base}/v1"), "apiKey": "key", "api": api, "models": [model]})
    };
    let anthropic = json!([
        {
            "id": "fake-1", "name": "Fake 1", "reasoning": true, "input": ["text", "image"],
            "contextWindow": 200_000, "maxTokens": 16_384,
            "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
        },
        {
            "id": "fake-2", "name": "Fake 2", "reasoning": false, "input": ["text"],
            "contextWindow": 100_000, "maxTokens": 8192,
            "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
        },
    ]);
    json!({ "providers": {
        "fake": {"baseUrl": base, "apiKey": "key", "api": "anthropic-messages", "models": anthropic},
        "fakeoai": openai("openai-completions", "fake-c", "Fake C"),
        "fakeresp": openai("openai-responses", "fake-r", "Fake R"),
    } })
}
