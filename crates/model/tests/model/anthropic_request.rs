//! Requests to Anthropic Messages, whole.

use crate::model_support::*;
use pi_rpc_model::{api::Api, types::ToolSpec};
use pi_rpc_protocol::{InputKind, ThinkingLevel};
use serde_json::{Value, json};

const API: &str = "anthropic-messages";
const SELF: &str = "p/anthropic-messages/m";

fn asked(history: Value) -> Asked {
    with_members(json!({}), history)
}

/// A model that can be kept from thinking, with `members` instead of the usual.
fn with_members(members: Value, history: Value) -> Asked {
    let mut asked = Asked::new(API, members, history);
    asked.endpoint.levels = ThinkingLevel::ALL.to_vec();
    asked
}

fn body(asked: &Asked) -> Value {
    Api::parse(API).unwrap().request(&asked.request()).body
}

fn messages(history: Value) -> Value {
    body(&asked(history))["messages"].take()
}

fn sent_headers(asked: &Asked) -> Value {
    let headers = Api::parse(API).unwrap().request(&asked.request()).headers;
    headers.into_iter().map(|(name, value)| (name, value.into())).collect::<serde_json::Map<_, _>>().into()
}

/// `value` with the mark of the cache on the last block of the last message.
fn cached(mut value: Value) -> Value {
    let messages = value.as_array_mut().unwrap();
    let content = messages.last_mut().unwrap()["content"].as_array_mut().unwrap();
    content.last_mut().unwrap()["cache_control"] = json!({ "type": "ephemeral" });
    value
}

#[test]
fn request_with_tool_is_complete() {
    let mut asked = asked(json!([
        user(json!("look")),
        stopped(
            SELF,
            "toolUse",
            json!([
                thinking("hm", "sig"),
                text("I look."),
                call_of("toolu_1", "ls", json!({ "path": "." })),
                call_of("toolu_2", "read", json!({})),
            ])
        ),
        returned("toolu_1", "ls", json!([text("a"), text("b")]), false),
        returned("toolu_2", "read", json!([text("no path")]), true),
    ]));
    asked.system_prompt = "Be good.";
    asked.level = ThinkingLevel::Medium;
    asked.tools = vec![ToolSpec {
        name: "ls".to_owned(),
        description: "Lists.".to_owned(),
        parameters: json!({
            "$schema": "x", "type": "object", "additionalProperties": false,
            "properties": { "path": { "type": "string" } },
        })
        .into(),
        exclusive: true,
        output: None,
    }];
    let request = Api::AnthropicMessages.request(&asked.request());
    assert_eq!(request.url, "https://api.example.com/v1/messages?beta=true");
    let cache = json!({ "type": "ephemeral" });
    assert_eq!(
        request.body,
        json!({
            "model": "m",
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "look" }] },
                { "role": "assistant", "content": [
                    { "type": "thinking", "thinking": "hm", "signature": "sig" },
                    { "type": "text", "text": "I look." },
                    { "type": "tool_use", "id": "toolu_1", "name": "ls", "input": { "path": "." } },
                    { "type": "tool_use", "id": "toolu_2", "name": "read", "input": {} },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "toolu_1", "content": "a\nb", "is_error": false },
                    {
                        "type": "tool_result", "tool_use_id": "toolu_2", "content": "no path", "is_error": true,
                        "cache_control": cache,
                    },
                ] },
            ],
            "max_tokens": 64_000,
            "stream": true,
            "system": [{ "type": "text", "text": "Be good.", "cache_control": cache }],
            "tools": [{
                "name": "ls", "description": "Lists.",
                "input_schema": {
                    "type": "object", "properties": { "path": { "type": "string" } }, "required": [],
                    "additionalProperties": false,
                },
                "eager_input_streaming": true, "cache_control": cache,
            }],
            "thinking": { "type": "enabled", "budget_tokens": 8192, "display": "summarized" },
        })
    );
}

#[test]
fn other_models_answers_lose_signatures() {
    let long = format!("call|{}", "x".repeat(100));
    let sent = messages(json!([
        user(json!("q")),
        stopped(
            "p/openai-responses/gpt",
            "toolUse",
            json!([
                thinking("aloud", "{\"id\":\"rs\"}"),
                thinking("  ", "x"),
                { "type": "thinking", "thinking": "[Reasoning redacted]", "thinkingSignature": "d", "redacted": true },
                { "type": "redactedThinking", "data": "d" },
                { "type": "text", "text": "said", "textSignature": "msg_1" },
                call_of(&long, "bash", json!({ "command": "x" })),
            ])
        ),
        returned(&long, "bash", json!([text("out")]), false),
    ]));
    let id = format!("call_{}", "x".repeat(59));
    assert_eq!(
        sent,
        cached(json!([
            { "role": "user", "content": [text("q")] },
            { "role": "assistant", "content": [
                text("said"),
                { "type": "tool_use", "id": id, "name": "bash", "input": { "command": "x" } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": id, "content": "out", "is_error": false },
            ] },
        ]))
    );
}

#[test]
fn same_models_thinking_returns_unchanged() {
    let sent = messages(json!([
        user(json!("q")),
        assistant(
            SELF,
            json!([
                thinking("", "hidden words"),
                { "type": "thinking", "thinking": "cut" },
                { "type": "thinking", "thinking": " " },
                { "type": "thinking", "thinking": "[Reasoning redacted]", "thinkingSignature": "pi", "redacted": true },
                { "type": "redactedThinking", "data": "xcsh" },
                text(" "),
                text("a"),
            ])
        ),
        user(json!([text("\n"), text("r")])),
    ]));
    assert_eq!(
        sent,
        cached(json!([
            { "role": "user", "content": [text("q")] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "", "signature": "hidden words" },
                text("cut"),
                { "type": "redacted_thinking", "data": "pi" },
                { "type": "redacted_thinking", "data": "xcsh" },
                text("a"),
            ] },
            { "role": "user", "content": [text("r")] },
        ]))
    );
}

#[test]
fn blank_messages_are_left_out() {
    let sent = messages(json!([user(json!("q")), assistant(SELF, json!([text("")])), user(json!("  "))]));
    assert_eq!(sent, cached(json!([{ "role": "user", "content": [text("q")] }])));
}

#[test]
fn images_are_sent_in_messages_and_results() {
    let sent = messages(json!([
        user(json!([text("see"), image("AAAA")])),
        stopped(
            SELF,
            "toolUse",
            json!([
                call_of("1", "read", json!({})),
                call_of("2", "read", json!({})),
                call_of("3", "shot", json!({})),
                call_of("4", "shot", json!({})),
            ])
        ),
        returned("1", "read", json!([image("AAAA")]), false),
        returned("2", "read", json!([text("a"), image("AAAA"), text("b")]), false),
        returned("3", "shot", json!([text("broken"), image("AAAA")]), true),
        returned("4", "shot", json!([]), true),
    ]));
    let image = json!({
        "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" },
    });
    let call = |id: &str, name: &str| json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
    let result = |id: &str, content: Value, is_error: bool| json!({ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error });
    assert_eq!(
        sent,
        cached(json!([
            { "role": "user", "content": [text("see"), image] },
            { "role": "assistant", "content": [
                call("1", "read"), call("2", "read"), call("3", "shot"), call("4", "shot"),
            ] },
            { "role": "user", "content": [
                result("1", json!([text("(see attached image)"), image]), false),
                result("2", json!([text("a"), image, text("b")]), false),
                result("3", json!("broken"), true),
                result("4", json!("(no output)"), true),
                text("Images of the failed call of shot:"),
                image,
            ] },
        ]))
    );
}

#[test]
fn text_only_model_gets_image_notes() {
    let mut asked = asked(json!([user(json!([image("AAAA"), image("AAAA"), text("see")]))]));
    asked.endpoint.model.input = vec![InputKind::Text];
    let omitted = text("(image omitted: model does not support images)");
    assert_eq!(
        body(&asked)["messages"],
        cached(json!([{ "role": "user", "content": [omitted, text("see")] }]))
    );
}

#[test]
fn thinking_level_sets_budget_or_effort() {
    use ThinkingLevel::{High, Low, Medium, Minimal, Off, Xhigh};
    let thinking = |asked: &Asked| {
        let body = body(asked);
        json!([body["max_tokens"], body.get("thinking"), body.get("output_config")])
    };
    let plain = |most: u64| json!([most, null, null]);
    let disabled = json!([64_000, { "type": "disabled" }, null]);
    let budget = |most: u64, tokens: u64| json!([most, { "type": "enabled", "budget_tokens": tokens, "display": "summarized" }, null]);
    for (members, level, expected) in [
        (json!({}), Off, disabled.clone()),
        (json!({}), Minimal, budget(64_000, 1024)),
        (json!({}), Low, budget(64_000, 2048)),
        (json!({}), High, budget(64_000, 16_384)),
        (json!({}), Xhigh, budget(64_000, 16_384)),
        (json!({ "maxTokens": 40_000 }), High, budget(40_000, 16_384)),
        (json!({ "maxTokens": 8192 }), High, budget(8192, 7168)),
        (json!({ "maxTokens": 1500 }), High, plain(1500)),
        (json!({ "reasoning": false }), High, plain(64_000)),
    ] {
        let mut asked = with_members(members.clone(), json!([]));
        asked.level = level;
        assert_eq!(thinking(&asked), expected, "{members} at {level:?}");
    }
    let mut own = asked(json!([]));
    own.level = Xhigh;
    own.options.budgets.insert(High, 5000);
    assert_eq!(thinking(&own), budget(64_000, 5000));

    let effort =
        |word: &str| json!([64_000, { "type": "adaptive", "display": "summarized" }, { "effort": word }]);
    for (id, level, expected) in [
        ("opus-4-6", Off, disabled),
        ("opus-4-6", Minimal, effort("low")),
        ("opus-4-6", Medium, effort("middling")),
        ("opus-4-6", High, effort("high")),
        ("opus-4-6", Xhigh, effort("max")),
        ("sonnet-4-6", Xhigh, effort("high")),
    ] {
        let mut asked = with_members(json!({ "id": id }), json!([]));
        (asked.endpoint.adaptive, asked.level) = (true, level);
        asked.endpoint.efforts.insert(Medium, "middling".to_owned());
        assert_eq!(thinking(&asked), expected, "{id} at {level:?}");
    }
}

#[test]
fn configured_headers_win_over_usual() {
    let mut asked = asked(json!([]));
    asked.endpoint.adaptive = true;
    asked.endpoint.model.base_url = "http://localhost:1/x/".to_owned();
    asked.credentials.headers =
        headers([("X-Team", "a"), ("x-team", "b"), ("Anthropic-Version", "2099-01-01")]);
    assert_eq!(
        Api::AnthropicMessages.request(&asked.request()).url,
        "http://localhost:1/x/v1/messages?beta=true"
    );
    assert_eq!(
        sent_headers(&asked),
        json!({
            "accept": "application/json",
            "content-type": "application/json",
            "anthropic-dangerous-direct-browser-access": "true",
            "x-api-key": "key",
            "x-team": "b",
            "anthropic-version": "2099-01-01",
        })
    );
}

#[test]
fn subscription_token_sends_vendor_headers() {
    let mut asked = asked(json!([user(json!("q"))]));
    asked.credentials.key = Some("sk-ant-oat01-x".to_owned());
    asked.system_prompt = "Be good.";
    assert_eq!(
        sent_headers(&asked),
        json!({
            "accept": "application/json",
            "content-type": "application/json",
            "anthropic-version": "2023-06-01",
            "anthropic-dangerous-direct-browser-access": "true",
            "anthropic-beta": "claude-code-20250219,oauth-2025-04-20",
            "x-app": "cli",
            "authorization": "Bearer sk-ant-oat01-x",
        })
    );
    let system =
        |text: &str| json!({ "type": "text", "text": text, "cache_control": { "type": "ephemeral" } });
    assert_eq!(
        body(&asked)["system"],
        json!([system("You are Claude Code, Anthropic's official CLI for Claude."), system("Be good.")])
    );
}

#[test]
fn bearer_provider_gets_authorization_header() {
    let mut asked = asked(json!([]));
    asked.credentials.bearer = true;
    let with_key = sent_headers(&asked);
    assert_eq!((&with_key["authorization"], with_key.get("x-api-key")), (&json!("Bearer key"), None));
    asked.credentials.key = None;
    let without = sent_headers(&asked);
    assert_eq!((without.get("authorization"), without.get("x-api-key")), (None, None));
}

#[test]
fn hour_cache_is_for_servers_with_it() {
    let mark = |members: Value, long: bool| {
        let mut asked = with_members(members, json!([user(json!("q"))]));
        asked.options.caches_long = long;
        body(&asked)["messages"][0]["content"][0]["cache_control"].take()
    };
    let short = json!({ "type": "ephemeral" });
    assert_eq!(mark(json!({}), true), json!({ "type": "ephemeral", "ttl": "1h" }));
    assert_eq!(mark(json!({}), false), short);
    assert_eq!(mark(json!({ "compat": { "supportsLongCacheRetention": false } }), true), short);
}

#[test]
fn betas_follow_model_and_level() {
    let betas = |compat: Value, level: ThinkingLevel| {
        let mut asked = with_members(json!({ "compat": compat }), json!([user(json!("q"))]));
        asked.tools = vec![tool("ls")];
        asked.level = level;
        asked.endpoint.adaptive = compat["forceAdaptiveThinking"] == true;
        sent_headers(&asked).get("anthropic-beta").cloned()
    };
    let (off, low) = (ThinkingLevel::Off, ThinkingLevel::Low);
    assert_eq!(betas(json!({}), off), None);
    assert_eq!(betas(json!({}), low), Some(json!("interleaved-thinking-2025-05-14")));
    assert_eq!(betas(json!({ "forceAdaptiveThinking": true }), low), None);
    let late = json!({ "supportsEagerToolInputStreaming": false });
    assert_eq!(betas(late, off), Some(json!("fine-grained-tool-streaming-2025-05-14")));
    let efforts = json!({ "supportsMidConvoEffort": true, "forceAdaptiveThinking": true });
    let both = json!("mid-conversation-output-config-2026-07-01,thinking-binding-controls-2026-08-01");
    assert_eq!(betas(efforts.clone(), off), Some(both.clone()));
    assert_eq!(betas(efforts, low), Some(both));
}

#[test]
fn efforts_stand_where_they_held() {
    let compat = json!({ "supportsMidConvoEffort": true, "forceAdaptiveThinking": true });
    let at = |model: &str, effort: &str| {
        let mut answer = assistant(model, json!([text("a")]));
        answer["providerThinkingLevel"] = effort.into();
        answer
    };
    let history = json!([
        user(json!("1")),
        at(SELF, "low"),
        user(json!("2")),
        at("p/anthropic-messages/sibling", "max"),
        user(json!("3")),
        at("other/anthropic-messages/m", "low"),
        user(json!("4")),
        at(SELF, "unheard"),
        user(json!("5")),
    ]);
    let mut asked = with_members(json!({ "compat": compat }), history);
    (asked.endpoint.adaptive, asked.level) = (true, ThinkingLevel::High);
    let sent = body(&asked);
    let effort = |word: &str| json!({ "role": "system", "content": [], "output_config": { "effort": word } });
    let said = |role: &str, words: &str| json!({ "role": role, "content": [text(words)] });
    let mut last = said("user", "5");
    last["content"][0]["cache_control"] = json!({ "type": "ephemeral" });
    assert_eq!(
        sent["messages"],
        json!([
            said("user", "1"),
            effort("low"),
            said("assistant", "a"),
            said("user", "2"),
            effort("max"),
            said("assistant", "a"),
            said("user", "3"),
            said("assistant", "a"),
            said("user", "4"),
            said("assistant", "a"),
            last,
            effort("high"),
        ])
    );
    assert_eq!(
        (&sent["thinking"], &sent["output_config"]),
        (
            &json!({
                "type": "adaptive", "display": "summarized",
                "block_binding": { "prefix_mismatch_behavior": "drop_block" },
            }),
            &json!({ "effort": "low" })
        )
    );
    check_schema(include_str!("../../../../schema/vendors/anthropic-messages.json"), &sent);
    assert_eq!(Api::AnthropicMessages.kept_effort(&asked.request()), Some("high"));
    asked.level = ThinkingLevel::Off;
    assert_eq!(body(&asked)["thinking"], json!({ "type": "disabled" }));
    assert_eq!(Api::AnthropicMessages.kept_effort(&asked.request()), None);
}

#[test]
fn unsigned_thinking_stays_where_server_allows() {
    let compat = json!({ "allowEmptySignature": true });
    let unsigned = json!({ "type": "thinking", "thinking": "hm" });
    let asked = with_members(
        json!({ "compat": compat }),
        json!([user(json!("q")), assistant(SELF, json!([unsigned]))]),
    );
    let block = json!({ "type": "thinking", "thinking": "hm", "signature": "" });
    assert_eq!(body(&asked)["messages"][1]["content"], json!([block]));
}

#[test]
fn offered_tool_is_forced_without_thinking() {
    let body = |forced: Option<&'static str>, level: ThinkingLevel, adaptive: bool| {
        let mut asked = asked(json!([user(json!("q"))]));
        asked.tools = vec![tool("todo_write")];
        asked.forced_tool = forced;
        (asked.level, asked.endpoint.adaptive) = (level, adaptive);
        body(&asked)
    };
    let forced = body(Some("todo_write"), ThinkingLevel::Off, false);
    let mut expected = body(None, ThinkingLevel::Off, false);
    expected["tool_choice"] = json!({ "type": "tool", "name": "todo_write" });
    assert_eq!(forced, expected);
    check_schema(include_str!("../../../../schema/vendors/anthropic-messages.json"), &forced);
    for (tool, level, adaptive) in [
        ("bash", ThinkingLevel::Off, false),
        ("todo_write", ThinkingLevel::Low, false),
        ("todo_write", ThinkingLevel::Low, true),
    ] {
        assert_eq!(body(Some(tool), level, adaptive), body(None, level, adaptive));
    }
}
