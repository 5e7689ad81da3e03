//! What Anthropic Messages answers.

use pi_rpc::model::{
    api::Api,
    types::{BlockStart, Finish, StreamEvent, TokenCounts},
};
use serde_json::{Value, json};

/// What a reader makes of `events`, and then of the end of the stream, but the vendor's own words.
fn read(events: &[Value]) -> Vec<StreamEvent> {
    let mut read = read_all(events);
    read.retain(|event| !matches!(event, StreamEvent::Model(_) | StreamEvent::Word(_)));
    read
}

/// What a reader makes of `events`, and then of the end of the stream.
fn read_all(events: &[Value]) -> Vec<StreamEvent> {
    let mut reader = Api::AnthropicMessages.reader();
    let name = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
    let mut read: Vec<StreamEvent> =
        events.iter().flat_map(|event| reader.event(&name(event), &event.to_string())).collect();
    read.extend(reader.end());
    read
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

fn start(index: usize, block: BlockStart) -> StreamEvent {
    StreamEvent::Start { index, block }
}

fn delta(index: usize, delta: &str) -> StreamEvent {
    StreamEvent::Delta { index, delta: delta.to_owned() }
}

fn end(index: usize, signature: Option<&str>) -> StreamEvent {
    StreamEvent::End { index, signature: signature.map(str::to_owned) }
}

fn tool(id: &str, name: &str) -> BlockStart {
    BlockStart::ToolCall { id: id.to_owned(), name: name.to_owned() }
}

fn fail(message: &str) -> StreamEvent {
    StreamEvent::Fail { message: message.to_owned(), retry_after: None }
}

fn cut() -> StreamEvent {
    fail("terminated: the stream ended before the answer was complete")
}

fn usage(input: u64, output: u64, cache_read: u64, cache_write: u64) -> StreamEvent {
    let counts = TokenCounts { input, output, cache_read, cache_write, ..TokenCounts::default() };
    StreamEvent::Usage(TokenCounts { cache_write_1h: Some(0), ..counts })
}

#[test]
fn an_answer_with_every_kind_of_block_is_read() {
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
    assert_eq!(
        read(&events),
        [
            StreamEvent::ResponseId("msg_1".to_owned()),
            usage(5, 1, 7, 3),
            start(0, BlockStart::Thinking),
            delta(0, "hm"),
            end(0, Some("abcd")),
            start(1, BlockStart::Redacted { data: "xyz".to_owned() }),
            end(1, None),
            start(2, BlockStart::Text),
            delta(2, "Hel"),
            delta(2, "lo"),
            end(2, None),
            start(3, tool("toolu_1", "ls")),
            delta(3, ""),
            delta(3, "{\"path\":"),
            delta(3, "\".\"}"),
            end(3, None),
            start(4, tool("toolu_2", "ls")),
            end(4, None),
            usage(5, 20, 8, 3),
            StreamEvent::Finish(Finish::ToolUse),
        ]
    );
}

#[test]
fn mixed_blocks_come_out_one_after_another() {
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
        over(),
    ];
    assert_eq!(
        read(&events),
        [
            start(0, BlockStart::Text),
            delta(0, "one"),
            delta(0, "!"),
            end(0, None),
            start(1, tool("a", "t")),
            delta(1, "{\"x\":"),
            delta(1, "1}"),
            end(1, None),
            start(2, BlockStart::Text),
            delta(2, "thr"),
            delta(2, "ee"),
            end(2, None),
            StreamEvent::Finish(Finish::ToolUse),
        ]
    );
}

#[test]
fn what_came_with_the_beginning_of_a_block_is_kept() {
    let events = [
        open(0, json!({ "type": "thinking", "thinking": "a", "signature": "s" })),
        close(0),
        open(1, json!({ "type": "tool_use", "id": "a", "name": "t", "input": { "x": 1 } })),
        close(1),
        open(2, json!({ "type": "tool_use", "id": "b", "name": "t", "input": { "x": 1 } })),
        raw(2, "{}"),
        close(2),
        over(),
    ];
    assert_eq!(
        read(&events)[..9],
        [
            start(0, BlockStart::Thinking),
            delta(0, "a"),
            end(0, Some("s")),
            start(1, tool("a", "t")),
            delta(1, "{\"x\":1}"),
            end(1, None),
            start(2, tool("b", "t")),
            delta(2, "{}"),
            end(2, None),
        ]
    );
}

#[test]
fn a_block_that_waits_takes_no_longer_than_one_that_is_told() {
    const MANY: usize = 100_000;
    let mut events = vec![open(0, json!({ "type": "text" })), open(1, json!({ "type": "text" }))];
    events.extend(vec![said(1, "a"); MANY]);
    events.extend([close(1), close(0), over()]);
    let began = std::time::Instant::now();
    assert_eq!(read(&events).len(), MANY + 5);
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
}

#[test]
fn what_is_not_known_is_passed_over() {
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
    assert_eq!(
        read(&events),
        [start(0, BlockStart::Text), end(0, None), usage(0, 9, 0, 0), StreamEvent::Finish(Finish::Stop)]
    );
}

#[test]
fn every_reason_to_stop_has_its_end() {
    let ended = |reason: &str| read(&[stop(reason), over()])[1..].to_vec();
    for reason in ["end_turn", "pause_turn", "stop_sequence"] {
        assert_eq!(ended(reason), [StreamEvent::Finish(Finish::Stop)], "{reason}");
    }
    assert_eq!(ended("max_tokens"), [StreamEvent::Finish(Finish::Length)]);
    assert_eq!(ended("tool_use"), [StreamEvent::Finish(Finish::ToolUse)]);
    for reason in ["refusal", "sensitive"] {
        assert_eq!(ended(reason), [fail("An unknown error occurred")], "{reason}");
    }
    assert_eq!(ended("moon"), [fail("Unhandled stop reason: moon")]);
    assert_eq!(read(&[over()]), [StreamEvent::Finish(Finish::Stop)]);
}

#[test]
fn an_error_event_fails_with_its_text() {
    let text = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    for name in ["error", "message"] {
        let mut reader = Api::AnthropicMessages.reader();
        assert_eq!((reader.event(name, text), reader.end()), (vec![fail(text)], vec![]));
    }
    for text in ["busy", r#""busy""#, r#"{"error":{"message":"busy"}}"#] {
        assert_eq!(Api::AnthropicMessages.reader().event("error", text), [fail(text)]);
    }
}

#[test]
fn a_stream_that_ends_early_is_no_answer() {
    assert_eq!(read(&[]), [cut()]);
    let events = [open(0, json!({ "type": "text" })), said(0, "a"), close(0), stop("end_turn")];
    assert_eq!(
        read(&events),
        [start(0, BlockStart::Text), delta(0, "a"), end(0, None), usage(0, 9, 0, 0), cut()]
    );
}

#[test]
fn an_event_that_cannot_be_read_fails_the_answer() {
    let mut reader = Api::AnthropicMessages.reader();
    let failed = reader.event("content_block_delta", "{\"type\":");
    let text = "terminated: the provider sent half an event: EOF while parsing a value at line 1 column 8";
    assert_eq!((failed, reader.end()), (vec![fail(text)], vec![]));
    let text = "Could not read what the provider sent: expected value at line 1 column 1";
    assert_eq!(Api::AnthropicMessages.reader().event("content_block_delta", "<html>"), [fail(text)]);
}

#[test]
fn half_a_character_is_replaced() {
    let mut reader = Api::AnthropicMessages.reader();
    reader.event("content_block_start", &open(0, json!({ "type": "text" })).to_string());
    let half = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83d"}}"#;
    assert_eq!(reader.event("content_block_delta", half), [delta(0, "a\u{fffd}")]);
}

#[test]
fn the_model_that_answers_the_word_for_its_end_and_what_is_kept_for_an_hour_are_told() {
    let used = json!({ "output_tokens": 1, "cache_creation": { "ephemeral_1h_input_tokens": 4 } });
    let begin =
        json!({ "type": "message_start", "message": { "id": "m", "model": "claude-x", "usage": used } });
    let words = ["end_turn", "max_tokens", "tool_use", "stop_sequence"];
    for (word, finish) in words.into_iter().zip([Finish::Stop, Finish::Length, Finish::ToolUse, Finish::Stop])
    {
        let counts = TokenCounts { output: 1, cache_write_1h: Some(4), ..TokenCounts::default() };
        let expected = [
            StreamEvent::ResponseId("m".to_owned()),
            StreamEvent::Model("claude-x".to_owned()),
            StreamEvent::Usage(counts),
            StreamEvent::Usage(TokenCounts { output: 9, ..counts }),
            StreamEvent::Word(word.to_owned()),
            StreamEvent::Finish(finish),
        ];
        assert_eq!(read_all(&[begin.clone(), stop(word), over()]), expected);
    }
}
