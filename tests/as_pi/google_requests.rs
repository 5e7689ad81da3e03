//! What pi 1.5.2 and our server send to Google's API in the same conversation: equal, member by member, but for what is listed.

use crate::{
    peer_support::{Agent, Kind, peer},
    serve_support::FakeVendor,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pi_rpc::mock::ReceivedRequest;
use serde_json::{Value, json};
use std::fs;

/// A member that differs, and why.
type Difference = (&'static str, &'static str);

/// Members of every body that are each program's own.
const OWN: [Difference; 3] = [
    ("/systemInstruction/parts/0/text", "each has its own words, its own date and its own directory"),
    ("/tools", "each has its own tools; the names are compared"),
    (
        "/toolConfig",
        "pi marks its tools for strict sampling, and asks Gemini 3 to validate their calls; ours have no such mark",
    ),
];

/// Headers that are not compared.
const OWN_HEADERS: [Difference; 10] = [
    ("accept", "of the library that speaks HTTP"),
    ("accept-encoding", "of the library that speaks HTTP: an answer that is packed comes in lumps"),
    ("accept-language", "of the library that speaks HTTP"),
    ("connection", "of the library that speaks HTTP"),
    ("content-length", "of the body"),
    ("host", "each has its own vendor"),
    ("sec-fetch-mode", "of the library that speaks HTTP"),
    ("user-agent", "each names itself"),
    ("x-goog-api-client", "names the vendor's client library, which pi has and we do not"),
    ("x-client-request-id", "each is another"),
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

fn vendor() -> FakeVendor {
    let call = |command: &str| json!({ "tool": "bash", "arguments": { "command": command } });
    FakeVendor::plays(&json!({ "turns": [
        { "match": "think", "repeat": true, "say": [
            { "thinking": "Let me see.", "signature": "c2lnbmVk" }, { "text": "I have seen: Grüße 🎈\u{2028}." },
        ] },
        { "match": "work", "onResult": "", "repeat": true, "say": [{ "text": "Done." }] },
        { "match": "work", "repeat": true, "say": [{ "text": "Two things." }, call("echo one"), call("echo two; exit 3")] },
        { "match": "view", "onResult": "", "repeat": true, "say": [{ "text": "Seen." }] },
        { "match": "view", "repeat": true, "say": [{ "tool": "read", "arguments": { "path": "pixel.png" } }] },
        { "match": "fail", "repeat": true, "fail": { "status": 400, "message": "No" } },
        { "repeat": true, "say": [{ "text": "Yes." }], "usage": { "input": 9, "output": 2, "cacheRead": 5 } },
    ] }))
}

const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The requests of the conversation that `play` has, to Google's API alone.
fn sent(kind: Kind, play: &dyn Fn(&mut Agent)) -> Vec<ReceivedRequest> {
    let vendor = vendor();
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("pixel.png"), STANDARD.decode(PIXEL).unwrap()).unwrap();
    let mut agent = Agent::start_with(home, kind, &models(&vendor), &["--tools", "read,bash,edit,write"]);
    play(&mut agent);
    agent.ends();
    let all = vendor.journal.received().into_iter();
    all.filter(|request| request.path.contains(":streamGenerateContent")).collect()
}

/// Compares the requests of both, and gives back the differences that are not listed.
fn differences(play: &dyn Fn(&mut Agent), listed: &[Difference]) -> Option<Vec<String>> {
    let pi = peer("1.5.2")?;
    let (theirs, ours) = (sent(Kind::Pi(pi), play), sent(Kind::Ours, play));
    let mut found = Vec::new();
    if theirs.len() != ours.len() {
        found.push(format!("{} and {} requests", theirs.len(), ours.len()));
    }
    for (at, (theirs, ours)) in theirs.into_iter().zip(ours).enumerate() {
        let names = |request: &ReceivedRequest| {
            let declared = request.body["tools"][0]["functionDeclarations"].as_array();
            declared.into_iter().flatten().map(|tool| tool["name"].clone()).collect::<Vec<_>>()
        };
        let told = |what: &str, theirs: &dyn std::fmt::Debug, ours: &dyn std::fmt::Debug| {
            format!("request {at}: {what}: pi {theirs:?}, ours {ours:?}")
        };
        if theirs.path != ours.path {
            found.push(told("path", &theirs.path, &ours.path));
        }
        if names(&theirs) != names(&ours) {
            found.push(told("tools", &names(&theirs), &names(&ours)));
        }
        if headers(&theirs) != headers(&ours) {
            found.push(told("headers", &headers(&theirs), &headers(&ours)));
        }
        let mut members = Vec::new();
        compare("", &theirs.body, &ours.body, &mut members);
        let known = |pointer: &str| {
            OWN.iter()
                .chain(listed)
                .any(|(known, _)| pointer == *known || pointer.starts_with(&format!("{known}/")))
        };
        members.retain(|(pointer, ..)| !known(pointer));
        found.extend(members.into_iter().map(|(pointer, theirs, ours)| told(&pointer, &theirs, &ours)));
    }
    Some(found)
}

fn headers(request: &ReceivedRequest) -> Vec<&(String, String)> {
    let own = |name: &str| OWN_HEADERS.iter().any(|(own, _)| *own == name);
    let mut headers: Vec<_> = request.headers.iter().filter(|(name, _)| !own(name)).collect();
    headers.sort();
    headers
}

/// Adds where both differ, and the values.
fn compare(pointer: &str, theirs: &Value, ours: &Value, found: &mut Vec<(String, Value, Value)>) {
    match (theirs, ours) {
        (Value::Object(one), Value::Object(other)) => {
            let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                compare(&format!("{pointer}/{key}"), &theirs[key], &ours[key], found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (at, (theirs, ours)) in one.iter().zip(other).enumerate() {
                compare(&format!("{pointer}/{at}"), theirs, ours, found);
            }
        }
        _ if theirs == ours => {}
        _ => found.push((pointer.to_owned(), theirs.clone(), ours.clone())),
    }
}

fn choose(agent: &mut Agent, provider: &str, id: &str, level: &str) {
    agent.ask(json!({ "type": "set_model", "provider": provider, "modelId": id }));
    agent.ask(json!({ "type": "set_thinking_level", "level": level }));
}

fn looks(agent: &mut Agent) {
    let image = json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" });
    agent.run_with(json!({ "message": "look", "images": [image] }));
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
        let Some(found) = differences(&play, &[]) else { return };
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
        let Some(found) = differences(&play(id), listed) else { return };
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
    let Some(found) = differences(&play, &listed) else { return };
    assert_eq!(found, Vec::<String>::new());
}
