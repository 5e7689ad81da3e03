//! What the model did not finish saying is not done: calls whose arguments are not one complete object, over every API and
//! in every dialect.

use pi_rpc_model::{
    api::Api,
    types::{AnswerDiagnostic, BlockStart, Finish, StreamEvent},
};
use pi_rpc_protocol::Dialect::{self, Pi, Pi1, Xcsh};
use pi_rpc_test_kit::{Playback, scenario, shorthand::*};
use serde_json::{Value, json};
use std::collections::HashSet;

/// The tool that requires nothing.
const LAX: &str = "lax";

/// How the stream goes on behind arguments that are cut off.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cut {
    /// The call is ended, and the answer has its reason.
    Closed,
    /// The answer has its reason, but the call is not ended. Not in APIs whose calls end with the answer.
    Unclosed,
    /// The call is ended, and so is the answer, without a reason.
    Unreasoned,
    /// Nothing follows.
    Broken,
}

/// The data of the events of an answer of `api` that calls `tool`, as recorded and reduced, with these `arguments`.
fn recorded(api: Api, tool: &str, arguments: &str, cut: Cut) -> Option<Vec<(String, String)>> {
    let mut events = match api {
        Api::AnthropicMessages => vec![
            json!({ "type": "message_start", "message": { "id": "m1", "usage": { "input_tokens": 20, "output_tokens": 1 } } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "tool_use", "id": "t1", "name": tool, "input": {} } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": arguments } }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 7 } }),
            json!({ "type": "message_stop" }),
        ],
        Api::OpenaiResponses | Api::AzureOpenaiResponses | Api::OpenaiCodexResponses => {
            let item = |arguments: &str| json!({ "type": "function_call", "id": "fc", "call_id": "t1", "name": tool, "arguments": arguments });
            vec![
                json!({ "type": "response.created", "response": { "id": "m1" } }),
                json!({ "type": "response.output_item.added", "output_index": 0, "item": item("") }),
                json!({ "type": "response.function_call_arguments.delta", "output_index": 0, "delta": arguments }),
                json!({ "type": "response.output_item.done", "output_index": 0, "item": item(arguments) }),
                json!({ "type": "response.completed", "response": { "id": "m1", "status": "completed", "output": [] } }),
                json!("[DONE]"),
            ]
        }
        Api::BedrockConverseStream => vec![
            json!({ "type": "messageStart", "role": "assistant" }),
            json!({ "type": "contentBlockStart", "contentBlockIndex": 0, "start": { "toolUse": { "toolUseId": "t1", "name": tool } } }),
            json!({ "type": "contentBlockDelta", "contentBlockIndex": 0, "delta": { "toolUse": { "input": arguments } } }),
            json!({ "type": "contentBlockStop", "contentBlockIndex": 0 }),
            json!({ "type": "messageStop", "stopReason": "tool_use" }),
            json!({ "type": "metadata", "usage": { "inputTokens": 20, "outputTokens": 7 } }),
        ],
        Api::PiMessages => vec![
            json!({ "type": "start" }),
            json!({ "type": "toolcall_start", "contentIndex": 0, "id": "t1", "toolName": tool }),
            json!({ "type": "toolcall_delta", "contentIndex": 0, "delta": arguments }),
            json!({ "type": "toolcall_end", "contentIndex": 0, "toolCall": { "id": "t1", "name": tool, "arguments": {} } }),
            json!({ "type": "done", "reason": "toolUse", "usage": { "input": 20, "output": 7 } }),
            json!("[DONE]"),
        ],
        Api::OpenaiCompletions | Api::MistralConversations => {
            let call = json!({ "index": 0, "id": "abcABC123", "type": "function", "function": { "name": tool, "arguments": arguments } });
            vec![
                json!({ "id": "m1", "choices": [{ "index": 0, "delta": { "role": "assistant", "content": "" } }] }),
                json!({ "id": "m1", "choices": [{ "index": 0, "delta": { "tool_calls": [call] }, "finish_reason": null }] }),
                json!({ "id": "m1", "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
                json!("[DONE]"),
            ]
        }
        // A call comes whole: its event is cut.
        Api::GoogleGenerativeAi | Api::GoogleVertex => {
            let head =
                r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"t1","name":""#;
            let cut_event = format!("{head}{tool}\",\"args\":{arguments}");
            vec![json!(cut_event), json!({ "candidates": [{ "finishReason": "STOP", "index": 0 }] })]
        }
    };
    let calls_end_with_answer = matches!(api, Api::OpenaiCompletions | Api::MistralConversations);
    let comes_whole = matches!(api, Api::GoogleGenerativeAi | Api::GoogleVertex);
    match cut {
        Cut::Closed => {}
        Cut::Unclosed if calls_end_with_answer || comes_whole => return None,
        Cut::Unclosed => drop(events.remove(3)),
        Cut::Unreasoned if calls_end_with_answer => drop(events.remove(2)),
        Cut::Unreasoned if comes_whole => drop(events.pop()),
        Cut::Unreasoned => drop(events.remove(4)),
        Cut::Broken if comes_whole => events.truncate(1),
        Cut::Broken if calls_end_with_answer => events.truncate(2),
        Cut::Broken => events.truncate(3),
    }
    let name = |event: &Value| event["type"].as_str().unwrap_or("message").to_owned();
    let data = |event: &Value| event.as_str().map_or_else(|| event.to_string(), str::to_owned);
    Some(events.iter().map(|event| (name(event), data(event))).collect())
}

/// What the reader of `api` makes of such an answer.
fn read(api: Api, tool: &str, arguments: &str, cut: Cut) -> Option<Vec<StreamEvent>> {
    let mut reader = api.reader();
    let mut events = Vec::new();
    for (name, data) in recorded(api, tool, arguments, cut)? {
        events.extend(reader.event(&name, &data));
    }
    events.extend(reader.end());
    Some(events)
}

/// A run whose first answer is `events`.
fn played(events: Vec<StreamEvent>, dialect: Dialect) -> Playback {
    let done = json!({ "say": [{ "text": "Done." }], "repeat": true });
    scenario(json!([done]))
        .stream(events)
        .tool_without_arguments(LAX)
        .host(0, prompt("p", "go"))
        .play(dialect)
}

/// The texts of all results that are no success.
fn refused(played: &Playback) -> Vec<&str> {
    let ends = played.frames("tool_execution_end");
    ends.map(|end| {
        assert_eq!(end["isError"], true, "a call ran\n{}", played.log);
        end["result"]["content"][0]["text"].as_str().unwrap()
    })
    .collect()
}

#[test]
fn cut_arguments_execute_nothing() {
    let mut known = HashSet::new();
    let wholes = [("bash", r#"{"command":"x\"é"}"#), (LAX, r#"{"a":[0]}"#)];
    for (tool, whole) in wholes {
        let prefixes = (0..whole.len()).filter(|end| whole.is_char_boundary(*end));
        for (arguments, api) in prefixes.flat_map(|end| Api::ALL.map(|api| (&whole[..end], api))) {
            for cut in [Cut::Closed, Cut::Unclosed, Cut::Unreasoned, Cut::Broken] {
                // A call without arguments that has its own end and a reason is complete, as in pi.
                if arguments.is_empty() && cut == Cut::Closed {
                    continue;
                }
                let Some(events) = read(api, tool, arguments, cut) else { continue };
                // Several APIs have the same events.
                if !known.insert(format!("{events:?}")) {
                    continue;
                }
                // What is read does not depend on the dialect, only the text of the refusal: one API plays all dialects.
                let dialects = if api == Api::ALL[0] { &Dialect::ALL[..] } else { &[Pi1] };
                for dialect in dialects.iter().copied() {
                    let played = played(events.clone(), dialect);
                    for text in refused(&played) {
                        let known = text.starts_with(&format!("Invalid arguments for tool \"{tool}\": "))
                            && text.ends_with(&format!("\n\nReceived arguments:\n{arguments}"));
                        let failed = text.starts_with("Tool execution failed due to an error: ");
                        assert!(known || failed, "{api:?} {cut:?} {dialect} {arguments}: {text}");
                    }
                }
            }
        }
    }
}

#[test]
fn whole_arguments_execute_over_every_api() {
    for api in Api::ALL {
        let arguments = match api {
            Api::GoogleGenerativeAi | Api::GoogleVertex => r#"{"command":"echo one"}}}]}}]}"#,
            _ => r#"{"command":"echo one"}"#,
        };
        let played = played(read(api, "bash", arguments, Cut::Closed).unwrap(), Pi1);
        assert_eq!(played.last("tool_execution_end")["isError"], false, "{api:?}\n{}", played.log);
    }
}

/// An answer that calls a tool with this text as its arguments.
fn calls_with(tool: &str, arguments: &str) -> Vec<StreamEvent> {
    let block = BlockStart::ToolCall { id: "t1".to_owned(), name: tool.to_owned() };
    vec![
        StreamEvent::Start { index: 0, block },
        StreamEvent::Delta { index: 0, delta: arguments.to_owned() },
        StreamEvent::End { index: 0, signature: None },
        StreamEvent::Finish(Finish::ToolUse),
    ]
}

#[test]
fn refused_call_quotes_text_and_place() {
    let raw = r#"{"command":"echo rm -rf /sr"#;
    let reason = format!(
        "Unterminated string in JSON at position 27 (line 1 column 28)\n\nReceived arguments:\n{raw}"
    );
    for dialect in Dialect::ALL {
        let played = played(calls_with("bash", raw), dialect);
        assert_eq!(refused(&played), [format!("Invalid arguments for tool \"bash\": {reason}")], "{dialect}");
        let call = &played.frames("message_end").find(|end| end["message"]["role"] == "assistant").unwrap();
        let call = &call["message"]["content"][0];
        assert_eq!(call["arguments"], json!({}), "{dialect}");
        let told = dialect.as_str().starts_with("pi-1");
        assert_eq!(call.get("argumentsError"), told.then(|| json!(reason)).as_ref(), "{dialect}");
        // The run goes on.
        assert!(played.log.contains("Done."), "{dialect}\n{}", played.log);
    }
}

#[test]
fn repaired_arguments_execute() {
    let whole = r#"{"command":"echo one"}"#;
    let twice = Value::from(whole).to_string();
    for arguments in [whole, &twice, "{\"command\":\"echo one\",\"note\":\"a\n\tb\\d\"}"] {
        for dialect in [Pi, Pi1, Xcsh] {
            let played = played(calls_with("bash", arguments), dialect);
            assert_eq!(
                played.last("tool_execution_end")["isError"],
                false,
                "{dialect} {arguments}\n{}",
                played.log
            );
        }
    }
}

#[test]
fn other_values_and_two_values_are_refused() {
    for arguments in
        ["[]", "1", "null", "\"{\"", "{}{}", "{} x", "{'command':'echo'}", "{\"command\":\"a\",}"]
    {
        for dialect in [Pi, Pi1, Xcsh] {
            assert_eq!(
                refused(&played(calls_with(LAX, arguments), dialect)).len(),
                1,
                "{dialect} {arguments}"
            );
        }
    }
}

#[test]
fn unknown_tool_is_named_before_its_arguments() {
    assert_eq!(refused(&played(calls_with("nope", "{\"a"), Pi1)), ["Tool nope not found"]);
}

#[test]
fn diagnostics_are_told_where_dialect_has_them() {
    let details = json!({ "reason": "thread_not_found" });
    let observed = AnswerDiagnostic {
        kind: "anthropic_thread_fallback",
        error: Some("400 No".to_owned()),
        details: details.as_object().unwrap().clone(),
    };
    let events = vec![
        StreamEvent::Diagnostic(Box::new(observed)),
        StreamEvent::Start { index: 0, block: BlockStart::Text },
        StreamEvent::Delta { index: 0, delta: "Yes.".to_owned() },
        StreamEvent::End { index: 0, signature: None },
        StreamEvent::Finish(Finish::Stop),
    ];
    for dialect in Dialect::ALL {
        let played = scenario(json!([])).stream(events.clone()).host(0, prompt("p", "go")).play(dialect);
        let message = &played.last("message_end")["message"];
        let mut told = message.get("diagnostics").cloned();
        let time = told.as_mut().map(|it| it[0]["timestamp"].take());
        assert!(time.is_none_or(|time| time.is_u64()), "{dialect}");
        let expected = json!([{
            "type": "anthropic_thread_fallback", "timestamp": null, "error": { "message": "400 No" }, "details": details,
        }]);
        let has_them = dialect.as_str().starts_with("pi-1") || dialect.as_str() == "pi@0.73";
        assert_eq!(told, has_them.then_some(expected), "{dialect}");
    }
}
