//! Requests that pi 1.6.0 and our server send in the same conversation, compared member by member.

use crate::{
    peer_support::{Agent, Kind, peer},
    serve_support::FakeVendor,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pi_rpc::mock::ReceivedRequest;
use serde_json::{Value, json};
use std::fs;

/// A member that differs, and why.
pub type Difference = (&'static str, &'static str);

/// Headers that are not compared.
const OWN_HEADERS: [Difference; 15] = [
    ("accept", "of the library that speaks HTTP"),
    ("accept-encoding", "of the library that speaks HTTP: an answer that is packed comes in lumps"),
    ("accept-language", "of the library that speaks HTTP"),
    ("amz-sdk-invocation-id", "of AWS's client library, which pi has and we do not: each is another"),
    ("amz-sdk-request", "of AWS's client library: counts its attempts"),
    ("connection", "of the library that speaks HTTP"),
    ("content-length", "of the body"),
    ("host", "each has its own vendor"),
    ("sec-fetch-mode", "of the library that speaks HTTP"),
    ("user-agent", "each names itself"),
    ("x-amz-content-sha256", "of AWS's client library: a hash that the signature holds as well"),
    ("x-amz-date", "the time"),
    ("x-amz-user-agent", "of AWS's client library: names it"),
    ("x-goog-api-client", "names the vendor's client library, which pi has and we do not"),
    ("x-client-request-id", "each is another"),
];

pub const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// What is compared of the requests to one API.
pub struct Comparison {
    /// A part of the path of its requests; others are not compared.
    pub path: &'static str,
    /// The `models.json` of both.
    pub models: fn(&FakeVendor) -> Value,
    /// More of the environment of both.
    pub environment: &'static [(&'static str, &'static str)],
    /// Members of every body that are each program's own.
    pub own: &'static [Difference],
    /// The names of the offered tools in a body.
    pub tools: fn(&Value) -> Vec<Value>,
    /// Makes members alike that only have to be consistent within a request, such as ids.
    pub normalize: fn(&mut ReceivedRequest),
}

/// A vendor with answers to think, work, view, fail and anything else.
pub fn vendor() -> FakeVendor {
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

impl Comparison {
    /// The requests to this API among those of a conversation.
    fn select(&self, all: &[ReceivedRequest]) -> Vec<ReceivedRequest> {
        let mut selected: Vec<_> = all
            .iter()
            // pi asks ChatGPT for a WebSocket first.
            .filter(|request| request.path.contains(self.path) && request.method == "POST")
            .cloned()
            .collect();
        selected.iter_mut().for_each(self.normalize);
        selected
    }

    /// Compares the requests of both in the conversation that `play` has, and gives back the differences that are not
    /// listed. `None`: there is no pi here.
    pub fn differences(&self, play: &dyn Fn(&mut Agent), listed: &[Difference]) -> Option<Vec<String>> {
        let pi = peer("1.6.0")?;
        let sent = |kind| {
            let vendor = vendor();
            sent(kind, &vendor, &(self.models)(&vendor), self.environment, play)
        };
        Some(self.compare(&sent(Kind::Pi(pi)), &sent(Kind::Ours), listed))
    }

    /// Compares the requests to this API among those of both, and gives back the differences that are not listed.
    pub fn compare(
        &self,
        theirs: &[ReceivedRequest],
        ours: &[ReceivedRequest],
        listed: &[Difference],
    ) -> Vec<String> {
        let (theirs, ours) = (self.select(theirs), self.select(ours));
        let mut found = Vec::new();
        if theirs.len() != ours.len() || ours.is_empty() {
            found.push(format!("{} and {} requests", theirs.len(), ours.len()));
        }
        for (at, (theirs, ours)) in theirs.into_iter().zip(ours).enumerate() {
            let told = |what: &str, theirs: &dyn std::fmt::Debug, ours: &dyn std::fmt::Debug| {
                format!("request {at}: {what}: pi {theirs:?}, ours {ours:?}")
            };
            if theirs.path != ours.path {
                found.push(told("path", &theirs.path, &ours.path));
            }
            let names = [&theirs, &ours].map(|request| (self.tools)(&request.body));
            if names[0] != names[1] {
                found.push(told("tools", &names[0], &names[1]));
            }
            if headers(&theirs) != headers(&ours) {
                found.push(told("headers", &headers(&theirs), &headers(&ours)));
            }
            let mut members = Vec::new();
            compare("", &theirs.body, &ours.body, &mut members);
            let is_known = |pointer: &str| {
                self.own
                    .iter()
                    .chain(listed)
                    .any(|(known, _)| pointer == *known || pointer.starts_with(&format!("{known}/")))
            };
            members.retain(|(pointer, ..)| !is_known(pointer));
            found.extend(members.into_iter().map(|(pointer, theirs, ours)| told(&pointer, &theirs, &ours)));
        }
        found
    }
}

/// The requests that arrive at the vendor in the conversation that `play` has.
pub fn sent(
    kind: Kind,
    vendor: &FakeVendor,
    models: &Value,
    environment: &[(&str, &str)],
    play: &dyn Fn(&mut Agent),
) -> Vec<ReceivedRequest> {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("pixel.png"), STANDARD.decode(PIXEL).unwrap()).unwrap();
    let dialect: &[&str] = if kind == Kind::Ours { &["--dialect", "pi-1"] } else { &[] };
    let options = [&["--tools", "read,bash,edit,write"], dialect].concat();
    let mut agent = Agent::start_with_variables(home, kind, models, &options, environment);
    play(&mut agent);
    agent.ends();
    vendor.journal.received()
}

fn headers(request: &ReceivedRequest) -> Vec<&(String, String)> {
    let own = |name: &str| OWN_HEADERS.iter().any(|(own, _)| *own == name);
    let mut headers: Vec<_> = request.headers.iter().filter(|(name, _)| !own(name)).collect();
    headers.sort();
    headers
}

/// Adds where both differ, and the values.
pub fn compare(pointer: &str, theirs: &Value, ours: &Value, found: &mut Vec<(String, Value, Value)>) {
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

/// Takes a model and a thinking level.
pub fn choose(agent: &mut Agent, provider: &str, id: &str, level: &str) {
    agent.ask(json!({ "type": "set_model", "provider": provider, "modelId": id }));
    agent.ask(json!({ "type": "set_thinking_level", "level": level }));
}

/// Shows an image.
pub fn looks(agent: &mut Agent) {
    let image = json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" });
    agent.run_with(json!({ "message": "look", "images": [image] }));
}
