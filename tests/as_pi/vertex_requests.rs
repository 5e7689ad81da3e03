//! What pi 1.6.0 and our server send to Vertex AI with a key in the same conversation: equal, member by member, but for what is
//! listed.

use crate::{
    peer_support::Agent,
    request_comparison::{Comparison, Difference, choose, looks},
    serve_support::FakeVendor,
};
use serde_json::{Value, json};

pub const VERTEX: Comparison = Comparison {
    path: ":streamGenerateContent",
    models,
    environment: &[],
    own: &OWN,
    tools: |body| {
        let declared = body["tools"][0]["functionDeclarations"].as_array();
        declared.into_iter().flatten().map(|tool| tool["name"].clone()).collect()
    },
    normalize: |_| {},
};

/// Members of every body that are each program's own.
const OWN: [Difference; 3] = [
    ("/systemInstruction/parts/0/text", "each has its own words, its own date and its own directory"),
    ("/tools", "each has its own tools; the names are compared"),
    (
        "/toolConfig",
        "pi marks its tools for strict sampling, and asks Gemini 3 to validate their calls; ours have no such mark",
    ),
];

/// The models of providers with an address, with a version in it and without.
fn models(vendor: &FakeVendor) -> Value {
    let model = |id: &str, words: Value| {
        let mut model = json!({
            "id": id, "name": id, "reasoning": true, "input": ["text", "image"], "contextWindow": 200_000,
            "maxTokens": 50_000, "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 },
        });
        if !words.is_null() {
            model["thinkingLevelMap"] = words;
        }
        model
    };
    let words = json!({ "off": null, "minimal": null, "low": "low", "medium": "medium", "high": "high" });
    let models = [model("gemini-2.5-flash", Value::Null), model("gemini-3.1-pro-preview", words)];
    let address = format!("http://{}", vendor.address);
    let provider =
        |base: String| json!({ "baseUrl": base, "apiKey": "key", "api": "google-vertex", "models": models });
    json!({ "providers": {
        "plain": provider(address.clone()),
        "versioned": provider(format!("{address}/proxy/v1beta1")),
    } })
}

#[test]
fn vertex_requests_equal_pi_for_each_model() {
    for provider in ["plain", "versioned"] {
        for id in ["gemini-2.5-flash", "gemini-3.1-pro-preview"] {
            let play = |agent: &mut Agent| {
                for level in ["off", "low", "high"] {
                    choose(agent, provider, id, level);
                    agent.run("think");
                }
                agent.run("work");
                looks(agent);
                agent.run("view");
                agent.run("fail");
                agent.run("after");
            };
            let Some(found) = VERTEX.differences(&play, &[]) else { return };
            assert_eq!(found, Vec::<String>::new(), "{provider} {id}");
        }
    }
}
