//! Bodies of answers in other forms than the vendors document: packed, and with other content types.

use crate::http_support::{self, ANSWER, Closing, Server, ask, asked_by, finished};
use flate2::{Compression, write::GzEncoder};
use pi_rpc_model::types::StreamEvent;
use pi_rpc_model_http::http::Http;
use std::io::Write;

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn answer(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status} Scripted\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

async fn read(bytes: &[u8]) -> Vec<StreamEvent> {
    asked_by(&Http::default(), bytes, Closing::Orderly).await
}

#[tokio::test]
async fn packed_answer_is_read() {
    let body = gzip(ANSWER);
    for headers in ["content-encoding: gzip\r\n", "content-encoding: x-gzip\r\n", ""] {
        let headers = format!("{headers}content-type: text/event-stream\r\n");
        assert_eq!(read(&answer(200, &headers, &body)).await, finished(), "{headers}");
    }
}

#[tokio::test]
async fn packed_refusal_is_read() {
    let body = gzip(r#"{"type":"error"}"#);
    let events = read(&answer(400, "content-encoding: gzip\r\n", &body)).await;
    let message = r#"400 {"type":"error"}"#.to_owned();
    assert_eq!(events, [StreamEvent::Fail { message, retry_after: None }]);
}

#[tokio::test]
async fn event_stream_may_have_any_content_type() {
    let kinds = ["application/json", "application/x-ndjson", "text/plain; charset=utf-8", "text/html", ""];
    for kind in kinds {
        let headers = if kind.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
        for before in ["", "\n\n", "\u{feff}", ": comment\n\n"] {
            let body = format!("{before}{ANSWER}");
            assert_eq!(read(&answer(200, &headers, body.as_bytes())).await, finished(), "{kind} {before:?}");
        }
    }
}

#[tokio::test]
async fn other_bodies_are_quoted() {
    let refused = r#"{"error":{"message":"no such model"}}"#;
    let whole = r#"{"content":[{"type":"text","text":"Hi"}]}"#;
    for (kind, body, passes) in [
        ("text/html", "<html>Log in</html>", ""),
        ("application/json", whole, "terminated: "),
        ("text/plain", "upstream busy", "terminated: "),
        ("", "<html>Log in</html>", "terminated: "),
        ("application/json", refused, ""),
    ] {
        let server = Server::new().await;
        let (events, ()) = tokio::join!(ask(server.address()), async {
            let headers = if kind.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
            let bytes = answer(200, &headers, body.as_bytes());
            http_support::write(&mut server.accept().await.0, &bytes).await;
        });
        let kind = if kind.is_empty() { "no content type" } else { kind };
        let host = server.address();
        let message = format!("{passes}{host} did not answer with an event stream but {kind}: {body}");
        assert_eq!(events, [StreamEvent::Fail { message, retry_after: None }], "{kind}");
    }
}
