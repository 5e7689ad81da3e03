//! Requests to Mistral's chat completions, whole.

use crate::model_support::*;
use pi_rpc_model::api::Api;
use pi_rpc_protocol::{InputKind, ThinkingLevel};
use serde_json::{Value, json};

const API: &str = "mistral-conversations";

fn asked(members: Value, history: Value) -> Asked {
    Asked::new(API, members, history)
}

/// The body for it, which the vendor's schema allows.
fn body(asked: &Asked) -> Value {
    let body = Api::parse(API).unwrap().request(&asked.request()).body;
    check_schema(include_str!("../../../../schema/vendors/mistral-conversations.json"), &body);
    body
}

fn messages(history: Value) -> Value {
    body(&asked(json!({}), history))["messages"].take()
}

fn by(id: &str) -> String {
    format!("p/{API}/{id}")
}

fn said(role: &str, content: Value) -> Value {
    json!({ "role": role, "content": content })
}

fn called(id: &str, name: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments }, "index": 0 })
}

fn gave(id: &str, name: &str, content: Value) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "name": name, "content": content })
}

const WORDS: &str = r#"{ "off": "none", "minimal": null, "low": "low", "high": "high", "max": "max" }"#;

#[test]
fn request_with_tool_is_complete() {
    let mut asked = asked(
        json!({ "baseUrl": "https://api.mistral.ai/" }),
        json!([
            user(json!([text("look"), image("AAAA")])),
            stopped(
                &by("m"),
                "toolUse",
                json!([
                    { "type": "thinking", "thinking": "hm" },
                    text("I look."),
                    call_of("abcABC123", "ls", json!({ "path": "." })),
                    call_of("abcABC124", "read", json!({})),
                ])
            ),
            returned("abcABC124", "read", json!([text(" no path\n")]), true),
            returned("abcABC123", "ls", json!([text("a"), image("BBBB"), text("b")]), false),
        ]),
    );
    asked.system_prompt = "Be good.";
    asked.level = ThinkingLevel::Medium;
    asked.tools = vec![tool("ls")];
    let request = Api::MistralConversations.request(&asked.request());
    assert_eq!(request.url, "https://api.mistral.ai/v1/chat/completions");
    assert_eq!(
        request.headers,
        headers([
            ("accept", "text/event-stream"),
            ("content-type", "application/json"),
            ("authorization", "Bearer key"),
            ("x-affinity", "session"),
        ])
    );
    assert_eq!(
        body(&asked),
        json!({
            "model": "m",
            "messages": [
                said("system", json!("Be good.")),
                said("user", json!([
                    text("look"), { "type": "image_url", "image_url": "data:image/png;base64,AAAA" },
                ])),
                { "role": "assistant", "prefix": false, "content": [
                    { "type": "thinking", "thinking": [text("hm")] }, text("I look."),
                ], "tool_calls": [called("abcABC123", "ls", "{\"path\":\".\"}"), called("abcABC124", "read", "{}")] },
                gave("abcABC124", "read", json!([text("[tool error] no path")])),
                gave("abcABC123", "ls", json!([
                    text("a\nb"), { "type": "image_url", "image_url": "data:image/png;base64,BBBB" },
                ])),
            ],
            "stream": true,
            "tools": [{ "type": "function", "function": {
                "name": "ls", "description": "Does ls.", "parameters": { "type": "object", "properties": {} },
                "strict": false,
            } }],
            "prompt_mode": "reasoning",
            "prompt_cache_key": "session",
            "max_tokens": 64_000,
        })
    );
}

#[test]
fn level_becomes_effort_or_prompt_mode() {
    let chosen = |members: Value, level: ThinkingLevel| {
        let mut asked = asked(members, json!([user(json!("q"))]));
        asked.level = level;
        asked.endpoint.levels =
            vec![ThinkingLevel::Off, ThinkingLevel::Low, ThinkingLevel::High, ThinkingLevel::Max];
        let words = asked.endpoint.model.thinking_level_map.clone().unwrap_or_default();
        let word = |(level, word): (String, Option<String>)| Some((ThinkingLevel::parse(&level)?, word?));
        asked.endpoint.efforts = words.into_iter().filter_map(word).collect();
        let body = body(&asked);
        (body["reasoning_effort"].clone(), body["prompt_mode"].clone())
    };
    let words: Value = serde_json::from_str(WORDS).unwrap();
    let with = |words: Value| json!({ "thinkingLevelMap": words });
    for (members, level, effort, mode) in [
        (json!({}), ThinkingLevel::Off, Value::Null, Value::Null),
        (json!({}), ThinkingLevel::Low, Value::Null, json!("reasoning")),
        (with(words.clone()), ThinkingLevel::Off, json!("none"), Value::Null),
        (with(words.clone()), ThinkingLevel::Low, json!("low"), Value::Null),
        (with(words), ThinkingLevel::Max, json!("max"), Value::Null),
        (with(json!({ "off": null })), ThinkingLevel::Off, Value::Null, Value::Null),
        (with(json!({ "off": null })), ThinkingLevel::Low, json!("high"), Value::Null),
        (json!({ "reasoning": false }), ThinkingLevel::High, Value::Null, Value::Null),
    ] {
        assert_eq!(chosen(members.clone(), level), (effort, mode), "{members} {level:?}");
    }
}

#[test]
fn other_models_calls_get_valid_ids() {
    let long = format!("call|{}", "x".repeat(100));
    let sent = messages(json!([
        user(json!("q")),
        stopped(
            "p/anthropic-messages/claude",
            "toolUse",
            json!([
                thinking("aloud", "c2ln"),
                { "type": "redactedThinking", "data": "d" },
                call_of(&long, "bash", json!({ "command": "x" })),
                call_of("b", "bash", json!({})),
            ])
        ),
        returned(&long, "bash", json!([text("out")]), false),
        returned("b", "bash", json!([]), false),
        // A server that counts from one each time.
        stopped(&by("m"), "toolUse", json!([call_of("b", "bash", json!({}))])),
        returned("b", "bash", json!([]), true),
    ]));
    let id = |pointer: &str| sent.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
    let ids = [id("/1/tool_calls/0/id"), id("/1/tool_calls/1/id"), id("/4/tool_calls/0/id")];
    let is_valid = |id: &String| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    assert!(ids.iter().all(is_valid) && ids[0] != ids[1] && ids[1] != ids[2], "{ids:?}");
    assert_eq!(
        sent,
        json!([
            said("user", json!([text("q")])),
            { "role": "assistant", "prefix": false, "tool_calls": [
                called(&ids[0], "bash", "{\"command\":\"x\"}"), called(&ids[1], "bash", "{}"),
            ] },
            gave(&ids[0], "bash", json!([text("out")])),
            gave(&ids[1], "bash", json!([text("(no tool output)")])),
            { "role": "assistant", "prefix": false, "tool_calls": [called(&ids[2], "bash", "{}")] },
            gave(&ids[2], "bash", json!([text("[tool error] (no tool output)")])),
        ])
    );
}

#[test]
fn blind_model_gets_words_for_images() {
    let history = json!([
        user(json!([image("AAAA")])),
        stopped(&by("m"), "toolUse", json!([call_of("abcABC123", "read", json!({}))])),
        returned("abcABC123", "read", json!([image("BBBB")]), false),
    ]);
    let mut asked = asked(json!({}), history);
    let picture = json!({ "type": "image_url", "image_url": "data:image/png;base64,BBBB" });
    let seen = gave("abcABC123", "read", json!([text("(see attached image)"), picture]));
    assert_eq!(body(&asked)["messages"][2], seen);
    asked.endpoint.model.input = vec![InputKind::Text];
    let omitted = json!([text("(image omitted: model does not support images)")]);
    let sent = body(&asked);
    assert_eq!(sent["messages"][0], said("user", omitted));
    let omitted = json!([text("(tool image omitted: model does not support images)")]);
    assert_eq!(sent["messages"][2], gave("abcABC123", "read", omitted));
}

#[test]
fn answer_limit_fits_context() {
    let limit = |members: Value, history: Value, most: Option<u64>| {
        let asked = asked(members, history);
        let mut request = asked.request();
        request.max_answer_tokens = most;
        Api::MistralConversations.request(&request).body["max_tokens"].clone()
    };
    let sizes = |window: u64, most: u64| json!({ "contextWindow": window, "maxTokens": most });
    let short = || json!([user(json!("q"))]);
    let long = || json!([user(json!("x".repeat(350_000)))]);
    // 100,000 tokens of input, and 15,000 of them again as a margin.
    let left = limit(sizes(200_000, 200_000), long(), None).as_u64().unwrap();
    assert!((84_900..=85_000).contains(&left), "{left}");
    for (members, history, most, expected) in [
        (sizes(200_000, 64_000), short(), None, json!(64_000)),
        (sizes(200_000, 64_000), short(), Some(1000), json!(1000)),
        (sizes(0, 64_000), long(), None, json!(64_000)),
        (sizes(200_000, 0), short(), None, Value::Null),
        (sizes(1000, 1000), long(), None, json!(1)),
    ] {
        assert_eq!(limit(members.clone(), history, most), expected, "{members} {most:?}");
    }
}

#[test]
fn forced_tool_and_configured_headers_are_sent() {
    let mut asked = asked(json!({}), json!([user(json!("q"))]));
    asked.tools = vec![tool("ls")];
    asked.forced_tool = Some("ls");
    asked.credentials.headers = headers([("X-Affinity", "mine"), ("x-more", "1")]);
    assert_eq!(body(&asked)["tool_choice"], json!({ "type": "function", "function": { "name": "ls" } }));
    let request = Api::MistralConversations.request(&asked.request());
    let own = headers([("x-affinity", "mine"), ("x-more", "1")]);
    assert_eq!(request.headers[3..], own);
}
