//! Streams of Responses as servers send them, and what they say to the engine.

use crate::openai_support::*;
use pi_rpc::model::{
    openai_responses::reader,
    types::{BlockStart, Finish, StreamEvent},
};
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

/// What the stream says between its id and its usage.
fn said(events: &[Value]) -> Vec<StreamEvent> {
    let mut all = vec![created()];
    all.extend(events.iter().cloned());
    all.push(completed("completed"));
    let mut said = read(reader(), &all);
    assert_eq!(said.remove(0), id("r1"));
    assert!(matches!(said.pop(), Some(StreamEvent::Finish(_))), "{said:?}");
    said.retain(|event| !matches!(event, StreamEvent::Usage(_)));
    said
}

#[test]
fn blocks_come_one_after_another_and_their_deltas_are_their_text() {
    let expected = [
        id("r1"),
        start(0, BlockStart::Thinking),
        delta(0, "One"),
        delta(0, "."),
        delta(0, "\n\n"),
        delta(0, "Two."),
        end_signed(0, &reasoning(&["One.", "Two."]).to_string()),
        start(1, BlockStart::Text),
        delta(1, "I "),
        delta(1, "look."),
        end_signed(1, r#"{"v":1,"id":"msg_1"}"#),
        start_call(2, "a|fc_a", "ls"),
        delta(2, "{\"path\""),
        delta(2, ":\"x\"}"),
        end(2),
        start_call(3, "b|fc_b", "ls"),
        delta(3, "{}"),
        end(3),
        usage_with(70, 20, 30, 5),
        finish(Finish::ToolUse),
    ];
    assert_eq!(read(reader(), &whole_answer()), expected);
}

#[test]
fn a_stream_cut_before_its_last_event_has_failed() {
    let whole = whole_answer();
    for length in 0..whole.len() {
        for ending in [None, Some(json!("[DONE]"))] {
            let events: Vec<Value> = whole[..length].iter().cloned().chain(ending).collect();
            let events = read(reader(), &events);
            check_contract(&events).unwrap();
            assert_eq!(events.last(), Some(&fail(CUT)), "{length}");
        }
    }
}

#[test]
fn the_phase_of_a_text_is_kept() {
    let mut item = message(json!([output_text("Hi")]));
    item["phase"] = "final_answer".into();
    let mark = r#"{"v":1,"id":"msg_1","phase":"final_answer"}"#;
    let expected = [start(0, BlockStart::Text), delta(0, "Hi"), end_signed(0, mark)];
    assert_eq!(said(&[added(0, message(json!([]))), done(0, item)]), expected);
}

#[test]
fn a_refusal_is_text() {
    let events = [
        added(0, message(json!([]))),
        grown("refusal", 0, "too early"),
        part("content_part.added", 0, json!({"type": "refusal", "refusal": ""})),
        grown("refusal", 0, "I "),
        grown("output_text", 0, "not the part's"),
        grown("refusal", 0, "won't."),
        done(0, message(json!([{"type": "refusal", "refusal": "I won't."}]))),
    ];
    let expected = [
        start(0, BlockStart::Text),
        delta(0, "I "),
        delta(0, "won't."),
        end_signed(0, r#"{"v":1,"id":"msg_1"}"#),
    ];
    assert_eq!(said(&events), expected);
}

#[test]
fn what_an_item_has_beyond_its_deltas_comes_when_it_is_done() {
    let events = [
        added(0, function_call("a", "{")),
        grown("function_call_arguments", 0, "\"k\":"),
        done(0, function_call("a", "{\"k\":1}")),
        done(1, function_call("b", "{}")),
    ];
    let expected = [
        start_call(0, "a|fc_a", "ls"),
        delta(0, "{"),
        delta(0, "\"k\":"),
        delta(0, "1}"),
        end(0),
        start_call(1, "b|fc_b", "ls"),
        delta(1, "{}"),
        end(1),
    ];
    assert_eq!(said(&events), expected);
}

#[test]
fn thinking_without_a_summary_is_told_itself() {
    let item = json!({"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]});
    let events = [
        added(0, json!({"type": "reasoning", "id": "rs_1"})),
        grown("reasoning_summary_text", 0, "before its part"),
        grown("reasoning_text", 0, "Hm"),
        done(0, item.clone()),
    ];
    let expected =
        [start(0, BlockStart::Thinking), delta(0, "Hm"), delta(0, "."), end_signed(0, &item.to_string())];
    assert_eq!(said(&events), expected);
}

#[test]
fn hidden_thinking_is_a_block_without_deltas() {
    let item = reasoning(&[]);
    let events = [added(0, item.clone()), done(0, item.clone())];
    assert_eq!(said(&events), [start(0, BlockStart::Thinking), end_signed(0, &item.to_string())]);
}

#[test]
fn items_in_turn_become_one_block_after_the_other() {
    let events = [
        added(0, function_call("a", "")),
        added(1, function_call("b", "")),
        grown("function_call_arguments", 1, "{}"),
        grown("function_call_arguments", 0, "{\"k\":1}"),
        done(1, function_call("b", "{}")),
        done(0, function_call("a", "{\"k\":1}")),
    ];
    let expected = [
        start_call(0, "a|fc_a", "ls"),
        delta(0, "{\"k\":1}"),
        end(0),
        start_call(1, "b|fc_b", "ls"),
        delta(1, "{}"),
        end(1),
    ];
    assert_eq!(said(&events), expected);
}

#[test]
fn items_that_are_no_blocks_are_passed_over() {
    let item = json!({"type": "web_search_call", "id": "ws_1", "status": "in_progress"});
    assert_eq!(said(&[added(0, item.clone()), done(0, item), grown("output_text", 0, "stray")]), []);
}

#[test]
fn how_answers_end() {
    let cases = [
        ("completed", finish(Finish::Stop)),
        ("queued", finish(Finish::Stop)),
        ("incomplete", finish(Finish::Length)),
        ("failed", fail("An unknown error occurred")),
        ("cancelled", fail("An unknown error occurred")),
        ("odd", fail("Unhandled stop reason: odd")),
    ];
    for (status, expected) in cases {
        let said = read(reader(), &[created(), completed(status), created()]);
        assert_eq!(said, [id("r1"), usage_with(70, 20, 30, 5), expected], "{status}");
    }
}

#[test]
fn an_answer_that_is_cut_by_its_limit_ends_its_block() {
    let events = [
        created(),
        added(0, message(json!([]))),
        part("content_part.added", 0, output_text("")),
        grown("output_text", 0, "I w"),
        completed("incomplete"),
    ];
    let expected = [
        id("r1"),
        start(0, BlockStart::Text),
        delta(0, "I w"),
        usage_with(70, 20, 30, 5),
        end(0),
        finish(Finish::Length),
    ];
    assert_eq!(read(reader(), &events), expected);
}

#[test]
fn errors_end_the_stream_with_their_text() {
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
        (failed(json!({"error": {}})), "unknown: no message"),
        (failed(json!({"error": null, "incomplete_details": {"reason": "filter"}})), "incomplete: filter"),
        (failed(json!({})), "Unknown error (no error details in response)"),
    ];
    for (error, expected) in cases {
        let events = [created(), error, completed("completed")];
        assert_eq!(read(reader(), &events), [id("r1"), fail(expected)]);
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
    fn whatever_comes_the_reader_keeps_its_promise(events in prop::collection::vec(piece(), 0..24)) {
        prop_assert_eq!(check_contract(&read(reader(), &events)), Ok(()));
    }
}

#[test]
fn the_model_that_answers_and_the_status_that_it_ends_with_are_told() {
    for (status, finish_as) in [("completed", Finish::Stop), ("incomplete", Finish::Length)] {
        let begin = json!({"type": "response.created", "response": {"id": "r1", "model": "gpt-x"}});
        let expected = [
            id("r1"),
            StreamEvent::Model("gpt-x".to_owned()),
            usage_with(70, 20, 30, 5),
            StreamEvent::Word(status.to_owned()),
            finish(finish_as),
        ];
        assert_eq!(read_all(reader(), &[begin, completed(status)]), expected);
    }
}
