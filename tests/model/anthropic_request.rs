//! What is sent to Anthropic Messages.

use crate::model_support::{Asked, assistant, call, image, result, stopped, text, user};
use pi_rpc::{
    model::{api::Api, types::ToolSpec},
    protocol::{InputKind, ThinkingLevel},
};
use serde_json::{Value, json};

const API: &str = "anthropic-messages";

fn asked(history: Value) -> Asked {
    Asked::new(API, history)
}

fn body(asked: &Asked) -> Value {
    Api::parse(API).unwrap().request(&asked.request()).body
}

fn messages(history: Value) -> Value {
    body(&asked(history))["messages"].take()
}

fn headers(asked: &Asked) -> Value {
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
fn a_conversation_with_a_tool_is_sent_whole() {
    let mut asked = asked(json!([
        user(json!("look")),
        stopped(
            API,
            "m",
            "toolUse",
            json!([
                { "type": "thinking", "thinking": "hm", "thinkingSignature": "sig" },
                text("I look."),
                call("toolu_1", "ls", json!({ "path": "." })),
                call("toolu_2", "read", json!({})),
            ])
        ),
        result("toolu_1", "ls", json!([text("a"), text("b")]), false),
        result("toolu_2", "read", json!([text("no path")]), true),
    ]));
    asked.system_prompt = "Be good.".to_owned();
    asked.level = ThinkingLevel::Medium;
    asked.tools = vec![ToolSpec {
        name: "ls".to_owned(),
        description: "Lists.".to_owned(),
        parameters: json!({
            "$schema": "x", "type": "object", "additionalProperties": false,
            "properties": { "path": { "type": "string" } },
        }),
        exclusive: true,
    }];
    let request = Api::AnthropicMessages.request(&asked.request());
    assert_eq!(request.url, "https://api.example.com/v1/messages");
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
            "max_tokens": 40_192,
            "stream": true,
            "system": [{ "type": "text", "text": "Be good.", "cache_control": cache }],
            "tools": [{
                "name": "ls", "description": "Lists.",
                "input_schema": {
                    "type": "object", "properties": { "path": { "type": "string" } }, "required": [],
                },
            }],
            "thinking": { "type": "enabled", "budget_tokens": 8192 },
        })
    );
}

#[test]
fn another_models_answers_keep_words_and_calls_but_no_proofs() {
    let long = format!("call|{}", "x".repeat(100));
    let sent = messages(json!([
        user(json!("q")),
        stopped(
            "openai-responses",
            "gpt",
            "toolUse",
            json!([
                { "type": "thinking", "thinking": "aloud", "thinkingSignature": "{\"id\":\"rs\"}" },
                { "type": "thinking", "thinking": "  ", "thinkingSignature": "x" },
                { "type": "thinking", "thinking": "[Reasoning redacted]", "thinkingSignature": "d", "redacted": true },
                { "type": "redactedThinking", "data": "d" },
                { "type": "text", "text": "said", "textSignature": "msg_1" },
                call(&long, "bash", json!({ "command": "x" })),
            ])
        ),
        result(&long, "bash", json!([text("out")]), false),
    ]));
    let id = format!("call_{}", "x".repeat(59));
    assert_eq!(
        sent,
        cached(json!([
            { "role": "user", "content": [text("q")] },
            { "role": "assistant", "content": [
                text("aloud"),
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
fn the_same_models_thinking_comes_back_as_it_was() {
    let sent = messages(json!([
        user(json!("q")),
        assistant(
            API,
            "m",
            json!([
                { "type": "thinking", "thinking": "", "thinkingSignature": "hidden words" },
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
fn messages_that_say_nothing_are_left_out() {
    let sent = messages(json!([user(json!("q")), assistant(API, "m", json!([text("")])), user(json!("  "))]));
    assert_eq!(sent, cached(json!([{ "role": "user", "content": [text("q")] }])));
}

#[test]
fn images_go_with_their_message_or_their_result() {
    let sent = messages(json!([
        user(json!([text("see"), image()])),
        stopped(
            API,
            "m",
            "toolUse",
            json!([
                call("1", "read", json!({})),
                call("2", "read", json!({})),
                call("3", "shot", json!({})),
                call("4", "shot", json!({})),
            ])
        ),
        result("1", "read", json!([image()]), false),
        result("2", "read", json!([text("a"), image(), text("b")]), false),
        result("3", "shot", json!([text("broken"), image()]), true),
        result("4", "shot", json!([]), true),
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
fn a_model_without_eyes_is_told_of_the_images() {
    let mut asked = asked(json!([user(json!([image(), image(), text("see")]))]));
    asked.endpoint.model.input = vec![InputKind::Text];
    let omitted = text("(image omitted: model does not support images)");
    assert_eq!(
        body(&asked)["messages"],
        cached(json!([{ "role": "user", "content": [omitted, text("see")] }]))
    );
}

#[test]
fn thinking_is_asked_for_in_the_models_way() {
    let thinking = |change: &dyn Fn(&mut Asked)| {
        let mut asked = asked(json!([]));
        change(&mut asked);
        let body = body(&asked);
        json!([body["max_tokens"], body.get("thinking"), body.get("output_config")])
    };
    let enabled = |tokens: u64| json!({ "type": "enabled", "budget_tokens": tokens });
    let level = |level: ThinkingLevel| thinking(&move |asked| asked.level = level);
    assert_eq!(level(ThinkingLevel::Off), json!([32_000, null, null]));
    assert_eq!(level(ThinkingLevel::Minimal), json!([33_024, enabled(1024), null]));
    assert_eq!(level(ThinkingLevel::Low), json!([34_048, enabled(2048), null]));
    assert_eq!(level(ThinkingLevel::High), json!([48_384, enabled(16_384), null]));
    assert_eq!(level(ThinkingLevel::Xhigh), json!([48_384, enabled(16_384), null]));

    let small = |tokens: u64| {
        thinking(&move |asked| {
            asked.level = ThinkingLevel::High;
            asked.endpoint.model.max_tokens = tokens;
        })
    };
    assert_eq!(small(40_000), json!([40_000, enabled(16_384), null]));
    assert_eq!(small(8192), json!([8192, enabled(7168), null]));
    assert_eq!(small(1500), json!([1500, null, null]));

    let own = thinking(&|asked| {
        asked.level = ThinkingLevel::Xhigh;
        asked.options.budgets.insert(ThinkingLevel::High, 5000);
    });
    assert_eq!(own, json!([37_000, enabled(5000), null]));

    let adaptive = |id: &'static str, level: ThinkingLevel| {
        thinking(&move |asked| {
            asked.endpoint.model.id = id.to_owned();
            asked.endpoint.adaptive = true;
            asked.endpoint.efforts.insert(ThinkingLevel::Medium, "middling".to_owned());
            asked.level = level;
        })
    };
    let effort = |word: &str| json!([32_000, { "type": "adaptive" }, { "effort": word }]);
    assert_eq!(adaptive("opus-4-6", ThinkingLevel::Off), json!([32_000, null, null]));
    assert_eq!(adaptive("opus-4-6", ThinkingLevel::Minimal), effort("low"));
    assert_eq!(adaptive("opus-4-6", ThinkingLevel::Medium), effort("middling"));
    assert_eq!(adaptive("opus-4-6", ThinkingLevel::High), effort("high"));
    assert_eq!(adaptive("opus-4-6", ThinkingLevel::Xhigh), effort("max"));
    assert_eq!(adaptive("sonnet-4-6", ThinkingLevel::Xhigh), effort("high"));

    let thoughtless = thinking(&|asked| {
        asked.endpoint.model.reasoning = false;
        asked.level = ThinkingLevel::High;
    });
    assert_eq!(thoughtless, json!([32_000, null, null]));
}

#[test]
fn a_key_has_its_header_and_configured_headers_win() {
    let mut asked = asked(json!([]));
    asked.endpoint.adaptive = true;
    asked.credentials.headers = [("X-Team", "a"), ("x-team", "b"), ("Anthropic-Version", "2099-01-01")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    assert_eq!(
        headers(&asked),
        json!({
            "accept": "application/json",
            "content-type": "application/json",
            "anthropic-dangerous-direct-browser-access": "true",
            "anthropic-beta": "fine-grained-tool-streaming-2025-05-14",
            "x-api-key": "k",
            "x-team": "b",
            "anthropic-version": "2099-01-01",
        })
    );
}

#[test]
fn a_subscriptions_token_is_introduced_as_the_vendor_wants() {
    let mut asked = asked(json!([user(json!("q"))]));
    asked.credentials.key = Some("sk-ant-oat01-x".to_owned());
    asked.system_prompt = "Be good.".to_owned();
    assert_eq!(
        headers(&asked),
        json!({
            "accept": "application/json",
            "content-type": "application/json",
            "anthropic-version": "2023-06-01",
            "anthropic-dangerous-direct-browser-access": "true",
            "anthropic-beta": "claude-code-20250219,oauth-2025-04-20,fine-grained-tool-streaming-2025-05-14,\
                               interleaved-thinking-2025-05-14",
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
fn a_key_goes_into_authorization_where_the_provider_wants_that() {
    let mut asked = asked(json!([]));
    asked.credentials.bearer = true;
    let with_key = headers(&asked);
    assert_eq!((&with_key["authorization"], with_key.get("x-api-key")), (&json!("Bearer k"), None));
    asked.credentials.key = None;
    let without = headers(&asked);
    assert_eq!((without.get("authorization"), without.get("x-api-key")), (None, None));
}

#[test]
fn the_cache_lasts_an_hour_only_at_the_vendor() {
    let mark = |base: &str, long: bool| {
        let mut asked = asked(json!([user(json!("q"))]));
        asked.endpoint.model.base_url = base.to_owned();
        asked.options.caches_long = long;
        body(&asked)["messages"][0]["content"][0]["cache_control"].take()
    };
    let short = json!({ "type": "ephemeral" });
    let long = json!({ "type": "ephemeral", "ttl": "1h" });
    assert_eq!(mark("https://api.anthropic.com", true), long);
    assert_eq!(mark("https://api.anthropic.com:443/", true), long);
    assert_eq!(mark("https://api.anthropic.com", false), short);
    assert_eq!(mark("https://proxy.example/api.anthropic.com", true), short);
}

#[test]
fn a_slash_at_the_end_of_the_base_is_no_part_of_it() {
    let mut asked = asked(json!([]));
    asked.endpoint.model.base_url = "http://localhost:1/x/".to_owned();
    assert_eq!(Api::AnthropicMessages.request(&asked.request()).url, "http://localhost:1/x/v1/messages");
}

#[test]
fn a_tool_is_forced_if_it_is_offered_and_the_model_does_not_think() {
    let body = |forced: Option<&str>, level: ThinkingLevel, adaptive: bool| {
        let mut asked = asked(json!([user(json!("q"))]));
        asked.tools = vec![ToolSpec {
            name: "todo_write".to_owned(),
            description: "Writes.".to_owned(),
            parameters: json!({ "type": "object" }),
            exclusive: true,
        }];
        asked.forced_tool = forced.map(str::to_owned);
        (asked.level, asked.endpoint.adaptive) = (level, adaptive);
        body(&asked)
    };
    let forced = body(Some("todo_write"), ThinkingLevel::Off, false);
    assert_eq!(
        forced,
        json!({
            "model": "m",
            "messages": cached(json!([{ "role": "user", "content": [text("q")] }])),
            "max_tokens": 32_000,
            "stream": true,
            "tools": [{
                "name": "todo_write", "description": "Writes.",
                "input_schema": { "type": "object", "properties": {}, "required": [] },
            }],
            "tool_choice": { "type": "tool", "name": "todo_write" },
        })
    );
    let schema = serde_json::from_str(include_str!("../../schema/vendors/anthropic-messages.json")).unwrap();
    assert_eq!(jsonschema::validate(&schema, &forced).map_err(|error| error.to_string()), Ok(()));
    for (tool, level, adaptive) in [
        ("bash", ThinkingLevel::Off, false),
        ("todo_write", ThinkingLevel::Low, false),
        ("todo_write", ThinkingLevel::Low, true),
    ] {
        assert_eq!(body(Some(tool), level, adaptive), body(None, level, adaptive));
    }
}
