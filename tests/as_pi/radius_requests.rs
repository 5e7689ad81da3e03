//! What pi 1.5.2 and our server send to pi's gateway in the same conversation: equal, member by member, but for what is listed.

use crate::{
    peer_support::Agent,
    request_comparison::{Comparison, Difference, choose, looks},
    serve_support::FakeVendor,
};
use pi_rpc::mock::ReceivedRequest;
use serde_json::{Value, json};

const RADIUS: Comparison = Comparison {
    path: "/radius/v1/messages",
    models,
    environment: &[],
    own: &OWN,
    tools: |body| {
        let declared = body["context"]["messages"][0]["toolsAdded"].as_array();
        declared.into_iter().flatten().map(|tool| tool["name"].clone()).collect()
    },
    normalize,
};

/// Members of every body that are each program's own.
const OWN: [Difference; 3] = [
    (
        "/context/messages/0/content",
        "pi has its instructions in sections, ours are one text; each has its own",
    ),
    (
        "/context/messages/0/sections",
        "pi has its instructions in sections, ours are one text; each has its own",
    ),
    ("/context/messages/0/toolsAdded", "each has its own tools; the names are compared"),
];

/// The models: one that thinks, one with words for few levels, one that does not think, and one that sees no images.
fn models(vendor: &FakeVendor) -> Value {
    let model = |id: &str, members: Value| {
        let mut model = json!({
            "id": id, "name": id, "reasoning": true, "input": ["text", "image"], "contextWindow": 200_000,
            "maxTokens": 50_000, "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 },
        });
        model.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        model
    };
    let words =
        json!({ "off": null, "minimal": null, "low": "low", "medium": null, "high": "high", "max": "max" });
    let models = [
        model("balanced", json!({})),
        model("few", json!({ "thinkingLevelMap": words })),
        model("plain", json!({ "reasoning": false })),
        model("blind", json!({ "input": ["text"] })),
    ];
    let base = format!("http://{}", vendor.address);
    let claude = model("model", json!({}));
    json!({ "providers": {
        "first": { "baseUrl": base, "apiKey": "key", "api": "anthropic-messages", "models": [claude] },
        "gateway": {
            "baseUrl": format!("{base}/radius/v1"), "apiKey": "key", "api": "pi-messages", "models": models,
        },
    } })
}

/// Takes out times and what depends on the length of the instructions, names the session, and leaves out what pi sends for the
/// host alone and failed answers, which the gateway leaves out.
fn normalize(request: &mut ReceivedRequest) {
    assert!(request.body["options"]["sessionId"].as_str().is_some_and(|id| !id.is_empty()));
    request.body["options"]["sessionId"] = "session".into();
    let messages = request.body["context"]["messages"].as_array_mut().unwrap();
    messages.retain(|message| message["stopReason"] != "error");
    for message in messages {
        assert!(message["timestamp"].is_u64(), "{message}");
        let members = message.as_object_mut().unwrap();
        members.retain(|name, _| !["timestamp", "durationMs"].contains(&name.as_str()));
        if members["role"] == "toolResult" {
            members.shift_remove("details");
        }
        if let Some(usage) = members.get_mut("usage") {
            let parts = ["/input", "/totalTokens", "/cost/input", "/cost/total"];
            parts.into_iter().for_each(|part| drop(usage.pointer_mut(part).map(Value::take)));
        }
    }
}

#[test]
fn radius_requests_equal_pi_for_each_model() {
    for id in ["balanced", "few", "plain"] {
        let play = |agent: &mut Agent| {
            for level in ["off", "low", "high"] {
                choose(agent, "gateway", id, level);
                agent.run("think");
            }
            agent.run("work");
            looks(agent);
            agent.run("view");
            agent.run("fail");
            agent.run("after");
        };
        let Some(found) = RADIUS.differences(&play, &[]) else { return };
        assert_eq!(found, Vec::<String>::new(), "{id}");
    }
}

#[test]
fn radius_requests_after_another_vendor_equal_pi() {
    let play = |agent: &mut Agent| {
        choose(agent, "first", "model", "medium");
        agent.run("think");
        agent.run("work");
        looks(agent);
        choose(agent, "gateway", "balanced", "low");
        agent.run("work");
    };
    let Some(found) = RADIUS.differences(&play, &[]) else { return };
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn radius_requests_of_blind_model_equal_pi() {
    let play = |agent: &mut Agent| {
        choose(agent, "gateway", "blind", "off");
        looks(agent);
        agent.run("view");
        agent.run("after");
    };
    let listed = [
        (
            "/context/messages/1/content/1",
            "pi leaves it to the gateway to replace images that the model does not see",
        ),
        (
            "/context/messages/5/content",
            "pi leaves it to the gateway to replace images that the model does not see",
        ),
    ];
    let Some(found) = RADIUS.differences(&play, &listed) else { return };
    assert_eq!(found, Vec::<String>::new());
}
