//! What Chat Completions is asked: whole requests.

use crate::openai_support::*;
use pi_rpc::{
    model::{openai_completions::request, request::HttpRequest},
    protocol::ThinkingLevel,
};
use serde_json::{Value, json};

const API: &str = "openai-completions";
const SELF: &str = "openai/openai-completions/gpt-5.4";

fn asked(model: Value, messages: Value) -> Asked {
    Asked::new(API, model, messages)
}

/// The messages sent after the instructions.
fn sent(model: Value, messages: Value) -> Value {
    let mut body = asked(model, messages).request(request).body;
    let mut sent = body["messages"].take();
    sent.as_array_mut().unwrap().remove(0);
    sent
}

fn sent_call(id: &str, path: &str) -> Value {
    let arguments = json!({"path": path}).to_string();
    json!({"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}})
}

#[test]
fn a_request_has_all_keys_in_their_order() {
    let mut asked = asked(json!({}), json!([user(json!("Hi"))]));
    asked.level = ThinkingLevel::Low;
    asked.tools = vec![tool("ls")];
    let sent = asked.request(request);
    let expected = json!({
        "model": "gpt-5.4",
        "messages": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "stream": true,
        "stream_options": {"include_usage": true},
        "store": false,
        "max_completion_tokens": 32000,
        "tools": [{"type": "function", "function": {
            "name": "ls", "description": "Does ls.", "parameters": {"type": "object", "properties": {}},
            "strict": false,
        }}],
        "reasoning_effort": "low",
    });
    assert_eq!(sent.body.to_string(), expected.to_string());
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let headers = vec![header("accept", "application/json"), header("authorization", "Bearer key")];
    let url = "https://api.openai.com/v1/chat/completions".to_owned();
    assert_eq!(sent, HttpRequest { url, headers, body: expected });
}

#[test]
fn configured_headers_win_and_the_address_may_end_in_a_slash() {
    let mut asked = asked(json!({"baseUrl": "http://localhost:1/v1/"}), json!([]));
    asked.credentials.key = None;
    let given = [("X-Team", "a"), ("Accept", "text/event-stream"), ("x-team", "b")];
    asked.credentials.headers = given.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let sent = asked.request(request);
    assert_eq!(sent.url, "http://localhost:1/v1/chat/completions");
    let expected = [("accept", "text/event-stream"), ("x-team", "b")];
    assert_eq!(sent.headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn a_server_gets_what_it_is_known_or_said_to_take() {
    let body = |model: Value, level: ThinkingLevel| {
        let mut asked = asked(model, json!([]));
        asked.level = level;
        asked.tools = vec![tool("ls")];
        let mut body = asked.request(request).body;
        let strict = body["tools"][0]["function"].as_object_mut().unwrap().remove("strict");
        let instructor = body["messages"][0]["role"].take();
        let members = body.as_object_mut().unwrap();
        members.retain(|key, _| !["model", "messages", "stream", "tools"].contains(&key.as_str()));
        json!([instructor, strict, body])
    };
    let usage = json!({"include_usage": true});
    let high = ThinkingLevel::High;
    let cases = [
        (
            json!({"provider": "zai", "baseUrl": "https://x"}),
            high,
            json!(["system", false, {"stream_options": usage, "max_completion_tokens": 32000, "enable_thinking": true}]),
        ),
        (
            json!({"provider": "mine", "baseUrl": "https://api.z.ai/v4"}),
            ThinkingLevel::Off,
            json!(["system", false, {"stream_options": usage, "max_completion_tokens": 32000, "enable_thinking": false}]),
        ),
        (
            json!({"provider": "xai", "baseUrl": "https://api.x.ai/v1"}),
            high,
            json!(["system", false, {"stream_options": usage, "max_completion_tokens": 32000}]),
        ),
        (
            json!({"provider": "mine", "baseUrl": "https://llm.chutes.ai/v1", "maxTokens": 100}),
            high,
            json!(["system", false, {"stream_options": usage, "max_tokens": 100, "reasoning_effort": "high"}]),
        ),
        (
            json!({"provider": "groq", "baseUrl": "https://g", "id": "qwen/qwen3-32b"}),
            high,
            json!(["developer", false, {"stream_options": usage, "store": false, "max_completion_tokens": 32000, "reasoning_effort": "default"}]),
        ),
        (
            json!({"reasoning": false, "maxTokens": 0}),
            high,
            json!(["system", false, {"stream_options": usage, "store": false}]),
        ),
        (
            json!({"compat": {
                "supportsStore": false, "supportsDeveloperRole": false, "supportsUsageInStreaming": false,
                "maxTokensField": "max_tokens", "supportsStrictMode": false, "reasoningEffortMap": {"high": "most"},
            }}),
            high,
            json!(["system", null, {"max_tokens": 32000, "reasoning_effort": "most"}]),
        ),
        (
            json!({"compat": {"thinkingFormat": "qwen", "supportsStore": "no"}}),
            high,
            json!(["developer", false, {"stream_options": usage, "store": false, "max_completion_tokens": 32000, "enable_thinking": true}]),
        ),
        (
            json!({"compat": {"thinkingFormat": "qwen-chat-template", "supportsReasoningEffort": false}}),
            high,
            json!(["developer", false, {"stream_options": usage, "store": false, "max_completion_tokens": 32000, "chat_template_kwargs": {"enable_thinking": true}}]),
        ),
        (
            json!({"compat": {"supportsReasoningEffort": false}}),
            high,
            json!(["developer", false, {"stream_options": usage, "store": false, "max_completion_tokens": 32000}]),
        ),
        (
            json!({"baseUrl": "https://openrouter.ai/api/v1", "compat": {"openRouterRouting": {"only": ["a"]}}}),
            ThinkingLevel::Off,
            json!(["developer", false, {"stream_options": usage, "store": false, "max_completion_tokens": 32000, "provider": {"only": ["a"]}}]),
        ),
        (
            json!({"baseUrl": "https://ai-gateway.vercel.sh/v1", "compat": {"vercelGatewayRouting": {"order": ["a"], "x": 1}}}),
            ThinkingLevel::Off,
            json!(["developer", false, {"stream_options": usage, "store": false, "max_completion_tokens": 32000, "providerOptions": {"gateway": {"order": ["a"]}}}]),
        ),
    ];
    for (model, level, expected) in cases {
        assert_eq!(body(model.clone(), level).to_string(), expected.to_string(), "{model}");
    }
}

#[test]
fn a_level_is_said_in_the_models_word() {
    let mut asked = asked(json!({}), json!([]));
    asked.level = ThinkingLevel::Xhigh;
    assert_eq!(asked.request(request).body["reasoning_effort"], "high");
    asked.endpoint.levels = ThinkingLevel::ALL.to_vec();
    assert_eq!(asked.request(request).body["reasoning_effort"], "xhigh");
    asked.endpoint.efforts.insert(ThinkingLevel::Xhigh, "max".to_owned());
    assert_eq!(asked.request(request).body["reasoning_effort"], "max");
    asked.level = ThinkingLevel::Off;
    assert_eq!(asked.request(request).body.get("reasoning_effort"), None);
    asked.endpoint.efforts.insert(ThinkingLevel::Off, "none".to_owned());
    assert_eq!(asked.request(request).body["reasoning_effort"], "none");
}

#[test]
fn text_and_images_of_the_user_are_parts() {
    let history = json!([user(json!([text("See"), image("AA")])), user(json!([]))]);
    let url = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}});
    assert_eq!(sent(json!({}), history), json!([{"role": "user", "content": [text("See"), url]}]));
}

#[test]
fn images_in_results_follow_as_if_the_user_had_sent_them() {
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
fn thinking_goes_back_under_the_key_that_it_came_under() {
    let thinking =
        |text: &str| json!({"type": "thinking", "thinking": text, "thinkingSignature": "reasoning"});
    let said = json!([thinking("One"), thinking("Two"), text("Hi "), text(" "), text("there")]);
    let history = || json!([assistant(SELF, said.clone())]);
    let expected = json!([{"role": "assistant", "content": "Hi there", "reasoning": "One\nTwo"}]);
    assert_eq!(sent(json!({}), history()).to_string(), expected.to_string());

    let as_text = json!({"compat": {"requiresThinkingAsText": true}});
    let parts = json!([text("One\n\nTwo"), text("Hi "), text("there")]);
    assert_eq!(sent(as_text, history()), json!([{"role": "assistant", "content": parts}]));
}

#[test]
fn a_signature_that_is_no_key_for_thinking_makes_none() {
    let thinking = json!({"type": "thinking", "thinking": "Hm", "thinkingSignature": "role"});
    let history = json!([assistant(SELF, json!([thinking, text("Hi")]))]);
    assert_eq!(sent(json!({}), history), json!([{"role": "assistant", "content": "Hi"}]));
}

#[test]
fn the_proof_of_a_call_goes_back_with_it() {
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
fn a_history_with_calls_has_tools_even_if_there_are_none() {
    let history = json!([assistant(SELF, json!([call("a", "x")]))]);
    assert_eq!(asked(json!({}), history).request(request).body["tools"], json!([]));
    assert_eq!(asked(json!({}), json!([])).request(request).body.get("tools"), None);
}

#[test]
fn a_server_that_wants_the_assistant_after_results_gets_it() {
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
fn a_conversation_begun_at_anthropic_goes_on() {
    let by = "anthropic/anthropic-messages/claude";
    let long = "toolu_0123456789012345678901234567890123456789";
    let history = json!([
        user(json!("Hi")),
        assistant(
            by,
            json!([
                {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "c2ln"},
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
        {"role": "assistant", "content": "Hm.I look.", "tool_calls": [
            sent_call("toolu_0123456789012345678901234567890123", "x"),
            sent_call("toolu_2", "y"),
        ]},
        {"role": "tool", "content": "ok", "tool_call_id": "toolu_0123456789012345678901234567890123"},
        {"role": "tool", "content": "No result provided", "tool_call_id": "toolu_2"},
    ]);
    assert_eq!(sent(json!({}), history).to_string(), expected.to_string());
}

#[test]
fn a_conversation_begun_at_responses_goes_on() {
    let by = "openai/openai-responses/gpt-5.4";
    let history = json!([
        assistant(
            by,
            json!([{"type": "thinking", "thinking": "", "thinkingSignature": "{}"}, call("call.1|fc_1", "x")])
        ),
        result("call.1|fc_1", json!([])),
    ]);
    let expected = json!([
        {"role": "assistant", "content": null, "tool_calls": [sent_call("call_1", "x")]},
        {"role": "tool", "content": "(see attached image)", "tool_call_id": "call_1"},
    ]);
    assert_eq!(sent(json!({"provider": "mine"}), history).to_string(), expected.to_string());
}

#[test]
fn answers_with_nothing_to_say_are_left_out() {
    let mut failed = assistant(SELF, json!([text("Half")]));
    failed["stopReason"] = "error".into();
    failed["errorMessage"] = "x".into();
    let history = json!([assistant(SELF, json!([text("  ")])), failed, user(json!("Hi"))]);
    assert_eq!(sent(json!({}), history), json!([{"role": "user", "content": "Hi"}]));
}

#[test]
fn anthropics_models_behind_openrouter_cache_up_to_the_last_text() {
    let model = json!({"provider": "openrouter", "id": "anthropic/claude"});
    let by = "openrouter/openai-completions/anthropic/claude";
    let history =
        json!([user(json!("Hi")), assistant(by, json!([call("a", "x")])), result("a", json!([text("ok")])),]);
    let marked = json!([{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]);
    let expected = json!([
        {"role": "user", "content": marked},
        {"role": "assistant", "content": null, "tool_calls": [sent_call("a", "x")]},
        {"role": "tool", "content": "ok", "tool_call_id": "a"},
    ]);
    assert_eq!(sent(model, history), expected);
}

#[test]
fn a_tool_is_forced_if_it_is_offered_and_no_switch_for_thinking_is_on() {
    let body = |forced: Option<&'static str>, model: Value, level: ThinkingLevel| {
        let mut asked = asked(model, json!([user(json!("Hi"))]));
        asked.tools = vec![tool("todo_write")];
        (asked.forced_tool, asked.level) = (forced, level);
        asked.request(request).body
    };
    let forced = body(Some("todo_write"), json!({}), ThinkingLevel::Low);
    let expected = json!({
        "model": "gpt-5.4",
        "messages": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "stream": true,
        "stream_options": {"include_usage": true},
        "store": false,
        "max_completion_tokens": 32000,
        "tools": [{"type": "function", "function": {
            "name": "todo_write", "description": "Does todo_write.",
            "parameters": {"type": "object", "properties": {}}, "strict": false,
        }}],
        "tool_choice": {"type": "function", "function": {"name": "todo_write"}},
        "reasoning_effort": "low",
    });
    assert_eq!(forced.to_string(), expected.to_string());
    let schema = serde_json::from_str(include_str!("../../schema/vendors/openai-completions.json")).unwrap();
    assert_eq!(jsonschema::validate(&schema, &forced).map_err(|error| error.to_string()), Ok(()));
    let qwen = json!({"compat": {"thinkingFormat": "qwen"}});
    let choice = |model: &Value, level| body(Some("todo_write"), model.clone(), level)["tool_choice"].take();
    assert_eq!(choice(&qwen, ThinkingLevel::Off), expected["tool_choice"]);
    assert_eq!(choice(&qwen, ThinkingLevel::Low), Value::Null);
    assert_eq!(body(Some("bash"), json!({}), ThinkingLevel::Low), body(None, json!({}), ThinkingLevel::Low));
}
