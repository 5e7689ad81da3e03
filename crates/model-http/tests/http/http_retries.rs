//! A request that fails before its answer begins is sent again, and none after that.

use crate::http_support::{
    ANSWER, PATIENCE, Server, ask_as, finished, ok, request, retrying, with_status, write,
};
use pi_rpc_model::{api::Api, http_options::HttpOptions, types::StreamEvent};
use pi_rpc_model_http::http::Http;
use std::time::{Duration, Instant};
use tokio::{io::AsyncReadExt, sync::mpsc};

/// The events, and the requests that were sent, when each of them gets the next of `answers`.
async fn asked(answers: &[String], options: &HttpOptions) -> (Vec<StreamEvent>, Vec<String>) {
    let server = Server::new().await;
    let url = format!("http://{}/v1/messages", server.address());
    let mut requests = Vec::new();
    let serve = async {
        for answer in answers {
            let (mut connection, request) = server.accept().await;
            requests.push(request);
            write(&mut connection, answer.as_bytes()).await;
        }
        requests.push(server.accept().await.1);
    };
    let http = Http::default();
    let events = tokio::select! {
        events = ask_as(&http, request(&url, "k"), options) => events,
        () = serve => panic!("more requests than {}", answers.len()),
    };
    (events, requests)
}

/// Two retries without a wait.
fn twice() -> HttpOptions {
    retrying(2, PATIENCE)
}

/// The last answer of its connection.
fn last(status: u16, headers: &str, body: &str) -> String {
    with_status(status, &format!("connection: close\r\n{headers}"), body)
}

fn refused(status: u16) -> String {
    last(status, "", "no")
}

fn failed(message: &str, retry_after: Option<u64>) -> Vec<StreamEvent> {
    let retry_after = retry_after.map(Duration::from_secs);
    vec![StreamEvent::Fail { message: message.to_owned(), retry_after }]
}

#[tokio::test]
async fn transient_status_is_retried() {
    for status in [408, 409, 429, 500, 502, 503, 529] {
        let (events, requests) =
            asked(&[refused(status), refused(status), last(200, "", ANSWER)], &twice()).await;
        assert_eq!(events, finished(), "{status}");
        assert_eq!(requests, vec![requests[0].clone(); 3], "{status}");
    }
}

#[tokio::test]
async fn last_failure_is_reported_alone() {
    let answers = [refused(500), refused(502), last(529, "retry-after: 90\r\n", "busy")];
    let (events, requests) = asked(&answers, &twice()).await;
    assert_eq!((events, requests.len()), (failed("529 busy", Some(90)), 3));
}

#[tokio::test]
async fn client_errors_are_not_retried() {
    for status in [307, 400, 401, 403, 404, 413, 422] {
        let (events, requests) = asked(&[refused(status)], &twice()).await;
        assert_eq!((events, requests.len()), (failed(&format!("{status} no"), None), 1));
    }
}

#[tokio::test]
async fn should_retry_header_decides() {
    let says = |status, word| last(status, &format!("x-should-retry: {word}\r\n"), "no");
    let (events, requests) = asked(&[says(529, "false")], &twice()).await;
    assert_eq!((events, requests.len()), (failed("529 no", None), 1));
    let (events, requests) = asked(&[says(400, "true"), last(200, "", ANSWER)], &twice()).await;
    assert_eq!((events, requests.len()), (finished(), 2));
    let (events, requests) = asked(&[says(404, "perhaps")], &twice()).await;
    assert_eq!((events, requests.len()), (failed("404 no", None), 1));
}

#[tokio::test]
async fn lost_connection_is_retried() {
    let nothing = String::new;
    let (events, requests) = asked(&[nothing(), nothing(), last(200, "", ANSWER)], &twice()).await;
    assert_eq!((events, requests.len()), (finished(), 3));
    let (events, requests) = asked(&[nothing(), nothing(), nothing()], &twice()).await;
    let [StreamEvent::Fail { message, retry_after: None }] = &events[..] else { panic!("{events:?}") };
    assert!(message.starts_with("Connection error: 127.0.0.1:"), "{message}");
    assert_eq!(requests.len(), 3);
}

#[tokio::test]
async fn silence_before_answer_is_retried() {
    let server = Server::new().await;
    let url = format!("http://{}/", server.address());
    let options = HttpOptions { first: Duration::from_millis(500), ..twice() };
    let http = Http::default();
    let (events, _silent) = tokio::join!(ask_as(&http, request(&url, "k"), &options), async {
        [server.accept().await, server.accept().await, server.accept().await]
    });
    let expected = format!("Connection error: {} was silent for 0.5 s", server.address());
    assert_eq!(events, failed(&expected, None));
}

#[tokio::test]
async fn begun_answer_is_not_retried() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-should-retry: true\r\n\r\n";
    for at in [0, 1, ANSWER.len() / 2, ANSWER.len() - 40] {
        let (events, requests) = asked(&[format!("{head}{}", &ANSWER[..at])], &twice()).await;
        let Some((StreamEvent::Fail { .. }, before)) = events.split_last() else { panic!("{events:?}") };
        assert_eq!((before, requests.len()), (&finished()[..before.len()], 1), "{at}");
    }
    let (_, requests) = asked(&[last(200, "content-type: application/json\r\n", "{}")], &twice()).await;
    assert_eq!(requests.len(), 1);
}

#[tokio::test]
async fn retry_after_replaces_usual_delay() {
    let mut options = twice();
    options.retry.first_delay = Duration::from_secs(86_400);
    let soon = last(429, "retry-after-ms: 20\r\nretry-after: 3600\r\n", "no");
    let started = Instant::now();
    let answers = [soon.clone(), soon, last(200, "", ANSWER)];
    let (events, requests) =
        tokio::time::timeout(PATIENCE, asked(&answers, &options)).await.expect("an answer");
    assert_eq!((events, requests.len()), (finished(), 3));
    assert!(started.elapsed() >= Duration::from_millis(40));
}

#[tokio::test]
async fn retry_after_beyond_limit_fails() {
    let later = |text: &str| last(429, &format!("retry-after: {text}\r\n"), "slow down");
    let (events, requests) = asked(&[later("60.001")], &twice()).await;
    let [StreamEvent::Fail { message, retry_after }] = &events[..] else { panic!("{events:?}") };
    assert_eq!(message, "Server requested 61s retry delay (max: 60s). 429 slow down");
    assert_eq!((*retry_after, requests.len()), (Some(Duration::from_millis(60_001)), 1));
    // Where it would not be asked again, no limit is in the way.
    let (events, _) = asked(&[later("61")], &retrying(0, PATIENCE)).await;
    assert_eq!(events, failed("429 slow down", Some(61)));
}

#[tokio::test]
async fn dropped_listener_ends_retry_delay() {
    let server = Server::new().await;
    let (events, listener) = mpsc::channel(1);
    let url = format!("http://{}/", server.address());
    let mut options = twice();
    options.retry.longest_delay = None;
    let http = Http::default();
    let asking = http.stream_answer(request(&url, "k"), Api::AnthropicMessages.reader(), &options, events);
    let both = async {
        tokio::join!(asking, async {
            let (mut connection, _) = server.accept().await;
            write(&mut connection, last(503, "retry-after: 86400\r\n", "no").as_bytes()).await;
            // The answer has been read when the other side closes the connection.
            assert_eq!(connection.read(&mut [0]).await.unwrap(), 0);
            drop(listener);
        })
    };
    tokio::time::timeout(PATIENCE, both).await.expect("the wait goes on");
}

#[tokio::test]
async fn stale_connection_is_replaced() {
    let server = Server::new().await;
    let url = format!("http://{}/v1/messages", server.address());
    let http = Http::default();
    let options = retrying(0, PATIENCE);
    let ask = || ask_as(&http, request(&url, "k"), &options);
    // Not the last answer of its connection, which is kept.
    let (first, mut kept) = tokio::join!(ask(), async {
        let (mut connection, _) = server.accept().await;
        write(&mut connection, ok(ANSWER).as_bytes()).await;
        connection
    });
    let second = tokio::join!(ask(), async {
        // Closed when the next request has come.
        let mut request = [0; 16];
        kept.read_exact(&mut request).await.unwrap();
        drop(kept);
        let (mut connection, _) = server.accept().await;
        write(&mut connection, ok(ANSWER).as_bytes()).await;
    });
    assert_eq!([first, second.0], [finished(), finished()]);
}

#[tokio::test]
async fn overflow_code_is_told_with_refusal() {
    let refused = last(400, "", r#"{"error":{"code":"context_overflow","message":"No."}}"#);
    let (sender, mut events) = mpsc::channel(1);
    let server = Server::new().await;
    let url = format!("http://{}/v1/chat/completions", server.address());
    let (http, reader) = (Http::default(), Api::OpenaiCompletions.reader());
    let options = twice();
    let ((), event, ()) = tokio::join!(
        http.stream_answer(request(&url, "k"), reader, &options, sender),
        events.recv(),
        async {
            write(&mut server.accept().await.0, refused.as_bytes()).await;
        }
    );
    let message = "400 context_overflow: No.".to_owned();
    assert_eq!(event, Some(StreamEvent::Fail { message, retry_after: None }));
}
