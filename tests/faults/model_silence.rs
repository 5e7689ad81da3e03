//! Endpoints that are not there, say nothing, or say it too slowly; and aborts meanwhile.

use crate::{
    model_endpoint::{Endpoint, OPEN, Talk, answer, begun, delta, end, start, stream, text_of},
    serve_support::{APIS, at_once, eventually, sample},
    table::row,
};
use serde_json::{Value, json};
use std::{
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// How long the server bears silence, in seconds. An endpoint of these tests that is late by that is asked again.
const IDLE: &str = "0.5";

/// Between two signs of life: much less than [`IDLE`].
const TICK: Duration = Duration::from_millis(20);

#[test]
fn missing_endpoint_is_named() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let closing = Endpoint::new();
    let cases = [
        (
            format!("http://{gone}"),
            format!("Connection error: {gone}: tcp connect error: Connection refused"),
        ),
        ("http://nowhere.invalid".to_owned(), "Connection error: nowhere.invalid: dns error: ".to_owned()),
        (format!("http://{}", closing.address), format!("Connection error: {}: ", closing.address)),
    ];
    let mut times = 0;
    for (base, expected) in cases {
        let mut talk = Talk::at(&base, APIS[0], &[], &[]);
        for _ in 0..2 {
            let error = talk.fails("hello?");
            assert!(error.starts_with(&expected), "{error}");
            times += 1;
        }
        talk.ends(&[]);
    }
    row("refuses the connection; has an unknown name; accepts and closes", times);
}

/// What an endpoint has said when it falls silent: bytes, and the text in them.
fn silences(api: &str) -> Vec<(String, &'static str)> {
    let half = begun(api, &["Half ", "of it"]);
    let crab = delta(api, "🦀");
    let bytes = crab.find('🦀').unwrap();
    vec![
        (String::new(), ""),
        ("HTTP/1.1 200".to_owned(), ""),
        ("HTTP/1.1 200 OK\r\ncontent-ty".to_owned(), ""),
        (OPEN.to_owned(), ""),
        (format!("{OPEN}{}", start(api)), ""),
        (format!("{OPEN}{half}"), "Half of it"),
        (format!("{OPEN}{half}{}", &crab[..bytes]), "Half of it"),
    ]
}

#[test]
fn silence_ends_at_the_deadline() {
    let cases = APIS.into_iter().flat_map(|api| silences(api).into_iter().map(move |case| (api, case)));
    let times = at_once(sample(cases, 2), |(api, (said, text))| {
        let endpoint = Endpoint::new();
        let mut talk = Talk::new(&endpoint, api, &["--idle-timeout", IDLE]);
        // Half a character is no text: it has to be cut where there are bytes alone.
        let mut bytes = said.clone().into_bytes();
        if said.ends_with('"') && text == "Half of it" {
            bytes.extend(&"🦀".as_bytes()[..2]);
        }
        endpoint.does(move |caller| {
            caller.say(&bytes);
            caller.stall();
        });
        let mut answer = talk.run("hello?");
        // The endpoint itself was too late.
        while answer["stopReason"] == "error" && text_of(&answer) != text {
            answer = talk.run("hello?");
        }
        assert_eq!((&answer["stopReason"], text_of(&answer)), (&json!("error"), text), "{api} {said:?}");
        let error = answer["errorMessage"].as_str().unwrap();
        let expected = match said.contains("\r\n\r\n") {
            true => format!("terminated: the provider was silent for {IDLE} s"),
            false => format!("Connection error: {} was silent for {IDLE} s", endpoint.address),
        };
        assert_eq!(error, expected, "{api} {said:?}");
        talk.ends_well(&endpoint, api);
    });
    row("falls silent: before its answer, within the head, within an event, within a character", times);
}

/// The answer of an endpoint that says `first` and then, as often as `times`, `again`; one that is late is asked once more.
fn kept_alive(talk: &mut Talk, endpoint: &Endpoint, said: (&str, &str), times: usize, last: &str) -> Value {
    let [first, again, last] = [said.0, said.1, last].map(str::to_owned);
    endpoint.does(move |caller| {
        caller.say(first.as_bytes());
        for _ in 0..times {
            if !caller.say(again.as_bytes()) {
                return;
            }
            thread::sleep(TICK);
        }
        caller.say(last.as_bytes());
    });
    loop {
        let answer = talk.run("hello?");
        if !answer["errorMessage"]
            .as_str()
            .is_some_and(|error| error.starts_with("terminated: the provider was silent"))
        {
            return answer;
        }
    }
}

#[test]
fn signs_of_life_without_a_word_end() {
    let (head, ping) = ("HTTP/1.1 200 OK\r\n", ": ping\n\n");
    let event = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
    let (silent, wordless) = (format!(" was silent for {IDLE} s"), "said nothing for 5 s".to_owned());
    let tries = [
        (APIS[0], (head, "x-more: 1\r\n"), usize::MAX, &silent),
        (APIS[0], (OPEN, event), usize::MAX, &wordless),
        (APIS[1], (OPEN, ping), usize::MAX, &wordless),
        // Pings are no silence: an answer that takes its time comes.
        (APIS[1], (OPEN, ping), 50, &String::new()),
    ];
    let times = at_once(tries.into_iter(), |(api, said, times, expected)| {
        let endpoint = Endpoint::new();
        let mut talk = Talk::new(&endpoint, api, &["--idle-timeout", IDLE]);
        let answer = kept_alive(&mut talk, &endpoint, said, times, &stream(api, &["Thought long."]));
        match answer["errorMessage"].as_str() {
            Some(error) => assert!(!expected.is_empty() && error.ends_with(expected), "{error}"),
            None => assert_eq!((text_of(&answer), expected.as_str()), ("Thought long.", "")),
        }
        talk.ends_well(&endpoint, api);
    });
    row("dribbles a head without end; sends comments or pings for ever and no word", times - 1);
}

#[test]
fn an_abort_ends_every_silence_at_once() {
    let mut times = 0;
    for api in APIS {
        let endpoint = Endpoint::new();
        let mut talk = Talk::new(&endpoint, api, &[]);
        let pings = (format!("{OPEN}{}", ": ping\n\n".repeat(9)), "");
        for (said, text) in silences(api).into_iter().chain([pings]) {
            let (bytes, asked) = (said.clone(), endpoint.asked());
            endpoint.does(move |caller| {
                caller.say(bytes.as_bytes());
                caller.stall();
            });
            let prompt = talk.prompts("hello?");
            eventually("it is asked", || endpoint.asked() > asked);
            if !text.is_empty() {
                talk.until(|frame| frame["assistantMessageEvent"]["delta"] == "of it");
            }
            talk.send(json!({ "id": format!("stop {times}"), "type": "abort" }));
            let answer = talk.settles(&prompt);
            assert_eq!(
                (&answer["stopReason"], text_of(&answer)),
                (&json!("aborted"), text),
                "{api} {said:?}"
            );
            times += 1;
        }
        talk.ends_well(&endpoint, api);
    }
    row("stalls in each of these states, and the host aborts", times);
}

#[test]
fn queued_during_cut_is_delivered_next() {
    for api in APIS {
        let endpoint = Endpoint::new();
        let mut talk = Talk::new(&endpoint, api, &[]);
        let cut = Arc::new(AtomicBool::new(false));
        let waits = cut.clone();
        endpoint.does(move |caller| {
            caller.say(format!("{OPEN}{}", begun(api, &["Half"])).as_bytes());
            while !waits.load(Ordering::SeqCst) {
                thread::sleep(TICK);
            }
            caller.reset();
        });
        let prompt = talk.prompts("hello?");
        talk.until(|frame| frame["assistantMessageEvent"]["delta"] == "Half");
        talk.data(json!({ "type": "steer", "message": "steered meanwhile" }));
        cut.store(true, Ordering::SeqCst);
        let answer = talk.settles(&prompt);
        assert_eq!((&answer["stopReason"], text_of(&answer)), (&json!("error"), "Half"), "{api}");
        let heard = Arc::new(AtomicBool::new(false));
        let hears = heard.clone();
        endpoint.does(move |caller| {
            hears.fetch_or(caller.body().contains("steered meanwhile"), Ordering::SeqCst);
            caller.say(format!("{OPEN}{}", stream(api, &["Fine."])).as_bytes());
        });
        talk.prompts("go on");
        talk.until(|frame| frame["type"] == "agent_settled");
        assert!(heard.load(Ordering::SeqCst), "{api}");
        assert!(talk.kept().iter().any(|message| message.to_string().contains("steered meanwhile")), "{api}");
        talk.ends_well(&endpoint, api);
    }
    row("resets the connection while a steering message waits", APIS.len());
}

/// The bytes in chunks of one byte: every character comes split wherever it can be.
fn byte_by_byte(bytes: &[u8]) -> Vec<u8> {
    let mut chunked = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\
                        transfer-encoding: chunked\r\n\r\n"
        .to_vec();
    for byte in bytes {
        chunked.extend([b'1', b'\r', b'\n', *byte, b'\r', b'\n']);
    }
    chunked.extend(b"0\r\n\r\n");
    chunked
}

#[test]
fn answer_in_single_bytes_is_whole() {
    let (mut times, words) = (0, ["Naïve ", "🦀", "—", "ℝ"]);
    for api in APIS {
        let endpoint = Endpoint::new();
        let mut talk = Talk::new(&endpoint, api, &[]);
        let body = stream(api, &words);
        let dribbled = answer(200, "content-type: text/event-stream\r\n", body.as_bytes());
        let unended = format!("{OPEN}{}{}", begun(api, &words), end(api).trim_end());
        for bytes in [byte_by_byte(body.as_bytes()), dribbled, unended.into_bytes()] {
            times += bytes.len();
            endpoint.does(move |caller| {
                for byte in &bytes {
                    caller.say(&[*byte]);
                }
            });
            let answer = talk.run("dribble");
            assert_eq!((&answer["stopReason"], text_of(&answer)), (&json!("stop"), "Naïve 🦀—ℝ"), "{api}");
        }
        talk.ends_well(&endpoint, api);
    }
    row("dribbles byte by byte, each character split wherever it can be", times);
}
