//! What pi 1.6.0 and our server send to Google's API in the same conversation: equal, member by member, but for what is listed.

use crate::{
    peer_support::Agent,
    request_comparison::{Comparison, Difference, choose, looks},
    serve_support::FakeVendor,
};
use serde_json::{Value, json};

pub const GOOGLE: Comparison = Comparison {
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

/// The models: of a budget, of one that cannot be turned off, of words, and of neither.
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
    let mut plain = model("gemini-plain", Value::Null);
    plain["reasoning"] = false.into();
    let models = [
        model("gemini-2.5-flash", Value::Null),
        model("gemini-2.5-pro", Value::Null),
        model("gemini-3.1-pro-preview", words),
        plain,
    ];
    let base = format!("http://{}", vendor.address);
    let claude = model("model", Value::Null);
    json!({ "providers": {
        "first": { "baseUrl": base, "apiKey": "key", "api": "anthropic-messages", "models": [claude] },
        "gemini": {
            "baseUrl": format!("{base}/v1beta"), "apiKey": "key", "api": "google-generative-ai", "models": models,
        },
    } })
}

#[test]
fn google_requests_equal_pi_for_each_model() {
    for id in ["gemini-2.5-flash", "gemini-2.5-pro", "gemini-3.1-pro-preview", "gemini-plain"] {
        let play = |agent: &mut Agent| {
            for level in ["low", "medium", "high"] {
                choose(agent, "gemini", id, level);
                agent.run("think");
            }
            agent.run("work");
            looks(agent);
            agent.run("view");
            agent.run("fail");
            agent.run("after");
        };
        let Some(found) = GOOGLE.differences(&play, &[]) else { return };
        assert_eq!(found, Vec::<String>::new(), "{id}");
    }
}

#[test]
fn google_requests_without_thinking_equal_pi() {
    let play = |id: &'static str| {
        move |agent: &mut Agent| {
            choose(agent, "gemini", id, "off");
            agent.run("after");
        }
    };
    let pro: [Difference; 1] = [(
        "/generationConfig/thinkingConfig/thinkingBudget",
        "pi sends 0, which the service refuses for this model",
    )];
    for (id, listed) in
        [("gemini-2.5-flash", &[][..]), ("gemini-3.1-pro-preview", &[]), ("gemini-2.5-pro", &pro)]
    {
        let Some(found) = GOOGLE.differences(&play(id), listed) else { return };
        assert_eq!(found, Vec::<String>::new(), "{id}");
    }
}

#[test]
fn google_requests_after_another_vendor_equal_pi() {
    let play = |agent: &mut Agent| {
        choose(agent, "first", "model", "medium");
        agent.run("think");
        agent.run("work");
        looks(agent);
        for id in ["gemini-2.5-flash", "gemini-3.1-pro-preview"] {
            choose(agent, "gemini", id, "low");
            agent.run("work");
        }
    };
    let listed = [("/contents/1/parts", "thoughts of another model become text here; pi leaves them out")];
    let Some(found) = GOOGLE.differences(&play, &listed) else { return };
    assert_eq!(found, Vec::<String>::new());
}
