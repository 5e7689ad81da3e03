//! Requests to Chat Completions, whole.

use crate::model_support::*;
use pi_rpc_model::{openai_completions::request, request::HttpRequest};
use pi_rpc_protocol::ThinkingLevel;
use serde_json::{Value, json};

const API: &str = "openai-completions";
const SELF: &str = "openai/openai-completions/gpt-5.4";

fn asked(model: Value, messages: Value) -> Asked {
    Asked::openai(API, model, messages)
}

/// The messages sent after the instructions.
fn sent(model: Value, messages: Value) -> Value {
    let mut body = asked(model, messages).body(request);
    let mut sent = body["messages"].take();
    sent.as_array_mut().unwrap().remove(0);
    sent
}

fn sent_call(id: &str, path: &str) -> Value {
    let arguments = json!({"path": path}).to_string();
    json!({"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}})
}

#[test]
fn request_has_keys_in_order() {
    let mut asked = asked(json!({}), json!([user(json!("Hi"))]));
    asked.level = ThinkingLevel::Low;
    asked.tools = vec![tool("ls")];
    let sent = request(&asked.request());
    let expected = json!({
        "model": "gpt-5.4",
        "messages": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "stream": true,
        "prompt_cache_key": "session",
        "stream_options": {"include_usage": true},
        "store": false,
        "max_completion_tokens": 64000,
        "tools": [{"type": "function", "function": {
            "name": "ls", "description": "Does ls.", "parameters": {"type": "object", "properties": {}},
        }}],
        "reasoning_effort": "low",
    });
    assert_eq!(sent.body.to_string(), expected.to_string());
    let headers = headers([("accept", "application/json"), ("authorization", "Bearer key")]);
    let url = "https://api.openai.com/v1/chat/completions".to_owned();
    assert_eq!(sent, HttpRequest { url, headers, body: expected, signing: None });
}

#[test]
fn configured_headers_win() {
    let mut asked = asked(json!({"baseUrl": "http://localhost:1/v1/"}), json!([]));
    asked.credentials.key = None;
    asked.credentials.headers = headers([("X-Team", "a"), ("Accept", "text/event-stream"), ("x-team", "b")]);
    let sent = request(&asked.request());
    assert_eq!(sent.url, "http://localhost:1/v1/chat/completions");
    assert_eq!(sent.headers, headers([("accept", "text/event-stream"), ("x-team", "b")]));
}

#[test]
fn servers_get_the_members_they_take() {
    let body = |model: Value, level: ThinkingLevel| {
        let mut asked = asked(model, json!([]));
        asked.level = level;
        asked.tools = vec![tool("ls")];
        let mut body = asked.body(request);
        let strict = body["tools"][0]["function"].as_object_mut().unwrap().remove("strict");
        let instructor = body["messages"][0]["role"].take();
        let members = body.as_object_mut().unwrap();
        members.retain(|key, _| {
            !["model", "messages", "stream", "tools", "prompt_cache_key"].contains(&key.as_str())
        });
        json!([instructor, strict, body]).to_string()
    };
    // What OpenAI gets, and what others get: none of them knows a developer.
    let full = |rest: &str| {
        format!(
            r#"["developer",null,{{"stream_options":{{"include_usage":true}},"store":false,"max_completion_tokens":64000{rest}}}]"#
        )
    };
    let less =
        |rest: &str| format!(r#"["system",null,{{"stream_options":{{"include_usage":true}},{rest}}}]"#);
    let (high, off) = (ThinkingLevel::High, ThinkingLevel::Off);
    let cases = [
        (
            json!({"provider": "zai", "baseUrl": "https://x"}),
            high,
            less(r#""max_tokens":64000,"thinking":{"type":"enabled","clear_thinking":false}"#),
        ),
        (
            json!({"provider": "mine", "baseUrl": "https://api.z.ai/v4"}),
            off,
            less(r#""max_tokens":64000,"thinking":{"type":"disabled"}"#),
        ),
        (
            json!({"provider": "xai", "baseUrl": "https://api.x.ai/v1"}),
            high,
            less(r#""max_completion_tokens":64000"#),
        ),
        (
            json!({"provider": "mine", "baseUrl": "https://llm.chutes.ai/v1", "maxTokens": 100}),
            high,
            less(r#""max_tokens":100,"reasoning_effort":"high""#),
        ),
        (json!({"reasoning": false, "maxTokens": 0}), high, less(r#""store":false"#)),
        (
            json!({"provider": "groq", "baseUrl": "https://g", "id": "qwen/qwen3-32b"}),
            high,
            less(r#""store":false,"max_completion_tokens":64000,"reasoning_effort":"default""#),
        ),
        (
            json!({"compat": {
                "supportsStore": false, "supportsDeveloperRole": false, "supportsUsageInStreaming": false,
                "maxTokensField": "max_tokens", "supportsStrictMode": false, "reasoningEffortMap": {"high": "most"},
            }}),
            high,
            r#"["system",null,{"max_tokens":64000,"reasoning_effort":"most"}]"#.to_owned(),
        ),
        (
            json!({"compat": {"thinkingFormat": "qwen", "supportsStore": "no"}}),
            high,
            full(r#","enable_thinking":true,"reasoning_effort":"high""#),
        ),
        (
            json!({"compat": {"thinkingFormat": "qwen-chat-template", "supportsReasoningEffort": false}}),
            high,
            full(r#","chat_template_kwargs":{"enable_thinking":true,"preserve_thinking":true}"#),
        ),
        (json!({"compat": {"supportsReasoningEffort": false}}), high, full("")),
        (
            json!({"baseUrl": "https://openrouter.ai/api/v1", "compat": {"openRouterRouting": {"only": ["a"]}}}),
            off,
            full(r#","reasoning":{"effort":"none"},"provider":{"only":["a"]}"#),
        ),
        (
            json!({"baseUrl": "https://ai-gateway.vercel.sh/v1", "compat": {"vercelGatewayRouting": {"order": ["a"], "x": 1}}}),
            off,
            full(r#","providerOptions":{"gateway":{"order":["a"]}}"#),
        ),
    ];
    for (model, level, expected) in cases {
        assert_eq!(body(model.clone(), level), expected, "{model}");
    }
}

#[test]
fn sampling_parameters_replace_members() {
    let model = json!({
        "samplingParams": { "temperature": 0.5, "top_p": 0.9, "store": true },
        "samplingParamsByThinkingLevel": { "high": { "temperature": 1 }, "off": { "temperature": 0 } },
    });
    let sent = |level| {
        let mut asked = asked(model.clone(), json!([]));
        asked.level = level;
        let body = asked.body(request);
        json!([body["temperature"], body["top_p"], body["store"]])
    };
    assert_eq!(sent(ThinkingLevel::High), json!([1, 0.9, true]));
    assert_eq!(sent(ThinkingLevel::Off), json!([0, 0.9, true]));
    assert_eq!(sent(ThinkingLevel::Low), json!([0.5, 0.9, true]));
}

#[test]
fn thinking_budget_goes_into_the_named_member() {
    let sent = |compat: Value, most: u64, level| {
        let mut asked = asked(json!({ "maxTokens": most, "compat": compat }), json!([]));
        asked.level = level;
        asked.body(request)
    };
    let named = || json!({ "thinkingTokenBudgetField": "thinking_budget" });
    assert_eq!(sent(named(), 64_000, ThinkingLevel::High)["thinking_budget"], 16_384);
    assert_eq!(sent(named(), 9000, ThinkingLevel::High)["thinking_budget"], 7976);
    assert_eq!(sent(named(), 1000, ThinkingLevel::High).get("thinking_budget"), None);
    assert_eq!(sent(named(), 64_000, ThinkingLevel::Off).get("thinking_budget"), None);
    let usual = json!({ "supportsThinkingTokenBudget": true });
    assert_eq!(sent(usual, 64_000, ThinkingLevel::Low)["thinking_token_budget"], 2048);
    let template = json!({ "thinkingFormat": "chat-template", "chatTemplateKwargs": { "budget": { "$var": "thinking.budget" } } });
    let kwargs = sent(template.clone(), 64_000, ThinkingLevel::Medium)["chat_template_kwargs"].clone();
    assert_eq!(kwargs, json!({ "budget": 8192 }));
    assert_eq!(sent(template, 64_000, ThinkingLevel::Off).get("chat_template_kwargs"), None);
}

#[test]
fn priority_and_cache_key_are_configured() {
    let sent = |base_url: &str, compat: Value| {
        let body = asked(json!({ "baseUrl": base_url, "compat": compat }), json!([])).body(request);
        json!([body["priority"], body["prompt_cache_key"]])
    };
    let (own, openai) = ("http://own/v1", "https://api.openai.com/v1");
    assert_eq!(sent(own, json!({ "vllmPriority": -1 })), json!([-1, null]));
    assert_eq!(sent(own, json!({ "promptCacheKeyMode": "enabled" })), json!([null, "session"]));
    assert_eq!(sent(openai, json!({ "promptCacheKeyMode": "auto" })), json!([null, "session"]));
    assert_eq!(sent(openai, json!({ "promptCacheKeyMode": "disabled" })), json!([null, null]));
}

#[test]
fn answer_limit_is_what_the_window_leaves() {
    let limit = |history: Value| {
        let model = json!({"contextWindow": 100_000, "maxTokens": 100_000});
        asked(model, history).body(request)["max_completion_tokens"].clone()
    };
    let counted = |tokens: u64| {
        let mut answer = assistant(SELF, json!([text("Hi")]));
        answer["usage"]["totalTokens"] = tokens.into();
        answer
    };
    // The provider's count, 1,000 tokens of what came since, and 15 % as a margin.
    let since = user(json!("x".repeat(3500)));
    assert_eq!(limit(json!([user(json!("a")), counted(39_000), since])), 54_000);
    // Near the end of the window the margin is a fixed one.
    assert_eq!(limit(json!([counted(90_000)])), 5904);
    assert_eq!(limit(json!([counted(99_000)])), 1);
    // A summary that is newer than an answer stands for what that answer's count included.
    let mut summary = user(json!("x".repeat(35_000)));
    summary["timestamp"] = 2.into();
    assert_eq!(limit(json!([summary, counted(90_000)])), 85_900);
}

#[test]
fn level_is_sent_in_the_models_word() {
    let mut asked = asked(json!({}), json!([]));
    asked.level = ThinkingLevel::Xhigh;
    assert_eq!(asked.body(request)["reasoning_effort"], "high");
    asked.endpoint.levels = ThinkingLevel::ALL.to_vec();
    assert_eq!(asked.body(request)["reasoning_effort"], "xhigh");
    asked.endpoint.efforts.insert(ThinkingLevel::Xhigh, "max".to_owned());
    assert_eq!(asked.body(request)["reasoning_effort"], "max");
    asked.level = ThinkingLevel::Off;
    assert_eq!(asked.body(request).get("reasoning_effort"), None);
    asked.endpoint.efforts.insert(ThinkingLevel::Off, "none".to_owned());
    assert_eq!(asked.body(request)["reasoning_effort"], "none");
}

#[test]
fn user_text_and_images_become_parts() {
    let history = json!([user(json!([text("See"), image("AA")])), user(json!([]))]);
    let url = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}});
    assert_eq!(sent(json!({}), history), json!([{"role": "user", "content": [text("See"), url]}]));
}

#[test]
fn images_of_results_follow_as_user_message() {
    let history = json!([
        assistant(SELF, json!([call("a", "x"), call("b", "y")])),
        result("a", json!([text("one"), text("two"), image("AA")])),
        result("b", json!([image("BB")])),
        user(json!("Go on")),
    ]);
    let url = |data: &str| json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}});
    let expected = json!([
        {"role": "assistant", "content": null, "tool_calls": [sent_call("a", "x"), sent_call("b", "y")]},
        {"role": "tool", "content": "one\ntwo", "tool_call_id": "a"},
        {"role": "tool", "content": "(see attached image)", "tool_call_id": "b"},
        {"role": "user", "content": [text("Attached image(s) from tool result:"), url("AA"), url("BB")]},
        {"role": "user", "content": "Go on"},
    ]);
    assert_eq!(sent(json!({}), history).to_string(), expected.to_string());
}

#[test]
fn thinking_returns_under_its_key() {
    let signed = thinking;
    let thinking = |text: &str| signed(text, "reasoning");
    let said = json!([thinking("One"), thinking("Two"), text("Hi "), text(" "), text("there")]);
    let history = || json!([assistant(SELF, said.clone())]);
    let expected = json!([{"role": "assistant", "content": "Hi there", "reasoning": "One\nTwo"}]);
    assert_eq!(sent(json!({}), history()).to_string(), expected.to_string());

    let as_text = json!({"compat": {"requiresThinkingAsText": true}});
    let parts = json!([text("One\n\nTwo"), text("Hi "), text("there")]);
    assert_eq!(sent(as_text, history()), json!([{"role": "assistant", "content": parts}]));

    // A signature that is no key of thinking.
    let history = json!([assistant(SELF, json!([signed("Hm", "role"), text("Hi")]))]);
    assert_eq!(sent(json!({}), history), json!([{"role": "assistant", "content": "Hi"}]));
}

#[test]
fn encrypted_thinking_returns_with_its_call() {
    let mut signed = call("a", "x");
    signed["thoughtSignature"] = r#"{"type":"reasoning.encrypted","id":"a","data":"x"}"#.into();
    let history = json!([assistant(SELF, json!([signed])), result("a", json!([text("ok")]))]);
    let expected = json!({
        "role": "assistant", "content": null, "tool_calls": [sent_call("a", "x")],
        "reasoning_details": [{"type": "reasoning.encrypted", "id": "a", "data": "x"}],
    });
    assert_eq!(sent(json!({}), history)[0].to_string(), expected.to_string());
}

#[test]
fn history_with_calls_may_need_empty_tools() {
    let history = || json!([assistant(SELF, json!([call("a", "x")]))]);
    let needs = || json!({"compat": {"requiresToolsWithToolHistory": true}});
    assert_eq!(asked(needs(), history()).body(request)["tools"], json!([]));
    assert_eq!(asked(needs(), json!([])).body(request).get("tools"), None);
    assert_eq!(asked(json!({}), history()).body(request).get("tools"), None);
}

#[test]
fn assistant_is_inserted_after_results() {
    let model =
        || json!({"compat": {"requiresAssistantAfterToolResult": true, "requiresToolResultName": true}});
    let history = json!([
        assistant(SELF, json!([call("a", "x")])),
        result("a", json!([text("ok")])),
        user(json!("Go on")),
    ]);
    let bridge = json!({"role": "assistant", "content": "I have processed the tool results."});
    let expected = json!([
        {"role": "assistant", "content": "", "tool_calls": [sent_call("a", "x")]},
        {"role": "tool", "content": "ok", "tool_call_id": "a", "name": "read"},
        bridge,
        {"role": "user", "content": "Go on"},
    ]);
    assert_eq!(sent(model(), history).to_string(), expected.to_string());
    assert_eq!(sent(model(), json!([user(json!("Hi"))])), json!([{"role": "user", "content": "Hi"}]));
}

#[test]
fn anthropic_history_is_converted() {
    let by = "anthropic/anthropic-messages/claude";
    let long = "toolu_0123456789012345678901234567890123456789";
    let history = json!([
        user(json!("Hi")),
        assistant(
            by,
            json!([
                thinking("Hm.", "c2ln"),
                {"type": "thinking", "thinking": "[hidden]", "thinkingSignature": "x", "redacted": true},
                text("I look."),
                call(long, "x"),
                call("toolu_2", "y"),
            ])
        ),
        result(long, json!([text("ok")])),
    ]);
    let expected = json!([
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "I look.", "tool_calls": [
            sent_call("toolu_0123456789012345678901234567890123", "x"),
            sent_call("toolu_2", "y"),
        ]},
        {"role": "tool", "content": "ok", "tool_call_id": "toolu_0123456789012345678901234567890123"},
        {"role": "tool", "content": "No result provided", "tool_call_id": "toolu_2"},
    ]);
    assert_eq!(sent(json!({}), history).to_string(), expected.to_string());
}

#[test]
fn responses_history_is_converted() {
    let by = "openai/openai-responses/gpt-5.4";
    let history = json!([
        assistant(by, json!([thinking("", "{}"), call("call.1|fc_1", "x")])),
        result("call.1|fc_1", json!([])),
    ]);
    let expected = json!([
        {"role": "assistant", "content": null, "tool_calls": [sent_call("call_1_fc_1", "x")]},
        {"role": "tool", "content": "(no tool output)", "tool_call_id": "call_1_fc_1"},
    ]);
    assert_eq!(sent(json!({"provider": "mine"}), history).to_string(), expected.to_string());
}

#[test]
fn blank_answers_are_left_out() {
    let history = json!([assistant(SELF, json!([text("  ")])), user(json!("Hi"))]);
    assert_eq!(sent(json!({}), history), json!([{"role": "user", "content": "Hi"}]));
}

#[test]
fn openrouter_claude_caches_to_last_text() {
    let model = json!({"provider": "openrouter", "id": "anthropic/claude"});
    let by = "openrouter/openai-completions/anthropic/claude";
    let history =
        json!([user(json!("Hi")), assistant(by, json!([call("a", "x")])), result("a", json!([text("ok")])),]);
    let marked = json!([{"type": "text", "text": "ok", "cache_control": {"type": "ephemeral"}}]);
    let expected = json!([
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": null, "tool_calls": [sent_call("a", "x")]},
        {"role": "tool", "content": marked, "tool_call_id": "a"},
    ]);
    assert_eq!(sent(model, history), expected);
}

#[test]
fn offered_tool_is_forced_without_thinking() {
    let body = |forced: Option<&'static str>, model: Value, level: ThinkingLevel| {
        let mut asked = asked(model, json!([user(json!("Hi"))]));
        asked.tools = vec![tool("todo_write")];
        (asked.forced_tool, asked.level) = (forced, level);
        asked.body(request)
    };
    let free = body(None, json!({}), ThinkingLevel::Low);
    let choice = json!({"type": "function", "function": {"name": "todo_write"}});
    let mut expected = free.clone();
    expected["tool_choice"] = choice.clone();
    let forced = body(Some("todo_write"), json!({}), ThinkingLevel::Low);
    assert_eq!(forced, expected);
    check_schema(include_str!("../../../../schema/vendors/openai-completions.json"), &forced);
    let qwen = json!({"compat": {"thinkingFormat": "qwen"}});
    let chosen = |level| body(Some("todo_write"), qwen.clone(), level)["tool_choice"].take();
    assert_eq!((chosen(ThinkingLevel::Off), chosen(ThinkingLevel::Low)), (choice, Value::Null));
    assert_eq!(body(Some("bash"), json!({}), ThinkingLevel::Low), free);
}
