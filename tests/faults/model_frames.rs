//! Answers in binary frames that are cut, spoilt, or refused.

use crate::{
    model_endpoint::{Endpoint, KEY, Talk, answer, text_of},
    serve_support::{BEDROCK, FakeVendor, sample, snapshot},
    table::row,
};
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// What is answered where nothing spoils it.
const WHOLE: &str = "Naïve 🦀.";

fn talk(endpoint: &Endpoint, options: &[&str]) -> Talk {
    Talk::new(endpoint, BEDROCK, &[&["--no-tools", "--system-prompt", "Be brief."], options].concat())
}

/// Ends a conversation by a prompt that is answered as ever.
fn ends_well(mut talk: Talk, endpoint: &Endpoint, recorded: Arc<[u8]>) {
    endpoint.does(move |caller| {
        caller.say(&recorded);
    });
    assert_eq!(text_of(&talk.run("and now?")), WHOLE);
    talk.ends(&[]);
}

fn error_of(answer: &Value) -> &str {
    answer["errorMessage"].as_str().unwrap_or_default()
}

#[test]
fn frames_cut_anywhere_keep_their_beginning() {
    let endpoint = Endpoint::new();
    let mut talk = talk(&endpoint, &[]);
    let recorded: Arc<[u8]> = endpoint.record(&mut talk, json!([{ "text": WHOLE }])).into();
    let at = Arc::new(AtomicUsize::new(0));
    let (bytes, length) = (recorded.clone(), at.clone());
    endpoint.does(move |caller| {
        caller.say(&bytes[..length.load(Ordering::SeqCst)]);
    });
    let mut lengths: Vec<usize> = sample((0..=recorded.len()).rev(), 41).collect();
    lengths.sort_unstable();
    let (mut known, mut times) = (0, 0);
    for length in lengths {
        at.store(length, Ordering::SeqCst);
        let answer = talk.run("cut");
        let text = text_of(&answer);
        match answer["stopReason"].as_str().unwrap() {
            "error" => {
                let starts = ["terminated: ", "Connection error: "];
                let error = error_of(&answer);
                assert!(starts.iter().any(|start| error.starts_with(start)), "{length}: {error}");
                assert!(WHOLE.starts_with(text) && text.len() >= known, "{length}: {text}");
                known = text.len();
            }
            other => assert_eq!((other, text), ("stop", WHOLE), "{length}"),
        }
        times += 1;
        if times % 10 == 0 {
            talk.begins_anew();
        }
    }
    row("closes the connection at each byte of an answer in binary frames", times);
    snapshot("faults_of_frames", format!("{BEDROCK}\n"));
    ends_well(talk, &endpoint, recorded);
}

#[test]
fn spoilt_byte_of_frame_is_error() {
    let endpoint = Endpoint::new();
    let mut talk = talk(&endpoint, &["--idle-timeout", "0.5"]);
    let recorded: Arc<[u8]> = endpoint.record(&mut talk, json!([{ "text": WHOLE }])).into();
    let body = recorded.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    // Without the sizes of the chunks, which are no part of the frames.
    let frames = unchunked(&recorded[body..]);
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: application/vnd.amazon.eventstream\r\nconnection: close\r\n\r\n";
    let mut times = 0;
    // Behind the reason to stop nothing is lost any more.
    let last = frames.windows(12).position(|name| name == b"messageStop\x0d").unwrap_or(frames.len() / 2);
    for at in sample(0..last, 41) {
        let mut spoilt = frames.clone();
        spoilt[at] ^= 1;
        let bytes = [head.as_bytes(), &spoilt].concat();
        endpoint.says(bytes);
        let answer = talk.run("spoil");
        assert!(error_of(&answer).starts_with("terminated: "), "{at}: {answer}");
        assert!(WHOLE.starts_with(text_of(&answer)), "{at}: {answer}");
        times += 1;
        if times % 10 == 0 {
            talk.begins_anew();
        }
    }
    row("changes a byte of an answer in binary frames", times);
    ends_well(talk, &endpoint, recorded);
}

/// The chunks of a body as one.
fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let line = body.windows(2).position(|end| end == b"\r\n").unwrap();
        let size = usize::from_str_radix(str::from_utf8(&body[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            return whole;
        }
        whole.extend_from_slice(&body[line + 2..][..size]);
        body = &body[line + 2 + size + 2..];
    }
}

#[test]
fn silence_within_frames_ends_at_deadline() {
    let endpoint = Endpoint::new();
    let mut talk = talk(&endpoint, &["--idle-timeout", "0.5"]);
    let recorded: Arc<[u8]> = endpoint.record(&mut talk, json!([{ "text": WHOLE }])).into();
    let head = recorded.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    let lengths = [0, 20, head, head + 5, head + 30, head + (recorded.len() - head) / 2];
    for length in lengths {
        let bytes = recorded.clone();
        endpoint.does(move |caller| {
            caller.say(&bytes[..length]);
            caller.stall();
        });
        let answer = talk.run("stall");
        let error = error_of(&answer);
        assert!(error.ends_with("was silent for 0.5 s"), "{length}: {error}");
        assert!(WHOLE.starts_with(text_of(&answer)), "{length}: {answer}");
    }
    row(
        "falls silent in an answer in binary frames: before it, within its head, within a frame",
        lengths.len(),
    );
    ends_well(talk, &endpoint, recorded);
}

#[test]
fn exceptions_and_refusals_are_named() {
    let endpoint = Endpoint::new();
    let mut talk = talk(&endpoint, &[]);
    let recorded: Arc<[u8]> = endpoint.record(&mut talk, json!([{ "text": WHOLE }])).into();
    let told = |message: &str| json!({ "message": message }).to_string();
    let header =
        "x-amzn-errortype: ThrottlingException:http://internal/\r\ncontent-type: application/json\r\n";
    let cases = [
        (
            429,
            header,
            told("Too many tokens, please wait."),
            "429 ThrottlingException: Too many tokens, please wait.",
        ),
        (
            500,
            "x-amzn-errortype: InternalServerException\r\n",
            told("Oops"),
            "500 InternalServerException: Oops",
        ),
        (403, "", told(&format!("No {KEY}")), "403 No ***"),
        (400, "x-amzn-errortype: ValidationException\r\n", "{}".to_owned(), "400 ValidationException: {}"),
        (503, "x-amzn-errortype: \r\n", String::new(), "503 status code (no body)"),
    ];
    for (status, headers, body, expected) in &cases {
        endpoint.says(answer(*status, headers, body.as_bytes()));
        assert_eq!(talk.fails("refuse"), *expected);
    }
    let vendor = FakeVendor::plays(&json!({ "turns": [
        { "say": [{ "text": "Half" }], "fail": { "status": 429, "message": "Slow down" } },
        { "say": [{ "text": "Half" }], "fail": { "status": 500, "message": "Oops" } },
    ] }));
    let retry = json!({ "retry": { "enabled": false, "provider": { "maxRetries": 0 } } });
    let mut other = vendor.server_under(&retry, pi_rpc::protocol::Dialect::Pi, BEDROCK, &[]);
    for expected in ["ThrottlingException: Slow down", "InternalServerException: Oops"] {
        let frames = other.run("hi");
        let ends = crate::serve_support::of_type(&frames, "turn_end");
        assert_eq!(ends[0]["message"]["errorMessage"], expected);
        assert_eq!(ends[0]["message"]["content"][0]["text"], "Half");
    }
    other.finishes();
    row("refuses with the exceptions of AWS, or throws them within an answer", cases.len() + 2);
    ends_well(talk, &endpoint, recorded);
}
