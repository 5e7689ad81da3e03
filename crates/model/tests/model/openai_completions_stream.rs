//! Streams of Chat Completions as servers send them, and their events.

use crate::model_support::*;
use pi_rpc_model::{
    api::Api,
    openai_completions::reader,
    types::{BlockStart, StreamEvent},
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

/// A fragment of a call of `ls`, or of one whose name came before.
fn fragment(index: u64, id: Option<&str>, arguments: &str) -> Value {
    match id {
        Some(id) => json!({"index": index, "id": id, "function": {"name": "ls", "arguments": arguments}}),
        None => json!({"index": index, "function": {"arguments": arguments}}),
    }
}

/// The events of the stream after its id.
fn said(events: &[Value]) -> Vec<String> {
    let mut said = shown(&read(reader(), events));
    assert_eq!(said.remove(0), "id c1");
    said
}

/// The events of an answer with these fragments of calls, one a chunk.
fn called_events(fragments: &[Value]) -> Vec<StreamEvent> {
    let mut events: Vec<Value> = fragments.iter().map(|fragment| calls(json!([fragment]))).collect();
    events.push(ending("tool_calls"));
    read(reader(), &events)
}

/// The same in short, without the id before and the end after them.
fn called(fragments: &[Value]) -> Vec<String> {
    let mut called = shown(&called_events(fragments));
    assert_eq!((called.remove(0), called.pop()), ("id c1".to_owned(), Some("finish ToolUse".to_owned())));
    called
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
        calls(json!([fragment(0, Some("a"), "")])),
        calls(json!([fragment(0, None, "{\"path\":")])),
        calls(json!([fragment(0, None, "\"x\"}")])),
        calls(json!([fragment(1, Some("b"), "")])),
        calls(json!([fragment(1, None, "{}")])),
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
fn blocks_of_answer_follow_one_another() {
    let expected = [
        "id c1",
        "0 thinking ~reasoning_content |Hm|.| end ~reasoning_content",
        "1 text |I |look.| end",
        r#"2 call a ls ||{"path":|"x"}| end"#,
        "3 call b ls ||{}|",
        "usage 70, 20, 30, 0, 5 thought",
        "3 end",
        "finish ToolUse",
    ];
    assert_eq!(shown(&read(reader(), &whole_answer())), expected);
}

#[test]
fn stream_without_finish_reason_fails() {
    let whole = whole_answer();
    let reason = whole.len() - 3;
    for length in 0..whole.len() {
        let events = read(reader(), &whole[..length]);
        check_contract(&events).unwrap();
        let expected = if length > reason { "finish ToolUse" } else { CUT };
        assert_eq!(shown(&events).last().unwrap(), expected, "{length}");
    }
}

#[test]
fn done_without_finish_reason_fails() {
    for events in
        [vec![done()], vec![chunk(json!({"content": "Hi"})), done(), chunk(json!({"content": "late"}))]]
    {
        let shown = shown(&read(reader(), &events));
        assert!(
            shown.last().unwrap().starts_with("fail terminated: the answer ended without finish_reason (")
        );
    }
}

#[test]
fn finish_reason_is_optional_where_unsupported() {
    let model =
        Asked::new("openai-completions", json!({"compat": {"supportsFinishReason": false}}), json!([]));
    let reader = || Api::OpenaiCompletions.reader_for(&model.endpoint.model);
    let whole = calls(json!([fragment(0, Some("a"), "{}")]));
    let blank = calls(json!([fragment(0, Some("a"), "")]));
    for (events, expected) in [
        (vec![chunk(json!({"content": "Hi"}))], ["0 text |Hi| end", "finish Stop"]),
        (vec![whole], ["0 call a ls |{}| end", "finish ToolUse"]),
        (vec![blank], ["0 call a ls || unclosed end", "finish ToolUse"]),
    ] {
        for end in [None, Some(done())] {
            let events: Vec<Value> = events.iter().cloned().chain(end).collect();
            assert_eq!(shown(&read(reader(), &events))[1..], expected);
        }
    }
}

#[test]
fn whole_completion_in_stream_fails() {
    let message = json!({"role": "assistant", "content": "Hi"});
    let whole = json!({"id": "c1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    let failed = "fail terminated: the provider sent a whole answer, not the stream that was requested";
    assert_eq!(said(std::slice::from_ref(&whole)), [failed]);
    // Behind the deltas it adds nothing.
    assert_eq!(said(&[chunk(json!({"content": "Hi"})), whole]), ["0 text |Hi| end", "finish Stop"]);
}

#[test]
fn arguments_of_other_types_are_kept() {
    for (arguments, text) in [(json!([1]), "[1]"), (json!(5), "5"), (json!(false), "false")] {
        let fragment = json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": arguments}});
        assert_eq!(called(&[fragment]), [format!("0 call a ls |{text}| end")]);
    }
}

#[test]
fn finish_reasons_are_mapped() {
    let cases = [
        ("stop", "finish Stop"),
        ("end", "finish Stop"),
        ("length", "finish Length"),
        ("tool_calls", "finish ToolUse"),
        ("function_call", "finish ToolUse"),
        ("content_filter", "fail Provider finish_reason: content_filter"),
        ("bored", "fail Provider finish_reason: bored"),
    ];
    for (reason, expected) in cases {
        let events = [chunk(json!({"content": "Hi"})), ending(reason)];
        assert_eq!(said(&events), ["0 text |Hi| end", expected], "{reason}");
    }
    let mut filtered = ending("content_filter");
    filtered["choices"][0]["native_finish_reason"] = "refusal".into();
    filtered["choices"][0]["content_filter_results"] =
        json!({"hate": {"filtered": true, "severity": "high"}, "violence": {"filtered": false}});
    assert_eq!(said(&[filtered]), ["fail Provider finish_reason: content_filter (refusal, hate)"]);
    // Calls before a plain stop are calls all the same.
    let called = calls(json!([fragment(0, Some("a"), "{}")]));
    assert_eq!(said(&[called, ending("stop")]), ["0 call a ls |{}| end", "finish Stop"]);
}

#[test]
fn thinking_is_read_from_the_first_key() {
    for key in ["reasoning_content", "reasoning", "reasoning_text"] {
        let mut thought = json!({"content": null, "reasoning_text": "Hm"});
        thought[key] = "Hm".into();
        let block = format!("0 thinking ~{key} |Hm| end ~{key}");
        assert_eq!(said(&[chunk(thought), ending("stop")]), [&block, "finish Stop"]);
    }
}

#[test]
fn text_after_thinking_begins_a_block() {
    let events = [
        chunk(json!({"content": "a"})),
        chunk(json!({"reasoning": "b"})),
        chunk(json!({"content": "c", "refusal": null})),
        chunk(json!({"refusal": "d"})),
        ending("stop"),
    ];
    let expected =
        ["0 text |a| end", "1 thinking ~reasoning |b| end ~reasoning", "2 text |c|d| end", "finish Stop"];
    assert_eq!(said(&events), expected);
}

#[test]
fn fragments_of_calls_become_whole_calls() {
    let named = |name: &str| json!({"index": 0, "id": "a", "function": {"name": name}});
    let cases: [(&str, &[Value], &[&str]); 7] = [
        (
            "two in turn",
            &[
                fragment(0, Some("a"), "{\"path\""),
                fragment(1, Some("b"), "{"),
                fragment(0, None, ":\"x\""),
                fragment(1, None, "}"),
                fragment(0, None, "}"),
                fragment(0, None, ""),
            ],
            &[r#"0 call a ls |{"path"|:"x"|}| end"#, "1 call b ls |{|}| end"],
        ),
        (
            "no arguments",
            &[named("read"), json!({"index": 1, "id": "b", "function": {"name": "ls", "arguments": null}})],
            &["0 call a read || end", "1 call b ls || end"],
        ),
        (
            "id and name in every fragment",
            &[fragment(0, Some("a"), "{"), fragment(0, Some("a"), "}")],
            &["0 call a ls |{|}| end"],
        ),
        (
            "a name in pieces",
            &[
                named("re"),
                json!({"index": 0, "function": {"name": "ad"}}),
                json!({"index": 0, "function": {"name": "", "arguments": "{}"}}),
            ],
            &["0 call a read |||{}| end"],
        ),
        (
            "an object for arguments",
            &[json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": {"path": "x"}}})],
            &[r#"0 call a ls |{"path":"x"}| end"#],
        ),
        (
            "ids without numbers",
            &[
                json!({"id": "a", "function": {"name": "ls", "arguments": "{"}}),
                json!({"function": {"arguments": "}"}}),
                json!({"id": "b", "function": {"name": "ls", "arguments": "{}"}}),
            ],
            &["0 call a ls |{|}| end", "1 call b ls |{}| end"],
        ),
        (
            "two ids under one number",
            &[fragment(0, Some("a"), "{}"), fragment(0, Some("b"), "{}")],
            &["0 call a ls |{}| end", "1 call b ls |{}| end"],
        ),
    ];
    for (case, fragments, expected) in cases {
        assert_eq!(called(fragments), expected, "{case}");
    }
}

#[test]
fn calls_without_id_get_unique_ids() {
    let ids = |question: &str| {
        put_together(&called_events(&[fragment(0, Some(""), question), fragment(0, Some(""), question)]))
    };
    let mut all = ids("{\"path\":\"x\"}");
    all.extend(ids("{\"path\":\"y\"}"));
    all.sort();
    all.dedup_by(|a, b| a.0 == b.0);
    assert_eq!(all.len(), 4);
    assert!(all.iter().all(|(id, _)| id.starts_with("call_") && id.len() <= 40), "{all:?}");
}

#[test]
fn empty_call_is_ignored() {
    let empty = json!([{"index": 0, "id": "", "function": {"name": "", "arguments": ""}}]);
    let events = [
        chunk(json!({"content": "a", "tool_calls": empty})),
        chunk(json!({"content": "b", "tool_calls": []})),
        ending("stop"),
    ];
    assert_eq!(said(&events), ["0 text |a|b| end", "finish Stop"]);
}

#[test]
fn usage_is_read_from_every_place() {
    let thought = json!({"reasoning_tokens": 2});
    let cases = [
        (json!({"prompt_tokens": 10, "completion_tokens": 4}), "usage 10, 4, 0, 0, 0 thought"),
        (
            json!({"prompt_tokens": 10, "completion_tokens": 4, "prompt_cache_hit_tokens": 3}),
            "usage 7, 4, 3, 0, 0 thought",
        ),
        // Thinking beside the completion, and among it: the total tells.
        (
            json!({"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 16, "completion_tokens_details": thought}),
            "usage 10, 6, 0, 0, 2 thought",
        ),
        (
            json!({"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14, "completion_tokens_details": thought}),
            "usage 10, 4, 0, 0, 2 thought",
        ),
        (
            json!({"prompt_tokens": 10, "completion_tokens": 4, "completion_tokens_details": thought}),
            "usage 10, 4, 0, 0, 2 thought",
        ),
        (
            json!({"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14, "reasoning_tokens": 2}),
            "usage 10, 4, 0, 0, 2 thought",
        ),
        (
            json!({"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 5}}),
            "usage 0, 0, 5, 0, 0 thought",
        ),
    ];
    for (counts, expected) in cases {
        let beside = json!({"id": "c1", "choices": [], "usage": counts});
        let within = json!({"id": "c1", "choices": [{"delta": {}, "usage": counts}], "usage": null});
        let of_groq = json!({"id": "c1", "choices": [], "x_groq": {"usage": counts}});
        for place in [beside, within, of_groq] {
            let events = [place, ending("stop")];
            assert_eq!(said(&events), [expected, "finish Stop"], "{events:?}");
        }
    }
}

#[test]
fn error_in_stream_ends_it() {
    let raw = json!({"raw": "quota"});
    let cases = [
        (json!({"message": "Overloaded", "code": 529}), "fail Overloaded"),
        (json!({"message": {"why": "x"}}), "fail {\"why\":\"x\"}"),
        (json!({"code": 1}), "fail {\"code\":1}"),
        (
            json!({"message": "Provider returned error", "metadata": raw}),
            "fail Provider returned error\nquota",
        ),
    ];
    for (error, expected) in cases {
        let events = [chunk(json!({"content": "Hi"})), json!({"error": error}), ending("stop"), done()];
        assert_eq!(said(&events), ["0 text |Hi|", expected]);
    }
}

#[test]
fn events_that_cannot_be_read() {
    let cases = [
        (
            &[
                json!("  "),
                json!(7),
                json!([]),
                json!({"choices": []}),
                json!({"error": null}),
                json!("{\"id\""),
            ][..],
            "fail terminated: could not read an event: Unexpected end of JSON input at position 5 (line 1 column 6): {\"id\"",
        ),
        (
            &[json!("<html>")],
            "fail terminated: could not read an event: Invalid JSON: expected value at position 0 (line 1 column 1): <html>",
        ),
    ];
    for (events, expected) in cases {
        assert_eq!(shown(&read(reader(), events)), [expected]);
    }
    let half = json!(r#"{"id":"c1","choices":[{"delta":{"content":"\ud83d!"}}]}"#);
    assert_eq!(said(&[half, ending("stop")]), ["0 text |\u{fffd}!| end", "finish Stop"]);
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
    fn interleaved_fragments_make_whole_calls((pieces, order) in interleaved()) {
        let mut left: Vec<_> = pieces.iter().map(|pieces| pieces.iter()).collect();
        let mut fragments = Vec::new();
        for number in order {
            let id = (left[number].len() == pieces[number].len()).then(|| number.to_string());
            fragments.push(fragment(number as u64, id.as_deref(), left[number].next().unwrap()));
        }
        let expected: Vec<_> =
            pieces.iter().enumerate().map(|(number, pieces)| (number.to_string(), pieces.concat())).collect();
        prop_assert_eq!(put_together(&called_events(&fragments)), expected);
    }

    #[test]
    fn reader_keeps_contract_for_any_stream(chunks in prop::collection::vec(piece(), 0..20)) {
        prop_assert_eq!(check_contract(&read(reader(), &chunks)), Ok(()));
    }
}

#[test]
fn model_and_finish_word_are_read() {
    let used = json!({
        "prompt_tokens": 5, "completion_tokens": 9, "total_tokens": 14,
        "completion_tokens_details": { "reasoning_tokens": 4 },
    });
    let begin = json!({ "id": "c1", "model": "gpt-x", "choices": [], "usage": used });
    let expected = ["id c1", "model gpt-x", "usage 5, 9, 0, 0, 4 thought", "word length", "finish Length"];
    assert_eq!(shown(&read_all(reader(), &[begin, ending("length"), done()])), expected);
}

#[test]
fn used_up_plan_is_usage_limit() {
    let limit = |code: Value| {
        let body = json!({ "error": { "code": code, "message": "Used up." } });
        reader().usage_limit(&body, std::time::SystemTime::UNIX_EPOCH)
    };
    let said = Some("Used up.".to_owned());
    assert_eq!([limit(json!("1308")), limit(json!(1308)), limit(json!("1302"))], [said.clone(), said, None]);
}
