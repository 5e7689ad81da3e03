//! Streams of Chat Completions as servers send them, and what they say to the engine.

use crate::openai_support::*;
use pi_rpc::model::{
    openai_completions::reader,
    types::{BlockStart, Finish, StreamEvent},
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn chunk(delta: Value) -> Value {
    json!({"id": "c1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn ending(reason: &str) -> Value {
    json!({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn calls(fragments: Value) -> Value {
    chunk(json!({"tool_calls": fragments}))
}

/// What the stream says after its id.
fn said(events: &[Value]) -> Vec<StreamEvent> {
    let mut said = read(reader(), events);
    assert_eq!(said.remove(0), id("c1"));
    said
}

/// What the calls in `fragments` become, one fragment a chunk.
fn called(fragments: &[Value]) -> Vec<StreamEvent> {
    let mut events: Vec<Value> = fragments.iter().map(|fragment| calls(json!([fragment]))).collect();
    events.push(ending("tool_calls"));
    let mut said = said(&events);
    assert_eq!(said.pop(), Some(finish(Finish::ToolUse)));
    said
}

fn done() -> Value {
    json!("[DONE]")
}

/// Thinking, text and two calls, as OpenAI sends them.
fn whole_answer() -> Vec<Value> {
    vec![
        chunk(json!({"role": "assistant", "content": ""})),
        chunk(json!({"reasoning_content": "Hm"})),
        chunk(json!({"reasoning_content": "."})),
        chunk(json!({"content": "I "})),
        chunk(json!({"content": "look."})),
        calls(
            json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "read", "arguments": ""}}]),
        ),
        calls(json!([{"index": 0, "function": {"arguments": "{\"path\":"}}])),
        calls(json!([{"index": 0, "function": {"arguments": "\"x\"}"}}])),
        calls(
            json!([{"index": 1, "id": "b", "type": "function", "function": {"name": "ls", "arguments": ""}}]),
        ),
        calls(json!([{"index": 1, "function": {"arguments": "{}"}}])),
        ending("tool_calls"),
        json!({"id": "c1", "choices": [], "usage": {
            "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 30},
            "completion_tokens_details": {"reasoning_tokens": 5},
        }}),
        done(),
    ]
}

#[test]
fn blocks_come_one_after_another_with_every_fragment() {
    let expected = [
        id("c1"),
        start(0, BlockStart::Thinking),
        sign(0, "reasoning_content"),
        delta(0, "Hm"),
        delta(0, "."),
        end_signed(0, "reasoning_content"),
        start(1, BlockStart::Text),
        delta(1, "I "),
        delta(1, "look."),
        end(1),
        start_call(2, "a", "read"),
        delta(2, ""),
        delta(2, "{\"path\":"),
        delta(2, "\"x\"}"),
        end(2),
        start_call(3, "b", "ls"),
        delta(3, ""),
        delta(3, "{}"),
        usage_with(70, 20, 30, 5),
        end(3),
        finish(Finish::ToolUse),
    ];
    assert_eq!(read(reader(), &whole_answer()), expected);
}

#[test]
fn a_stream_cut_before_its_reason_to_finish_has_failed() {
    let whole = whole_answer();
    let reason = whole.len() - 3;
    for length in 0..whole.len() {
        let events = read(reader(), &whole[..length]);
        check_contract(&events).unwrap();
        let expected = if length > reason { finish(Finish::ToolUse) } else { fail(CUT) };
        assert_eq!(events.last(), Some(&expected), "{length}");
    }
}

#[test]
fn done_without_a_reason_is_a_stop() {
    let events = [chunk(json!({"content": "Hi"})), done(), chunk(json!({"content": "late"}))];
    let expected = [start(0, BlockStart::Text), delta(0, "Hi"), end(0), finish(Finish::Stop)];
    assert_eq!(said(&events), expected);
}

#[test]
fn reasons_to_finish() {
    let cases = [
        ("stop", finish(Finish::Stop)),
        ("end", finish(Finish::Stop)),
        ("length", finish(Finish::Length)),
        ("tool_calls", finish(Finish::ToolUse)),
        ("function_call", finish(Finish::ToolUse)),
        ("content_filter", fail("An unknown error occurred")),
        ("bored", fail("Unhandled stop reason: bored")),
    ];
    for (reason, expected) in cases {
        let text = [start(0, BlockStart::Text), delta(0, "Hi"), end(0)];
        let expected: Vec<StreamEvent> = text.into_iter().chain([expected]).collect();
        assert_eq!(said(&[chunk(json!({"content": "Hi"})), ending(reason)]), expected, "{reason}");
    }
}

#[test]
fn calls_before_a_plain_stop_are_calls_all_the_same() {
    let fragment = json!([{"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{}"}}]);
    let expected = [start_call(0, "a", "ls"), delta(0, "{}"), end(0), finish(Finish::Stop)];
    assert_eq!(said(&[calls(fragment), ending("stop")]), expected);
}

#[test]
fn thinking_is_told_once_under_the_first_key_that_has_it() {
    for key in ["reasoning_content", "reasoning", "reasoning_text"] {
        let mut thought = json!({"content": null, "reasoning_text": "Hm"});
        thought[key] = "Hm".into();
        let expected = [
            start(0, BlockStart::Thinking),
            sign(0, key),
            delta(0, "Hm"),
            end_signed(0, key),
            finish(Finish::Stop),
        ];
        assert_eq!(said(&[chunk(thought), ending("stop")]), expected);
    }
}

#[test]
fn text_after_thinking_after_text_is_three_blocks() {
    let events = [
        chunk(json!({"content": "a"})),
        chunk(json!({"reasoning": "b"})),
        chunk(json!({"content": "c", "refusal": null})),
        chunk(json!({"refusal": "d"})),
        ending("stop"),
    ];
    let expected = [
        start(0, BlockStart::Text),
        delta(0, "a"),
        end(0),
        start(1, BlockStart::Thinking),
        sign(1, "reasoning"),
        delta(1, "b"),
        end_signed(1, "reasoning"),
        start(2, BlockStart::Text),
        delta(2, "c"),
        delta(2, "d"),
        end(2),
        finish(Finish::Stop),
    ];
    assert_eq!(said(&events), expected);
}

#[test]
fn fragments_of_two_calls_in_turn_become_one_call_after_the_other() {
    let fragments = [
        json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"path\""}}),
        json!({"index": 1, "id": "b", "function": {"name": "ls", "arguments": "{"}}),
        json!({"index": 0, "function": {"arguments": ":\"x\""}}),
        json!({"index": 1, "function": {"arguments": "}"}}),
        json!({"index": 0, "function": {"arguments": "}"}}),
        json!({"index": 0, "function": {"arguments": ""}}),
    ];
    let expected = [
        start_call(0, "a", "read"),
        delta(0, "{\"path\""),
        delta(0, ":\"x\""),
        delta(0, "}"),
        end(0),
        start_call(1, "b", "ls"),
        delta(1, "{"),
        delta(1, "}"),
        end(1),
    ];
    assert_eq!(called(&fragments), expected);
}

#[test]
fn a_call_without_arguments_keeps_its_place() {
    let fragments = [
        json!({"index": 0, "id": "a", "function": {"name": "read"}}),
        json!({"index": 1, "id": "b", "function": {"name": "ls", "arguments": null}}),
    ];
    let expected =
        [start_call(0, "a", "read"), delta(0, ""), end(0), start_call(1, "b", "ls"), delta(1, ""), end(1)];
    assert_eq!(called(&fragments), expected);
}

#[test]
fn id_and_name_in_every_fragment_are_one_call() {
    let fragment =
        |arguments: &str| json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": arguments}});
    let expected = [start_call(0, "a", "ls"), delta(0, "{"), delta(0, "}"), end(0)];
    assert_eq!(called(&[fragment("{"), fragment("}")]), expected);
}

#[test]
fn a_name_in_pieces_is_put_together() {
    let fragments = [
        json!({"index": 0, "id": "a", "function": {"name": "re"}}),
        json!({"index": 0, "function": {"name": "ad"}}),
        json!({"index": 0, "function": {"name": "", "arguments": "{}"}}),
    ];
    let expected = [start_call(0, "a", "read"), delta(0, ""), delta(0, ""), delta(0, "{}"), end(0)];
    assert_eq!(called(&fragments), expected);
}

#[test]
fn arguments_that_are_an_object_are_read_as_its_text() {
    let fragment = json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": {"path": "x"}}});
    assert_eq!(called(&[fragment]), [start_call(0, "a", "ls"), delta(0, "{\"path\":\"x\"}"), end(0)]);
}

#[test]
fn calls_without_a_number_are_told_apart_by_id() {
    let fragments = [
        json!({"id": "a", "function": {"name": "ls", "arguments": "{"}}),
        json!({"function": {"arguments": "}"}}),
        json!({"id": "b", "function": {"name": "ls", "arguments": "{}"}}),
    ];
    let expected = [
        start_call(0, "a", "ls"),
        delta(0, "{"),
        delta(0, "}"),
        end(0),
        start_call(1, "b", "ls"),
        delta(1, "{}"),
        end(1),
    ];
    assert_eq!(called(&fragments), expected);
}

#[test]
fn calls_under_one_number_are_told_apart_by_id() {
    let fragments = [
        json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{}"}}),
        json!({"index": 0, "id": "b", "function": {"name": "ls", "arguments": "{}"}}),
    ];
    let expected =
        [start_call(0, "a", "ls"), delta(0, "{}"), end(0), start_call(1, "b", "ls"), delta(1, "{}"), end(1)];
    assert_eq!(called(&fragments), expected);
}

#[test]
fn calls_without_an_id_get_one_each_that_no_other_answer_has() {
    let fragments = |question: &str| {
        [
            json!({"index": 0, "id": "", "function": {"name": "ls", "arguments": question}}),
            json!({"index": 0, "id": "", "function": {"name": "ls", "arguments": question}}),
        ]
    };
    let ids = |said: Vec<StreamEvent>| -> Vec<String> {
        let id = |event| match event {
            StreamEvent::Start { block: BlockStart::ToolCall { id, .. }, .. } => Some(id),
            _ => None,
        };
        said.into_iter().filter_map(id).collect()
    };
    let mut all = ids(called(&fragments("{\"path\":\"x\"}")));
    all.extend(ids(called(&fragments("{\"path\":\"y\"}"))));
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4);
    assert!(all.iter().all(|id| id.starts_with("call_") && id.len() <= 40), "{all:?}");
}

#[test]
fn a_call_with_nothing_in_it_is_none() {
    let events = [
        chunk(
            json!({"content": "a", "tool_calls": [{"index": 0, "id": "", "function": {"name": "", "arguments": ""}}]}),
        ),
        chunk(json!({"content": "b", "tool_calls": []})),
        ending("stop"),
    ];
    let expected = [start(0, BlockStart::Text), delta(0, "a"), delta(0, "b"), end(0), finish(Finish::Stop)];
    assert_eq!(said(&events), expected);
}

#[test]
fn encrypted_thinking_signs_its_call_whether_it_comes_before_or_after() {
    let detail = |id: &str| json!({"type": "reasoning.encrypted", "id": id, "data": "x"});
    let fragment = |index: u64, id: &str| json!({"index": index, "id": id, "function": {"name": "ls", "arguments": "{}"}});
    let events = [
        chunk(json!({"reasoning_details": [detail("a"), {"type": "reasoning.summary", "summary": "s"}]})),
        calls(json!([fragment(0, "a"), fragment(1, "b")])),
        chunk(json!({"reasoning_details": [detail("b")]})),
        ending("tool_calls"),
    ];
    let expected = [
        start_call(0, "a", "ls"),
        sign(0, &detail("a").to_string()),
        delta(0, "{}"),
        end(0),
        start_call(1, "b", "ls"),
        delta(1, "{}"),
        sign(1, &detail("b").to_string()),
        end(1),
        finish(Finish::ToolUse),
    ];
    assert_eq!(said(&events), expected);
}

#[test]
fn usage_is_read_wherever_servers_put_it() {
    let cases = [
        (json!({"prompt_tokens": 10, "completion_tokens": 4}), usage(10, 4, 0)),
        (json!({"prompt_tokens": 10, "completion_tokens": 4, "prompt_cache_hit_tokens": 3}), usage(7, 4, 3)),
        // Thinking beside the completion, and among it: the total tells.
        (
            json!({"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 16, "completion_tokens_details": {"reasoning_tokens": 2}}),
            usage_with(10, 6, 0, 2),
        ),
        (
            json!({"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14, "completion_tokens_details": {"reasoning_tokens": 2}}),
            usage_with(10, 4, 0, 2),
        ),
        (
            json!({"prompt_tokens": 10, "completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 2}}),
            usage_with(10, 6, 0, 2),
        ),
        (json!({"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 5}}), usage(0, 0, 5)),
    ];
    for (counts, expected) in cases {
        let beside = json!({"id": "c1", "choices": [], "usage": counts});
        let within = json!({"id": "c1", "choices": [{"delta": {}, "usage": counts}], "usage": null});
        for place in [beside, within] {
            let events = [place, ending("stop")];
            assert_eq!(said(&events), [expected.clone(), finish(Finish::Stop)], "{events:?}");
        }
    }
}

#[test]
fn errors_within_the_stream_end_it_with_their_text() {
    let cases = [
        (json!({"message": "Overloaded", "code": 529}), "Overloaded"),
        (json!({"message": {"why": "x"}}), "{\"why\":\"x\"}"),
        (json!({"code": 1}), "{\"code\":1}"),
        (
            json!({"message": "Provider returned error", "metadata": {"raw": "quota"}}),
            "Provider returned error\nquota",
        ),
    ];
    for (error, expected) in cases {
        let events = [chunk(json!({"content": "Hi"})), json!({"error": error}), ending("stop"), done()];
        assert_eq!(said(&events), [start(0, BlockStart::Text), delta(0, "Hi"), fail(expected)]);
    }
}

#[test]
fn what_is_no_chunk_is_passed_over_and_what_is_no_json_fails() {
    let events =
        [json!("  "), json!(7), json!([]), json!({"choices": []}), json!({"error": null}), json!("{\"id\"")];
    let expected =
        "terminated: the provider sent half an event: EOF while parsing an object at line 1 column 5";
    assert_eq!(read(reader(), &events), [fail(expected)]);
    let expected = "Could not read what the provider sent: expected value at line 1 column 1";
    assert_eq!(read(reader(), &[json!("<html>")]), [fail(expected)]);
}

#[test]
fn half_a_character_does_not_break_the_answer() {
    let data = json!(r#"{"id":"c1","choices":[{"delta":{"content":"\ud83d!"}}]}"#);
    let expected = [start(0, BlockStart::Text), delta(0, "\u{fffd}!"), end(0), finish(Finish::Stop)];
    assert_eq!(said(&[data, ending("stop")]), expected);
}

fn piece() -> impl Strategy<Value = Value> {
    let word = || prop::sample::select(vec!["", "a", "{", "}", "{\"k\":1", "{}"]);
    let index = prop::option::of(0_u64..3);
    let fragment = (index, prop::option::of(word()), prop::option::of(word()), word()).prop_map(
        |(index, id, name, arguments)| {
            json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}})
        },
    );
    let detail = word().prop_map(|id| json!({"type": "reasoning.encrypted", "id": id, "data": "x"}));
    prop_oneof![
        3 => word().prop_map(|text| chunk(json!({"content": text}))),
        2 => word().prop_map(|text| chunk(json!({"reasoning": text}))),
        6 => prop::collection::vec(fragment, 1..4).prop_map(|fragments| calls(fragments.into())),
        1 => prop::collection::vec(detail, 1..3).prop_map(|all| chunk(json!({"reasoning_details": all}))),
        1 => prop::sample::select(vec!["stop", "length", "tool_calls", "odd"]).prop_map(ending),
        1 => Just(json!({"usage": {"prompt_tokens": 1}})),
        1 => prop::sample::select(vec![done(), json!({"error": {"message": "x"}}), json!("{"), json!(1)]),
    ]
}

/// Calls with their arguments in pieces, and in which order the pieces come.
fn interleaved() -> impl Strategy<Value = (Vec<Vec<String>>, Vec<usize>)> {
    let call = ("[a-z{}\"]{0,6}", prop::collection::vec(0_usize..20, 0..4)).prop_map(|(path, mut cuts)| {
        let whole = json!({"path": path}).to_string();
        cuts.extend([0, whole.len()]);
        cuts.iter_mut().for_each(|cut| *cut = (*cut).min(whole.len()));
        cuts.sort_unstable();
        cuts.windows(2).map(|cut| whole[cut[0]..cut[1]].to_owned()).collect::<Vec<_>>()
    });
    prop::collection::vec(call, 1..4).prop_flat_map(|calls| {
        let numbers = calls.iter().enumerate().flat_map(|(number, pieces)| vec![number; pieces.len()]);
        let order = Just(numbers.collect::<Vec<usize>>()).prop_shuffle();
        (Just(calls), order)
    })
}

/// The calls' ids with their arguments, as the engine puts them together.
fn put_together(said: &[StreamEvent]) -> Vec<(String, String)> {
    let mut calls: Vec<(String, String)> = Vec::new();
    for event in said {
        match event {
            StreamEvent::Start { block: BlockStart::ToolCall { id, .. }, .. } => {
                calls.push((id.clone(), String::new()));
            }
            StreamEvent::Delta { index, delta } => calls[*index].1.push_str(delta),
            _ => {}
        }
    }
    calls.sort();
    calls
}

proptest! {
    #[test]
    fn in_whatever_order_the_pieces_of_calls_come_each_call_is_whole((pieces, order) in interleaved()) {
        let mut left: Vec<_> = pieces.iter().map(|pieces| pieces.iter()).collect();
        let fragment = |number: usize, piece: &str, is_first: bool| {
            let name = is_first.then_some("ls");
            json!({"index": number, "id": name.map(|_| number.to_string()), "function": {"name": name, "arguments": piece}})
        };
        let mut fragments = Vec::new();
        for number in order {
            let is_first = left[number].len() == pieces[number].len();
            fragments.push(fragment(number, left[number].next().unwrap(), is_first));
        }
        let expected: Vec<_> =
            pieces.iter().enumerate().map(|(number, pieces)| (number.to_string(), pieces.concat())).collect();
        prop_assert_eq!(put_together(&called(&fragments)), expected);
    }

    #[test]
    fn whatever_comes_the_reader_keeps_its_promise(chunks in prop::collection::vec(piece(), 0..20)) {
        prop_assert_eq!(check_contract(&read(reader(), &chunks)), Ok(()));
    }
}

#[test]
fn the_model_that_answers_the_word_for_its_end_and_what_was_thinking_are_told() {
    let used = json!({
        "prompt_tokens": 5, "completion_tokens": 9, "total_tokens": 14,
        "completion_tokens_details": { "reasoning_tokens": 4 },
    });
    let begin = json!({ "id": "c1", "model": "gpt-x", "choices": [], "usage": used });
    let expected = [
        id("c1"),
        StreamEvent::Model("gpt-x".to_owned()),
        usage_with(5, 9, 0, 4),
        StreamEvent::Word("length".to_owned()),
        finish(Finish::Length),
    ];
    assert_eq!(read_all(reader(), &[begin, ending("length"), "[DONE]".into()]), expected);
}
