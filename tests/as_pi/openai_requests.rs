//! What pi 1.6.0 and our server send over the relatives of Responses, at Azure and to ChatGPT, in the same conversation:
//! equal, member by member, but for what is listed.

use crate::{
    peer_support::Agent,
    request_comparison::{Comparison, Difference, choose, looks},
    serve_support::{FakeVendor, chatgpt_token},
};
use pi_rpc::mock::ReceivedRequest;
use serde_json::{Value, json};

pub const AZURE: Comparison = Comparison {
    path: "/openai/v1/responses",
    models,
    environment: &[],
    own: &AZURE_OWN,
    tools: tool_names,
    normalize,
};
pub const CHATGPT: Comparison = Comparison {
    path: "/codex/responses",
    models,
    environment: &[],
    own: &CHATGPT_OWN,
    tools: tool_names,
    normalize,
};

/// Members of every body that are each program's own.
const AZURE_OWN: [Difference; 2] = [
    ("/input/0/content", "each has its own instructions, its own date and its own directory"),
    ("/tools", "each has its own tools; the names are compared"),
];
const CHATGPT_OWN: [Difference; 2] = [
    ("/input/0/content", "each has its own words, its own date and its own directory"),
    ("/tools", "each has its own tools; the names are compared"),
];

/// Further headers that are not compared.
const OWN_HEADERS: [Difference; 3] = [
    ("session-id", "each has its own session"),
    ("transfer-encoding", "of the library that speaks HTTP"),
    ("x-stainless-", "of the vendor's client library, which pi has and we do not"),
];

fn models(vendor: &FakeVendor) -> Value {
    let model = |id: &str, words: Value| {
        json!({
            "id": id, "name": id, "reasoning": true, "input": ["text", "image"], "contextWindow": 200_000,
            "maxTokens": 50_000, "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 },
            "thinkingLevelMap": words,
        })
    };
    let mut plain = model("plain", json!({}));
    plain["reasoning"] = false.into();
    let models = json!([
        model("gpt-usual", json!({})),
        model("gpt-words", json!({ "off": "none", "minimal": "low", "xhigh": "xhigh" })),
        model("gpt-always", json!({ "off": null })),
        plain,
    ]);
    let base = format!("http://{}", vendor.address);
    let claude = model("model", json!({}));
    json!({ "providers": {
        "first": { "baseUrl": base, "apiKey": "key", "api": "anthropic-messages", "models": [claude] },
        "azure": {
            "baseUrl": format!("{base}/openai/v1"), "apiKey": "key", "api": "azure-openai-responses", "models": models,
        },
        "openai-codex": {
            "baseUrl": format!("{base}/backend-api"), "apiKey": chatgpt_token("account"),
            "api": "openai-codex-responses", "models": models,
        },
    } })
}

fn tool_names(body: &Value) -> Vec<Value> {
    body["tools"].as_array().into_iter().flatten().map(|tool| tool["name"].clone()).collect()
}

/// Takes away what is each program's own: its session, and the ids of items that have none of the vendor, as each counts
/// texts and hashes ids of calls in its own way.
fn normalize(request: &mut ReceivedRequest) {
    assert_eq!(request.refusal, None);
    let is_own = |name: &str| OWN_HEADERS.iter().any(|(own, _)| name.starts_with(own));
    request.headers.retain(|(name, _)| !is_own(name));
    // Summaries have none.
    if let Some(key) = request.body.get_mut("prompt_cache_key") {
        *key = "session".into();
    }
    for item in request.body["input"].as_array_mut().into_iter().flatten() {
        let is_own = item["id"].as_str().is_some_and(|id| !id.contains("_scripted"));
        if let (true, Some(members)) = (is_own, item.as_object_mut()) {
            members.shift_remove("id");
        }
    }
}

#[test]
fn relatives_of_responses_equal_pi() {
    for (provider, comparison) in [("azure", AZURE), ("openai-codex", CHATGPT)] {
        for id in ["gpt-usual", "gpt-words", "gpt-always", "plain"] {
            let play = |agent: &mut Agent| {
                for level in ["low", "high", "xhigh", "off"] {
                    choose(agent, provider, id, level);
                    agent.run("think");
                }
                agent.run("work");
                looks(agent);
                agent.run("view");
                agent.run("fail");
                agent.run("after");
            };
            let Some(found) = comparison.differences(&play, &[]) else { return };
            assert_eq!(found, Vec::<String>::new(), "{provider} {id}");
        }
    }
}

#[test]
fn relatives_after_another_vendor_equal_pi() {
    let play = |agent: &mut Agent| {
        choose(agent, "first", "model", "medium");
        agent.run("work");
        looks(agent);
        for provider in ["azure", "openai-codex", "azure"] {
            choose(agent, provider, "gpt-usual", "low");
            agent.run("work");
        }
        choose(agent, "azure", "gpt-words", "low");
        agent.run("after");
    };
    for comparison in [AZURE, CHATGPT] {
        let Some(found) = comparison.differences(&play, &[]) else { return };
        assert_eq!(found, Vec::<String>::new(), "{}", comparison.path);
    }
}
