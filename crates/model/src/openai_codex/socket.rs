//! The same requests over a WebSocket, on which the server holds the conversation.
//!
//! Source: pi 1.6.0 (`openai-codex-responses`).

use crate::{
    followed_answer::FollowedAnswer,
    held_prefix::HeldPrefix,
    openai_responses::answer_items,
    request::{HttpRequest, SocketRequest},
};
use serde_json::Value;

/// Headers of the request over HTTP that the request for a WebSocket has not.
const OF_HTTP: [&str; 4] = ["accept", "content-type", "content-encoding", "openai-beta"];
/// The feature that the request for a WebSocket asks for.
const BETA: &str = "responses_websockets=2026-02-06";

/// The request for a WebSocket that takes the place of `request`. `id` stands for a missing session.
pub fn socket(request: &HttpRequest, id: &str) -> SocketRequest {
    let is_kept = |(name, _): &&(String, String)| !OF_HTTP.contains(&name.as_str());
    let mut headers: Vec<(String, String)> = request.headers.iter().filter(is_kept).cloned().collect();
    let session = headers.iter().find(|(name, _)| name == "session-id").map(|(_, session)| session.clone());
    if session.is_none() {
        headers.extend(["session-id", "x-client-request-id"].map(|name| (name.to_owned(), id.to_owned())));
    }
    let account = headers.iter().find(|(name, _)| name == "chatgpt-account-id");
    // Another account gets a connection of its own, and so does another address.
    let account = account.map_or("", |(_, account)| account);
    let key = session.map(|session| format!("{session}\n{account}\n{}", request.url));
    headers.push(("openai-beta".to_owned(), BETA.to_owned()));
    SocketRequest { url: request.url.clone(), headers, key }
}

/// The message that asks for an answer with `body`.
pub fn message(mut body: Value) -> Value {
    body["type"] = "response.create".into();
    body
}

/// Where a connection can go on: behind an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continuation {
    prefix: HeldPrefix,
    answer: String,
}

impl Continuation {
    /// Remembers the answer to the request with the whole `body`; `None`: the next request may have it in another form.
    pub fn behind(body: &Value, mut answer: FollowedAnswer) -> Option<Self> {
        let id = answer.id.take()?;
        let mut items = body["input"].as_array()?.clone();
        items.extend(answer_items(&answer.blocks()?));
        Some(Self { prefix: HeldPrefix::of(&settings(body), &items), answer: id })
    }

    /// The body with what is new alone; `None`: it does not go on behind the answer.
    pub fn shortened(&self, body: &Value) -> Option<Value> {
        let items = body["input"].as_array()?;
        if !self.prefix.begins(&settings(body), items) {
            return None;
        }
        let mut body = body.clone();
        body["input"] = items[self.prefix.count..].into();
        body["previous_response_id"] = self.answer.as_str().into();
        Some(body)
    }
}

/// What all requests of a continued conversation have in common, as text.
fn settings(body: &Value) -> String {
    let mut rest = body.clone();
    if let Some(members) = rest.as_object_mut() {
        members.shift_remove("input");
        members.shift_remove("previous_response_id");
    }
    rest.to_string()
}

/// What an event of the server means for the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    /// A part of the answer.
    Part,
    /// The last event of the answer.
    Last,
    /// The server does not hold the answer that the request goes on behind.
    NotHeld,
    /// The account has too many connections.
    TooMany,
}

/// Classifies an event.
pub fn classify(event: &Value) -> SocketEvent {
    let code = || {
        let errors = [event, &event["error"], &event["response"]["error"]];
        errors.into_iter().find_map(|error| error["code"].as_str()).unwrap_or_default()
    };
    match event["type"].as_str().unwrap_or_default() {
        "response.completed" | "response.done" | "response.incomplete" => SocketEvent::Last,
        "error" | "response.failed" => match code() {
            "previous_response_not_found" => SocketEvent::NotHeld,
            "websocket_connection_limit_reached" => SocketEvent::TooMany,
            _ => SocketEvent::Last,
        },
        _ => SocketEvent::Part,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{BlockStart, StreamEvent};
    use serde_json::json;

    fn answer(text: &str) -> FollowedAnswer {
        let mut answer = FollowedAnswer::default();
        answer.follow(&StreamEvent::ResponseId("resp_1".to_owned()));
        answer.follow(&StreamEvent::Start { index: 0, block: BlockStart::Text });
        answer.follow(&StreamEvent::Delta { index: 0, delta: text.to_owned() });
        let signature = json!({"v": 1, "id": "msg_1"}).to_string();
        answer.follow(&StreamEvent::End { index: 0, signature: Some(signature) });
        answer
    }

    fn said(text: &str) -> Value {
        json!({
            "type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
            "status": "completed", "id": "msg_1",
        })
    }

    fn body(input: &[Value]) -> Value {
        json!({"model": "m", "input": input, "stream": true})
    }

    #[test]
    fn request_behind_answer_has_new_items_alone() {
        let (one, two) =
            (json!({"role": "user", "content": "one"}), json!({"role": "user", "content": "two"}));
        let held = Continuation::behind(&body(std::slice::from_ref(&one)), answer("Yes."))
            .expect("an answer with an id");
        let next = held.shortened(&body(&[one.clone(), said("Yes."), two.clone()]));
        let mut expected = body(std::slice::from_ref(&two));
        expected["previous_response_id"] = "resp_1".into();
        assert_eq!(next, Some(expected));
        assert_eq!(held.shortened(&body(&[one.clone(), said("No."), two.clone()])), None);
        let mut other = body(&[one, said("Yes."), two]);
        other["model"] = "n".into();
        assert_eq!(held.shortened(&other), None);
    }
}
