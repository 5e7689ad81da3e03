//! Answers that are no answers: broken HTTP, broken streams, and too much of everything.

use crate::{
    model_endpoint::{Endpoint, OPEN, Talk, answer, begun, delta, end, start, stream, text_of},
    serve_support::{APIS, of_type, sample, thorough},
    table::row,
};
use serde_json::{Value, json};
use std::{
    env,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// What memory a server may have had, in MiB, whatever came: some copies of the longest answer.
const MOST_MIB: u64 = 320;

/// An answer with a length that may be wrong.
fn with_length(length: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// Bytes, how the error begins, and the text that is kept.
type Broken = (Vec<u8>, &'static str, &'static str);

fn broken_http(api: &str) -> Vec<Broken> {
    let (half, whole) = (begun(api, &["Half"]), stream(api, &["Half"]));
    let chunked = |size: &str| {
        let head = OPEN.replace("connection: close", "transfer-encoding: chunked");
        format!("{head}{:x}\r\n{half}\r\n{size}\r\nrest\r\n", half.len()).into_bytes()
    };
    let invalid = |bytes: &[u8]| [OPEN.as_bytes(), half.as_bytes(), bytes, end(api).as_bytes()].concat();
    let gzip = [&b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"[..], &[0xcb; 90][..]].concat();
    let html = b"<html>A login page</html>";
    let json_error = b"{\"error\":{\"message\":\"no such model\"}}";
    vec![
        (invalid(b"data: \xff\xfe\n\n"), "terminated: the provider's answer is not UTF-8", "Half"),
        (
            invalid(b"data: {\"type\":\n\n"),
            "terminated: could not read an event: Unexpected end of JSON input",
            "Half",
        ),
        (invalid(b"event: error\ndata: {\"error\":{\"message\":\"\xc3\"}}\n\n"), "terminated: ", "Half"),
        (with_length(&half.len().to_string(), &whole), "terminated: the stream ended before", "Half"),
        (with_length(&(whole.len() + 9).to_string(), &half), "terminated: ", "Half"),
        (with_length("-1", &whole), "Connection error: ", ""),
        (with_length("many", &whole), "Connection error: ", ""),
        (with_length("99999999999999999999999999", &whole), "Connection error: ", ""),
        (chunked("zz"), "terminated: ", "Half"),
        (chunked("ffffffffffffffffff"), "terminated: ", "Half"),
        (chunked("-4"), "terminated: ", "Half"),
        (answer(200, "content-encoding: gzip\r\n", &gzip), "terminated: ", ""),
        (answer(200, "content-type: text/html\r\n", html), "127.0.0.1", ""),
        (answer(200, "content-type: application/json\r\n", json_error), "127.0.0.1", ""),
        (answer(200, "", html), "terminated: 127.0.0.1", ""),
        (b"SSH-2.0-OpenSSH_9.6\r\n".to_vec(), "Connection error: ", ""),
        (b"HTTP/1.1 999999 Odd\r\n\r\n".to_vec(), "Connection error: ", ""),
        (b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n".to_vec(), "Connection error: ", ""),
        (b"\0\0\0\0".to_vec(), "Connection error: ", ""),
    ]
}

#[test]
fn broken_streams_are_errors_with_partial_content() {
    let mut times = 0;
    for api in APIS {
        let endpoint = Endpoint::new();
        let mut talk = Talk::new(&endpoint, api, &[]);
        for (bytes, expected, text) in broken_http(api) {
            let told = String::from_utf8_lossy(&bytes).into_owned();
            endpoint.says(bytes);
            let answer = talk.run("hello?");
            let error = answer["errorMessage"].as_str().unwrap_or("none");
            assert!(error.starts_with(expected), "{api}: {error}\n{told}");
            assert_eq!((&answer["stopReason"], text_of(&answer)), (&json!("error"), text), "{api}\n{told}");
            times += 1;
        }
        // A head without end.
        endpoint.does(|caller| {
            caller.say(b"HTTP/1.1 200 OK\r\n");
            while caller.say(format!("x-more: {}\r\n", "x".repeat(999)).as_bytes()) {}
        });
        let error = talk.fails("hello?");
        assert!(error.starts_with("Connection error: "), "{error}");
        // Told while the stream is still open.
        endpoint.does(move |caller| {
            caller.say(OPEN.as_bytes());
            caller.say(begun(api, &["Half"]).as_bytes());
            caller.say(b"data: \xff\n\n");
            caller.stall();
        });
        let said = talk.run("hello?");
        let expected = json!("terminated: the provider's answer is not UTF-8");
        assert_eq!((&said["errorMessage"], text_of(&said)), (&expected, "Half"), "{api}");
        // Declared as packed, and is not: nothing was asked to be.
        let headers = "content-encoding: gzip\r\ncontent-type: text/event-stream\r\n";
        endpoint.says(answer(200, headers, stream(api, &["Plain."]).as_bytes()));
        assert_eq!(text_of(&talk.run("hello?")), "Plain.");
        times += 3;
        talk.ends_well(&endpoint, api);
    }
    row(
        "answers with broken HTTP: lengths, chunks, heads without end, another protocol; with invalid UTF-8, half events, pages",
        times,
    );
}

/// Events in another order and shape than documented, and the text that they make; `None`: an error.
fn odd_streams(api: &str) -> Vec<(String, Option<&'static str>)> {
    let (first, said, last) = (start(api), delta(api, "Response."), end(api));
    let unknown = "event: brand_new\ndata: {\"type\":\"brand_new\",\"index\":7}\n\n";
    let nothings = "data:\n\ndata: null\n\ndata: []\n\ndata: 7\n\ndata: \"x\"\n\nid: 1\n\nretry: 5\n\n";
    let deep = format!("data: {}\n\n", "[".repeat(20_000));
    let bare = first.replace("\"id\":", "\"no\":");
    // Google's stream has no last event: what comes until its end is said.
    let repeated = if api.starts_with("google-") { "Response.Response." } else { "Response." };
    let alike = [first.as_str(), &said, &last].concat().replace('\n', "\r\n");
    vec![
        (format!("{first}{unknown}{nothings}{said}{last}"), Some("Response.")),
        (format!("\u{feff}{first}{said}{last}{last}{said}"), Some(repeated)),
        (format!("{bare}{said}{last}"), Some("Response.")),
        (alike, Some("Response.")),
        (format!("{first}{said}{deep}{last}"), None),
        (last.clone(), Some("")),
        (nothings.to_owned(), None),
    ]
}

#[test]
fn unusual_streams_are_read_or_errors() {
    let mut times = 0;
    for api in APIS {
        let endpoint = Endpoint::new();
        let mut talk = Talk::new(&endpoint, api, &[]);
        for (body, expected) in odd_streams(api) {
            let told: String = body.chars().take(600).collect();
            endpoint.says(format!("{OPEN}{body}"));
            let answer = talk.run("hello?");
            match expected {
                Some(text) => assert_eq!(
                    (&answer["stopReason"], text_of(&answer)),
                    (&json!("stop"), text),
                    "{api} {answer} {told}"
                ),
                None => assert_eq!(answer["stopReason"], "error", "{api} {answer} {told}"),
            }
            times += 1;
        }
        // What begins twice is legal to the host in any case: the oracle has judged it.
        for body in [
            format!("{0}{0}{1}{2}", start(api), delta(api, "Response."), end(api)),
            delta(api, "Lost.") + &end(api),
        ] {
            endpoint.says(format!("{OPEN}{body}"));
            talk.prompts("hello?");
            talk.until(|frame| frame["type"] == "agent_settled");
            times += 1;
        }
        talk.ends_well(&endpoint, api);
    }
    row(
        "sends events of unknown types, repeated events, events without ids or without a start, and deeply nested ones",
        times,
    );
}

/// The events of a call of bash with `arguments`.
fn call(api: &str, arguments: &str) -> String {
    let event = |value: Value| match value["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {value}\n\n"),
        None => format!("data: {value}\n\n"),
    };
    match api {
        "anthropic-messages" => [
            json!({ "type": "message_start", "message": { "id": "m" } }),
            json!({ "type": "content_block_start", "index": 0,
                "content_block": { "type": "tool_use", "id": "t1", "name": "bash", "input": {} } }),
            json!({ "type": "content_block_delta", "index": 0,
                "delta": { "type": "input_json_delta", "partial_json": arguments } }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
            json!({ "type": "message_stop" }),
        ]
        .map(event)
        .concat(),
        "openai-completions" | "mistral-conversations" => [
            json!({ "id": "c", "choices": [{ "delta": { "tool_calls": [{ "index": 0, "id": "t1",
                "function": { "name": "bash", "arguments": arguments } }] } }] }),
            json!({ "id": "c", "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] }),
        ]
        .map(event)
        .concat(),
        "pi-messages" => [
            json!({ "type": "toolcall_start", "contentIndex": 0, "id": "t1", "toolName": "bash" }),
            json!({ "type": "toolcall_delta", "contentIndex": 0, "delta": arguments }),
            json!({ "type": "toolcall_end", "contentIndex": 0 }),
            json!({ "type": "done", "reason": "toolUse" }),
        ]
        .map(event)
        .concat(),
        "google-generative-ai" | "google-vertex" => {
            let arguments = if arguments.is_empty() { "null" } else { arguments };
            let call = format!(r#"{{"functionCall":{{"id":"t1","name":"bash","args":{arguments}}}}}"#);
            let stop = event(json!({ "candidates": [{ "finishReason": "STOP" }] }));
            format!("data: {{\"candidates\":[{{\"content\":{{\"parts\":[{call}]}}}}]}}\n\n{stop}")
        }
        _ => [
            json!({ "type": "response.created", "response": { "id": "r" } }),
            json!({ "type": "response.output_item.added", "output_index": 0,
                "item": { "type": "function_call", "id": "f", "call_id": "t1", "name": "bash", "arguments": "" } }),
            json!({ "type": "response.function_call_arguments.delta", "output_index": 0, "delta": arguments }),
            json!({ "type": "response.output_item.done", "output_index": 0, "item": { "type": "function_call",
                "id": "f", "call_id": "t1", "name": "bash", "arguments": arguments } }),
            json!({ "type": "response.completed", "response": { "id": "r", "status": "completed" } }),
        ]
        .map(event)
        .concat(),
    }
}

#[test]
fn invalid_call_arguments_are_answered_to_model() {
    let giant = json!({ "command": format!(": {}", "x".repeat(1024 * 1024)) }).to_string();
    let deep = format!("{{\"command\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
    let cases =
        [giant, deep, "{\"command\":".to_owned(), "[1]".to_owned(), "\u{1}".to_owned(), String::new()];
    let mut times = 0;
    for (at, api) in APIS.into_iter().enumerate() {
        let endpoint = Endpoint::new();
        let mut talk = Talk::new(&endpoint, api, &[]);
        // Google's arguments are a value of the chunk: what is no JSON, or too deep, makes it unreadable.
        let can_be_sent = |case: &usize| !api.starts_with("google-") || [0, 3, 5].contains(case);
        let tried = (0..cases.len()).filter(|case| thorough() || case % APIS.len() == at).filter(can_be_sent);
        for arguments in tried.map(|case| &cases[case]) {
            times += 1;
            let (first, calls) = (endpoint.asked(), call(api, arguments));
            endpoint.does(move |caller| {
                let body = if caller.number == first { calls.clone() } else { stream(api, &["Well."]) };
                caller.say(format!("{OPEN}{body}").as_bytes());
            });
            talk.prompts("call");
            let frames = talk.until(|frame| frame["type"] == "agent_settled");
            let short: String = arguments.chars().take(20).collect();
            assert_eq!(of_type(&frames, "tool_execution_end").len(), 1, "{api} {short}");
            assert_eq!(endpoint.asked(), first + 2, "{api} {short}");
            let kept = talk.kept();
            assert_eq!(text_of(kept.last().unwrap()), "Well.", "{api} {short}");
            assert_eq!(kept[kept.len() - 2]["role"], "toolResult", "{api} {short}");
        }
        talk.ends_well(&endpoint, api);
    }
    row("calls a tool with arguments of a megabyte, of 5000 levels, cut off, no object, none", times);
}

#[test]
fn endless_streams_end_with_bounded_memory() {
    // All readers share these limits.
    let (mut most, mut times) = (0, 0);
    for api in sample(APIS, 3) {
        let endpoint = Endpoint::new();
        let mut talk = Talk::new(&endpoint, api, &[]);
        // One event of as many bytes as are taken.
        endpoint.does(move |caller| {
            caller.say(format!("{OPEN}{}data: ", begun(api, &["Half"])).as_bytes());
            let piece = vec![b'x'; 1024 * 1024];
            while caller.say(&piece) {}
        });
        let answer = talk.run("hello?");
        let expected = "terminated: the provider sent an event of more than 16777216 bytes";
        assert_eq!((answer["errorMessage"].as_str(), text_of(&answer)), (Some(expected), "Half"), "{api}");
        // Comments without an event.
        endpoint.does(move |caller| {
            caller.say(OPEN.as_bytes());
            let piece = ": nothing\n".repeat(100_000);
            while caller.say(piece.as_bytes()) {}
        });
        assert_eq!(talk.fails("hello?"), expected, "{api}");
        // Text without end.
        let pieces = Arc::new(AtomicUsize::new(0));
        let taken = pieces.clone();
        endpoint.does(move |caller| {
            caller.say(format!("{OPEN}{}", start(api)).as_bytes());
            let piece = delta(api, &"y".repeat(256 * 1024));
            while caller.say(piece.as_bytes()) {
                taken.fetch_add(1, Ordering::SeqCst);
            }
        });
        let answer = talk.run("hello?");
        assert_eq!(answer["errorMessage"], "The answer is longer than 16777216 bytes", "{api}");
        let kept = 16 * 1024 * 1024 - 256 * 1024..=16 * 1024 * 1024;
        assert!(kept.contains(&text_of(&answer).len()), "{api}: {}", text_of(&answer).len());
        talk.begins_anew();
        most = most.max(talk.server.peak_mib());
        times += 3;
        println!("{api}: {} MiB after {} pieces", talk.server.peak_mib(), pieces.load(Ordering::SeqCst));
        talk.ends_well(&endpoint, api);
    }
    assert!(most < MOST_MIB, "{most} MiB");
    row("sends an event, comments and a text without end", times);
}

#[test]
fn many_tiny_events_do_not_pile_up() {
    // By hand, for millions: TINY_EVENTS.
    let count = env::var("TINY_EVENTS").map_or(10_000, |count| count.parse().unwrap());
    for api in APIS {
        let endpoint = Endpoint::new();
        let mut talk = Talk::new(&endpoint, api, &[]);
        endpoint.does(move |caller| {
            caller.say(format!("{OPEN}{}", start(api)).as_bytes());
            let many = delta(api, "z").repeat(100);
            (0..count / 100).for_each(|_| assert!(caller.say(many.as_bytes())));
            caller.say(end(api).as_bytes());
        });
        assert_eq!(text_of(&talk.run("hello?")).len(), count, "{api}");
        println!("{api}: {} MiB for {count} events", talk.server.peak_mib());
        assert!(talk.server.peak_mib() < 64, "{} MiB", talk.server.peak_mib());
        talk.ends_well(&endpoint, api);
    }
    row("answers in ten thousand events of one character", APIS.len());
}
