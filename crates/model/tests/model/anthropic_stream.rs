//! Streams of Anthropic Messages, and their events.

use crate::model_support::{self, CUT, shown};
use pi_rpc_model::{
    api::Api,
    request::Reader,
    types::{Bill, StreamEvent},
};
use serde_json::{Value, json};

fn reader() -> Box<dyn Reader> {
    Api::AnthropicMessages.reader()
}

/// The events of a stream in short, but the vendor's own words.
fn read(events: &[Value]) -> Vec<String> {
    shown(&model_support::read(reader(), events))
}

fn open(index: u64, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn grow(index: u64, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn said(index: u64, text: &str) -> Value {
    grow(index, json!({ "type": "text_delta", "text": text }))
}

fn raw(index: u64, text: &str) -> Value {
    grow(index, json!({ "type": "input_json_delta", "partial_json": text }))
}

fn close(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn stop(reason: &str) -> Value {
    json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 9 } })
}

fn over() -> Value {
    json!({ "type": "message_stop" })
}

/// The usage of [`stop`].
const USAGE: &str = "usage 0, 9, 0, 0, 0 for an hour";

#[test]
fn blocks_of_every_kind_are_read() {
    let events = [
        json!({ "type": "message_start", "message": { "id": "msg_1", "usage": {
            "input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 3,
        } } }),
        json!({ "type": "ping" }),
        open(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
        grow(0, json!({ "type": "thinking_delta", "thinking": "hm" })),
        grow(0, json!({ "type": "signature_delta", "signature": "ab" })),
        grow(0, json!({ "type": "signature_delta", "signature": "cd" })),
        close(0),
        open(1, json!({ "type": "redacted_thinking", "data": "xyz" })),
        close(1),
        open(2, json!({ "type": "text", "text": "" })),
        said(2, "Hel"),
        said(2, "lo"),
        close(2),
        open(3, json!({ "type": "tool_use", "id": "toolu_1", "name": "ls", "input": {} })),
        raw(3, ""),
        raw(3, "{\"path\":"),
        raw(3, "\".\"}"),
        close(3),
        open(4, json!({ "type": "tool_use", "id": "toolu_2", "name": "ls", "input": {} })),
        close(4),
        json!({
            "type": "message_delta", "delta": { "stop_reason": "tool_use" },
            "usage": { "input_tokens": null, "output_tokens": 20, "cache_read_input_tokens": 8 },
        }),
        over(),
    ];
    let expected = [
        "id msg_1",
        "usage 5, 1, 7, 3, 0 for an hour",
        "0 thinking |hm| end ~abcd",
        "1 redacted xyz end",
        "2 text |Hel|lo| end",
        r#"3 call toolu_1 ls ||{"path":|"."}| end"#,
        "4 call toolu_2 ls end",
        "usage 5, 20, 8, 3, 0 for an hour",
        "finish ToolUse",
    ];
    assert_eq!(read(&events), expected);
}

#[test]
fn mixed_blocks_come_out_in_order() {
    let events = [
        open(0, json!({ "type": "text" })),
        open(1, json!({ "type": "tool_use", "id": "a", "name": "t" })),
        raw(1, "{\"x\":"),
        said(0, "one"),
        open(2, json!({ "type": "text", "text": "thr" })),
        said(2, "ee"),
        close(2),
        said(0, "!"),
        close(0),
        raw(1, "1}"),
        close(1),
        stop("tool_use"),
        over(),
    ];
    let expected =
        ["0 text |one|!| end", "1 call a t |{\"x\":|1}| end", "2 text |thr|ee| end", USAGE, "finish ToolUse"];
    assert_eq!(read(&events), expected);
}

#[test]
fn content_of_block_start_is_kept() {
    let events = [
        open(0, json!({ "type": "thinking", "thinking": "a", "signature": "s" })),
        close(0),
        open(1, json!({ "type": "tool_use", "id": "a", "name": "t", "input": { "x": 1 } })),
        close(1),
        open(2, json!({ "type": "tool_use", "id": "b", "name": "t", "input": { "x": 1 } })),
        raw(2, "{}"),
        close(2),
        stop("tool_use"),
        over(),
    ];
    let expected = [
        "0 thinking |a| end ~s",
        "1 call a t |{\"x\":1}| end",
        "2 call b t |{}| end",
        USAGE,
        "finish ToolUse",
    ];
    assert_eq!(read(&events), expected);
}

#[test]
fn deltas_of_waiting_block_are_kept() {
    const MANY: usize = 100_000;
    let mut events = vec![open(0, json!({ "type": "text" })), open(1, json!({ "type": "text" }))];
    events.extend(vec![said(1, "a"); MANY]);
    events.extend([close(1), close(0), stop("end_turn"), over()]);
    assert_eq!(model_support::read(reader(), &events).len(), MANY + 6);
}

#[test]
fn unknown_events_are_ignored() {
    let events = [
        json!({ "type": "tomorrow", "index": 0 }),
        open(0, json!({ "type": "server_tool_use", "id": "srv", "name": "web_search", "input": {} })),
        raw(0, "{}"),
        close(0),
        open(1, json!({ "type": "web_search_tool_result", "content": [] })),
        close(1),
        open(2, json!({ "type": "text" })),
        grow(2, json!({ "type": "citations_delta", "citation": {} })),
        grow(2, json!({ "type": "thinking_delta", "thinking": "in a text" })),
        said(7, "of a block that is not there"),
        close(7),
        close(2),
        close(2),
        said(2, "too late"),
        stop("end_turn"),
        over(),
        said(2, "after the end"),
    ];
    assert_eq!(read(&events), ["0 text end", USAGE, "finish Stop"]);
}

#[test]
fn stop_reasons_are_mapped() {
    for (reason, expected) in [
        ("end_turn", "finish Stop"),
        ("pause_turn", "finish Stop"),
        ("stop_sequence", "finish Stop"),
        ("max_tokens", "finish Length"),
        ("tool_use", "finish ToolUse"),
        ("refusal", "fail The model refused to complete the request"),
        ("sensitive", "fail Provider stopped with: sensitive"),
        ("moon", "fail Unhandled stop reason: moon"),
    ] {
        assert_eq!(read(&[stop(reason), over()]), [USAGE, expected], "{reason}");
    }
}

#[test]
fn refusal_is_told_in_words_of_vendor() {
    for (details, expected) in [
        (json!({ "category": "cyber", "explanation": "Blocked." }), "fail Blocked."),
        (json!({ "category": "cyber" }), "fail The model refused to complete the request (cyber)"),
        (json!(null), "fail The model refused to complete the request"),
    ] {
        let mut refused = stop("refusal");
        refused["delta"]["stop_details"] = details;
        assert_eq!(read(&[refused.clone()]), [USAGE, expected], "{refused}");
    }
}

#[test]
fn answer_without_stop_reason_fails() {
    let failed = "fail terminated: the answer ended without a stop reason";
    assert_eq!(read(&[over()]), [failed]);
    let none = json!({ "type": "message_delta", "delta": { "stop_reason": null } });
    assert_eq!(read(&[open(0, json!({ "type": "text" })), close(0), none, over()]), ["0 text end", failed]);
}

#[test]
fn call_ended_by_answer_is_unclosed() {
    let tool = json!({ "type": "tool_use", "id": "a", "name": "t", "input": {} });
    let events = [open(0, tool.clone()), raw(0, "{}"), open(1, tool), stop("tool_use"), over()];
    let expected = ["0 call a t |{}|", USAGE, "0 end", "1 call a t unclosed end", "finish ToolUse"];
    assert_eq!(read(&events), expected);
}

#[test]
fn arguments_of_other_types_are_kept() {
    for (input, delta, text) in [
        (json!([1]), json!(""), "[1]"),
        (json!({}), json!({ "x": 1 }), "{\"x\":1}"),
        (json!(5), json!(null), "5"),
    ] {
        let events = [
            open(0, json!({ "type": "tool_use", "id": "a", "name": "t", "input": input })),
            grow(0, json!({ "type": "input_json_delta", "partial_json": delta })),
            close(0),
            stop("tool_use"),
            over(),
        ];
        let shown = read(&events);
        assert!(shown[0].contains(&format!("|{text}|")), "{shown:?}");
    }
}

#[test]
fn stream_without_message_stop_fails() {
    assert_eq!(read(&[]), [CUT]);
    let events = [open(0, json!({ "type": "text" })), said(0, "a"), close(0), stop("end_turn")];
    assert_eq!(read(&events), ["0 text |a| end", USAGE, CUT]);
}

#[test]
fn errors_and_unreadable_events_fail_once() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    for (name, data, expected) in [
        ("error", error, error),
        ("message", error, error),
        ("error", "busy", "busy"),
        ("error", r#""busy""#, r#""busy""#),
        ("error", r#"{"error":{"message":"busy"}}"#, r#"{"error":{"message":"busy"}}"#),
        (
            "content_block_delta",
            "{\"type\":",
            "terminated: could not read an event: Unexpected end of JSON input at position 8 (line 1 column 9): {\"type\":",
        ),
        (
            "content_block_delta",
            "<html>",
            "terminated: could not read an event: Invalid JSON: expected value at position 0 (line 1 column 1): <html>",
        ),
    ] {
        let mut reader = reader();
        let events = [reader.event(name, data), reader.end()].concat();
        assert_eq!(shown(&events), [format!("fail {expected}")]);
    }
}

#[test]
fn half_a_character_is_replaced() {
    let half =
        json!(r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83d"}}"#);
    assert_eq!(read(&[open(0, json!({ "type": "text" })), half]), ["0 text |a\u{fffd}|", CUT]);
}

#[test]
fn model_and_hour_cache_are_read() {
    let used = json!({ "output_tokens": 1, "cache_creation": { "ephemeral_1h_input_tokens": 4 } });
    let begin =
        json!({ "type": "message_start", "message": { "id": "m", "model": "claude-x", "usage": used } });
    for (word, finish) in [("end_turn", "finish Stop"), ("max_tokens", "finish Length")] {
        let expected = [
            "id m",
            "model claude-x",
            "usage 0, 1, 0, 0, 4 for an hour",
            "usage 0, 9, 0, 0, 4 for an hour",
            &format!("word {word}"),
            finish,
        ];
        assert_eq!(shown(&model_support::read_all(reader(), &[begin.clone(), stop(word), over()])), expected);
    }
}

#[test]
fn withheld_input_is_told_at_end() {
    let item = json!({ "type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_mismatch", "other": 1, "more": null });
    let mut kept = item.clone();
    ["other", "more"].iter().for_each(|name| drop(kept.as_object_mut().unwrap().remove(*name)));
    let told = |first: Value, last: Value| {
        let start =
            json!({ "type": "message_start", "message": { "id": "m", "input_transformations": first } });
        let mut delta = stop("end_turn");
        delta["input_transformations"] = last;
        let events = model_support::read(
            reader(),
            &[start, open(0, json!({ "type": "text", "text": "Hi" })), close(0), delta, over()],
        );
        let told = events.into_iter().filter_map(|event| match event {
            StreamEvent::Diagnostic(it) => Some((it.kind, it.details["transformations"].clone())),
            _ => None,
        });
        told.collect::<Vec<_>>()
    };
    let expected = [("anthropic_input_transformations", json!([kept]))];
    assert_eq!(told(json!([item]), Value::Null), expected);
    assert_eq!(told(json!([]), json!([item])), expected);
    assert_eq!(told(Value::Null, json!("x")), []);
}

#[test]
fn bill_of_openrouter_is_read() {
    let mut last = stop("end_turn");
    last["usage"]["cost"] = json!(0.5);
    last["usage"]["is_byok"] = json!(false);
    let events = model_support::read_all(reader(), &[last, over()]);
    let bill = events.iter().find_map(|event| match event {
        StreamEvent::Usage(counts) => counts.billed,
        _ => None,
    });
    assert_eq!(bill, Some(Bill::Total(500_000_000_000)));
}
