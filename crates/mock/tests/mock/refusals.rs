//! Requests that the vendors refuse, and their errors.

use crate::mock_support::{
    BEDROCK, COMPLETIONS, GOOGLE, MESSAGES, MISTRAL, PI, RESPONSES, Served, answered, prompt, snapshots,
    turns,
};
use serde_json::{Value, json};

async fn mock() -> Served {
    turns(json!([{ "say": [{ "text": "Hello" }], "repeat": true }])).await
}

/// A request that is fine, but for `changes` to its fields; null takes one away.
fn changed(path: &str, changes: &Value) -> Value {
    let mut body = prompt(path, "hi", false);
    for (name, value) in changes.as_object().expect("changes") {
        if value.is_null() {
            body.as_object_mut().expect("a body").shift_remove(name);
        } else {
            body[name] = value.clone();
        }
    }
    body
}

/// The errors of these bad requests, as a table.
async fn refusals(path: &str, bad: &[Value]) -> String {
    let served = mock().await;
    let mut table = String::new();
    for changes in bad {
        let (status, answer) = served.ask_json(path, &changed(path, changes)).await;
        // Mistral's errors stand at the top, and its faults of shape in a list.
        let error = answer.get("error").unwrap_or(&answer);
        let param = match (error["param"].as_str(), error["code"].as_str()) {
            (None, None) => String::new(),
            (param, code) => format!(" [{} {}]", param.unwrap_or("-"), code.unwrap_or("-")),
        };
        let detail = Some(&error["message"]).filter(|message| message.is_object()).map(Value::to_string);
        // Bedrock's errors are bare.
        let said = error["message"]
            .as_str()
            .or(detail.as_deref())
            .or(answer["message"].as_str())
            .unwrap_or("(answered)");
        let kind = error.get("type").unwrap_or(&error["status"]);
        table += &format!("{changes}\n    {status} {kind}{param}\n    {said}\n\n");
    }
    table
}

/// A user message, this answer of the model, and what follows.
fn after(assistant: &Value, rest: &[Value]) -> Value {
    let mut messages = vec![json!({ "role": "user", "content": "hi" }), assistant.clone()];
    messages.extend_from_slice(rest);
    messages.into()
}

#[tokio::test]
async fn anthropic_refusals_name_field_and_rule() {
    let user = |content: Value| json!({ "messages": [{ "role": "user", "content": content }] });
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "read", "input": {} });
    let says = |content: Value| json!({ "role": "assistant", "content": content });
    let result = |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": "ok" });
    let answers = |content: Value| json!({ "role": "user", "content": content });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let marked = json!({ "type": "text", "text": "a", "cache_control": { "type": "ephemeral" } });
    let bad = [
        json!({ "model": null }),
        json!({ "max_tokens": null }),
        json!({ "max_tokens": "many" }),
        json!({ "max_tokens": 0 }),
        json!({ "temperature": 1.5 }),
        json!({ "nonsense": 1 }),
        json!({ "messages": [] }),
        json!({ "messages": [{ "role": "system", "content": "hi" }] }),
        json!({ "messages": [{ "role": "tool", "content": "hi" }] }),
        json!({ "messages": [{ "role": "user" }] }),
        json!({ "messages": [{ "role": "user", "content": "hi", "id": "1" }] }),
        json!({ "messages": [says(json!("hi"))] }),
        user(json!(7)),
        user(json!("")),
        user(json!([])),
        user(json!([text("")])),
        user(json!([text(" \n")])),
        user(json!([{ "type": "input_text", "text": "a" }])),
        user(json!([{ "text": "a" }])),
        user(json!([{ "type": "text" }])),
        user(json!([{ "type": "text", "text": "a", "id": "b" }])),
        user(
            json!([{ "type": "image", "source": { "type": "base64", "media_type": "image/bmp", "data": "aa" } }]),
        ),
        user(
            json!([{ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "data:" } }]),
        ),
        user(json!([marked, marked, marked, marked, marked])),
        user(json!([call("toolu_1")])),
        user(json!([result("toolu_1")])),
        json!({ "messages": after(&says(json!([{ "type": "thinking", "thinking": "Hm" }])), &[]) }),
        json!({ "messages": after(&says(json!([call("call 1|x")])), &[]) }),
        json!({ "messages": after(&says(json!([call("toolu_1")])), &[]) }),
        json!({ "messages": after(&says(json!([call("toolu_1")])), &[answers(json!("and?"))]) }),
        json!({ "messages": after(&says(json!([call("toolu_1"), call("toolu_2")])), &[answers(json!([result("toolu_2")]))]) }),
        json!({ "messages": after(&says(json!([call("toolu_1")])), &[answers(json!([result("toolu_1"), result("toolu_1")]))]) }),
        json!({ "messages": after(&says(json!([call("toolu_1")])), &[answers(json!([text("so"), result("toolu_1")]))]) }),
        json!({ "messages": after(&says(json!([call("toolu_1"), call("toolu_1")])), &[answers(json!([result("toolu_1")]))]) }),
        json!({ "messages": after(&says(json!("I think that ")), &[]) }),
        json!({ "thinking": { "type": "enabled" } }),
        json!({ "thinking": { "type": "enabled", "budget_tokens": 512 } }),
        json!({ "thinking": { "type": "enabled", "budget_tokens": 1024 } }),
        json!({ "thinking": { "type": "adaptive" }, "temperature": 0.5 }),
        json!({ "thinking": { "type": "sometimes" } }),
        json!({ "output_config": { "effort": "extreme" } }),
        json!({ "tools": [{ "name": "read" }] }),
        json!({ "tools": [{ "name": "read it", "input_schema": { "type": "object" } }] }),
        json!({ "tools": [{ "name": "read", "input_schema": { "type": "string" } }] }),
        json!({ "tools": [{ "type": "function", "function": { "name": "read" } }] }),
        json!({ "tools": [{ "name": "a", "input_schema": { "type": "object" } }, { "name": "a", "input_schema": { "type": "object" } }] }),
        json!({ "tool_choice": { "type": "any" } }),
        json!({ "tool_choice": "auto" }),
        json!({ "system": [{ "type": "text", "text": "" }] }),
        json!({ "service_tier": "flex" }),
        json!({ "metadata": { "user": "me" } }),
    ];
    let table = refusals(MESSAGES, &bad).await;
    snapshots().bind(|| insta::assert_snapshot!("mock_refusals_anthropic", table));
}

#[tokio::test]
async fn anthropic_version_2026_takes_less() {
    let served = mock().await;
    let document =
        json!({ "type": "document", "source": { "type": "text", "media_type": "text/plain", "data": "a" } });
    let cites = json!({ "type": "text", "text": "a", "citations": [{ "type": "char_location" }] });
    let said = json!({ "messages": after(&json!({ "role": "assistant", "content": [document] }), &[]) });
    let quoted = json!({ "messages": [{ "role": "user", "content": [cites] }] });
    let removed = [
        (json!({ "temperature": 1 }), "temperature: Extra inputs are not permitted"),
        (json!({ "top_p": 1 }), "top_p: Extra inputs are not permitted"),
        (json!({ "top_k": 1 }), "top_k: Extra inputs are not permitted"),
        (said, "messages.1.content.0: `document` blocks may not be provided in assistant messages"),
        (quoted, "messages.0.content.0: `citations` may not be provided in user messages"),
    ];
    for (changes, message) in removed {
        let body = changed(MESSAGES, &changes);
        assert_eq!(served.ask(MESSAGES, &body).await.0, 200, "{changes}");
        let request = served.post(MESSAGES).bearer_auth("k").header("anthropic-version", "2026-10-21");
        let (_, answer) = answered(request.body(body.to_string())).await;
        assert_eq!(answer["error"]["message"], message, "{changes}");
    }
}

#[tokio::test]
async fn completions_refusals_name_the_parameter() {
    let user = |content: Value| json!({ "messages": [{ "role": "user", "content": content }] });
    let call =
        |id: &str| json!({ "id": id, "type": "function", "function": { "name": "read", "arguments": "{}" } });
    let calls = |calls: Value| json!({ "role": "assistant", "content": null, "tool_calls": calls });
    let result = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "ok" });
    let tool = |name: &str| json!({ "type": "function", "function": { "name": name } });
    let bad = [
        json!({ "model": null }),
        json!({ "messages": null }),
        json!({ "messages": [] }),
        json!({ "messages": "hi" }),
        json!({ "nonsense": 1 }),
        json!({ "messages": [{ "role": "robot", "content": "hi" }] }),
        json!({ "messages": [{ "content": "hi" }] }),
        user(json!(7)),
        user(Value::Null),
        user(json!([])),
        user(json!([{ "type": "input_text", "text": "a" }])),
        user(json!([{ "type": "image_url", "image_url": "data:image/png;base64,aa" }])),
        user(json!([{ "type": "image_url", "image_url": { "url": "aa" } }])),
        json!({ "messages": after(&json!({ "role": "assistant", "content": null }), &[]) }),
        json!({ "messages": after(&calls(json!([])), &[]) }),
        json!({ "messages": after(&calls(json!([call("a")])), &[]) }),
        json!({ "messages": after(&calls(json!([call("a"), call("b")])), &[result("a"), json!({ "role": "user", "content": "so" })]) }),
        json!({ "messages": after(&calls(json!([call("a")])), &[result("a"), result("b")]) }),
        json!({ "messages": after(&calls(json!([call("a")])), &[json!({ "role": "tool", "content": "ok" })]) }),
        json!({ "messages": after(&calls(json!([call(&"x".repeat(41))])), &[]) }),
        json!({ "messages": after(&calls(json!([{ "id": "a", "type": "function", "function": { "name": "read", "arguments": {} } }])), &[]) }),
        json!({ "messages": [result("a")] }),
        json!({ "tools": [] }),
        json!({ "tools": [tool("read it")] }),
        json!({ "tools": [tool(&"x".repeat(65))] }),
        json!({ "tools": [{ "name": "read", "input_schema": {} }] }),
        json!({ "tools": [{ "type": "function", "name": "read" }] }),
        json!({ "tool_choice": "auto" }),
        json!({ "tools": [tool("read")], "tool_choice": "sometimes" }),
        json!({ "tools": [tool("read")], "tool_choice": { "type": "function", "function": { "name": "write" } } }),
        json!({ "temperature": 3 }),
        json!({ "top_p": 1.5 }),
        json!({ "max_completion_tokens": 0 }),
        json!({ "max_tokens": 5, "max_completion_tokens": 5 }),
        json!({ "stream_options": { "include_usage": true } }),
        json!({ "reasoning_effort": "extreme" }),
        json!({ "stop": ["a", "b", "c", "d", "e"] }),
    ];
    let table = refusals(COMPLETIONS, &bad).await;
    snapshots().bind(|| insta::assert_snapshot!("mock_refusals_completions", table));
}

#[tokio::test]
async fn responses_refusals_name_the_parameter() {
    let input = |items: Value| json!({ "input": items });
    let call = json!({ "type": "function_call", "call_id": "a", "name": "read", "arguments": "{}" });
    let output = json!({ "type": "function_call_output", "call_id": "a", "output": "ok" });
    let thought = json!({ "type": "reasoning", "id": "rs_1", "summary": [] });
    let said = |id: &str| {
        let part = json!({ "type": "output_text", "text": "a", "annotations": [] });
        json!({ "type": "message", "id": id, "role": "assistant", "status": "completed", "content": [part] })
    };
    let user = json!({ "role": "user", "content": "hi" });
    let bad = [
        json!({ "model": null }),
        json!({ "input": null }),
        json!({ "input": [] }),
        json!({ "input": 7 }),
        json!({ "nonsense": 1 }),
        json!({ "messages": [] }),
        input(json!([{ "role": "tool", "content": "hi" }])),
        input(json!([{ "role": "user", "content": [{ "type": "text", "text": "hi" }] }])),
        input(json!([{ "role": "user", "content": "hi", "name": "me" }])),
        input(json!([{ "type": "tool_use", "id": "a" }])),
        input(json!([user, call])),
        input(json!([user, output])),
        input(
            json!([user, { "type": "function_call", "id": "call_1", "call_id": "a", "name": "read", "arguments": "{}" }]),
        ),
        input(
            json!([user, { "type": "function_call", "call_id": "x".repeat(65), "name": "read", "arguments": "{}" }]),
        ),
        input(json!([user, { "type": "function_call", "call_id": "a", "name": "read", "arguments": {} }])),
        input(json!([user, call, { "type": "function_call_output", "call_id": "a", "output": { "a": 1 } }])),
        input(json!([user, thought])),
        input(json!([user, thought, user])),
        input(json!([user, { "type": "reasoning", "id": "1", "summary": [] }, said("msg_1")])),
        input(json!([user, { "type": "reasoning", "id": "rs_1" }, said("msg_1")])),
        input(json!([user, said("1")])),
        input(json!([user, said(&format!("msg_{}", "x".repeat(61)))])),
        input(json!([user, said("msg_1"), said("msg_1")])),
        json!({ "tools": [{ "type": "function", "function": { "name": "read" } }] }),
        json!({ "tools": [{ "type": "function", "name": "read it" }] }),
        json!({ "tools": [{ "name": "read" }] }),
        json!({ "include": ["everything"] }),
        json!({ "reasoning": { "effort": "extreme" } }),
        json!({ "max_output_tokens": 1 }),
        json!({ "max_tokens": 100 }),
        json!({ "text": { "format": { "type": "xml" } } }),
        json!({ "prompt_cache_key": "x".repeat(65) }),
    ];
    let table = refusals(RESPONSES, &bad).await;
    snapshots().bind(|| insta::assert_snapshot!("mock_refusals_responses", table));
}

#[tokio::test]
async fn mistral_refusals_name_field_and_rule() {
    let user = |content: Value| json!({ "messages": [{ "role": "user", "content": content }] });
    let call =
        |id: &str| json!({ "id": id, "type": "function", "function": { "name": "read", "arguments": "{}" } });
    let calls = |calls: Value| json!({ "role": "assistant", "content": "", "tool_calls": calls });
    let result = |id: &str| json!({ "role": "tool", "tool_call_id": id, "name": "read", "content": "ok" });
    let tool = |name: &str| json!({ "type": "function", "function": { "name": name, "parameters": {} } });
    let (one, other) = ("abcABC123", "abcABC124");
    let broken = json!({ "id": one, "function": { "name": "read", "arguments": "{" } });
    let thinks = |thinking: Value| json!([{ "type": "thinking", "thinking": thinking }]);
    let bad = [
        json!({ "model": null }),
        json!({ "messages": null }),
        json!({ "messages": [] }),
        json!({ "messages": "hi" }),
        json!({ "max_completion_tokens": 5 }),
        json!({ "store": false }),
        json!({ "messages": [{ "role": "developer", "content": "hi" }] }),
        json!({ "messages": [{ "role": "user", "content": "hi", "name": "me" }] }),
        user(json!(7)),
        user(json!([{ "type": "input_text", "text": "a" }])),
        user(json!([{ "type": "image_url", "image_url": "AAAA" }])),
        json!({ "messages": after(&json!({ "role": "assistant", "content": thinks(json!("Hm")) }), &[]) }),
        json!({ "messages": after(&json!({ "role": "assistant", "reasoning_content": "Hm" }), &[]) }),
        json!({ "messages": after(&json!({ "role": "assistant", "content": "" }), &[]) }),
        json!({ "messages": after(&json!({ "role": "assistant", "content": "I" }), &[]) }),
        json!({ "messages": after(&calls(json!([call(one)])), &[]) }),
        json!({ "messages": after(&calls(json!([call("call_1")])), &[result("call_1")]) }),
        json!({ "messages": after(&calls(json!([call(one), call(one)])), &[result(one)]) }),
        json!({ "messages": after(&calls(json!([call(one), call(other)])), &[result(one), json!({ "role": "user", "content": "so" })]) }),
        json!({ "messages": after(&calls(json!([call(one)])), &[result(other)]) }),
        json!({ "messages": after(&calls(json!([broken])), &[result(one)]) }),
        json!({ "messages": [{ "role": "user", "content": "hi" }, result(one)] }),
        json!({ "tools": [tool("read it")] }),
        json!({ "tools": [{ "name": "read", "parameters": {} }] }),
        json!({ "tools": [{ "type": "function", "function": { "name": "read" } }] }),
        json!({ "tool_choice": "any" }),
        json!({ "tool_choice": "sometimes" }),
        json!({ "tools": [tool("read")], "tool_choice": { "type": "function", "function": { "name": "write" } } }),
        json!({ "temperature": 2 }),
        json!({ "prompt_mode": "thinking" }),
        json!({ "reasoning_effort": "extreme" }),
    ];
    let table = refusals(MISTRAL, &bad).await;
    snapshots().bind(|| insta::assert_snapshot!("mock_refusals_mistral", table));
}

#[tokio::test]
async fn pi_refusals_name_field() {
    let messages = |messages: Value| json!({ "context": { "messages": messages } });
    let user = |content: Value| json!({ "role": "user", "content": content, "timestamp": 1 });
    let answer = json!({ "role": "assistant", "content": [], "timestamp": 1 });
    let bad = [
        json!({ "model": null }),
        json!({ "context": null }),
        json!({ "options": null }),
        json!({ "stream": true }),
        json!({ "options": { "reasoning": "off" } }),
        json!({ "options": { "maxTokens": 0 } }),
        json!({ "options": { "effort": "low" } }),
        messages(json!([])),
        messages(json!([{ "role": "user", "content": "hi" }])),
        messages(json!([{ "role": "developer", "content": "hi", "timestamp": 1 }])),
        messages(json!([user(json!(7))])),
        messages(json!([user(json!([{ "type": "image", "data": "AAAA" }]))])),
        messages(json!([user(json!("hi")), answer])),
        messages(
            json!([{ "role": "system", "content": "", "toolsAdded": [{ "name": "read" }], "timestamp": 1 }]),
        ),
        messages(json!([{ "role": "toolResult", "toolCallId": "c1", "content": [], "timestamp": 1 }])),
    ];
    let table = refusals(PI, &bad).await;
    snapshots().bind(|| insta::assert_snapshot!("mock_refusals_pi", table));
}

#[tokio::test]
async fn google_refusals_name_field_and_rule() {
    let user = |parts: Value| json!({ "role": "user", "parts": parts });
    let says = |parts: Value| json!({ "role": "model", "parts": parts });
    let text = json!({ "text": "hi" });
    let call = |id: &str| json!({ "functionCall": { "name": "read", "args": {}, "id": id } });
    let result = |id: &str| json!({ "functionResponse": { "name": "read", "response": { "output": "ok" }, "id": id } });
    let contents = |contents: &[Value]| json!({ "contents": contents });
    let after = |rest: &[Value]| contents(&[&[user(json!([text]))], rest].concat());
    let thinks = |config: Value| json!({ "generationConfig": { "thinkingConfig": config } });
    let calling = |config: Value| json!({ "toolConfig": { "functionCallingConfig": config } });
    let image = |mime: &str, data: &str| json!({ "inlineData": { "mimeType": mime, "data": data } });
    let bad = [
        json!({ "contents": null }),
        json!({ "contents": [] }),
        json!({ "contents": "hi" }),
        json!({ "nonsense": 1 }),
        json!({ "stream_options": {} }),
        contents(&[json!({ "role": "user" })]),
        contents(&[user(json!([]))]),
        contents(&[json!({ "role": "assistant", "parts": [text] })]),
        contents(&[json!({ "role": "user", "content": "hi" })]),
        contents(&[user(json!([{}]))]),
        contents(&[user(json!([{ "text": 7 }]))]),
        contents(&[user(json!([{ "text": "a", "type": "text" }]))]),
        contents(&[user(
            json!([{ "text": "a", "inlineData": { "mimeType": "image/png", "data": "AAAA" } }]),
        )]),
        contents(&[user(json!([image("png", "AAAA")]))]),
        contents(&[user(json!([image("image/png", "data:")]))]),
        contents(&[says(json!([call("a")])), user(json!([result("a")]))]),
        contents(&[user(json!([result("a")]))]),
        after(&[says(json!([call("a")]))]),
        after(&[says(json!([call("a"), call("b")])), user(json!([result("a")]))]),
        after(&[says(json!([call("a")])), user(json!([text]))]),
        after(&[says(json!([call("a")])), user(json!([result("b")]))]),
        after(&[says(json!([text])), says(json!([call("a")])), user(json!([result("a")]))]),
        after(&[says(json!([{ "text": "a", "thoughtSignature": "no base64" }]))]),
        json!({ "systemInstruction": "Be brief." }),
        json!({ "systemInstruction": { "parts": [] } }),
        json!({ "tools": [{ "functionDeclarations": [{ "name": "read it" }] }] }),
        json!({ "tools": [{ "functionDeclarations": [{ "name": "a" }, { "name": "a" }] }] }),
        json!({ "tools": [{ "functionDeclarations": [{ "name": "a", "parameters": {}, "parametersJsonSchema": {} }] }] }),
        json!({ "tools": [{ "type": "function" }] }),
        calling(json!({ "mode": "SOMETIMES" })),
        calling(json!({ "mode": "ANY" })),
        calling(json!({ "mode": "AUTO", "allowedFunctionNames": ["a"] })),
        json!({ "generationConfig": { "maxOutputTokens": "many" } }),
        json!({ "generationConfig": { "max_tokens": 1 } }),
        json!({ "generationConfig": { "stopSequences": ["a", "b", "c", "d", "e", "f"] } }),
        thinks(json!({ "thinkingLevel": "EXTREME" })),
        thinks(json!({ "thinkingLevel": "LOW", "thinkingBudget": 1 })),
    ];
    let table = refusals(GOOGLE, &bad).await;
    snapshots().bind(|| insta::assert_snapshot!("mock_refusals_google", table));
    let of_models = [
        ("gemini-2.5-pro", thinks(json!({ "thinkingBudget": 0 }))),
        ("gemini-2.5-pro", thinks(json!({ "thinkingBudget": 100 }))),
        ("gemini-2.5-flash", thinks(json!({ "thinkingBudget": 30_000 }))),
        ("gemini-2.5-flash", thinks(json!({ "thinkingLevel": "LOW" }))),
        ("gemini-3-flash-preview", after(&[says(json!([call("a")])), user(json!([result("a")]))])),
    ];
    let mut table = String::new();
    for (model, bad) in of_models {
        table += &format!("{model} ");
        table += &refusals(&format!("/v1beta/models/{model}:generateContent"), &[bad]).await;
    }
    snapshots().bind(|| insta::assert_snapshot!("mock_refusals_google_models", table));
}

#[tokio::test]
async fn bedrock_refusals_name_field_and_rule() {
    let user = |content: Value| json!({ "role": "user", "content": content });
    let says = |content: Value| json!({ "role": "assistant", "content": content });
    let text = json!({ "text": "hi" });
    let call = |id: &str| json!({ "toolUse": { "toolUseId": id, "name": "read", "input": {} } });
    let result = |id: &str| json!({ "toolResult": { "toolUseId": id, "content": [{ "text": "ok" }] } });
    let spec =
        |name: &str| json!({ "toolSpec": { "name": name, "inputSchema": { "json": { "type": "object" } } } });
    let messages = |messages: &[Value]| json!({ "messages": messages });
    let image =
        |format: &str, bytes: &str| json!({ "image": { "format": format, "source": { "bytes": bytes } } });
    let with_tools = |rest: &[Value]| {
        let mut body = messages(&[&[user(json!([text]))], rest].concat());
        body["toolConfig"] = json!({ "tools": [spec("read")] });
        body
    };
    let failed =
        json!({ "toolResult": { "toolUseId": "a", "content": [image("png", "AAAA")], "status": "error" } });
    let thinks = |fields: Value, most: u64| json!({ "additionalModelRequestFields": { "thinking": fields }, "inferenceConfig": { "maxTokens": most } });
    let budget = |tokens: u64| json!({ "type": "enabled", "budget_tokens": tokens });
    let mark = json!({ "cachePoint": { "type": "default" } });
    let forced = |name: &str| json!({ "tools": [spec("read")], "toolChoice": { "tool": { "name": name } } });
    let mut thinks_forced = thinks(budget(1024), 2048);
    thinks_forced["toolConfig"] = forced("read");
    let bad = [
        json!({ "messages": "hi" }),
        json!({ "nonsense": 1 }),
        messages(&[json!({ "role": "user" })]),
        messages(&[user(json!("hi"))]),
        messages(&[user(json!([]))]),
        messages(&[json!({ "role": "system", "content": [text] })]),
        messages(&[says(json!([text]))]),
        messages(&[user(json!([text])), user(json!([text]))]),
        messages(&[user(json!([{ "text": " " }]))]),
        messages(&[user(json!([{}]))]),
        messages(&[user(json!([{ "text": "a", "cachePoint": { "type": "default" } }]))]),
        messages(&[user(json!([{ "type": "text", "text": "a" }]))]),
        messages(&[user(json!([image("tiff", "AAAA")]))]),
        messages(&[user(json!([image("png", "data:")]))]),
        messages(&[user(json!([text])), says(json!([call("a")])), user(json!([result("a")]))]),
        with_tools(&[says(json!([call("a b")])), user(json!([result("a b")]))]),
        with_tools(&[says(json!([call("a"), call("b")])), user(json!([result("a")]))]),
        with_tools(&[says(json!([text])), user(json!([result("a")]))]),
        with_tools(&[says(json!([call("a")])), user(json!([result("a"), result("a")]))]),
        with_tools(&[says(json!([call("a")])), user(json!([failed]))]),
        json!({ "toolConfig": { "tools": [] } }),
        json!({ "toolConfig": { "tools": [spec("read it")] } }),
        json!({ "toolConfig": { "tools": [spec("a"), spec("a")] } }),
        json!({ "toolConfig": { "tools": [{ "toolSpec": { "name": "a", "inputSchema": { "json": {} } } }] } }),
        json!({ "toolConfig": forced("write") }),
        json!({ "inferenceConfig": { "maxTokens": 0 } }),
        json!({ "inferenceConfig": { "max_tokens": 1 } }),
        json!({ "system": [{ "text": "" }] }),
        json!({ "system": [mark, mark, mark, mark, mark] }),
        thinks(budget(100), 2048),
        thinks(budget(2048), 2048),
        thinks_forced,
    ];
    let table = refusals(BEDROCK, &bad).await;
    snapshots().bind(|| insta::assert_snapshot!("mock_refusals_bedrock", table));
}

#[tokio::test]
async fn missing_key_or_version_is_refused() {
    let served = mock().await;
    let post = |path: &str| served.post(path).body(prompt(path, "hi", false).to_string());
    let anthropic = |kind: &str, message: &str| json!({ "type": kind, "message": message });
    let no_key = "You didn't provide an API key. You need to provide your API key in an Authorization header using \
                  Bearer auth (i.e. Authorization: Bearer YOUR_KEY).";
    let openai = json!({ "message": no_key, "type": "invalid_request_error", "param": null, "code": null });
    let no_caller = "Method doesn't allow unregistered callers (callers without established identity). Please use API Key \
                     or other form of API consumer identity to call this API.";
    let google = json!({ "code": 403, "message": no_caller, "status": "PERMISSION_DENIED" });
    let no_header = anthropic("authentication_error", "x-api-key header is required");
    let no_version = anthropic("invalid_request_error", "anthropic-version: header is required");
    let bad_version = anthropic("invalid_request_error", "anthropic-version: \"1\" is not a valid version");
    let bad = [
        (post(MESSAGES), 401, &no_header),
        (post(MESSAGES).header("x-api-key", ""), 401, &no_header),
        (post(MESSAGES).bearer_auth("k"), 400, &no_version),
        (post(MESSAGES).bearer_auth("k").header("anthropic-version", "1"), 400, &bad_version),
        (post(COMPLETIONS), 401, &openai),
        (post(GOOGLE), 403, &google),
        (post(RESPONSES).header("authorization", "Bearer "), 401, &openai),
    ];
    for (request, status, error) in bad {
        let (answered, body) = answered(request).await;
        assert_eq!((answered, &body["error"]), (status, error));
    }
}

#[tokio::test]
async fn invalid_body_path_and_method_are_refused() {
    let served = mock().await;
    let dated = |request: reqwest::RequestBuilder| request.header("anthropic-version", "2023-06-01");
    let no_json = "We could not parse the JSON body of your request";
    for (request, status, message) in [
        (dated(served.post(MESSAGES)).body("{"), 400, "The request body is not a valid JSON object"),
        (served.post(RESPONSES).body("[]"), 400, no_json),
        (served.get("/v1/files"), 404, "Invalid URL (GET /v1/files)"),
        (dated(served.get("/v1/files")), 404, "Not Found"),
        (served.get("/v1beta/files").header("x-goog-api-client", "c"), 404, "Not Found"),
        (
            served.post(GOOGLE).body("[]"),
            400,
            "Invalid JSON payload received. Expected an object at the root of the payload.",
        ),
        (served.get(GOOGLE), 404, "Not Found"),
        (served.get(COMPLETIONS), 405, "Not allowed to GET on /v1/chat/completions."),
        (served.get(MESSAGES), 405, "Method Not Allowed"),
        (served.get("/v1/models/other"), 404, "The model 'other' does not exist"),
        (
            dated(served.post(MESSAGES)).body(vec![b' '; 32 * 1024 * 1024 + 1]),
            413,
            "Request exceeds the maximum size",
        ),
    ] {
        let (refused, body) = answered(request.bearer_auth("k")).await;
        let said = body["error"]["message"].as_str().unwrap();
        let said = if message == no_json { &said[..48] } else { said };
        assert_eq!((refused, said), (status, message));
    }
}

/// Source: the types of `@anthropic-ai/sdk` 0.91.1.
#[tokio::test]
async fn undated_anthropic_tools_are_accepted() {
    let served = mock().await;
    for kind in ["tool_search_tool_regex", "tool_search_tool_bm25", "tool_search_tool_bm25_20251119"] {
        let mut body = changed(MESSAGES, &json!({ "tools": [{ "type": kind, "name": kind }] }));
        body["user_profile_id"] = Value::Null;
        let (status, answer) = served.ask_json(MESSAGES, &body).await;
        assert_eq!(status, 200, "{answer}");
    }
}
