//! Requests to Amazon Bedrock's Converse API, whole.

use crate::model_support::*;
use pi_rpc_model::{
    api::Api,
    bedrock::{AwsAccess, AwsKeySource, AwsKeys, SignatureScope},
    request::{HttpRequest, ModelRequest},
    types::ToolSpec,
};
use pi_rpc_protocol::{InputKind, ThinkingLevel};
use serde_json::{Value, json};

const API: &str = "bedrock-converse-stream";
const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const NEWEST: &str = "us.anthropic.claude-opus-4-7";
const SERVICE: &str = "https://bedrock-runtime.us-east-1.amazonaws.com";

/// A conversation with the model `id`.
fn asked(id: &str, history: Value) -> Asked {
    Asked::new(API, json!({ "id": id, "name": id }), history)
}

fn request(asked: &Asked) -> HttpRequest {
    Api::BedrockConverseStream.request(&asked.request())
}

/// The body, which the vendor's schema allows.
fn body(asked: &Asked) -> Value {
    let body = request(asked).body;
    check_schema(include_str!("../../../../schema/vendors/bedrock-converse-stream.json"), &body);
    body
}

fn messages(id: &str, history: Value) -> Value {
    body(&asked(id, history))["messages"].take()
}

fn by(id: &str) -> String {
    format!("p/{API}/{id}")
}

fn said(role: &str, content: Value) -> Value {
    json!({ "role": role, "content": content })
}

fn tool_use(id: &str, name: &str, input: Value) -> Value {
    json!({ "toolUse": { "toolUseId": id, "name": name, "input": input } })
}

fn gave(id: &str, content: Value, status: &str) -> Value {
    json!({ "toolResult": { "toolUseId": id, "content": content, "status": status } })
}

fn mark() -> Value {
    json!({ "cachePoint": { "type": "default" } })
}

#[test]
fn request_with_tool_is_complete() {
    let answer = json!([
        thinking("hm", "c2ln"),
        text("I look."),
        call_of("1", "ls", json!({ "path": ".", "": 1 })),
        call_of("2", "read", json!({})),
    ]);
    let history = json!([
        user(json!("look")),
        stopped(&by(CLAUDE), "toolUse", answer),
        returned("1", "ls", json!([text("a"), text(" ")]), false),
        returned("2", "read", json!([text("")]), true),
    ]);
    let mut asked = asked(CLAUDE, history);
    asked.system_prompt = "Be good.";
    asked.level = ThinkingLevel::Medium;
    let parameters = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let tool = |description: &str| ToolSpec {
        name: "ls".to_owned(),
        description: description.to_owned(),
        parameters: parameters.clone().into(),
        exclusive: false,
        output: None,
    };
    asked.tools = vec![tool("Lists.")];
    let spec = json!({ "name": "ls", "description": "Lists.", "inputSchema": { "json": parameters } });
    let expected = json!({
        "messages": [
            said("user", json!([{ "text": "look" }])),
            said("assistant", json!([
                { "reasoningContent": { "reasoningText": { "text": "hm", "signature": "c2ln" } } },
                { "text": "I look." },
                tool_use("1", "ls", json!({ "path": "." })),
                tool_use("2", "read", json!({})),
            ])),
            said("user", json!([
                gave("1", json!([{ "text": "a" }]), "success"),
                gave("2", json!([{ "text": "<empty>" }]), "error"),
                mark(),
            ])),
        ],
        "system": [{ "text": "Be good." }, mark()],
        "inferenceConfig": { "maxTokens": 64_000 },
        "toolConfig": { "tools": [{ "toolSpec": spec }] },
        "additionalModelRequestFields": {
            "thinking": { "type": "enabled", "display": "summarized", "budget_tokens": 8192 },
            "anthropic_beta": ["interleaved-thinking-2025-05-14"],
        },
    });
    assert_eq!(body(&asked), expected);
    asked.tools = vec![tool("")];
    assert_eq!(body(&asked)["toolConfig"]["tools"][0]["toolSpec"].get("description"), None);
    asked.tools.clear();
    let names = |body: Value| -> Vec<Value> {
        let tools = body["toolConfig"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["toolSpec"]["name"].clone()).collect()
    };
    assert_eq!(names(body(&asked)), ["ls", "read"]);
}

#[test]
fn messages_in_a_row_are_one() {
    let history = json!([
        user(json!("a")),
        user(json!(" ")),
        stopped(&by("m"), "stop", json!([text("b")])),
        stopped(&by("m"), "stop", json!([text(" "), thinking("c", "")])),
        stopped(&by("m"), "stop", json!([text(" ")])),
    ]);
    let thought = json!({ "reasoningContent": { "reasoningText": { "text": "c" } } });
    let expected = json!([
        said("user", json!([{ "text": "a" }, { "text": "<empty>" }])),
        said("assistant", json!([{ "text": "b" }, thought])),
    ]);
    assert_eq!(messages("m", history), expected);
}

#[test]
fn thinking_returns_as_each_vendor_accepts() {
    let content = json!([
        thinking("signed", "c2ln"),
        thinking("unsigned", ""),
        { "type": "thinking", "thinking": "[hidden]", "redacted": true, "thinkingSignature": "aGlk" },
        text("a"),
    ]);
    let history = |id: &str| json!([user(json!("q")), stopped(&by(id), "stop", content.clone())]);
    let reasoning = |text: Value| json!({ "reasoningContent": { "reasoningText": text } });
    let hidden = json!({ "reasoningContent": { "redactedContent": "aGlk" } });
    let claude = json!([
        reasoning(json!({ "text": "signed", "signature": "c2ln" })),
        { "text": "unsigned" },
        hidden,
        { "text": "a" },
    ]);
    assert_eq!(messages(CLAUDE, history(CLAUDE))[1]["content"], claude);
    let nova = json!([reasoning(json!({ "text": "signed" })), reasoning(json!({ "text": "unsigned" })), hidden, { "text": "a" }]);
    assert_eq!(messages("amazon.nova-2-lite-v1:0", history("amazon.nova-2-lite-v1:0"))[1]["content"], nova);
    let other = json!([{ "text": "a" }]);
    assert_eq!(messages(CLAUDE, history("other"))[1]["content"], other);
}

#[test]
fn images_of_failed_calls_follow_results() {
    let history = json!([
        user(
            json!([text("see"), image("AAAA"), { "type": "image", "data": "AAAA", "mimeType": "image/tiff" }])
        ),
        stopped(
            &by("other"),
            "toolUse",
            json!([call_of("a|b", "read", json!({})), call_of("2", "ls", json!({}))])
        ),
        returned("a|b", "read", json!([image("AAAA")]), false),
        returned("2", "ls", json!([image("BBBB")]), true),
    ]);
    let shown = |data: &str| json!({ "image": { "source": { "bytes": data }, "format": "png" } });
    let claude = messages(CLAUDE, history.clone());
    let omitted = json!({ "text": "(image omitted: image/tiff is not supported)" });
    assert_eq!(claude[0]["content"], json!([{ "text": "see" }, shown("AAAA"), omitted]));
    let results = json!([
        gave("a_b", json!([shown("AAAA")]), "success"),
        gave("2", json!([{ "text": "<empty>" }]), "error"),
        { "text": "Images of the failed call of ls:" },
        shown("BBBB"),
        mark(),
    ]);
    assert_eq!(claude[2]["content"], results);
    let nova =
        json!([gave("a_b", json!([shown("AAAA")]), "success"), gave("2", json!([shown("BBBB")]), "error")]);
    assert_eq!(messages("amazon.nova-pro-v1:0", history)[2]["content"], nova);
}

#[test]
fn text_only_model_gets_image_notes() {
    let mut asked = asked("m", json!([user(json!([image("AAAA"), text("see")]))]));
    asked.endpoint.model.input = vec![InputKind::Text];
    let omitted = "(image omitted: model does not support images)";
    assert_eq!(
        body(&asked)["messages"],
        json!([said("user", json!([{ "text": omitted }, { "text": "see" }]))])
    );
}

#[test]
fn cache_marks_follow_model_and_settings() {
    let hour = json!({ "cachePoint": { "type": "default", "ttl": "1h" } });
    for (id, always, expected) in [
        (CLAUDE, false, true),
        ("anthropic.claude-3-7-sonnet-20250219-v1:0", false, true),
        ("anthropic.claude-3-sonnet-20240229-v1:0", true, false),
        ("amazon.nova-pro-v1:0", false, false),
        ("amazon.nova-pro-v1:0", true, true),
    ] {
        let mut asked = asked(id, json!([user(json!("q"))]));
        asked.system_prompt = "Be good.";
        asked.options.caches_long = true;
        asked.credentials.aws = Some(AwsAccess { caches_always: always, ..AwsAccess::default() });
        let body = body(&asked);
        let marks = [body["system"].get(1), body["messages"][0]["content"].get(1)];
        assert_eq!(marks, [Some(&hour).filter(|_| expected); 2], "{id} {always}");
    }
}

#[test]
fn thinking_fields_follow_model_and_level() {
    use ThinkingLevel::{High, Low, Max, Medium, Minimal, Off, Xhigh};
    let fields = |id: &str, level: ThinkingLevel, words: &[(ThinkingLevel, &str)]| {
        let mut asked = asked(id, json!([user(json!("q"))]));
        asked.level = level;
        asked.endpoint.efforts = words.iter().map(|(level, word)| (*level, (*word).to_owned())).collect();
        body(&asked)["additionalModelRequestFields"].take()
    };
    let budget = |tokens: u64| {
        json!({
            "thinking": { "type": "enabled", "display": "summarized", "budget_tokens": tokens },
            "anthropic_beta": ["interleaved-thinking-2025-05-14"],
        })
    };
    let adaptive = |effort: &str| {
        json!({
            "thinking": { "type": "adaptive", "display": "summarized" },
            "output_config": { "effort": effort },
        })
    };
    let bound = |effort: &str| {
        let mut fields = adaptive(effort);
        fields["thinking"]["block_binding"] = json!({ "prefix_mismatch_behavior": "drop_block" });
        fields["anthropic_beta"] = json!(["thinking-binding-controls-2026-08-01"]);
        fields
    };
    for (id, level, expected) in [
        (CLAUDE, Off, Value::Null),
        (CLAUDE, Minimal, budget(1024)),
        (CLAUDE, Xhigh, budget(16_384)),
        ("anthropic.claude-opus-4-6-v1", Minimal, adaptive("low")),
        ("anthropic.claude-opus-4-6-v1", Xhigh, adaptive("high")),
        (NEWEST, Medium, bound("medium")),
        (NEWEST, Xhigh, bound("xhigh")),
        (
            "us-gov.anthropic.claude-sonnet-4-5-v1:0",
            Low,
            json!({
                "thinking": { "type": "enabled", "budget_tokens": 2048 },
                "anthropic_beta": ["interleaved-thinking-2025-05-14"],
            }),
        ),
        ("openai.gpt-oss-120b-1:0", Minimal, json!({ "reasoning_effort": "low" })),
        ("openai.gpt-oss-120b-1:0", Max, json!({ "reasoning_effort": "high" })),
        ("openai.gpt-5.6-sol", High, json!({ "reasoning": { "effort": "high" } })),
        ("openai.gpt-5.6-sol", Xhigh, json!({ "reasoning": { "effort": "xhigh" } })),
        ("amazon.nova-2-lite-v1:0", High, Value::Null),
    ] {
        assert_eq!(fields(id, level, &[]), expected, "{id} at {level:?}");
    }
    assert_eq!(fields("anthropic.claude-opus-4-6-v1", Max, &[(Max, "max")]), adaptive("max"));
    assert_eq!(
        fields("openai.gpt-5.6-sol", Max, &[(Max, "most")]),
        json!({ "reasoning": { "effort": "most" } })
    );
    let mut plain = asked(CLAUDE, json!([user(json!("q"))]));
    plain.level = High;
    plain.endpoint.model.reasoning = false;
    assert_eq!(body(&plain).get("additionalModelRequestFields"), None);
}

#[test]
fn output_limit_fits_thinking_and_window() {
    let sent = |answer: Option<u64>, members: Value, level: ThinkingLevel| {
        let mut model = json!({ "id": CLAUDE, "name": "Claude" });
        extend(&mut model, members);
        let mut asked = Asked::new(API, model, json!([user(json!("q"))]));
        asked.level = level;
        let request = ModelRequest { max_answer_tokens: answer, ..asked.request() };
        let body = Api::BedrockConverseStream.request(&request).body;
        let budget = &body["additionalModelRequestFields"]["thinking"]["budget_tokens"];
        (body["inferenceConfig"]["maxTokens"].as_u64(), budget.as_u64())
    };
    let (low, off) = (ThinkingLevel::Low, ThinkingLevel::Off);
    assert_eq!(sent(None, json!({}), off), (Some(64_000), None));
    assert_eq!(sent(Some(1000), json!({}), low), (Some(3048), Some(2024)));
    assert_eq!(sent(Some(1000), json!({ "maxTokens": 2500 }), low), (Some(2500), Some(1476)));
    assert_eq!(sent(Some(1000), json!({ "maxTokens": 2000 }), low), (Some(1000), None));
    assert_eq!(sent(None, json!({ "contextWindow": 20_000 }), off), (Some(15_903), None));
    assert_eq!(sent(None, json!({ "contextWindow": 2000 }), off), (Some(1), None));
    assert_eq!(sent(None, json!({ "contextWindow": 0, "maxTokens": 0 }), off), (None, None));
}

#[test]
fn offered_tool_is_forced_where_possible() {
    let choice = |id: &str, level: ThinkingLevel, forced: &'static str| {
        let mut asked = asked(id, json!([user(json!("q"))]));
        asked.tools = vec![tool("todo_write")];
        asked.level = level;
        asked.forced_tool = Some(forced);
        body(&asked)["toolConfig"]["toolChoice"].take()
    };
    let (off, low) = (ThinkingLevel::Off, ThinkingLevel::Low);
    let forced = json!({ "tool": { "name": "todo_write" } });
    assert_eq!(choice(CLAUDE, off, "todo_write"), forced);
    assert_eq!(choice(CLAUDE, low, "todo_write"), Value::Null);
    assert_eq!(choice(CLAUDE, off, "bash"), Value::Null);
    assert_eq!(choice("meta.llama3-3-70b-instruct-v1:0", off, "todo_write"), Value::Null);
}

#[test]
fn address_follows_model_and_environment() {
    let arn = "arn:aws:bedrock:eu-west-3:123456789012:inference-profile/eu.anthropic.claude-sonnet-5";
    let path = "/model/m/converse-stream";
    let region = |region: &str| AwsAccess { region: Some(region.to_owned()), ..AwsAccess::default() };
    let profile = |region: Option<&str>| AwsAccess {
        has_profile: true,
        profile_region: region.map(str::to_owned),
        ..AwsAccess::default()
    };
    let elsewhere = AwsAccess { endpoint: Some("https://vpce.example/".to_owned()), ..region("eu-west-1") };
    for (id, base, access, url, expected) in [
        ("m", SERVICE, AwsAccess::default(), format!("{SERVICE}{path}"), "us-east-1"),
        (
            "m",
            SERVICE,
            region("eu-west-1"),
            format!("https://bedrock-runtime.eu-west-1.amazonaws.com{path}"),
            "eu-west-1",
        ),
        (
            "m",
            SERVICE,
            region("cn-north-1"),
            format!("https://bedrock-runtime.cn-north-1.amazonaws.com.cn{path}"),
            "cn-north-1",
        ),
        (
            "m",
            SERVICE,
            AwsAccess { uses_fips: true, ..region("us-gov-west-1") },
            format!("https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com{path}"),
            "us-gov-west-1",
        ),
        (
            "m",
            SERVICE,
            AwsAccess { uses_dual_stack: true, ..region("eu-west-1") },
            format!("https://bedrock-runtime.eu-west-1.api.aws{path}"),
            "eu-west-1",
        ),
        (
            "m",
            SERVICE,
            AwsAccess { uses_dual_stack: true, uses_fips: true, ..region("us-east-2") },
            format!("https://bedrock-runtime-fips.us-east-2.api.aws{path}"),
            "us-east-2",
        ),
        (
            "m",
            SERVICE,
            profile(Some("eu-north-1")),
            format!("https://bedrock-runtime.eu-north-1.amazonaws.com{path}"),
            "eu-north-1",
        ),
        ("m", SERVICE, profile(None), format!("{SERVICE}{path}"), "us-east-1"),
        // The address of the catalogue is not the one that is asked for.
        (
            "m",
            SERVICE,
            AwsAccess { uses_fips: true, ..AwsAccess::default() },
            format!("https://bedrock-runtime-fips.us-east-1.amazonaws.com{path}"),
            "us-east-1",
        ),
        ("m", SERVICE, elsewhere.clone(), format!("https://vpce.example{path}"), "eu-west-1"),
        ("m", "http://localhost:1/base/", elsewhere, format!("http://localhost:1/base{path}"), "eu-west-1"),
        ("m", "http://localhost:1", AwsAccess::default(), format!("http://localhost:1{path}"), "us-east-1"),
        (
            arn,
            "http://localhost:1",
            region("us-west-2"),
            "http://localhost:1/model/arn%3Aaws%3Abedrock%3Aeu-west-3%3A123456789012%3Ainference-profile%2F\
             eu.anthropic.claude-sonnet-5/converse-stream"
                .to_owned(),
            "eu-west-3",
        ),
    ] {
        let mut asked = asked(id, json!([]));
        asked.endpoint.model.base_url = base.to_owned();
        asked.credentials.key = None;
        asked.credentials.aws = Some(access.clone());
        let sent = request(&asked);
        let signing =
            SignatureScope { service: "bedrock", region: expected.to_owned(), keys: AwsKeySource::Chain };
        assert_eq!((sent.url, sent.signing), (url, Some(signing)), "{id} {access:?}");
    }
}

#[test]
fn token_replaces_signature() {
    let keys = AwsKeySource::Known(AwsKeys::dummy());
    let mut asked = asked("m", json!([]));
    asked.credentials.headers =
        headers([("X-Team", "a"), ("Authorization", "b"), ("X-Amz-Date", "c"), ("Host", "d")]);
    let plain = headers([("content-type", "application/json"), ("x-team", "a")]);
    let sent = request(&asked);
    let token = [&plain[..], &headers([("authorization", "Bearer key")])].concat();
    assert_eq!((sent.headers, sent.signing), (token, None));
    asked.credentials.key = None;
    asked.credentials.aws = Some(AwsAccess { keys: keys.clone(), ..AwsAccess::default() });
    let sent = request(&asked);
    assert_eq!(sent.headers, plain);
    assert_eq!(sent.signing.map(|signing| signing.keys), Some(keys));
}
