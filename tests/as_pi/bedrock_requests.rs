//! What pi 1.6.0 and our server send to Amazon Bedrock in the same conversation: equal, member by member, but for what is listed.
//!
//! The mock refuses a request whose signature does not fit: both sign theirs.

use crate::{
    peer_support::Agent,
    request_comparison::{Comparison, Difference, choose, looks},
    serve_support::FakeVendor,
};
use pi_rpc::mock::{AWS_KEY_ID, AWS_SECRET, ReceivedRequest};
use serde_json::{Value, json};

/// A provider of the user's own, which is asked with a token.
pub const WITH_TOKEN: Comparison = Comparison {
    path: "/converse-stream",
    models: models_with_token,
    environment: &[HTTP_1, NO_MACHINE],
    own: &OWN,
    tools: |body| {
        let tools = body["toolConfig"]["tools"].as_array();
        tools.into_iter().flatten().map(|tool| tool["toolSpec"]["name"].clone()).collect()
    },
    normalize,
};

/// AWS's client library speaks HTTP/2 by itself, which the mock does not.
const HTTP_1: (&str, &str) = ("AWS_BEDROCK_FORCE_HTTP1", "1");
const NO_MACHINE: (&str, &str) = ("AWS_EC2_METADATA_DISABLED", "true");
const KEY: (&str, &str) = ("AWS_ACCESS_KEY_ID", AWS_KEY_ID);
const KEY_SECRET: (&str, &str) = ("AWS_SECRET_ACCESS_KEY", AWS_SECRET);

/// Members of every body that are each program's own.
const OWN: [Difference; 2] = [
    ("/system/0/text", "each has its own words, its own date and its own directory"),
    ("/toolConfig/tools", "each has its own tools; the names are compared"),
];

/// Of a budget, of an effort, of the newest kind, of OpenAI's, and one that takes neither.
const MODELS: [&str; 5] = [
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "us.anthropic.claude-opus-4-6-v1",
    "us.anthropic.claude-opus-4-7",
    "openai.gpt-oss-120b-1:0",
    "amazon.nova-2-lite-v1:0",
];

fn model(id: &str) -> Value {
    json!({
        "id": id, "name": id, "reasoning": true, "input": ["text", "image"], "contextWindow": 200_000,
        "maxTokens": 50_000, "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 },
    })
}

fn models_with_token(vendor: &FakeVendor) -> Value {
    let base = format!("http://{}", vendor.address);
    json!({ "providers": {
        "first": { "baseUrl": base, "apiKey": "key", "api": "anthropic-messages", "models": [model("model")] },
        "bedrock": {
            "baseUrl": base, "apiKey": "token", "api": "bedrock-converse-stream", "models": MODELS.map(model),
        },
    } })
}

/// The provider itself, which is asked with a signature.
fn models_with_signature(vendor: &FakeVendor) -> Value {
    json!({ "providers": { "amazon-bedrock": { "baseUrl": format!("http://{}", vendor.address) } } })
}

/// Reduces a signature to its key, region, service and outcome: it holds the time.
fn normalize(request: &mut ReceivedRequest) {
    let outcome = request.refusal.clone().unwrap_or_else(|| "accepted".to_owned());
    for (name, value) in &mut request.headers {
        if name == "authorization"
            && let Some((_, rest)) = value.split_once("Credential=")
        {
            let scope: Vec<&str> = rest.split([',', '/']).collect();
            *value = format!("{} {} {} {outcome}", scope[0], scope[2], scope[3]);
        }
    }
}

#[test]
fn bedrock_requests_equal_pi_for_each_model() {
    for id in MODELS {
        let play = |agent: &mut Agent| {
            for level in ["off", "low", "medium", "high"] {
                choose(agent, "bedrock", id, level);
                agent.run("think");
            }
            agent.run("work");
            looks(agent);
            agent.run("view");
            agent.run("after");
        };
        let Some(found) = WITH_TOKEN.differences(&play, &[]) else { return };
        assert_eq!(found, Vec::<String>::new(), "{id}");
    }
}

#[test]
fn bedrock_requests_after_another_vendor_equal_pi() {
    let play = |agent: &mut Agent| {
        choose(agent, "first", "model", "medium");
        agent.run("think");
        agent.run("work");
        looks(agent);
        for id in [MODELS[0], MODELS[4]] {
            choose(agent, "bedrock", id, "low");
            agent.run("work");
        }
    };
    let listed = [("/messages/1/content", "thoughts of another model become text here; pi leaves them out")];
    let Some(found) = WITH_TOKEN.differences(&play, &listed) else { return };
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn bedrock_signatures_equal_pi_by_environment() {
    let play = |agent: &mut Agent| {
        choose(agent, "amazon-bedrock", "us.anthropic.claude-opus-4-6-v1", "low");
        agent.run("after");
    };
    let environments: [&[(&str, &str)]; 6] = [
        &[HTTP_1, NO_MACHINE, KEY, KEY_SECRET],
        &[HTTP_1, NO_MACHINE, KEY, KEY_SECRET, ("AWS_REGION", "eu-west-1")],
        &[
            HTTP_1,
            NO_MACHINE,
            KEY,
            KEY_SECRET,
            ("AWS_DEFAULT_REGION", "eu-west-2"),
            ("AWS_SESSION_TOKEN", "session"),
        ],
        &[HTTP_1, NO_MACHINE, KEY, KEY_SECRET, ("AWS_BEARER_TOKEN_BEDROCK", "token")],
        &[HTTP_1, NO_MACHINE, ("AWS_BEARER_TOKEN_BEDROCK", "token"), ("AWS_BEDROCK_SKIP_AUTH", "1")],
        &[HTTP_1, NO_MACHINE, KEY, KEY_SECRET, ("PI_CACHE_RETENTION", "long")],
    ];
    for environment in environments {
        let comparison = Comparison { models: models_with_signature, environment, ..WITH_TOKEN };
        let Some(found) = comparison.differences(&play, &[]) else { return };
        assert_eq!(found, Vec::<String>::new(), "{environment:?}");
    }
}
