//! Odd streams of every API, in every form that the same bytes may have: cut anywhere, with other line ends, packed.

use crate::{
    body::{ServerSentEvent, events},
    decoder::{decoded, tests::packed},
    frames::frames,
};
use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use bytes::Bytes;
use futures_util::{FutureExt as _, Stream, StreamExt as _, stream};
use pi_rpc_model::{
    api::Api,
    request::StreamFormat,
    types::{BlockStart, StreamEvent},
};
use serde_json::{Value, json};

/// What is odd, the API, its events, and what is read: blocks in order, then how it ends.
type Case = (&'static str, Api, Vec<Value>, &'static str);

fn chat(delta: Value, reason: Value) -> Value {
    json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
}

fn google(parts: Value, reason: Value) -> Value {
    json!({"candidates": [{"content": {"parts": parts}, "finishReason": reason}]})
}

fn anthropic(events: &[Value], stop: Value) -> Vec<Value> {
    let mut all =
        vec![json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": "3"}}})];
    all.extend_from_slice(events);
    all.push(json!({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 4.0}}));
    all.push(json!({"type": "message_stop"}));
    all
}

fn cases() -> Vec<Case> {
    let refused = json!({"stop_reason": "refusal", "stop_details": {"explanation": "Ünsafe."}});
    let detail = |detail: Value| json!({"reasoning_details": [detail]});
    let item =
        json!({"type": "message", "id": "i", "content": [{"type": "output_text", "text": "Grüße 🎈"}]});
    let incomplete = json!({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}});
    vec![
        (
            "a refusal with its reason",
            Api::AnthropicMessages,
            anthropic(&[json!({"type": "ping"})], refused),
            "3 in, 4 out; error Ünsafe.",
        ),
        (
            "counts as texts and fractions, a text at the start of its block",
            Api::AnthropicMessages,
            anthropic(
                &[
                    json!({"type": "content_block_start", "index": 0.0, "content_block": {"type": "text", "text": "Grüße 🎈"}}),
                    json!({"type": "content_block_stop", "index": 0}),
                ],
                json!({"stop_reason": "end_turn"}),
            ),
            "text Grüße 🎈; 3 in, 4 out; Stop",
        ),
        (
            "details of thinking, and content in parts",
            Api::OpenaiCompletions,
            vec![
                chat(json!({"reasoning": "H", "content": [{"type": "text", "text": "Grü"}]}), json!(null)),
                chat(detail(json!({"type": "reasoning.text", "text": "H", "signature": "S"})), json!(null)),
                chat(json!({"content": "ße"}), json!("stop")),
                json!({"id": "c", "choices": [], "x_groq": {"usage": {"prompt_tokens": "3", "completion_tokens": 4}}}),
            ],
            r#"thinking H [{"type":"reasoning.text","text":"H","signature":"S"}]; text Grüße; 3 in, 4 out; Stop"#,
        ),
        (
            "a filter",
            Api::OpenaiCompletions,
            vec![chat(json!({"content": "Half"}), json!("content_filter")), json!("[DONE]")],
            "text Half; error Provider finish_reason: content_filter",
        ),
        (
            "an event that is no JSON",
            Api::OpenaiCompletions,
            vec![json!("{\"id\":}")],
            "error terminated: could not read an event: Invalid JSON: expected value at position 6 (line 1 column 7): \
             {\"id\":}",
        ),
        (
            "an answer without its end",
            Api::MistralConversations,
            vec![chat(json!({"content": [{"type": "text", "text": "Half"}]}), json!(null))],
            "text Half; error terminated: the stream ended before the answer was complete",
        ),
        (
            "a filter",
            Api::OpenaiResponses,
            vec![
                json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
                json!({"type": "response.incomplete", "response": incomplete}),
            ],
            "text Grüße 🎈; error Response incomplete: content_filter",
        ),
        (
            "an error beside its code",
            Api::OpenaiCodexResponses,
            vec![
                json!({"type": "response.created", "response": {}}),
                json!({"type": "error", "code": "rate_limit_exceeded", "message": "Zu schnell. 🎈"}),
            ],
            "error Error Code rate_limit_exceeded: Zu schnell. 🎈",
        ),
        (
            "an item that comes at its end alone",
            Api::AzureOpenaiResponses,
            vec![
                json!({"type": "response.output_item.done", "output_index": 0.0, "item": item}),
                json!({"type": "response.completed", "response": {
                    "status": "completed", "usage": {"input_tokens": "3", "output_tokens": 4.0},
                }}),
            ],
            "text Grüße 🎈; 3 in, 4 out; Stop",
        ),
        (
            "a block with a message",
            Api::GoogleGenerativeAi,
            vec![json!({"promptFeedback": {"blockReason": "OTHER", "blockReasonMessage": "Nö."}})],
            "error The provider blocked the prompt: OTHER: Nö.",
        ),
        (
            "a continuation",
            Api::GoogleVertex,
            vec![
                google(json!([{"text": "Grüße 🎈"}]), json!(null)),
                google(json!([]), json!("CONTINUATION")),
            ],
            "text Grüße 🎈; Length",
        ),
        (
            "an exception",
            Api::BedrockConverseStream,
            vec![
                json!({"type": "contentBlockDelta", "contentBlockIndex": 0, "delta": {"text": "Grüße 🎈"}}),
                json!({"type": "throttlingException", "message": "Slow down"}),
            ],
            "text Grüße 🎈; error ThrottlingException: Slow down",
        ),
        (
            "a guardrail",
            Api::BedrockConverseStream,
            vec![
                json!({"type": "messageStop", "stopReason": "guardrail_intervened"}),
                json!({"type": "metadata", "usage": {"inputTokens": 3.0, "outputTokens": "4"}}),
            ],
            "3 in, 4 out; error Provider stopped with: guardrail_intervened",
        ),
        (
            "a whole text at its end",
            Api::PiMessages,
            vec![
                json!({"type": "text_start", "contentIndex": 0}),
                json!({"type": "text_end", "contentIndex": 0, "content": "Grüße 🎈"}),
                json!({"type": "done", "reason": "stop", "usage": {"input": "3", "output": 4}}),
            ],
            "text Grüße 🎈; 3 in, 4 out; Stop",
        ),
    ]
}

/// The body of an answer with these events, whose lines end with `end`.
fn body(format: StreamFormat, events: &[Value], end: &str) -> Vec<u8> {
    let mut body = Vec::new();
    for event in events {
        let data = event.as_str().map_or_else(|| event.to_string(), str::to_owned);
        let name = event["type"].as_str().unwrap_or("message");
        match format {
            StreamFormat::ServerSentEvents => {
                body.extend(format!("event: {name}{end}data: {data}{end}{end}").into_bytes());
            }
            StreamFormat::AmazonEventStream => {
                let (kind, key) = match name.ends_with("Exception") {
                    true => ("exception", ":exception-type"),
                    false => ("event", ":event-type"),
                };
                let header = |name: &'static str, value: &str| {
                    Header::new(name, HeaderValue::String(value.to_owned().into()))
                };
                let headers = vec![header(":message-type", kind), header(key, name)];
                let message = Message::new_from_parts(headers, data.into_bytes());
                write_message_to(&message, &mut body).expect("a frame");
            }
        }
    }
    body
}

/// What comes of a body in these pieces.
fn read(api: Api, pieces: Vec<Bytes>, encoding: &str) -> String {
    let mut reader = api.reader();
    let pieces = decoded(stream::iter(pieces.into_iter().map(Ok)), encoding.to_owned());
    let all = |stream: &mut (dyn Stream<Item = Result<ServerSentEvent, String>> + Unpin)| {
        stream.collect::<Vec<_>>().now_or_never().expect("nothing to wait for")
    };
    let events = match reader.stream_format() {
        StreamFormat::ServerSentEvents => all(&mut Box::pin(events(pieces))),
        StreamFormat::AmazonEventStream => all(&mut Box::pin(frames(pieces))),
    };
    let mut made = Vec::new();
    for event in events {
        let event = event.expect("an event");
        made.extend(reader.event(&event.name, &event.data));
    }
    made.extend(reader.end());
    told(&made)
}

/// The blocks with their last signatures, the last counts, and the end.
fn told(events: &[StreamEvent]) -> String {
    let mut blocks: Vec<(String, String)> = Vec::new();
    let (mut counts, mut end) = (None, String::new());
    for event in events {
        match event {
            StreamEvent::Start { block, .. } => {
                let kind = if *block == BlockStart::Text { "text " } else { "thinking " };
                blocks.push((kind.to_owned(), String::new()));
            }
            StreamEvent::Delta { index, delta } => blocks[*index].0.push_str(delta),
            StreamEvent::Signature { index, signature } => blocks[*index].1 = format!(" {signature}"),
            StreamEvent::Usage(usage) => counts = Some(format!("{} in, {} out", usage.input, usage.output)),
            StreamEvent::Finish(finish) => end = format!("{finish:?}"),
            StreamEvent::Fail { message, .. } => end = format!("error {message}"),
            _ => {}
        }
    }
    let blocks = blocks.into_iter().map(|(text, signature)| text + &signature);
    blocks.chain(counts).chain([end]).collect::<Vec<_>>().join("; ")
}

/// The body cut in two at each place, and into single bytes.
fn cuts(body: &[u8]) -> Vec<Vec<Bytes>> {
    let body = Bytes::copy_from_slice(body);
    let mut cuts: Vec<_> = (1..body.len()).map(|at| vec![body.slice(..at), body.slice(at..)]).collect();
    cuts.push((0..body.len()).map(|at| body.slice(at..=at)).collect());
    cuts.push(vec![body]);
    cuts
}

#[test]
fn every_api_has_odd_streams() {
    let cases = cases();
    let without = Api::ALL.into_iter().filter(|api| cases.iter().all(|(_, of, ..)| of != api));
    assert_eq!(without.collect::<Vec<_>>(), []);
}

#[test]
fn odd_stream_is_read_in_every_form() {
    for (oddity, api, events, expected) in cases() {
        let format = api.reader().stream_format();
        let ends: &[&str] = match format {
            StreamFormat::ServerSentEvents => &["\n", "\r\n", "\r"],
            StreamFormat::AmazonEventStream => &[""],
        };
        for end in ends {
            let body = body(format, &events, end);
            let mut forms = packed(&body);
            forms.push(("", body));
            for (encoding, body) in forms {
                for pieces in cuts(&body) {
                    let cut = pieces[0].len();
                    let read = read(api, pieces, encoding);
                    assert_eq!(read, expected, "{oddity}: {api:?}, {end:?}, {encoding:?}, cut at {cut}");
                }
            }
        }
    }
}
