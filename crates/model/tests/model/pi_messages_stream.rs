//! Streams of pi's gateway, and their events.

use crate::model_support::{self, CUT, check_contract, read_all, shown};
use pi_rpc_model::{
    api::Api,
    request::Reader,
    types::{Bill, StreamEvent},
};
use serde_json::{Value, json};

fn reader() -> Box<dyn Reader> {
    Api::PiMessages.reader()
}

/// The events of a stream in short.
fn read(events: &[Value]) -> Vec<String> {
    let events = model_support::read(reader(), events);
    check_contract(&events).unwrap();
    shown(&events)
}

fn at(index: u64, kind: &str, members: Value) -> Value {
    let mut event = json!({ "type": kind, "contentIndex": index });
    model_support::extend(&mut event, members);
    event
}

fn delta(index: u64, kind: &str, delta: &str) -> Value {
    at(index, kind, json!({ "delta": delta }))
}

fn done(reason: &str) -> Value {
    json!({ "type": "done", "reason": reason, "usage": usage(), "responseId": "r1", "responseModel": "claude" })
}

fn usage() -> Value {
    json!({
        "input": 5, "output": 20, "cacheRead": 7, "cacheWrite": 1, "totalTokens": 33, "reasoning": 3,
        "cost": { "input": 0.1, "output": 0.2, "cacheRead": 0, "cacheWrite": 0.05, "total": 0.4 },
    })
}

#[test]
fn blocks_of_every_kind_are_read() {
    let call = json!({ "type": "toolCall", "id": "c1", "name": "ls", "arguments": { "path": "." }, "thoughtSignature": "t" });
    let whole = json!({ "type": "toolCall", "id": "c2", "name": "ls", "arguments": { "all": true } });
    let events = [
        json!({ "type": "start" }),
        at(0, "thinking_start", json!({})),
        delta(0, "thinking_delta", "h"),
        delta(0, "thinking_delta", "m"),
        at(0, "thinking_end", json!({ "content": "hm.", "contentSignature": "s" })),
        at(1, "thinking_start", json!({})),
        at(1, "thinking_end", json!({ "content": "[…]", "contentSignature": "data", "redacted": true })),
        at(2, "text_start", json!({})),
        delta(2, "text_delta", "Hel"),
        at(2, "text_end", json!({ "content": "Hello", "contentSignature": "x" })),
        at(3, "toolcall_start", json!({ "id": "c1", "toolName": "ls" })),
        delta(3, "toolcall_delta", "{\"path\":"),
        json!({ "type": "later" }),
        delta(3, "toolcall_delta", "\".\"}"),
        at(3, "toolcall_end", json!({ "toolCall": call })),
        at(4, "toolcall_start", json!({ "id": "c2", "toolName": "ls" })),
        at(4, "toolcall_end", json!({ "toolCall": whole })),
        done("toolUse"),
        json!("[DONE]"),
        at(5, "text_start", json!({})),
    ];
    let expected = [
        "0 thinking |h|m|.| end ~s",
        "1 redacted data end",
        "2 text |Hel|lo| end ~x",
        r#"3 call c1 ls |{"path":|"."}| end ~t"#,
        r#"4 call c2 ls |{"all":true}| end"#,
        "id r1",
        "usage 5, 20, 7, 1, 3 thought",
        "finish ToolUse",
    ];
    assert_eq!(read(&events), expected);
}

#[test]
fn bill_and_model_are_of_gateway() {
    let events = read_all(reader(), &[done("stop")]);
    let bill = events.iter().find_map(|event| match event {
        StreamEvent::Usage(counts) => counts.billed,
        _ => None,
    });
    let [input, output, cache_write, total] =
        [100, 200, 50, 400].map(|thousandths| thousandths * 1_000_000_000);
    assert_eq!(bill, Some(Bill::Parts { input, output, cache_read: 0, cache_write, total }));
    assert!(events.contains(&StreamEvent::Model("claude".to_owned())));
}

#[test]
fn interleaved_blocks_come_one_by_one() {
    let events = [
        at(0, "text_start", json!({})),
        at(1, "text_start", json!({})),
        delta(1, "text_delta", "b"),
        delta(0, "text_delta", "a"),
        done("length"),
    ];
    let expected =
        ["0 text |a|", "id r1", "usage 5, 20, 7, 1, 3 thought", "0 end", "1 text |b| end", "finish Length"];
    assert_eq!(read(&events), expected);
}

#[test]
fn failures_are_told_as_given() {
    let error =
        json!({ "type": "error", "reason": "error", "errorMessage": "529 Overloaded", "usage": usage() });
    assert_eq!(read(&[error]), ["usage 5, 20, 7, 1, 3 thought", "fail 529 Overloaded"]);
    let bare = json!({ "error": { "message": "No", "code": "quota" } });
    assert_eq!(read(&[bare]), ["fail No (quota)"]);
    let unknown = read(&[json!({ "type": "done", "reason": "deferred" })]);
    assert_eq!(unknown, ["fail The provider ended the answer for an unknown reason: \"deferred\""]);
    assert_eq!(read(&[json!({ "type": "start" })]), [CUT]);
}

#[test]
fn misplaced_block_fails_answer() {
    for (event, name, place) in [
        (at(1, "text_start", json!({})), "text_start", "1"),
        (delta(0, "text_delta", "x"), "text_delta", "0"),
        (json!({ "type": "text_end" }), "text_end", "null"),
        (json!({ "type": "toolcall_start", "contentIndex": -1 }), "toolcall_start", "-1"),
    ] {
        let expected = format!(
            "fail Could not read what the provider sent: contentIndex of {name}: expected a block of the answer, got {place}"
        );
        assert_eq!(read(&[event]), [expected]);
    }
}

#[test]
fn repeated_events_change_nothing() {
    let one = [
        at(0, "text_start", json!({})),
        delta(0, "text_delta", "a"),
        at(0, "text_end", json!({ "content": "a" })),
    ];
    let events = [&one[..], &one, &[done("stop")]].concat();
    assert_eq!(read(&events)[0], "0 text |a| end");
}

#[test]
fn refusal_has_message_and_code() {
    for (body, text) in [
        (json!({ "error": { "message": "No", "code": "quota" } }), Some("No (quota)")),
        (json!({ "error": { "message": "No" } }), Some("No")),
        (json!({ "detail": "No" }), None),
    ] {
        assert_eq!(reader().refusal(&body).as_deref(), text);
    }
}

#[test]
fn arguments_that_gateway_refuses_are_quoted() {
    let error = |raw: &str| format!("Unexpected end of JSON input\n\nReceived arguments:\n{raw}");
    for (raw, expected) in [("{\"a", "0 call c1 ls |{\"a| end"), ("", "0 call c1 ls unclosed end")] {
        let call = json!({ "type": "toolCall", "id": "c1", "name": "ls", "arguments": {}, "argumentsError": error(raw) });
        let events = [
            at(0, "toolcall_start", json!({ "id": "c1", "toolName": "ls" })),
            at(0, "toolcall_end", json!({ "toolCall": call })),
            done("toolUse"),
        ];
        let mut events = model_support::read(reader(), &events);
        events.retain(|event| !matches!(event, StreamEvent::Usage(_) | StreamEvent::ResponseId(_)));
        assert_eq!(shown(&events)[0], expected);
    }
}
