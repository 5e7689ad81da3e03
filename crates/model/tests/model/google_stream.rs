//! Streams of the Gemini API, and their events.

use crate::model_support::{self, CUT, check_contract, extend, read_all, shown};
use pi_rpc_model::{api::Api, request::Reader};
use serde_json::{Value, json};
use std::time::Duration;

fn reader() -> Box<dyn Reader> {
    Api::GoogleGenerativeAi.reader()
}

/// The events of a stream in short, but the vendor's own words.
fn read(events: &[Value]) -> Vec<String> {
    let events = model_support::read(reader(), events);
    check_contract(&events).unwrap();
    shown(&events)
}

fn chunk(parts: Value) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "index": 0 }] })
}

fn stop(reason: &str) -> Value {
    json!({ "candidates": [{ "finishReason": reason }] })
}

#[test]
fn blocks_of_every_kind_are_read() {
    let mut first = chunk(json!([{ "text": "h", "thought": true }]));
    first["responseId"] = "r1".into();
    first["usageMetadata"] = json!({ "promptTokenCount": 12, "cachedContentTokenCount": 7 });
    let mut last = stop("STOP");
    last["responseId"] = "r2".into();
    last["usageMetadata"] = json!({
        "promptTokenCount": 12, "candidatesTokenCount": 20, "thoughtsTokenCount": 4, "totalTokenCount": 36,
        "cachedContentTokenCount": 7,
    });
    let events = [
        first,
        chunk(json!([{ "text": "m", "thought": true, "thoughtSignature": "YQ==" }, { "text": "Hel" }])),
        chunk(json!([{ "text": "lo" }, { "text": "", "thoughtSignature": "Yg==" }])),
        chunk(json!([
            { "functionCall": { "id": "c1", "name": "ls", "args": { "path": "." } }, "thoughtSignature": "Yw==" },
            { "functionCall": { "id": "c2", "name": "ls" } },
        ])),
        last,
    ];
    let expected = [
        "id r1",
        "usage 5, 0, 7, 0, 0 thought",
        "0 thinking |h|m| end ~YQ==",
        "1 text |Hel|lo| end ~Yg==",
        r#"2 call c1 ls |{"path":"."}| end ~Yw=="#,
        "3 call c2 ls |{}| end",
        "usage 5, 24, 7, 0, 4 thought",
        "finish ToolUse",
    ];
    assert_eq!(read(&events), expected);
}

#[test]
fn signature_without_text_is_kept() {
    let events = [
        chunk(json!([{ "text": "why", "thought": true }, { "thoughtSignature": "YQ==" }])),
        chunk(json!([{ "text": "" }, { "executableCode": { "language": "PYTHON", "code": "1" } }])),
        stop("STOP"),
    ];
    assert_eq!(read(&events), ["0 thinking |why| end", "1 text end ~YQ==", "finish Stop"]);
}

#[test]
fn calls_get_ids_of_their_own() {
    let call = |id: Value| json!({ "functionCall": { "id": id, "name": "ls", "args": {} } });
    let events = [chunk(json!([call(json!("a")), call(json!("a")), call(Value::Null)])), stop("STOP")];
    let ids = |events: &[Value]| -> Vec<String> {
        let lines = read(events).into_iter().filter(|line| line.contains(" call "));
        lines.map(|line| line.split(' ').nth(2).unwrap().to_owned()).collect()
    };
    let first = ids(&events);
    assert_eq!((first.len(), first[0].as_str()), (3, "a"));
    assert!(first[1].starts_with("call_") && first[1] != first[2], "{first:?}");
    // The same calls in another answer have other ids.
    let mut other = events.to_vec();
    other[0]["responseId"] = "r".into();
    assert!(ids(&other)[1..].iter().all(|id| !first.contains(id)));
}

#[test]
fn stop_reasons_are_mapped() {
    for (reason, expected) in [
        ("STOP", "finish Stop"),
        ("MAX_TOKENS", "finish Length"),
        ("CONTINUATION", "finish Length"),
        ("SAFETY", "fail Provider stopped with: SAFETY"),
        ("MALFORMED_FUNCTION_CALL", "fail Provider stopped with: MALFORMED_FUNCTION_CALL"),
        ("MOON", "fail Provider stopped with: MOON"),
    ] {
        assert_eq!(read(&[stop(reason)]), [expected], "{reason}");
    }
    let events = read_all(reader(), &[stop("STOP"), stop("MAX_TOKENS")]);
    assert_eq!(shown(&events), ["word MAX_TOKENS", "finish Length"]);
}

#[test]
fn reason_of_block_is_told() {
    let rated = |blocked: bool| json!({ "category": "HARM_CATEGORY_HARASSMENT", "blocked": blocked });
    let feedback = |more: Value| {
        let mut feedback = json!({ "promptFeedback": { "blockReason": "SAFETY" } });
        extend(&mut feedback["promptFeedback"], more);
        feedback
    };
    let ended = |more: Value| {
        let mut ended = stop("SAFETY");
        extend(&mut ended["candidates"][0], more);
        ended
    };
    for (event, expected) in [
        (feedback(json!({})), "fail The provider blocked the prompt: SAFETY"),
        (
            feedback(json!({ "blockReasonMessage": "Not here." })),
            "fail The provider blocked the prompt: SAFETY: Not here.",
        ),
        (
            feedback(json!({ "safetyRatings": [rated(false), rated(true)] })),
            "fail The provider blocked the prompt: SAFETY: HARM_CATEGORY_HARASSMENT",
        ),
        (ended(json!({})), "fail Provider stopped with: SAFETY"),
        (ended(json!({ "finishMessage": "No." })), "fail Provider stopped with: SAFETY: No."),
        (
            ended(json!({ "safetyRatings": [rated(true)] })),
            "fail Provider stopped with: SAFETY: HARM_CATEGORY_HARASSMENT",
        ),
    ] {
        assert_eq!(read(std::slice::from_ref(&event)), [expected], "{event}");
    }
}

#[test]
fn stream_without_reason_fails() {
    assert_eq!(read(&[]), [CUT]);
    assert_eq!(read(&[chunk(json!([{ "text": "a" }]))]), ["0 text |a| end", CUT]);
    let mut reader = reader();
    assert!(!reader.is_complete());
    reader.event("message", &stop("STOP").to_string());
    assert!(reader.is_complete());
}

#[test]
fn errors_and_unreadable_events_fail_once() {
    let error = json!({ "error": { "code": 503, "message": "Overloaded.", "status": "UNAVAILABLE" } });
    for (event, expected) in [
        (error, "fail 503 UNAVAILABLE: Overloaded."),
        (json!({ "error": {} }), "fail The provider sent an error without a message: {}"),
        (
            json!("{\"candidates\":"),
            "fail terminated: could not read an event: Unexpected end of JSON input at position 14 (line 1 column 15): {\"candidates\":",
        ),
        (
            json!("<html>"),
            "fail terminated: could not read an event: Invalid JSON: expected value at position 0 (line 1 column 1): <html>",
        ),
    ] {
        assert_eq!(read(&[event.clone(), event.clone(), stop("STOP")]), [expected], "{event}");
    }
}

#[test]
fn refusals_tell_reason_and_wait() {
    let details = json!([{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s" }]);
    let error = json!({ "error": { "code": 429, "message": "Quota.", "status": "RESOURCE_EXHAUSTED", "details": details } });
    for body in [error.clone(), json!([error])] {
        assert_eq!(reader().refusal(&body).as_deref(), Some("RESOURCE_EXHAUSTED: Quota."));
        assert_eq!(reader().retry_after(&body), Some(Duration::from_millis(34_500)));
    }
    for delay in ["-1s", "soon", "NaNs", "34"] {
        let details = json!([{ "retryDelay": delay }]);
        assert_eq!(reader().retry_after(&json!({ "error": { "details": details } })), None, "{delay}");
    }
    assert_eq!(reader().refusal(&json!({ "message": "no" })), None);
}

#[test]
fn arguments_in_pieces_are_no_arguments() {
    let piece = json!([{ "jsonPath": "$.path", "stringValue": "a" }]);
    let call = |call: Value| chunk(json!([{ "functionCall": call }]));
    for (given, expected) in [
        (json!({ "id": "c1", "name": "ls", "willContinue": true }), "0 call c1 ls unclosed end".to_owned()),
        (
            json!({ "id": "c1", "name": "ls", "partialArgs": piece, "willContinue": true }),
            format!("0 call c1 ls |{piece}| end"),
        ),
        (json!({ "id": "c1", "name": "ls", "args": ["a"] }), "0 call c1 ls |[\"a\"]| end".to_owned()),
    ] {
        assert_eq!(read(&[call(given), stop("STOP")]), [expected.as_str(), "finish ToolUse"]);
    }
}
