//! Requests to Responses, whole.

use crate::model_support::{self, *};
use pi_rpc_model::{api::Api, openai_responses::request, request::HttpRequest};
use pi_rpc_protocol::ThinkingLevel;
use serde_json::{Value, json};

const API: &str = "openai-responses";
const SELF: &str = "openai/openai-responses/gpt-5.4";

fn asked(model: Value, messages: Value) -> Asked {
    Asked::openai(API, model, messages)
}

/// The items sent after the instructions.
fn sent(model: Value, messages: Value) -> Value {
    let mut body = asked(model, messages).body(request);
    let mut sent = body["input"].take();
    sent.as_array_mut().unwrap().remove(0);
    sent
}

fn sent_call(item: Option<&str>, id: &str, path: &str) -> Value {
    let arguments = json!({"path": path}).to_string();
    let mut call = json!({"type": "function_call"});
    if let Some(item) = item {
        call["id"] = item.into();
    }
    extend(&mut call, json!({"call_id": id, "name": "read", "arguments": arguments}));
    call
}

fn sent_result(id: &str, output: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": output})
}

fn sent_text(id: &str, text: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    json!({"type": "message", "role": "assistant", "content": content, "status": "completed", "id": id})
}

fn signed(text: &str, signature: &str) -> Value {
    json!({"type": "text", "text": text, "textSignature": signature})
}

fn input_text(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

fn sent_user(text: &str) -> Value {
    json!({"role": "user", "content": [input_text(text)]})
}

fn thinking(item: &Value) -> Value {
    model_support::thinking("Hm", &item.to_string())
}

#[test]
fn organization_and_project_are_told_to_openai() {
    let sent = |provider: &str| {
        let mut asked = asked(json!({ "provider": provider }), json!([]));
        asked.credentials.variables =
            [("OPENAI_ORG_ID", "org".to_owned()), ("OPENAI_PROJECT_ID", "proj".to_owned())].into();
        let headers = Api::OpenaiResponses.request(&asked.request()).headers;
        headers.into_iter().filter(|(name, _)| name.starts_with("openai-")).collect::<Vec<_>>()
    };
    assert_eq!(sent("openai"), headers([("openai-organization", "org"), ("openai-project", "proj")]));
    assert_eq!(sent("xai"), []);
    assert_eq!(Api::OpenaiResponses.variables("xai"), [""; 0]);
}

#[test]
fn request_has_keys_in_order() {
    let mut asked = asked(json!({ "compat": { "supportsStrictMode": true } }), json!([user(json!("Hi"))]));
    asked.credentials.key = Some("sk-key".to_owned());
    asked.level = ThinkingLevel::Low;
    asked.tools = vec![tool("ls")];
    asked.options.caches_long = true;
    let sent = request(&asked.request());
    let expected = json!({
        "model": "gpt-5.4",
        "input": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        ],
        "stream": true,
        "prompt_cache_key": "session",
        "store": false,
        "max_output_tokens": 64000,
        "tools": [{
            "type": "function", "name": "ls", "description": "Does ls.",
            "parameters": {"type": "object", "properties": {}}, "strict": false,
        }],
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_retention": "24h",
    });
    assert_eq!(sent.body.to_string(), expected.to_string());
    let headers = headers([("accept", "application/json"), ("authorization", "Bearer sk-key")]);
    let url = "https://api.openai.com/v1/responses".to_owned();
    assert_eq!(sent, HttpRequest { url, headers, body: expected, signing: None });
}

#[test]
fn plain_model_elsewhere_gets_less() {
    let model = json!({"baseUrl": "http://localhost/v1", "reasoning": false, "id": "m", "maxTokens": 90});
    let mut asked = asked(model, json!([]));
    asked.level = ThinkingLevel::High;
    let expected = json!({
        "model": "m",
        "input": [{"role": "system", "content": "Be brief."}],
        "stream": true,
        "prompt_cache_key": "session",
        "store": false,
        "max_output_tokens": 90,
    });
    assert_eq!(asked.body(request).to_string(), expected.to_string());
}

#[test]
fn tools_are_items_where_server_takes_them() {
    let compat = json!({ "supportsMidConvoSystemMessages": true, "supportsAdditionalTools": true });
    let mut asked = asked(json!({ "compat": compat }), json!([user(json!("Hi"))]));
    asked.tools = vec![tool("ls")];
    let body = asked.body(request);
    let offered = json!({
        "type": "function", "name": "ls", "description": "Does ls.",
        "parameters": {"type": "object", "properties": {}},
    });
    assert_eq!(
        (&body["input"], body.get("tools")),
        (
            &json!([
                {"type": "additional_tools", "role": "developer", "tools": [offered]},
                {"role": "developer", "content": "Be brief."},
                sent_user("Hi"),
            ]),
            None
        )
    );
    check_schema(include_str!("../../../../schema/vendors/openai-responses.json"), &body);
}

#[test]
fn efforts_are_items_where_server_takes_them() {
    let at = |model: &str, effort: &str| {
        let mut answer = assistant(model, json!([signed("a", "msg_9")]));
        answer["providerThinkingLevel"] = effort.into();
        answer
    };
    let history = json!([
        user(json!("1")),
        at(SELF, "low"),
        user(json!("2")),
        at("openai/openai-responses/other", "low"),
        user(json!("3")),
    ]);
    let mut asked = asked(json!({ "compat": { "supportsMidConvoEffort": true } }), history);
    asked.credentials.key = Some("sk-key".to_owned());
    asked.level = ThinkingLevel::High;
    let body = asked.body(request);
    let effort = |word: &str| json!({"type": "configuration_update", "reasoning": {"effort": word}});
    assert_eq!(
        body["input"].as_array().unwrap()[1..],
        [
            sent_user("1"),
            effort("low"),
            sent_text("msg_9", "a"),
            sent_user("2"),
            sent_text("msg_pi_1", "a"),
            sent_user("3"),
            effort("high"),
        ]
    );
    assert_eq!(body["reasoning"], json!({"effort": "medium", "summary": "auto"}));
    check_schema(include_str!("../../../../schema/vendors/openai-responses.json"), &body);
    assert_eq!(Api::OpenaiResponses.kept_effort(&asked.request()), Some("high"));
    // The token of a ChatGPT account.
    asked.credentials.key = Some("token".to_owned());
    assert_eq!(Api::OpenaiResponses.kept_effort(&asked.request()), None);
    assert_eq!(asked.body(request)["reasoning"], json!({"effort": "high", "summary": "auto"}));
}

#[test]
fn model_that_can_stop_is_told_so() {
    let asked_off = |members: Value, levels: &[ThinkingLevel]| {
        let mut asked = asked(members, json!([]));
        asked.endpoint.levels = levels.to_vec();
        asked.body(request).get("reasoning").cloned()
    };
    let none = Some(json!({"effort": "none"}));
    assert_eq!(asked_off(json!({}), &ThinkingLevel::ALL), none);
    assert_eq!(asked_off(json!({}), &ThinkingLevel::ALL[1..]), None);
    assert_eq!(asked_off(json!({ "reasoning": false }), &[ThinkingLevel::Off]), None);
    assert_eq!(asked_off(json!({ "provider": "github-copilot" }), &ThinkingLevel::ALL), None);
}

#[test]
fn long_cache_takes_form_of_server() {
    let long = |compat: Value| {
        let mut asked = asked(json!({ "compat": compat }), json!([]));
        asked.options.caches_long = true;
        asked.credentials.key = Some("sk-key".to_owned());
        let body = asked.body(request);
        json!([body.get("prompt_cache_retention"), body.get("prompt_cache_options")])
    };
    assert_eq!(long(json!({})), json!(["24h", null]));
    assert_eq!(long(json!({ "supportsExplicitPromptCacheMode": true })), json!([null, {"ttl": "30m"}]));
    assert_eq!(long(json!({ "supportsLongCacheRetention": false })), json!([null, null]));
}

#[test]
fn members_are_left_out_by_server() {
    let compat = json!({
        "supportsMaxOutputTokens": false, "promptCacheKeyMode": "disabled", "supportsDeveloperRole": false,
    });
    let body = asked(json!({ "compat": compat }), json!([])).body(request);
    assert_eq!((body.get("max_output_tokens"), body.get("prompt_cache_key")), (None, None));
    assert_eq!(body["input"][0]["role"], "system");
    // The vendor takes no fewer than 16 tokens.
    assert_eq!(asked(json!({ "maxTokens": 9 }), json!([])).body(request).get("max_output_tokens"), None);
    let elsewhere = json!({ "maxTokens": 9, "baseUrl": "http://localhost/v1" });
    assert_eq!(asked(elsewhere, json!([])).body(request)["max_output_tokens"], 16);
}

#[test]
fn level_is_sent_in_the_models_word() {
    let mut asked = asked(json!({}), json!([]));
    asked.level = ThinkingLevel::Xhigh;
    asked.endpoint.efforts.insert(ThinkingLevel::High, "most".to_owned());
    assert_eq!(asked.body(request)["reasoning"], json!({"effort": "most", "summary": "auto"}));
    asked.level = ThinkingLevel::Off;
    asked.endpoint.efforts.insert(ThinkingLevel::Off, "none".to_owned());
    assert_eq!(asked.body(request)["reasoning"], json!({"effort": "none"}));
    assert_eq!(asked.body(request).get("include"), None);
}

#[test]
fn own_answer_returns_as_it_came() {
    let item = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"});
    let said = signed("I look.", r#"{"v":1,"id":"msg_a","phase":"commentary"}"#);
    let (old, long) = (signed("Old.", "msg_b"), signed("Long.", &"m".repeat(65)));
    let history = json!([
        assistant(
            SELF,
            json!([thinking(&item), said, old, long, call("c1|fc_1", "x"), call("c2|fc_2", "y")])
        ),
        result("c2|fc_2", json!([text("two"), text("lines")])),
        result("c1|fc_1", json!([])),
    ]);
    let mut first = sent_text("msg_a", "I look.");
    first["phase"] = "commentary".into();
    let mut got = sent(json!({}), history);
    let hashed = got[3]["id"].take();
    assert!(hashed.as_str().is_some_and(|id| id.starts_with("msg_") && id.len() <= 64), "{hashed}");
    let mut third = sent_text("", "Long.");
    third["id"] = Value::Null;
    let expected = json!([
        item,
        first,
        sent_text("msg_b", "Old."),
        third,
        sent_call(Some("fc_1"), "c1", "x"),
        sent_call(Some("fc_2"), "c2", "y"),
        sent_result("c2", "two\nlines"),
        sent_result("c1", "(no tool output)"),
    ]);
    assert_eq!(got.to_string(), expected.to_string());
}

#[test]
fn images_are_sent_in_messages_and_results() {
    let picture = json!({"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AA"});
    let history = json!([
        user(json!([text("See"), image("AA")])),
        assistant(SELF, json!([call("a", "x"), call("b", "y")])),
        result("a", json!([text("ok"), image("AA")])),
        result("b", json!([image("AA")])),
    ]);
    let expected = json!([
        {"role": "user", "content": [input_text("See"), picture]},
        sent_call(None, "a", "x"),
        sent_call(None, "b", "y"),
        {"type": "function_call_output", "call_id": "a", "output": [input_text("ok"), picture]},
        {"type": "function_call_output", "call_id": "b", "output": [picture]},
    ]);
    assert_eq!(sent(json!({}), history), expected);
}

#[test]
fn unusable_thinking_is_left_out() {
    let item = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let broken = model_support::thinking("Hm", "{");
    let history = json!([
        assistant(SELF, json!([broken, thinking(&json!({"type": "message"})), text("Hi"), thinking(&item)])),
        assistant(SELF, json!([thinking(&item)])),
    ]);
    assert_eq!(sent(json!({}), history), json!([sent_text("msg_pi_1", "Hi")]));
}

#[test]
fn other_model_gets_no_item_ids() {
    let item = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let history = json!([
        assistant(
            "openai/openai-responses/gpt-5",
            json!([thinking(&item), call("c1|fc_1", "x"), call("c.2|odd=", "y")])
        ),
        result("c1|fc_1", json!([text("ok")])),
        result("c.2|odd=", json!([text("ok")])),
    ]);
    let expected = json!([
        sent_call(None, "c1", "x"),
        sent_call(None, "c_2", "y"),
        sent_result("c1", "ok"),
        sent_result("c_2", "ok"),
    ]);
    assert_eq!(sent(json!({}), history), expected);
}

#[test]
fn anthropic_history_is_converted() {
    let by = "anthropic/anthropic-messages/claude";
    let history = json!([
        user(json!("Hi")),
        assistant(
            by,
            json!([
                model_support::thinking("Hm.", "c2ln"),
                text("I look."),
                call("toolu_1", "x"),
                call("toolu_2", "y"),
            ])
        ),
        result("toolu_1", json!([text("ok")])),
        user(json!("Go on")),
    ]);
    let expected = json!([
        sent_user("Hi"),
        sent_text("msg_pi_1", "I look."),
        sent_call(None, "toolu_1", "x"),
        sent_call(None, "toolu_2", "y"),
        sent_result("toolu_1", "ok"),
        sent_result("toolu_2", "No result provided"),
        sent_user("Go on"),
    ]);
    assert_eq!(sent(json!({}), history), expected);
}

#[test]
fn texts_without_id_get_free_ids() {
    let own = signed("Mine.", r#"{"v":1,"id":"msg_1"}"#);
    let history = json!([
        assistant("anthropic/anthropic-messages/claude", json!([text("One."), text("Two.")])),
        assistant(SELF, json!([own])),
    ]);
    let expected =
        json!([sent_text("msg_pi_1", "One."), sent_text("msg_pi_2", "Two."), sent_text("msg_1", "Mine.")]);
    assert_eq!(sent(json!({}), history), expected);
}

#[test]
fn long_call_ids_are_shortened() {
    let long = format!("call/{}|{}", "c".repeat(80), "i+/=".repeat(100));
    let history = || {
        json!([
            assistant("github-copilot/openai-responses/gpt-5.4", json!([call(&long, "x")])),
            result(&long, json!([text("ok")])),
        ])
    };
    let got = sent(json!({}), history());
    let item = got[0]["id"].as_str().unwrap();
    assert!(item.starts_with("fc_") && item.len() <= 64, "{item}");
    let call_id = format!("call_{}", "c".repeat(59));
    assert_eq!(got, json!([sent_call(Some(item), &call_id, "x"), sent_result(&call_id, "ok")]));

    // Elsewhere ids have one part.
    let got = sent(json!({"provider": "mine"}), history());
    assert_eq!(got, json!([sent_call(None, &call_id, "x"), sent_result(&call_id, "ok")]));
}

#[test]
fn offered_tool_is_forced() {
    let body = |forced: Option<&'static str>| {
        let mut asked = asked(json!({}), json!([user(json!("Hi"))]));
        asked.tools = vec![tool("todo_write")];
        (asked.forced_tool, asked.level) = (forced, ThinkingLevel::Low);
        asked.body(request)
    };
    let mut expected = body(None);
    expected["tool_choice"] = json!({"type": "function", "name": "todo_write"});
    let forced = body(Some("todo_write"));
    assert_eq!(forced, expected);
    check_schema(include_str!("../../../../schema/vendors/openai-responses.json"), &forced);
    assert_eq!(body(Some("bash")), body(None));
}
