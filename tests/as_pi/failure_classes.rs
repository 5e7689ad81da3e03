//! What pi 1.5.2 and our server do about the refusals of vendors: send the request again, shorten the conversation, or end.

use crate::{
    peer_support::{Agent, Kind, peer},
    serve_support::{FakeVendor, key_of, snapshot},
};
use serde_json::{Value, json};

/// Refusals by API and vendor, with the paths below which the vendor speaks the API.
const CASES: &str = include_str!("failure_classes.json");

/// What came of a refusal: the events that tell, in order, and the number of requests.
fn outcome(agent: &mut Agent, vendor: &FakeVendor, prompt: &str) -> String {
    let before = vendor.journal.received().len();
    let mut events = Vec::new();
    agent.prompt(prompt);
    agent.until(|frame| {
        let kind = frame["type"].as_str().unwrap_or_default().to_owned();
        if ["auto_retry_start", "compaction_start"].contains(&kind.as_str()) {
            events.push(kind.clone());
        }
        kind == "agent_settled"
    });
    if events.iter().any(|event| event == "compaction_start") {
        // How many requests a summary takes is each program's own.
        return events.join(", ");
    }
    // A retry, and whether there was one before it that no event tells.
    let asked = vendor.journal.received()[before..].iter().filter(|it| it.method == "POST").count();
    events.push(format!("{asked} requests"));
    events.join(", ")
}

/// The outcomes of all refusals of an API.
fn outcomes(kind: Kind, table: &Value) -> Vec<String> {
    let (api, folder, cases) = (member(table, "api"), member(table, "folder"), cases(table));
    let mut turns: Vec<Value> = cases
        .iter()
        .enumerate()
        .map(|(at, case)| json!({ "match": { "regex": format!("^case {at}$") }, "repeat": true, "fail": case["fail"] }))
        .collect();
    turns.push(json!({ "repeat": true, "say": [{ "text": "Yes." }] }));
    let vendor = FakeVendor::plays(&json!({ "turns": turns }));
    let model = json!({
        "id": "model", "name": "Model", "reasoning": false, "input": ["text"], "contextWindow": 200_000,
        "maxTokens": 5000, "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 },
    });
    let base = format!("http://{}{folder}", vendor.address);
    let models = json!({ "providers": {
        "vendor": { "baseUrl": base, "apiKey": key_of(api), "api": api, "models": [model] },
    } });
    let options: &[&str] = if kind == Kind::Ours { &["--dialect", "pi-1@1.5"] } else { &[] };
    let environment = [("AWS_BEDROCK_FORCE_HTTP1", "1"), ("AWS_EC2_METADATA_DISABLED", "true")];
    let home = tempfile::tempdir().unwrap();
    let provider = match &table["provider"] {
        Value::Null => json!({}),
        provider => provider.clone(),
    };
    let settings = json!({
        "compaction": { "enabled": true, "keepRecentTokens": 1 },
        "retry": { "enabled": true, "maxRetries": 1, "baseDelayMs": 1, "provider": provider },
    });
    let mut agent = Agent::start_with_settings(home, kind, &models, &settings, options, &environment);
    let all = (0..cases.len()).map(|at| {
        agent.ask(json!({ "type": "new_session" }));
        agent.ask(json!({ "type": "set_model", "provider": "vendor", "modelId": "model" }));
        // Something to shorten.
        outcome(&mut agent, &vendor, "before");
        outcome(&mut agent, &vendor, &format!("case {at}"))
    });
    let all = all.collect();
    agent.ends();
    all
}

fn member<'a>(table: &'a Value, key: &str) -> &'a str {
    table[key].as_str().unwrap()
}

fn cases(table: &Value) -> &[Value] {
    table["cases"].as_array().unwrap()
}

#[test]
fn refusals_are_classified_as_pi() {
    let Some(pi) = peer("1.5.2") else { return };
    let tables: Value = serde_json::from_str(CASES).unwrap();
    let (mut found, mut text) = (Vec::new(), String::new());
    for table in tables.as_array().unwrap() {
        let (theirs, ours) = (outcomes(Kind::Pi(pi), table), outcomes(Kind::Ours, table));
        let api = member(table, "api");
        for ((case, theirs), ours) in cases(table).iter().zip(theirs).zip(ours) {
            let listed = case.get("reason").is_some();
            text += &format!("{api}: {}: {ours}\n", case["fail"]);
            if let Some(reason) = case["reason"].as_str() {
                text += &format!("  pi: {theirs}; {reason}\n");
            }
            if (theirs == ours) == listed {
                found.push(format!("{api}: {}: pi {theirs}, ours {ours}, listed: {listed}", case["fail"]));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    snapshot("failure_classes", text);
}
