//! What pi 1.6.0 and our server send to Mistral's API in the same conversation: equal, member by member, but for what is listed.

use crate::{
    peer_support::Agent,
    request_comparison::{Comparison, Difference, choose, looks},
    serve_support::FakeVendor,
};
use pi_rpc::mock::ReceivedRequest;
use serde_json::{Value, json};
use std::collections::HashMap;

pub const MISTRAL: Comparison = Comparison {
    path: "/mistral/v1/chat/completions",
    models,
    environment: &[],
    own: &OWN,
    tools: |body| {
        body["tools"].as_array().into_iter().flatten().map(|tool| tool["function"]["name"].clone()).collect()
    },
    normalize,
};

/// Members of every body that are each program's own.
const OWN: [Difference; 2] = [
    ("/messages/0/content", "each has its own instructions, its own date and its own directory"),
    ("/tools", "each has its own tools; the names are compared"),
];

/// The models: of efforts, of a mode of the prompt, of neither, and one that sees no images.
fn models(vendor: &FakeVendor) -> Value {
    let model = |id: &str, members: Value| {
        let mut model = json!({
            "id": id, "name": id, "reasoning": true, "input": ["text", "image"], "contextWindow": 200_000,
            "maxTokens": 50_000, "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 },
        });
        model.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        model
    };
    let words = json!({ "off": "none", "minimal": null, "low": null, "medium": null, "high": "high" });
    let few = json!({ "off": null, "low": "low" });
    let models = [
        model("effort", json!({ "thinkingLevelMap": words })),
        model("default-effort", json!({ "thinkingLevelMap": few })),
        model("mode", json!({})),
        model("plain", json!({ "reasoning": false })),
        model("blind", json!({ "input": ["text"] })),
    ];
    let base = format!("http://{}", vendor.address);
    let claude = model("model", json!({}));
    json!({ "providers": {
        "first": { "baseUrl": base, "apiKey": "key", "api": "anthropic-messages", "models": [claude] },
        "le-chat": {
            "baseUrl": format!("{base}/mistral"), "apiKey": "key", "api": "mistral-conversations", "models": models,
        },
    } })
}

/// Numbers the ids of calls, which each program derives in its own way, and names the session, which each has itself.
fn normalize(request: &mut ReceivedRequest) {
    // Summaries have none.
    if let Some(key) = request.body.get_mut("prompt_cache_key") {
        let session = std::mem::replace(key, "session".into());
        let headers = request.headers.iter_mut().filter(|(_, value)| session == value.as_str());
        headers.for_each(|(_, value)| *value = "session".into());
    }
    let mut ids: HashMap<String, usize> = HashMap::new();
    let mut number = |id: &mut Value| {
        if let Some(known) = id.as_str() {
            assert_eq!(known.len(), 9, "{known}");
            let next = ids.len();
            *id = (*ids.entry(known.to_owned()).or_insert(next)).into();
        }
    };
    for message in request.body["messages"].as_array_mut().unwrap() {
        if let Some(calls) = message.get_mut("tool_calls").and_then(Value::as_array_mut) {
            calls.iter_mut().for_each(|call| number(&mut call["id"]));
        }
        if let Some(id) = message.get_mut("tool_call_id") {
            number(id);
        }
    }
}

#[test]
fn mistral_requests_equal_pi_for_each_model() {
    for id in ["effort", "default-effort", "mode", "plain"] {
        let play = |agent: &mut Agent| {
            for level in ["low", "medium", "high"] {
                choose(agent, "le-chat", id, level);
                agent.run("think");
            }
            agent.run("work");
            looks(agent);
            agent.run("view");
            agent.run("fail");
            agent.run("after");
        };
        let Some(found) = MISTRAL.differences(&play, &[]) else { return };
        assert_eq!(found, Vec::<String>::new(), "{id}");
    }
}

#[test]
fn mistral_requests_without_thinking_equal_pi() {
    for id in ["effort", "default-effort", "mode"] {
        let play = |agent: &mut Agent| {
            choose(agent, "le-chat", id, "off");
            agent.run("after");
        };
        let Some(found) = MISTRAL.differences(&play, &[]) else { return };
        assert_eq!(found, Vec::<String>::new(), "{id}");
    }
}

#[test]
fn mistral_requests_after_another_vendor_equal_pi() {
    let play = |agent: &mut Agent| {
        choose(agent, "first", "model", "medium");
        agent.run("think");
        agent.run("work");
        looks(agent);
        choose(agent, "le-chat", "mode", "low");
        agent.run("work");
    };
    let listed = [("/messages/2/content", "thoughts of another model become text here; pi leaves them out")];
    let Some(found) = MISTRAL.differences(&play, &listed) else { return };
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn mistral_requests_of_blind_model_equal_pi() {
    let play = |agent: &mut Agent| {
        choose(agent, "le-chat", "blind", "off");
        looks(agent);
        agent.run("view");
        agent.run("after");
    };
    let listed = [("/messages/5/content", "words of our tool for an image that the model does not see")];
    let Some(found) = MISTRAL.differences(&play, &listed) else { return };
    assert_eq!(found, Vec::<String>::new());
}
