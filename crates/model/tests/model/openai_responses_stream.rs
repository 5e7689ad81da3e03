//! Streams of Responses as servers send them, and their events.

use crate::model_support::*;
use pi_rpc_model::{
    openai_responses::{reader, reader_for},
    types::{Bill, StreamEvent},
};
use pi_rpc_protocol::Model;
use proptest::prelude::*;
use serde_json::{Value, json};

fn created() -> Value {
    json!({"type": "response.created", "response": {"id": "r1"}})
}

fn added(place: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": place, "item": item})
}

fn done(place: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": place, "item": item})
}

fn grown(kind: &str, place: u64, delta: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": place, "delta": delta})
}

fn part(kind: &str, place: u64, part: Value) -> Value {
    json!({"type": format!("response.{kind}"), "output_index": place, "part": part})
}

fn completed(status: &str) -> Value {
    let usage = json!({
        "input_tokens": 100, "output_tokens": 20, "total_tokens": 120,
        "input_tokens_details": {"cached_tokens": 30}, "output_tokens_details": {"reasoning_tokens": 5},
    });
    let kind = if status == "incomplete" { "response.incomplete" } else { "response.completed" };
    json!({"type": kind, "response": {"id": "r1", "status": status, "usage": usage}})
}

fn reasoning(texts: &[&str]) -> Value {
    let summary: Vec<Value> =
        texts.iter().map(|text| json!({"type": "summary_text", "text": text})).collect();
    json!({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "x"})
}

fn message(content: Value) -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "content": content})
}

fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

fn function_call(id: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "ls", "arguments": arguments})
}

/// Thinking in two parts, text and two calls, as OpenAI sends them.
fn whole_answer() -> Vec<Value> {
    let summary = json!({"type": "summary_text", "text": ""});
    vec![
        created(),
        json!({"type": "response.in_progress", "response": {"id": "r1"}}),
        added(0, reasoning(&[])),
        part("reasoning_summary_part.added", 0, summary.clone()),
        grown("reasoning_summary_text", 0, "One"),
        grown("reasoning_summary_text", 0, "."),
        part("reasoning_summary_part.done", 0, json!({"type": "summary_text", "text": "One."})),
        part("reasoning_summary_part.added", 0, summary),
        grown("reasoning_summary_text", 0, "Two."),
        part("reasoning_summary_part.done", 0, json!({"type": "summary_text", "text": "Two."})),
        done(0, reasoning(&["One.", "Two."])),
        added(1, message(json!([]))),
        part("content_part.added", 1, output_text("")),
        grown("output_text", 1, "I "),
        grown("output_text", 1, "look."),
        done(1, message(json!([output_text("I look.")]))),
        added(2, function_call("a", "")),
        grown("function_call_arguments", 2, "{\"path\""),
        grown("function_call_arguments", 2, ":\"x\"}"),
        json!({"type": "response.function_call_arguments.done", "output_index": 2, "arguments": "{\"path\":\"x\"}"}),
        done(2, function_call("a", "{\"path\":\"x\"}")),
        added(3, function_call("b", "")),
        json!({"type": "response.function_call_arguments.done", "output_index": 3, "arguments": "{}"}),
        done(3, function_call("b", "{}")),
        completed("completed"),
    ]
}

const USAGE: &str = "usage 70, 20, 30, 0, 5 thought";

/// The events between the stream's id and its usage.
fn said(events: &[Value]) -> Vec<String> {
    let all = [&[created()], events, &[completed("completed")]].concat();
    let mut said = shown(&read(reader(), &all));
    assert_eq!(said.remove(0), "id r1");
    assert!(said.pop().unwrap().starts_with("finish "), "{said:?}");
    said.retain(|line| line != USAGE);
    said
}

#[test]
fn blocks_of_answer_follow_one_another() {
    let expected = [
        "id r1",
        &format!("0 thinking |One|.|\n\n|Two.| end ~{}", reasoning(&["One.", "Two."])),
        r#"1 text |I |look.| end ~{"v":1,"id":"msg_1"}"#,
        r#"2 call a|fc_a ls |{"path"|:"x"}| end"#,
        "3 call b|fc_b ls |{}| end",
        USAGE,
        "finish ToolUse",
    ];
    assert_eq!(shown(&read(reader(), &whole_answer())), expected);
}

#[test]
fn stream_without_last_event_fails() {
    let whole = whole_answer();
    for length in 0..whole.len() {
        for ending in [None, Some(json!("[DONE]"))] {
            let events: Vec<Value> = whole[..length].iter().cloned().chain(ending).collect();
            let events = read(reader(), &events);
            check_contract(&events).unwrap();
            assert_eq!(shown(&events).last().unwrap(), CUT, "{length}");
        }
    }
}

#[test]
fn final_arguments_decide_about_streamed_ones() {
    let begun = |arguments: &str| [created(), added(0, function_call("a", arguments))];
    let delta = |delta: &str| grown("function_call_arguments", 0, delta);
    for (events, expected) in [
        // A placeholder at the start is none.
        (vec![delta("{\"x\":1}"), done(0, function_call("a", "{\"x\":1}"))], "|{\"x\":1}| end"),
        (vec![done(0, function_call("a", "{\"x\":1}"))], "|{\"x\":1}| end"),
        // The same value in other words.
        (vec![delta("{\"x\": 1}"), done(0, function_call("a", "{\"x\":1}"))], "|{\"x\": 1}| end"),
        // Another value: no arguments.
        (vec![delta("{\"x\":1}"), done(0, function_call("a", "{\"x\":2}"))], "|{\"x\":1}|{\"x\":2}| end"),
        (vec![delta("{\"x")], "|{\"x| end"),
        (vec![], "unclosed end"),
    ] {
        let events: Vec<Value> =
            begun("{}").into_iter().chain(events).chain([completed("completed")]).collect();
        let mut events = read(reader(), &events);
        events.retain(|event| !matches!(event, StreamEvent::Usage(_)));
        assert_eq!(shown(&events)[1], format!("0 call a|fc_a ls {expected}"));
    }
}

#[test]
fn items_become_blocks() {
    let mut phased = message(json!([output_text("Hi")]));
    phased["phase"] = "final_answer".into();
    let hidden = reasoning(&[]);
    let aloud = json!({
        "type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}],
    });
    let searching = json!({"type": "web_search_call", "id": "ws_1", "status": "in_progress"});
    let cases: [(&str, &[Value], &[&str]); 7] = [
        (
            "the phase of a text",
            &[added(0, message(json!([]))), done(0, phased)],
            &[r#"0 text |Hi| end ~{"v":1,"id":"msg_1","phase":"final_answer"}"#],
        ),
        (
            "a refusal is text",
            &[
                added(0, message(json!([]))),
                grown("refusal", 0, "too early"),
                part("content_part.added", 0, json!({"type": "refusal", "refusal": ""})),
                grown("refusal", 0, "I "),
                grown("output_text", 0, "not the part's"),
                grown("refusal", 0, "won't."),
                done(0, message(json!([{"type": "refusal", "refusal": "I won't."}]))),
            ],
            &[r#"0 text |I |won't.| end ~{"v":1,"id":"msg_1"}"#],
        ),
        (
            "what was not in the deltas",
            &[
                added(0, function_call("a", "{")),
                grown("function_call_arguments", 0, "\"k\":"),
                done(0, function_call("a", "{\"k\":1}")),
                done(1, function_call("b", "{}")),
            ],
            &["0 call a|fc_a ls |{|\"k\":|1}| end", "1 call b|fc_b ls |{}| end"],
        ),
        (
            "thinking without a summary",
            &[
                added(0, json!({"type": "reasoning", "id": "rs_1"})),
                grown("reasoning_summary_text", 0, "before its part"),
                grown("reasoning_text", 0, "Hm"),
                done(0, aloud.clone()),
            ],
            &[&format!("0 thinking |Hm|.| end ~{aloud}")],
        ),
        (
            "hidden thinking",
            &[added(0, hidden.clone()), done(0, hidden.clone())],
            &[&format!("0 thinking end ~{hidden}")],
        ),
        (
            "items in turn",
            &[
                added(0, function_call("a", "")),
                added(1, function_call("b", "")),
                grown("function_call_arguments", 1, "{}"),
                grown("function_call_arguments", 0, "{\"k\":1}"),
                done(1, function_call("b", "{}")),
                done(0, function_call("a", "{\"k\":1}")),
            ],
            &["0 call a|fc_a ls |{\"k\":1}| end", "1 call b|fc_b ls |{}| end"],
        ),
        (
            "no block",
            &[added(0, searching.clone()), done(0, searching), grown("output_text", 0, "stray")],
            &[],
        ),
    ];
    for (case, events, expected) in cases {
        assert_eq!(said(events), expected, "{case}");
    }
}

#[test]
fn status_decides_how_answer_ends() {
    let cases = [
        ("completed", "finish Stop"),
        ("queued", "finish Stop"),
        ("incomplete", "fail Response incomplete without a reason"),
        ("failed", "fail Unknown error (no error details in response)"),
        ("cancelled", "fail Provider stopped with: cancelled"),
        ("odd", "fail Unhandled stop reason: odd"),
    ];
    for (status, expected) in cases {
        let said = shown(&read(reader(), &[created(), completed(status), created()]));
        assert_eq!(said, ["id r1", USAGE, expected], "{status}");
    }
}

#[test]
fn reason_of_incomplete_answer_decides_end() {
    let cases = [
        ("max_output_tokens", "finish Length"),
        ("content_filter", "fail Response incomplete: content_filter"),
    ];
    for (reason, expected) in cases {
        let mut event = completed("incomplete");
        event["response"]["incomplete_details"] = json!({ "reason": reason });
        assert_eq!(shown(&read(reader(), &[created(), event])), ["id r1", USAGE, expected], "{reason}");
    }
}

#[test]
fn token_limit_ends_open_block() {
    let mut limited = completed("incomplete");
    limited["response"]["incomplete_details"] = json!({ "reason": "max_output_tokens" });
    let events = [
        created(),
        added(0, message(json!([]))),
        part("content_part.added", 0, output_text("")),
        grown("output_text", 0, "I w"),
        limited,
    ];
    assert_eq!(shown(&read(reader(), &events)), ["id r1", "0 text |I w|", USAGE, "0 end", "finish Length"]);
}

#[test]
fn error_in_stream_ends_it() {
    let failed = |response: Value| json!({"type": "response.failed", "response": response});
    let cases = [
        (
            json!({"type": "error", "code": "rate_limit", "message": "Slow down"}),
            "Error Code rate_limit: Slow down",
        ),
        (json!({"type": "error", "code": 500, "message": "Oops"}), "Error Code 500: Oops"),
        (json!({"type": "error", "code": null, "message": "Oops"}), "Oops"),
        (json!({"type": "error", "error": {"code": "x", "message": "Wrapped"}}), "Wrapped"),
        (json!({"error": {"message": "From a gateway"}}), "From a gateway"),
        (failed(json!({"error": {"code": "server_error", "message": "Down"}})), "server_error: Down"),
        (failed(json!({"error": {}})), "The provider sent an error without a message: {}"),
        (failed(json!({"error": null, "incomplete_details": {"reason": "filter"}})), "incomplete: filter"),
        (failed(json!({})), "Unknown error (no error details in response)"),
    ];
    for (error, expected) in cases {
        let events = [created(), error, completed("completed")];
        assert_eq!(shown(&read(reader(), &events)), ["id r1", &format!("fail {expected}")]);
    }
}

fn piece() -> impl Strategy<Value = Value> {
    let word = || prop::sample::select(vec!["", "a", "{", "{}", "a{"]);
    let item = || {
        (0..4, word()).prop_map(|(kind, text)| match kind {
            0 => reasoning(&[text]),
            1 => message(json!([output_text(text)])),
            2 => json!({"type": "function_call", "arguments": text}),
            _ => json!({"type": "other"}),
        })
    };
    let growth = prop::sample::select(vec![
        "reasoning_summary_text",
        "reasoning_text",
        "output_text",
        "refusal",
        "function_call_arguments",
    ]);
    let begun = prop::sample::select(vec!["reasoning_summary_part.added", "content_part.added"]);
    let place = || 0_u64..3;
    let ending = vec![
        completed("completed"),
        completed("incomplete"),
        completed("odd"),
        json!({"type": "response.failed"}),
        json!("[DONE]"),
        json!("{"),
    ];
    prop_oneof![
        4 => (place(), item()).prop_map(|(place, item)| added(place, item)),
        4 => (place(), item()).prop_map(|(place, item)| done(place, item)),
        2 => (begun, place(), word()).prop_map(|(kind, place, text)| part(kind, place, output_text(text))),
        6 => (growth, place(), word()).prop_map(|(kind, place, text)| grown(kind, place, text)),
        1 => Just(created()),
        1 => prop::sample::select(ending),
    ]
}

proptest! {
    #[test]
    fn reader_keeps_contract_for_any_stream(events in prop::collection::vec(piece(), 0..24)) {
        prop_assert_eq!(check_contract(&read(reader(), &events)), Ok(()));
    }
}

#[test]
fn model_and_status_are_read() {
    for (status, finish) in
        [("completed", "finish Stop"), ("incomplete", "fail Response incomplete without a reason")]
    {
        let begin = json!({"type": "response.created", "response": {"id": "r1", "model": "gpt-x"}});
        let read = shown(&read_all(reader(), &[begin, completed(status)]));
        assert_eq!(read, ["id r1", "model gpt-x", USAGE, &format!("word {status}"), finish]);
    }
}

#[test]
fn late_encrypted_thinking_completes_signature() {
    let mut item = reasoning(&["Hm"]);
    item.as_object_mut().unwrap().shift_remove("encrypted_content");
    let mut last = completed("completed");
    last["response"]["output"] = json!([message(json!([])), reasoning(&["Hm"])]);
    let events = read(reader(), &[created(), done(0, item.clone()), last.clone()]);
    let expected = format!("0 thinking |Hm| end ~{item} ~{}", reasoning(&["Hm"]));
    assert_eq!(shown(&events), ["id r1", &expected, USAGE, "finish Stop"]);
    check_contract(&events).unwrap();
    // What was encrypted at once stays.
    let events = read(reader(), &[created(), done(0, reasoning(&["Hm"])), last]);
    assert_eq!(shown(&events)[1], format!("0 thinking |Hm| end ~{}", reasoning(&["Hm"])));
}

#[test]
fn tokens_written_to_cache_are_apart() {
    let mut last = completed("completed");
    last["type"] = "response.done".into();
    last["response"]["usage"]["input_tokens_details"]["cache_write_tokens"] = json!(50);
    assert_eq!(shown(&read(reader(), &[created(), last]))[1], "usage 20, 20, 30, 50, 5 thought");
}

#[test]
fn removed_reasoning_is_told_within_turns() {
    let removal = |id: &str, reason: &str| json!({ "type": "reasoning", "id": id, "action": "removed", "reason": reason, "other": 1 });
    let told = |transformations: Value| {
        let mut last = completed("completed");
        last["response"]["input_transformations"] = transformations;
        let events = read_all(reader(), &[created(), last]).into_iter();
        events
            .filter_map(|event| match event {
                StreamEvent::Diagnostic(it) => Some(it.details["transformations"].clone()),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    let mut kept = removal("rs_1", "prefix_mismatch");
    kept.as_object_mut().unwrap().remove("other");
    let both = json!([removal("rs_1", "prefix_mismatch"), removal("rs_2", "turn_boundary")]);
    assert_eq!(told(both), [json!([kept])]);
    for nothing in [json!([removal("rs_2", "turn_boundary")]), json!([5, null]), json!("x"), Value::Null] {
        assert_eq!(told(nothing), Vec::<Value>::new());
    }
}

#[test]
fn service_tier_scales_the_prices() {
    let model = |api: &str, id: &str| Asked::new(api, json!({ "id": id }), json!([])).endpoint.model;
    let bill = |model: &Model, tier: &str| {
        let mut last = completed("completed");
        last["response"]["service_tier"] = tier.into();
        read_all(reader_for(model), &[created(), last]).into_iter().find_map(|event| match event {
            StreamEvent::Usage(counts) => Some(counts.billed),
            _ => None,
        })
    };
    let [usual, dear] = ["gpt-6.2-sol", "gpt-5.5"].map(|id| model("openai-responses", id));
    for (model, tier, percent) in [
        (&usual, "flex", Some(50)),
        (&usual, "priority", Some(200)),
        (&usual, "fast", Some(200)),
        (&dear, "priority", Some(250)),
        (&usual, "default", None),
    ] {
        assert_eq!(bill(model, tier), Some(percent.map(Bill::Percent)), "{tier}");
    }
    let of_codex = model("openai-codex-responses", "gpt-5.5");
    assert_eq!(bill(&of_codex, "priority"), Some(Some(Bill::Percent(250))));
    assert_eq!(bill(&of_codex, "fast"), Some(None));
}
