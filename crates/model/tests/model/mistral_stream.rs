//! Streams of Mistral's chat completions, and their events.

use crate::model_support::{self, CUT, check_contract, read_all, shown};
use pi_rpc_model::{api::Api, request::Reader};
use serde_json::{Value, json};

fn reader() -> Box<dyn Reader> {
    Api::MistralConversations.reader()
}

/// The events of a stream in short, but the vendor's own words.
fn read(events: &[Value]) -> Vec<String> {
    let events = model_support::read(reader(), events);
    check_contract(&events).unwrap();
    shown(&events)
}

fn chunk(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn content(content: Value) -> Value {
    chunk(json!({ "content": content }))
}

fn stop(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": { "content": "" }, "finish_reason": reason }] })
}

fn thought(text: &str) -> Value {
    json!({ "type": "thinking", "thinking": [{ "type": "text", "text": text }] })
}

fn call(id: &str, index: u64, arguments: Value) -> Value {
    json!({ "id": id, "index": index, "function": { "name": "ls", "arguments": arguments } })
}

#[test]
fn blocks_of_every_kind_are_read() {
    let mut first = chunk(json!({ "role": "assistant", "content": "" }));
    first["id"] = "r1".into();
    let mut last = stop("tool_calls");
    last["usage"] = json!({
        "prompt_tokens": 12, "completion_tokens": 20, "total_tokens": 32, "num_cached_tokens": 7,
    });
    let events = [
        first,
        content(json!([thought("h"), thought("m")])),
        content(json!("")),
        content(json!([thought("."), { "type": "reference", "reference_ids": [1] }])),
        content(json!([{ "type": "text", "text": "Hel" }])),
        content(json!("lo")),
        chunk(
            json!({ "content": "", "tool_calls": [call("abcABC123", 0, json!("{\"path\":\".\"}")), call("abcABC124", 1, json!({}))] }),
        ),
        last,
        json!("[DONE]"),
        content(json!("late")),
    ];
    let expected = [
        "id r1",
        "0 thinking |h|m|.| end",
        "1 text |Hel|lo| end",
        r#"2 call abcABC123 ls |{"path":"."}| end"#,
        "3 call abcABC124 ls |{}|",
        "usage 5, 20, 7, 0",
        "3 end",
        "finish ToolUse",
    ];
    assert_eq!(read(&events), expected);
}

#[test]
fn call_without_id_gets_one() {
    let fragments = json!([call("null", 0, json!("{\"a\"")), call("null", 1, json!("{}"))]);
    let more = json!([{ "index": 0, "id": "null", "function": { "arguments": ":1}" } }]);
    let events =
        [chunk(json!({ "tool_calls": fragments })), chunk(json!({ "tool_calls": more })), stop("tool_calls")];
    let read = read(&events);
    let ids: Vec<&str> = read.iter().filter_map(|line| line.split(" call ").nth(1)).collect();
    assert_eq!(ids.len(), 2, "{read:?}");
    assert!(ids.iter().all(|id| id.starts_with("call_")), "{read:?}");
    assert!(ids[0].contains(r#"|{"a"|:1}|"#), "{read:?}");
}

#[test]
fn cached_tokens_are_found_and_bounded() {
    for (members, expected) in [
        (json!({ "prompt_tokens_details": { "cached_tokens": 3 } }), "usage 7, 2, 3, 0"),
        (json!({ "prompt_token_details": { "cached_tokens": 4 } }), "usage 6, 2, 4, 0"),
        (json!({ "num_cached_tokens": 99 }), "usage 0, 2, 10, 0"),
        (json!({}), "usage 10, 2, 0, 0"),
    ] {
        let mut last = stop("stop");
        last["usage"] = json!({ "prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12 });
        model_support::extend(&mut last["usage"], members);
        assert_eq!(read(&[last]), [expected, "finish Stop"]);
    }
}

#[test]
fn stop_reasons_are_mapped() {
    for (reason, expected) in [
        ("stop", "finish Stop"),
        ("length", "finish Length"),
        ("model_length", "finish Length"),
        ("tool_calls", "finish ToolUse"),
        ("error", "fail Provider stopped with: error (server error)"),
        ("content_filter", "fail Provider stopped with: content_filter"),
    ] {
        assert_eq!(read(&[stop(reason)]), [expected], "{reason}");
    }
    assert_eq!(shown(&read_all(reader(), &[stop("model_length")])), ["word model_length", "finish Length"]);
}

#[test]
fn stream_without_reason_fails() {
    assert_eq!(read(&[]), [CUT]);
    assert_eq!(read(&[content(json!("a")), json!("[DONE]")]), ["0 text |a| end", CUT]);
}

#[test]
fn errors_and_unreadable_events_fail_once() {
    let error =
        json!({ "object": "error", "message": "Overloaded", "type": "service_unavailable", "code": "1900" });
    for (event, expected) in [
        (error, "fail Overloaded"),
        (
            json!({ "object": "error" }),
            "fail The provider sent an error without a message: {\"object\":\"error\"}",
        ),
        (json!({ "error": { "message": "Busy" } }), "fail Busy"),
        (
            json!("{\"choices\":"),
            "fail terminated: could not read an event: Unexpected end of JSON input at position 11 (line 1 column 12): {\"choices\":",
        ),
        (
            json!("<html>"),
            "fail terminated: could not read an event: Invalid JSON: expected value at position 0 (line 1 column 1): <html>",
        ),
    ] {
        assert_eq!(read(&[event.clone(), event.clone(), stop("stop")]), [expected], "{event}");
    }
}

#[test]
fn refusals_tell_place_and_reason() {
    let detail = json!([
        { "type": "extra_forbidden", "loc": ["body", "messages", 0, "name"], "msg": "Extra inputs are not permitted" },
        { "type": "missing", "loc": ["body", "model"], "msg": "Field required" },
    ]);
    let told = "body.messages.0.name: Extra inputs are not permitted; body.model: Field required";
    for (body, expected) in [
        (
            json!({ "object": "error", "message": "Rate limit exceeded", "code": "1300" }),
            Some("Rate limit exceeded"),
        ),
        (json!({ "object": "error", "message": { "detail": detail } }), Some(told)),
        (json!({ "detail": detail }), Some(told)),
        (json!({ "detail": "Unauthorized" }), Some("Unauthorized")),
        (json!({ "error": { "message": "No" } }), Some("No")),
        (json!({ "detail": [] }), None),
    ] {
        assert_eq!(reader().refusal(&body).as_deref(), expected, "{body}");
    }
}

#[test]
fn whole_completion_in_stream_fails() {
    let message = json!({ "role": "assistant", "content": "Hi" });
    let whole = json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] });
    let failed = "fail terminated: the provider sent a whole answer, not the stream that was requested";
    assert_eq!(read(&[whole]), [failed]);
}
