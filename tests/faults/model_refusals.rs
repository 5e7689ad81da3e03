//! Refusals in every shape: redirects, statuses, what stands in them, and when to come back.

use crate::{
    model_endpoint::{Endpoint, KEY, OPEN, Talk, answer, begun},
    serve_support::{APIS, pairs, sample},
    table::row,
};
use serde_json::{Value, json};

#[test]
fn redirect_is_reported_without_sending_key() {
    let (mut times, other) = (0, Endpoint::new());
    for api in APIS {
        let endpoint = Endpoint::new();
        let mut talk = Talk::new(&endpoint, api, &[]);
        let places = [
            "/elsewhere".to_owned(),
            format!("http://{}/v1/messages", endpoint.address),
            format!("http://{}/", other.address),
            "https://other.example/".to_owned(),
            "file:///etc/passwd".to_owned(),
            format!("http://other.example/?{KEY}={}", "x".repeat(5000)),
        ];
        for (status, place) in sample(pairs(&[301, 302, 307, 308], &places), 5) {
            let asked = endpoint.asked();
            endpoint.says(answer(status, &format!("location: {place}\r\n"), b"moved"));
            let error = talk.fails("hello?");
            let shown = place.replace(KEY, "***");
            let shown = if shown.len() > 1000 { format!("{}…", &shown[..1000]) } else { shown };
            let expected =
                format!("{status} redirected to {shown}, which is not followed: change the model's baseUrl");
            assert_eq!((error, endpoint.asked()), (expected, asked + 1), "{api}");
            times += 1;
        }
        talk.ends_well(&endpoint, api);
    }
    assert_eq!(other.asked(), 0);
    row("redirects: to itself, to another path, host and scheme, to a file", times);
}

/// Bodies with what is told of each; `None`: whatever is, is bounded.
fn bodies() -> Vec<(Vec<u8>, Option<String>)> {
    let told = |text: &str| Some(text.to_owned());
    vec![
        (Vec::new(), told("status code (no body)")),
        (b" \r\n".to_vec(), told("status code (no body)")),
        (b"<html>Gone\n</html>".to_vec(), told("<html>Gone\n</html>")),
        ((0..=255).collect(), None),
        (b"\xff\xfe bad".to_vec(), told("\u{fffd}\u{fffd} bad")),
        (b"\x1b[2J\x1b]0;owned\x07 cleared".to_vec(), told("\x1b[2J\x1b]0;owned\x07 cleared")),
        (b"[[1,2],null]".to_vec(), told("[[1,2],null]")),
        (b"{\"error\":[]}".to_vec(), None),
        (b"{\"error\":{\"message\":{\"deep\":[1]}}}".to_vec(), None),
        ("[".repeat(50_000).into_bytes(), told(&format!("{}…", "[".repeat(1000)))),
        (format!("Incorrect key: {KEY}.").into_bytes(), told("Incorrect key: ***.")),
        (json!({ "error": { "message": format!("Incorrect key: {KEY}") } }).to_string().into_bytes(), None),
        // Where it is cut for people, a key is not shown by half.
        (format!("{}{KEY}", "x".repeat(990)).into_bytes(), told(&format!("{}***", "x".repeat(990)))),
    ]
}

#[test]
fn error_statuses_are_bounded_and_redacted() {
    let cases = pairs(&[400, 401, 403, 404, 429, 500, 503, 529], &bodies());
    let mut times = 0;
    for api in APIS {
        let endpoint = Endpoint::new();
        let mut talk = Talk::new(&endpoint, api, &[]);
        for (at, (status, (body, told))) in sample(cases.clone(), 7).enumerate() {
            endpoint.says(answer(status, "", &body));
            let error = talk.fails("hello?");
            match told {
                Some(told) => assert_eq!(error, format!("{status} {told}"), "{api}"),
                None => {
                    assert!(error.starts_with(&format!("{status} ")) && error.len() < 2000, "{error}")
                }
            }
            assert!(!error.contains("sk-planted"), "{api}: {error}");
            times += 1;
            // The file is read after each prompt.
            if at % 10 == 9 {
                talk.begins_anew();
            }
        }
        // A body without end: as much is taken as is shown, and some more.
        endpoint.does(|caller| {
            caller.say(b"HTTP/1.1 503 Busy\r\nconnection: close\r\n\r\n");
            let piece = vec![b'x'; 64 * 1024];
            let taken = (0..).take_while(|_| caller.say(&piece)).count();
            assert!(taken < 16 * 16, "{taken} pieces of 64 KiB were taken");
        });
        assert_eq!(talk.fails("hello?").len(), "503 ".len() + 1000 + "…".len(), "{api}");
        assert!(talk.server.peak_mib() < 64, "{} MiB", talk.server.peak_mib());
        talk.ends_well(&endpoint, api);
    }
    row(
        "refuses with 400 to 529 and an odd body: empty, HTML, binary, endless, another shape of JSON, escapes of terminals, the key",
        times + APIS.len(),
    );
}

#[test]
fn key_in_stream_error_is_redacted() {
    for api in APIS {
        let endpoint = Endpoint::new();
        let mut talk = Talk::new(&endpoint, api, &[]);
        let error = json!({ "type": "error", "message": format!("bad {KEY}"),
            "error": { "type": "overloaded_error", "message": format!("bad {KEY}") } });
        endpoint.says(format!("{OPEN}{}event: error\ndata: {error}\n\n", begun(api, &["Half"])));
        let error = talk.fails("hello?");
        assert!(error.contains("bad ***"), "{api}: {error}");
        endpoint.says(answer(200, "content-type: text/html\r\n", format!("<p>{KEY}</p>").as_bytes()));
        let error = talk.fails("hello?");
        assert!(
            error.ends_with("not answer with an event stream but text/html: <p>***</p>"),
            "{api}: {error}"
        );
        talk.ends_well(&endpoint, api);
    }
    row("repeats the key in an error within the stream, and in a page with status 200", 2 * APIS.len());
}

#[test]
fn retry_after_is_heeded_within_bounds() {
    let wait = "Server requested 1000000s retry delay (max: 60s). 429 later";
    let cases: [(&str, usize, &str); 6] = [
        ("0", 2, "429 later"),
        ("-5", 2, "429 later"),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 2, "429 later"),
        ("soon", 2, "429 later"),
        ("1e300", 2, "429 later"),
        ("1000000", 1, wait),
    ];
    let settings = json!({ "retry": { "enabled": false, "provider": { "maxRetries": 1 } } });
    let endpoint = Endpoint::new();
    let base = format!("http://{}", endpoint.address);
    let mut talk = Talk::under(&settings, &base, APIS[0], &[], &[]);
    for (header, asked, expected) in cases {
        let before = endpoint.asked();
        endpoint.says(answer(429, &format!("retry-after: {header}\r\n"), b"later"));
        assert_eq!((talk.fails("hello?").as_str(), endpoint.asked() - before), (expected, asked), "{header}");
    }
    talk.ends_well(&endpoint, APIS[0]);
    row("asks with `Retry-After` for no time, a negative, a past and an absurd one", cases.len());
}

#[test]
fn server_retries_and_answers_prompt() {
    let settings = json!({ "retry": { "baseDelayMs": 1, "provider": { "maxRetries": 0 } } });
    for api in APIS {
        let endpoint = Endpoint::new();
        let base = format!("http://{}", endpoint.address);
        let mut talk = Talk::under(&settings, &base, api, &[], &[]);
        endpoint.does(move |caller| {
            match caller.number {
                0 => caller.say(&answer(503, "", b"busy")),
                1 => caller.say(format!("{OPEN}{}", begun(api, &["Half"])).as_bytes()),
                _ => caller
                    .say(format!("{OPEN}{}", crate::model_endpoint::stream(api, &["Whole."])).as_bytes()),
            };
        });
        let said: Value = talk.run("hello?");
        assert_eq!(crate::model_endpoint::text_of(&said), "Whole.", "{api}");
        assert_eq!(endpoint.asked(), 3, "{api}");
        talk.ends_well(&endpoint, api);
    }
    row("is busy, then cuts its answer, then answers", 2 * APIS.len());
}
