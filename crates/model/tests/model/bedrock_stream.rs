//! Streams of Amazon Bedrock's Converse API, and their events.

use crate::model_support::{self, CUT, check_contract, read_all, shown};
use pi_rpc_model::{api::Api, request::Reader};
use serde_json::{Value, json};

fn reader() -> Box<dyn Reader> {
    Api::BedrockConverseStream.reader()
}

/// The events of a stream in short, but the vendor's own words.
fn read(events: &[Value]) -> Vec<String> {
    let events = model_support::read(reader(), events);
    check_contract(&events).unwrap();
    shown(&events)
}

fn event(name: &str, mut members: Value) -> Value {
    members["type"] = name.into();
    members["p"] = "abc".into();
    members
}

fn delta(number: u64, delta: Value) -> Value {
    event("contentBlockDelta", json!({ "contentBlockIndex": number, "delta": delta }))
}

fn thinks(number: u64, reasoning: Value) -> Value {
    delta(number, json!({ "reasoningContent": reasoning }))
}

fn end(number: u64) -> Value {
    event("contentBlockStop", json!({ "contentBlockIndex": number }))
}

fn call(number: u64, id: &str) -> Value {
    let start = json!({ "toolUse": { "toolUseId": id, "name": "ls" } });
    event("contentBlockStart", json!({ "contentBlockIndex": number, "start": start }))
}

fn stop(reason: &str) -> Value {
    event("messageStop", json!({ "stopReason": reason }))
}

fn metadata() -> Value {
    let details = json!([{ "inputTokens": 4, "ttl": "1h" }, { "inputTokens": 2, "ttl": "5m" }]);
    let usage = json!({
        "inputTokens": 5, "outputTokens": 24, "totalTokens": 42, "cacheReadInputTokens": 7, "cacheWriteInputTokens": 6,
        "cacheDetails": details,
    });
    event("metadata", json!({ "usage": usage, "metrics": { "latencyMs": 1 } }))
}

#[test]
fn blocks_of_every_kind_are_read() {
    let events = [
        event("messageStart", json!({ "role": "assistant" })),
        thinks(0, json!({ "text": "h" })),
        thinks(0, json!({ "text": "m" })),
        thinks(0, json!({ "signature": "c2" })),
        thinks(0, json!({ "signature": "ln" })),
        end(0),
        thinks(1, json!({ "redactedContent": "aGk=" })),
        thinks(1, json!({ "redactedContent": "ZA==" })),
        end(1),
        delta(2, json!({ "text": "Hel" })),
        delta(2, json!({ "text": "lo" })),
        end(2),
        call(3, "c1"),
        delta(3, json!({ "toolUse": { "input": "{\"path\":" } })),
        delta(3, json!({ "toolUse": { "input": "\".\"}" } })),
        end(3),
        call(4, "c2"),
        end(4),
        event("futureEvent", json!({})),
        stop("tool_use"),
        metadata(),
        delta(5, json!({ "text": "late" })),
    ];
    let expected = [
        "0 thinking |h|m| end ~c2ln",
        "1 redacted aGlk end",
        "2 text |Hel|lo| end",
        r#"3 call c1 ls |{"path":|"."}| end"#,
        "4 call c2 ls end",
        "usage 5, 24, 7, 6, 4 for an hour",
        "finish ToolUse",
    ];
    assert_eq!(read(&events), expected);
}

#[test]
fn calls_in_parallel_follow_one_another() {
    let events = [
        call(0, "a"),
        call(1, "b"),
        delta(1, json!({ "toolUse": { "input": "{}" } })),
        delta(0, json!({ "toolUse": { "input": "{}" } })),
        delta(7, json!({ "toolUse": { "input": "lost" } })),
        stop("tool_use"),
    ];
    assert_eq!(read(&events), ["0 call a ls |{}| end", "1 call b ls |{}| end", "finish ToolUse"]);
}

#[test]
fn stop_reasons_are_mapped() {
    for (reason, expected) in [
        ("end_turn", "finish Stop"),
        ("stop_sequence", "finish Stop"),
        ("max_tokens", "finish Length"),
        ("model_context_window_exceeded", "finish Length"),
        ("guardrail_intervened", "fail Provider stopped with: guardrail_intervened"),
        ("malformed_tool_use", "fail Provider stopped with: malformed_tool_use"),
        ("", "fail terminated: the answer ended without a stop reason"),
    ] {
        assert_eq!(read(&[stop(reason)]), [expected], "{reason}");
    }
    assert_eq!(shown(&read_all(reader(), &[stop("end_turn")])), ["word end_turn", "finish Stop"]);
}

#[test]
fn reason_of_guardrail_is_told() {
    let trace = json!({ "trace": { "guardrail": { "actionReason": "Guardrail blocked." } } });
    let events = [stop("guardrail_intervened"), event("metadata", trace)];
    assert_eq!(read(&events), ["fail Provider stopped with: guardrail_intervened: Guardrail blocked."]);
}

#[test]
fn stream_without_reason_fails() {
    assert_eq!(read(&[]), [CUT]);
    assert_eq!(read(&[delta(0, json!({ "text": "a" }))]), ["0 text |a|", CUT]);
    let mut reader = reader();
    assert!(!reader.is_complete());
    reader.event("messageStop", &stop("end_turn").to_string());
    assert!(reader.is_complete());
}

#[test]
fn exceptions_and_unreadable_events_fail_once() {
    for (event, expected) in [
        (
            event("throttlingException", json!({ "message": "Slow down" })),
            "fail ThrottlingException: Slow down",
        ),
        (
            json!({"type": "internalServerException"}),
            "fail InternalServerException: The provider sent an error without a message: \
             {\"type\":\"internalServerException\"}",
        ),
        (event("error", json!({ "code": "c", "message": "m" })), "fail c: m"),
        (
            json!("{\"delta\":"),
            "fail terminated: could not read an event: Unexpected end of JSON input at position 9 (line 1 column 10): {\"delta\":",
        ),
        (
            thinks(0, json!({ "redactedContent": "no base64" })),
            "fail Could not read what the provider sent: hidden thinking is no base64",
        ),
    ] {
        assert_eq!(read(&[event.clone(), event.clone(), stop("end_turn")]), [expected], "{event}");
    }
}

#[test]
fn refusals_tell_message() {
    for body in [json!({ "message": "No" }), json!({ "Message": "No" })] {
        assert_eq!(reader().refusal(&body).as_deref(), Some("No"));
    }
    assert_eq!(reader().refusal(&json!({ "error": "no" })), None);
    assert_eq!(reader().error_kind_header(), Some("x-amzn-errortype"));
}

#[test]
fn call_ended_by_answer_is_unclosed() {
    let piece = |input: Value| delta(0, json!({ "toolUse": { "input": input } }));
    for (input, expected) in
        [(json!(""), "unclosed end"), (json!("{"), "|{| end"), (json!({ "x": 1 }), "|{\"x\":1}| end")]
    {
        let events = [call(0, "a"), piece(input), stop("tool_use")];
        assert_eq!(read(&events), [format!("0 call a ls {expected}").as_str(), "finish ToolUse"]);
    }
}
