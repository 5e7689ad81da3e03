//! Requests to the Gemini API, whole.

use crate::model_support::*;
use pi_rpc_model::{api::Api, types::ToolSpec};
use pi_rpc_protocol::{InputKind, ThinkingLevel};
use serde_json::{Value, json};

const API: &str = "google-generative-ai";

/// A conversation with the model `id`.
fn asked(id: &str, history: Value) -> Asked {
    Asked::new(API, json!({ "id": id }), history)
}

/// The body for it, which the vendor's schema allows.
fn body(asked: &Asked) -> Value {
    let body = Api::parse(API).unwrap().request(&asked.request()).body;
    if body["contents"] != json!([]) {
        check_schema(include_str!("../../../../schema/vendors/google-generative-ai.json"), &body);
    }
    body
}

fn contents(id: &str, history: Value) -> Value {
    body(&asked(id, history))["contents"].take()
}

fn by(id: &str) -> String {
    format!("p/{API}/{id}")
}

fn said(role: &str, parts: Value) -> Value {
    json!({ "role": role, "parts": parts })
}

fn called(name: &str, args: Value) -> Value {
    json!({ "functionCall": { "name": name, "args": args } })
}

fn gave(name: &str, response: Value) -> Value {
    json!({ "functionResponse": { "name": name, "response": response } })
}

fn with(mut value: Value, pointer: &str, member: &str, content: Value) -> Value {
    value.pointer_mut(pointer).unwrap()[member] = content;
    value
}

#[test]
fn request_with_tool_is_complete() {
    let mut asked = asked(
        "gemini-2.5-flash",
        json!([
            user(json!("look")),
            stopped(
                &by("gemini-2.5-flash"),
                "toolUse",
                json!([
                    thinking("hm", "c2ln"),
                    text("I look."),
                    call_of("1", "ls", json!({ "path": "." })),
                    call_of("2", "read", json!({})),
                ])
            ),
            returned("2", "read", json!([text("no path")]), true),
            returned("1", "ls", json!([text("a"), text("b")]), false),
        ]),
    );
    asked.system_prompt = "Be good.";
    asked.level = ThinkingLevel::Medium;
    asked.tools = vec![ToolSpec {
        name: "ls".to_owned(),
        description: "Lists.".to_owned(),
        parameters: json!({
            "type": "object", "additionalProperties": false,
            "properties": { "path": { "type": "string" }, "const": { "const": "deep" }, "n": { "const": null } },
        })
        .into(),
        exclusive: true,
        output: None,
    }];
    let request = Api::GoogleGenerativeAi.request(&asked.request());
    assert_eq!(request.url, "https://api.example.com/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
    assert_eq!(request.headers, headers([("content-type", "application/json"), ("x-goog-api-key", "key")]));
    assert_eq!(
        body(&asked),
        json!({
            "contents": [
                said("user", json!([{ "text": "look" }])),
                said("model", json!([
                    { "thought": true, "text": "hm", "thoughtSignature": "c2ln" },
                    { "text": "I look." },
                    called("ls", json!({ "path": "." })),
                    called("read", json!({})),
                ])),
                said("user", json!([
                    gave("ls", json!({ "output": "a\nb" })),
                    gave("read", json!({ "error": "no path" })),
                ])),
            ],
            "systemInstruction": said("user", json!([{ "text": "Be good." }])),
            "tools": [{ "functionDeclarations": [{
                "name": "ls", "description": "Lists.",
                "parametersJsonSchema": {
                    "type": "object", "additionalProperties": false,
                    "properties": {
                        "path": { "type": "string" }, "const": { "enum": ["deep"] }, "n": { "const": null },
                    },
                },
            }] }],
            "generationConfig": {
                "maxOutputTokens": 64_000,
                "thinkingConfig": { "includeThoughts": true, "thinkingBudget": 8192 },
            },
        })
    );
}

#[test]
fn other_models_answers_lose_signatures() {
    let long = format!("call|{}", "x".repeat(100));
    let history = |id: &str| {
        contents(
            id,
            json!([
                user(json!("q")),
                stopped(
                    "p/anthropic-messages/claude",
                    "toolUse",
                    json!([
                        thinking("aloud", "c2ln"),
                        thinking("  ", "c2ln"),
                        { "type": "redactedThinking", "data": "d" },
                        { "type": "text", "text": "said", "textSignature": "c2ln" },
                        call_of(&long, "bash", json!({ "command": "x" })),
                        call_of("b", "bash", json!({})),
                    ])
                ),
                returned(&long, "bash", json!([text("out")]), false),
                returned("b", "bash", json!([]), false),
                user(json!("go on")),
            ]),
        )
    };
    let sent = |call: Value, other: Value, result: Value, last: Value| {
        json!([
            said("user", json!([{ "text": "q" }])),
            said("model", json!([{ "text": "said" }, call, other])),
            said("user", json!([result, last])),
            said("user", json!([{ "text": "go on" }])),
        ])
    };
    let (call, other) = (called("bash", json!({ "command": "x" })), called("bash", json!({})));
    let (result, last) = (gave("bash", json!({ "output": "out" })), gave("bash", json!({ "output": "" })));
    assert_eq!(history("gemini-2.5-pro"), sent(call.clone(), other.clone(), result.clone(), last.clone()));
    // From the third generation on, calls have ids.
    let id = |value: Value, pointer: &str, id: &str| with(value, pointer, "id", json!(id));
    let short = format!("call_{}", "x".repeat(59));
    let expected = sent(
        with(
            id(call, "/functionCall", &short),
            "",
            "thoughtSignature",
            json!("skip_thought_signature_validator"),
        ),
        id(other, "/functionCall", "b"),
        id(result, "/functionResponse", &short),
        id(last, "/functionResponse", "b"),
    );
    assert_eq!(history("gemini-3.1-pro-preview"), expected);
}

#[test]
fn unsigned_first_call_skips_validation() {
    let model = "gemini-3-flash-preview";
    let calls =
        |by: &str, first: Value| stopped(by, "toolUse", json!([first, call_of("2", "ls", json!({}))]));
    let signed = with(call_of("1", "ls", json!({})), "", "thoughtSignature", json!("c2ln"));
    let signatures = |history: Value| -> Vec<Value> {
        let contents = contents(model, history);
        let parts =
            contents.as_array().unwrap().iter().flat_map(|content| content["parts"].as_array().unwrap());
        let calls = parts.filter(|part| part["functionCall"].is_object());
        calls.map(|part| part["thoughtSignature"].clone()).collect()
    };
    let skip = json!("skip_thought_signature_validator");
    let other = "p/openai-responses/gpt";
    let unsigned = call_of("1", "ls", json!({}));
    for (by, first, expected) in [
        (other, &unsigned, &skip),
        (other, &signed, &skip),
        (&by(model), &unsigned, &skip),
        (&by(model), &signed, &json!("c2ln")),
    ] {
        let history = json!([user(json!("q")), calls(by, first.clone())]);
        assert_eq!(signatures(history), [expected.clone(), Value::Null], "{by} {first}");
    }
    // Nothing is asked of what came before the newest prompt; without it, the service's cache would not hold.
    let past = json!([user(json!("q")), calls(other, unsigned), user(json!("r"))]);
    assert_eq!(signatures(past), [skip, Value::Null]);
}

#[test]
fn same_models_signatures_return_unchanged() {
    let content = json!([
        thinking("", "c2ln"),
        thinking("cut", "no base64"),
        thinking(" ", "c2l"),
        { "type": "thinking", "thinking": " " },
        { "type": "text", "text": "", "textSignature": "c2lnbmVk" },
        text(" "),
        text("a"),
        { "type": "toolCall", "id": "1", "name": "ls", "arguments": {}, "thoughtSignature": "c2ln" },
    ]);
    let sent = contents("m", json!([user(json!("q")), stopped(&by("m"), "toolUse", content)]));
    assert_eq!(
        sent[1],
        said(
            "model",
            json!([
                { "thought": true, "text": "", "thoughtSignature": "c2ln" },
                { "thought": true, "text": "cut" },
                { "text": "", "thoughtSignature": "c2lnbmVk" },
                { "text": "a" },
                { "functionCall": { "name": "ls", "args": {} }, "thoughtSignature": "c2ln" },
            ])
        )
    );
}

#[test]
fn answers_in_a_row_are_one_content() {
    let says = |content: Value| stopped(&by("m"), "stop", content);
    let history = json!([
        user(json!("q")),
        says(json!([text("a")])),
        user(json!("")),
        says(json!([text("b"), call_of("1", "ls", json!({}))])),
    ]);
    assert_eq!(
        contents("m", history),
        json!([
            said("user", json!([{ "text": "q" }])),
            said("model", json!([{ "text": "a" }, { "text": "b" }, called("ls", json!({}))])),
            said("user", json!([gave("ls", json!({ "error": "No result provided" }))])),
        ])
    );
}

#[test]
fn images_are_sent_in_messages_and_results() {
    let history = |id: &str| {
        json!([
            user(json!([text("see"), image("AAAA")])),
            stopped(
                &by(id),
                "toolUse",
                json!([call_of("1", "read", json!({})), call_of("2", "ls", json!({}))])
            ),
            returned("1", "read", json!([image("AAAA")]), false),
            returned("2", "ls", json!([text("broken"), image("BBBB")]), true),
        ])
    };
    let inline = |data: &str| json!({ "inlineData": { "mimeType": "image/png", "data": data } });
    let see = json!({ "output": "(see attached image)" });
    let broken = json!({ "error": "broken" });
    let old = contents("gemini-2.5-pro", history("gemini-2.5-pro"));
    assert_eq!(old[0], said("user", json!([{ "text": "see" }, inline("AAAA")])));
    assert_eq!(old[2], said("user", json!([gave("read", see.clone()), gave("ls", broken.clone())])));
    let caption = json!({ "text": "Tool result image:" });
    assert_eq!(old[3], said("user", json!([caption, inline("AAAA"), inline("BBBB")])));
    let new = contents("gemini-3.5-flash", history("gemini-3.5-flash"));
    let response = |id: &str, name: &str, response: &Value, data: &str| json!({ "functionResponse": { "id": id, "name": name, "response": response, "parts": [inline(data)] } });
    let results = [response("1", "read", &see, "AAAA"), response("2", "ls", &broken, "BBBB")];
    assert_eq!((&new[2], new.get(3)), (&said("user", json!(results)), None));
}

#[test]
fn text_only_model_gets_image_notes() {
    let mut asked = asked("m", json!([user(json!([image("AAAA"), text("see")]))]));
    asked.endpoint.model.input = vec![InputKind::Text];
    let omitted = "(image omitted: model does not support images)";
    assert_eq!(
        body(&asked)["contents"],
        json!([said("user", json!([{ "text": omitted }, { "text": "see" }]))])
    );
}

#[test]
fn thinking_level_sets_budget_or_word() {
    use ThinkingLevel::{High, Low, Medium, Minimal, Off, Xhigh};
    let config = |asked: &Asked| body(asked)["generationConfig"]["thinkingConfig"].take();
    let told = |tokens: i64| json!({ "includeThoughts": true, "thinkingBudget": tokens });
    let word = |word: &str| json!({ "includeThoughts": true, "thinkingLevel": word });
    let least = |tokens: u64| json!({ "thinkingBudget": tokens });
    for (id, level, expected) in [
        ("gemini-2.5-pro", Off, least(128)),
        ("gemini-2.5-pro", Minimal, told(128)),
        ("gemini-2.5-pro", Low, told(2048)),
        ("gemini-2.5-pro", High, told(32_768)),
        ("gemini-2.5-flash", Off, least(0)),
        ("gemini-2.5-flash", Minimal, told(128)),
        ("gemini-2.5-flash", Xhigh, told(24_576)),
        ("gemini-2.5-flash-lite", Minimal, told(512)),
        ("gemini-robotics-er-2-preview", Medium, told(-1)),
        ("gemini-3.1-pro-preview", Low, word("LOW")),
        ("gemini-3-flash-preview", Xhigh, word("HIGH")),
        ("gemini-4-argon", Medium, word("MEDIUM")),
        ("gemini-flash-latest", Minimal, word("MINIMAL")),
        ("gemini-pro-latest", High, word("HIGH")),
        ("gemma-4-31b-it", High, word("HIGH")),
        ("gemma-3-27b", High, told(-1)),
        ("gemini-3-flash-preview", Off, least(0)),
    ] {
        let mut asked = asked(id, json!([]));
        asked.level = level;
        assert_eq!(config(&asked), expected, "{id} at {level:?}");
    }
    // A model that cannot be kept from thinking does as little as it can.
    let mut pro = asked("gemini-3.1-pro-preview", json!([]));
    pro.endpoint.levels = vec![Low, Medium, High];
    assert_eq!(config(&pro), json!({ "thinkingLevel": "LOW" }));
    pro.level = High;
    pro.endpoint.efforts.insert(High, "medium".to_owned());
    assert_eq!(config(&pro), word("MEDIUM"));
    let mut own = asked("gemini-2.5-pro", json!([]));
    own.level = Xhigh;
    own.options.budgets.insert(High, 5000);
    assert_eq!(config(&own), told(5000));
    own.endpoint.model.reasoning = false;
    assert_eq!(config(&own), Value::Null);
}

#[test]
fn output_limit_makes_room_for_thinking() {
    let limit = |id: &str, level: ThinkingLevel, answer: Option<u64>| {
        let mut asked = asked(id, json!([]));
        asked.level = level;
        let request = pi_rpc_model::request::ModelRequest { max_answer_tokens: answer, ..asked.request() };
        Api::GoogleGenerativeAi.request(&request).body["generationConfig"]["maxOutputTokens"].take()
    };
    for (id, level, answer, expected) in [
        ("gemini-2.5-flash", ThinkingLevel::Off, None, 64_000),
        ("gemini-2.5-flash", ThinkingLevel::Off, Some(1000), 1000),
        ("gemini-2.5-flash", ThinkingLevel::Low, Some(1000), 3048),
        ("gemini-2.5-pro", ThinkingLevel::High, Some(60_000), 64_000),
        ("gemini-3.5-flash", ThinkingLevel::Low, Some(1000), 64_000),
    ] {
        assert_eq!(limit(id, level, answer), expected, "{id} {level:?} {answer:?}");
    }
    let unknown = Asked::new(API, json!({ "maxTokens": 0, "reasoning": false }), json!([]));
    assert_eq!(body(&unknown).get("generationConfig"), None);
}

#[test]
fn offered_tool_is_forced() {
    let body = |forced: Option<&'static str>| {
        let mut asked = asked("m", json!([user(json!("q"))]));
        asked.tools = vec![tool("todo_write")];
        asked.forced_tool = forced;
        body(&asked)
    };
    let calling = json!({ "mode": "ANY", "allowedFunctionNames": ["todo_write"] });
    let expected = with(body(None), "", "toolConfig", json!({ "functionCallingConfig": calling }));
    assert_eq!(body(Some("todo_write")), expected);
    assert_eq!(body(Some("bash")), body(None));
}

#[test]
fn address_and_headers_follow_configuration() {
    let mut asked = asked("tunedModels/mine", json!([]));
    asked.endpoint.model.base_url = "http://localhost:1/v1beta/".to_owned();
    asked.credentials.headers = headers([("X-Team", "a"), ("X-Goog-Api-Key", "other")]);
    let request = Api::GoogleGenerativeAi.request(&asked.request());
    assert_eq!(request.url, "http://localhost:1/v1beta/tunedModels/mine:streamGenerateContent?alt=sse");
    let expected = [("content-type", "application/json"), ("x-team", "a"), ("x-goog-api-key", "other")];
    assert_eq!(request.headers, headers(expected));
    asked.credentials.headers.clear();
    asked.credentials.bearer = true;
    let bearer = [("content-type", "application/json"), ("authorization", "Bearer key")];
    assert_eq!(Api::GoogleGenerativeAi.request(&asked.request()).headers, headers(bearer));
}
