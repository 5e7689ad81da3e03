//! Asking a model over HTTP, against a server that does exactly what each test says.

use crate::http_support::{
    self, ANSWER, Closing, PATIENCE, Server, ask, ask_as, asked, asked_by, finished, ok, request, retrying,
    with_status,
};
use pi_rpc_model::{
    http_options::HttpOptions,
    request::Credentials,
    types::{Finish, StreamEvent},
};
use pi_rpc_model_http::http::Http;
use proptest::prelude::*;
use std::time::Duration;
use tokio::io::AsyncReadExt;

fn message(events: &[StreamEvent]) -> &str {
    match events {
        [StreamEvent::Fail { message, .. }] => message,
        other => panic!("not one failure: {other:?}"),
    }
}

#[tokio::test]
async fn request_is_a_json_post() {
    let server = Server::new().await;
    let answering = tokio::spawn(ask(server.address()));
    let (mut connection, request) = server.accept().await;
    http_support::write(&mut connection, ok(ANSWER).as_bytes()).await;
    drop(connection);
    assert_eq!(answering.await.unwrap(), finished());
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> = head.lines().filter(|line| !line.starts_with("host: ")).collect();
    lines.sort();
    let agent = format!("user-agent: pi-rpc/{}", env!("CARGO_PKG_VERSION"));
    let expected = ["POST /v1/messages HTTP/1.1", "accept: */*", "content-length: 11"];
    let mut expected = [&expected[..], &["content-type: application/json", &agent, "x-api-key: k"]].concat();
    expected.sort();
    assert_eq!((lines, body), (expected, r#"{"model":1}"#));
}

#[test]
fn debug_output_hides_keys() {
    let credentials = Credentials {
        key: Some("sk-1".into()),
        headers: vec![("x".into(), "sk-2".into())],
        ..Credentials::default()
    };
    let shown = format!("{credentials:?} {:?}", request("http://a/", "sk-3"));
    assert!(!shown.contains("sk-") && shown.contains("x-api-key"), "{shown}");
}

#[tokio::test]
async fn other_status_fails_with_body() {
    let overloaded = r#"{"type": "error", "error": {"type": "overloaded_error"}}"#;
    let long = "x".repeat(5000);
    let cut = format!("502 {}…", &long[..1000]);
    for (status, body, expected) in [
        (400, r#"{"a":1}"#, r#"400 {"a":1}"#),
        (401, "", "401 status code (no body)"),
        (404, "  \n", "404 status code (no body)"),
        (413, "too large\n", "413 too large"),
        (429, r#""slow down""#, r#"429 "slow down""#),
        (500, "<html>oh</html>", "500 <html>oh</html>"),
        (502, &long, &cut),
        (529, overloaded, r#"529 {"type":"error","error":{"type":"overloaded_error"}}"#),
        (304, "", "304 status code (no body)"),
    ] {
        let events = asked(&with_status(status, "content-type: application/json\r\n", body)).await;
        assert_eq!(
            events,
            [StreamEvent::Fail { message: expected.to_owned(), retry_after: None }],
            "{status}"
        );
    }
}

#[tokio::test]
async fn retry_after_is_read_in_every_form() {
    let past = "Wed, 21 Oct 2015 07:28:00 GMT";
    for (headers, expected) in [
        ("retry-after: 7".to_owned(), Some(7000)),
        ("retry-after: 1.5".to_owned(), Some(1500)),
        ("retry-after-ms: 250\r\nretry-after: 7".to_owned(), Some(250)),
        ("retry-after-ms: soon\r\nretry-after: 7".to_owned(), Some(7000)),
        (format!("retry-after: {past}"), Some(0)),
        ("retry-after: -1".to_owned(), None),
        ("retry-after: NaN".to_owned(), None),
        ("retry-after: 1e300".to_owned(), None),
        ("retry-after: tomorrow".to_owned(), None),
    ] {
        let events = asked(&with_status(429, &format!("{headers}\r\n"), "")).await;
        let [StreamEvent::Fail { retry_after, .. }] = &events[..] else { panic!("{events:?}") };
        assert_eq!(*retry_after, expected.map(Duration::from_millis), "{headers}");
    }
    let later = std::time::SystemTime::now() + Duration::from_secs(3600);
    let header = format!("retry-after: {}\r\n", httpdate::fmt_http_date(later));
    let events = asked(&with_status(503, &header, "")).await;
    let [StreamEvent::Fail { retry_after: Some(wait), .. }] = &events[..] else { panic!("{events:?}") };
    assert!((3480..=3600).contains(&wait.as_secs()), "{wait:?}");
}

#[tokio::test]
async fn redirect_is_not_followed() {
    let events = asked(&with_status(307, "location: https://elsewhere.example/x\r\n", "")).await;
    assert_eq!(
        message(&events),
        "307 redirected to https://elsewhere.example/x, which is not followed: change the model's baseUrl"
    );
}

#[tokio::test]
async fn other_content_type_fails_with_beginning() {
    for (kind, passes) in [("application/json", "terminated: "), ("text/html; charset=utf-8", "")] {
        let server = Server::new().await;
        let (events, ()) = tokio::join!(ask(server.address()), async {
            let answer = with_status(200, &format!("content-type: {kind}\r\n"), " {\"oops\":true} ");
            http_support::write(&mut server.accept().await.0, answer.as_bytes()).await;
        });
        let host = server.address();
        let expected =
            format!("{passes}{host} did not answer with an event stream but {kind}: {{\"oops\":true}}");
        assert_eq!(message(&events), expected);
    }
}

#[tokio::test]
async fn missing_content_type_is_accepted() {
    assert_eq!(asked(&with_status(200, "", ANSWER)).await, finished());
    let events = asked(&with_status(204, "", "")).await;
    assert_eq!(message(&events), "terminated: the stream ended before the answer was complete");
}

/// Asks once for every length to which `answer` can be cut; the lengths at which the answer counts as complete.
async fn complete_when_cut(answer: &str, closing: Closing) -> Vec<usize> {
    let http = Http::default();
    let mut complete = Vec::new();
    for at in 0..=answer.len() {
        let events = asked_by(&http, &answer.as_bytes()[..at], closing).await;
        let Some((last, before)) = events.split_last() else { panic!("{at}: nothing") };
        assert_eq!(before, &finished()[..before.len()], "{at}");
        match last {
            StreamEvent::Finish(Finish::Stop) => complete.push(at),
            StreamEvent::Fail { retry_after: None, .. } => {}
            other => panic!("{at}: {other:?}"),
        }
    }
    complete
}

#[tokio::test]
async fn answer_shorter_than_length_fails() {
    let answer = ok(ANSWER);
    assert_eq!(complete_when_cut(&answer, Closing::Orderly).await, [answer.len()]);
    assert_eq!(asked(&ok(ANSWER.trim_end())).await, finished(), "without the blank line at the end");
    let events = asked(&answer[..answer.len() - 40]).await;
    let Some(StreamEvent::Fail { message, retry_after: None }) = events.last() else { panic!("{events:?}") };
    assert!(message.starts_with("terminated: "), "{message}");
}

#[tokio::test]
async fn last_event_completes_answer_without_length() {
    let answer = with_status_open(ANSWER);
    let last = answer.trim_end().len();
    assert_eq!(complete_when_cut(&answer, Closing::Orderly).await, [last, last + 1, last + 2]);
}

#[tokio::test]
async fn reset_connection_fails_at_any_byte() {
    let answer = ok(ANSWER);
    let complete = complete_when_cut(&answer, Closing::Reset).await;
    assert!(complete.is_empty() || complete == [answer.len()], "{complete:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn answer_in_any_pieces_is_read(
        mut cuts in prop::collection::vec(0..ANSWER.len(), 0..40),
        breaks in prop::sample::select(vec!["\n", "\r\n", "\r"]),
    ) {
        cuts.sort();
        let answer = ANSWER.replace('\n', breaks);
        let mut chunked = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                            transfer-encoding: chunked\r\n\r\n".to_vec();
        let mut from = 0;
        for to in cuts.into_iter().chain([answer.len()]).filter(|to| *to > 0) {
            if to > from {
                chunked.extend(format!("{:x}\r\n", to - from).bytes());
                chunked.extend(&answer.as_bytes()[from..to]);
                chunked.extend(b"\r\n");
            }
            from = to;
        }
        chunked.extend(b"0\r\n\r\n");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let events = runtime.block_on(asked_by(&Http::default(), &chunked, Closing::Orderly));
        prop_assert_eq!(events, finished());
    }
}

#[tokio::test]
async fn refused_connection_names_the_address() {
    let server = Server::new().await;
    let place = server.address();
    drop(server);
    let events = ask(place.clone()).await;
    let text = message(&events);
    let expected = format!("Connection error: {place}: tcp connect error: Connection refused");
    assert!(text.starts_with(&expected), "{text}");
}

#[tokio::test]
async fn invalid_address_or_header_fails() {
    let said = |url: &str, header: &str| {
        let request = http_support::request(url, header);
        async move { message(&http_support::ask_with(request, PATIENCE).await).to_owned() }
    };
    assert_eq!(
        said("api.example.com/v1", "k").await,
        "api.example.com/v1 is no HTTP address: the model's baseUrl must begin with http:// or https://"
    );
    assert_eq!(
        said("http://127.0.0.1:1/", "secret\n").await,
        "The header \"x-api-key\" has characters that HTTP does not allow"
    );
}

#[tokio::test]
async fn silence_before_answer_times_out() {
    let server = Server::new().await;
    let idle = Duration::from_millis(500);
    let request = http_support::request(&format!("http://{}/", server.address()), "k");
    let asking = http_support::ask_with(request, idle);
    let (events, _connection) = tokio::join!(asking, server.accept());
    let expected = format!("Connection error: {} was silent for 0.5 s", server.address());
    assert_eq!(message(&events), expected);
}

#[tokio::test]
async fn silence_in_answer_times_out() {
    let server = Server::new().await;
    let request = http_support::request(&format!("http://{}/", server.address()), "k");
    let http = Http::default();
    let options = HttpOptions { first: PATIENCE, ..retrying(0, Duration::from_millis(50)) };
    let (events, _connection) = tokio::join!(ask_as(&http, request, &options), async {
        let (mut connection, _) = server.accept().await;
        let half = &ANSWER[..ANSWER.find("content_block_stop").unwrap()];
        http_support::write(&mut connection, with_status_open(half).as_bytes()).await;
        connection
    });
    let last = StreamEvent::Fail {
        message: "terminated: the provider was silent for 0.05 s".to_owned(),
        retry_after: None,
    };
    assert_eq!(events.last(), Some(&last));
    assert!(events.len() > 3, "{events:?}");
}

/// A head without a length, so that the answer goes on until the connection ends.
fn with_status_open(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{body}")
}

#[tokio::test]
async fn event_size_is_limited() {
    let server = Server::new().await;
    let (events, ()) = tokio::join!(ask(server.address()), async {
        let (mut connection, _) = server.accept().await;
        http_support::write(&mut connection, with_status_open("data: ").as_bytes()).await;
        let piece = vec![b'x'; 1024 * 1024];
        while http_support::write(&mut connection, &piece).await {}
    });
    assert_eq!(message(&events), "terminated: the provider sent an event of more than 16777216 bytes");
}

#[tokio::test]
async fn dropped_request_closes_connection() {
    for sent in ["", &with_status_open(&ANSWER[..200])] {
        let server = Server::new().await;
        let asking = tokio::spawn(ask(server.address()));
        let (mut connection, _) = server.accept().await;
        http_support::write(&mut connection, sent.as_bytes()).await;
        asking.abort();
        assert!(asking.await.unwrap_err().is_cancelled());
        let closed = tokio::time::timeout(PATIENCE, connection.read(&mut [0])).await;
        assert!(matches!(closed, Ok(Ok(0) | Err(_))), "{closed:?}");
    }
}

#[tokio::test]
async fn dropped_listener_ends_request() {
    let server = Server::new().await;
    let (events, listener) = tokio::sync::mpsc::channel(1);
    let request = http_support::request(&format!("http://{}/", server.address()), "k");
    let http = Http::default();
    let reader = pi_rpc_model::api::Api::AnthropicMessages.reader();
    let options = HttpOptions::default();
    let asking = http.stream_answer(request, reader, &options, events);
    let ((), _connection) = tokio::join!(asking, async {
        let connection = server.accept().await;
        drop(listener);
        connection
    });
}
