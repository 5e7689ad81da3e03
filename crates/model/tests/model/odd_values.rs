//! Values that servers write in other forms than the vendors, in every API.

use crate::model_support::*;
use pi_rpc_model::{api::Api, types::StreamEvent};
use serde_json::{Value, json};

/// An answer of each kind of API that says `text`, with counts of tokens that `write` makes.
fn answers(text: &str, write: impl Fn(u64) -> Value) -> Vec<(Api, Vec<Value>)> {
    let input = write(12);
    let output = write(3);
    let chunk = |choice: Value, usage: Value| json!({"id": "c", "choices": [choice], "usage": usage});
    let chat = vec![
        chunk(json!({"index": 0, "delta": {"content": text}}), json!(null)),
        chunk(
            json!({"index": 0, "delta": {}, "finish_reason": "stop"}),
            json!({"prompt_tokens": input, "completion_tokens": output}),
        ),
    ];
    let counts = json!({"input_tokens": input, "output_tokens": output});
    let item = json!({"type": "message", "id": "i", "content": [{"type": "output_text", "text": text}]});
    let responses = vec![
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"status": "completed", "usage": counts}}),
    ];
    let anthropic = vec![
        json!({"type": "message_start", "message": {"usage": counts}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": text}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        json!({"type": "message_stop"}),
    ];
    let google = vec![json!({
        "candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": input, "candidatesTokenCount": output},
    })];
    let bedrock = vec![
        json!({"type": "contentBlockDelta", "contentBlockIndex": 0, "delta": {"text": text}}),
        json!({"type": "contentBlockStop", "contentBlockIndex": 0}),
        json!({"type": "messageStop", "stopReason": "end_turn"}),
        json!({"type": "metadata", "usage": {"inputTokens": input, "outputTokens": output}}),
    ];
    let own = vec![
        json!({"type": "text_start", "contentIndex": 0}),
        json!({"type": "text_end", "contentIndex": 0, "content": text}),
        json!({"type": "done", "reason": "stop", "usage": {"input": input, "output": output}}),
    ];
    vec![
        (Api::AnthropicMessages, anthropic),
        (Api::BedrockConverseStream, bedrock),
        (Api::GoogleGenerativeAi, google),
        (Api::MistralConversations, chat.clone()),
        (Api::OpenaiCompletions, chat),
        (Api::OpenaiResponses, responses),
        (Api::PiMessages, own),
    ]
}

/// The text, the last counts and the last event of an answer whose events are these texts.
fn answer(api: Api, events: &[(String, String)]) -> (String, Option<(u64, u64)>, String) {
    let mut reader = api.reader();
    let mut read: Vec<StreamEvent> = Vec::new();
    for (name, data) in events {
        read.extend(reader.event(name, data));
    }
    read.extend(reader.end());
    let (mut text, mut counts) = (String::new(), None);
    for event in &read {
        match event {
            StreamEvent::Delta { delta, .. } => text.push_str(delta),
            StreamEvent::Usage(usage) => counts = Some((usage.input, usage.output)),
            _ => {}
        }
    }
    (text, counts, shown(&read).pop().unwrap_or_default())
}

fn named(events: &[Value]) -> Vec<(String, String)> {
    let name = |event: &Value| event["type"].as_str().unwrap_or("message").to_owned();
    events.iter().map(|event| (name(event), event.to_string())).collect()
}

#[test]
fn counts_may_be_fractions_or_texts() {
    let forms: [fn(u64) -> Value; 4] = [
        Value::from,
        |count| json!(count as f64),
        |count| json!(count.to_string()),
        |count| json!(format!("{count}.0")),
    ];
    for form in forms {
        for (api, events) in answers("Hi", form) {
            let expected = ("Hi".to_owned(), Some((12, 3)), "finish Stop".to_owned());
            assert_eq!(answer(api, &named(&events)), expected, "{api:?} {}", form(12));
        }
    }
}

#[test]
fn control_characters_and_wrong_escapes_are_read() {
    for (api, events) in answers("TEXT", Value::from) {
        let odd = |event: (String, String)| (event.0, event.1.replace("TEXT", "a\tb\u{1}\\d"));
        let events: Vec<_> = named(&events).into_iter().map(odd).collect();
        let expected = ("a\tb\u{1}\\d".to_owned(), Some((12, 3)), "finish Stop".to_owned());
        assert_eq!(answer(api, &events), expected, "{api:?}");
    }
}

#[test]
fn unreadable_event_is_quoted_and_retried() {
    for (api, events) in answers("Hi", Value::from) {
        let (name, _) = &named(&events)[0];
        let broken = [(name.clone(), format!("{{\"a\":}}{}", "x".repeat(1000)))];
        let (_, _, last) = answer(api, &broken);
        let start = "fail terminated: could not read an event: Invalid JSON: expected value at position 5 \
                     (line 1 column 6): {\"a\":}xxx";
        assert!(last.starts_with(start) && last.ends_with("x…") && last.len() < 500, "{api:?} {last}");
    }
}

#[test]
fn content_may_be_a_list_of_parts() {
    let parts = json!([
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]},
        {"type": "text", "text": "a"}, "b", {"type": "image_url", "image_url": {}}, {"text": "c"},
    ]);
    let events = [
        json!({"choices": [{"index": 0, "delta": {"content": parts}}]}),
        json!({"choices": [{"index": 0, "delta": {"content": {"type": "text", "text": "d"}}}]}),
        json!({"choices": [{"index": 0, "delta": {"content": []}, "finish_reason": "stop"}]}),
    ];
    for api in [Api::OpenaiCompletions, Api::MistralConversations] {
        let expected = ["0 thinking |Hm| end", "1 text |a|b|c|d| end", "finish Stop"];
        assert_eq!(shown(&read(api.reader(), &events)), expected, "{api:?}");
    }
}
