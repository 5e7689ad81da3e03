//! Answers over WebSockets: one connection for a session, what is new alone, and server-sent events where that fails.

use crate::http_support::{PATIENCE, ok, retrying};
use futures_util::{SinkExt as _, StreamExt as _};
use pi_rpc_model::{
    api::Api,
    http_options::{HttpOptions, Transport},
    openai_codex::socket::socket,
    request::HttpRequest,
    types::{Finish, StreamEvent},
};
use pi_rpc_model_http::http::{AnswerWatch, Http};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async, tungstenite::Message};

/// A request of the session with this input.
fn request(address: &str, input: Value) -> HttpRequest {
    let headers =
        [("authorization", "Bearer key"), ("chatgpt-account-id", "account"), ("session-id", "session")];
    HttpRequest {
        url: format!("http://{address}/codex/responses"),
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        body: json!({"model": "m", "input": input}),
        signing: None,
    }
}

/// The texts and the end of the answer.
async fn asked(http: &Http, request: HttpRequest, options: &HttpOptions) -> Vec<String> {
    let (events, mut received) = mpsc::channel(1);
    let reader = Api::OpenaiCodexResponses.reader();
    let socket = socket(&request, "drawn");
    let collect = async {
        let mut all = Vec::new();
        while let Some(event) = received.recv().await {
            match event {
                StreamEvent::Delta { delta, .. } => all.push(delta),
                StreamEvent::Finish(finish) => all.push(format!("{finish:?}")),
                StreamEvent::Fail { message, .. } => all.push(message),
                _ => {}
            }
        }
        all
    };
    let answer = http.stream_socket_answer(socket, request, reader, options, events, AnswerWatch::default());
    tokio::join!(answer, collect).1
}

fn options(transport: Transport) -> HttpOptions {
    HttpOptions { transport, ..retrying(0, PATIENCE) }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// The item of an answer, as the server sends it and the next request has it.
fn said(id: &str, text: &str) -> Value {
    json!({
        "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}],
        "status": "completed", "id": format!("msg_{id}"),
    })
}

/// The events of an answer.
fn answer(id: &str, text: &str) -> Vec<Value> {
    vec![
        json!({"type": "response.created", "response": {"id": id}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": said(id, text)}),
        json!({"type": "response.completed", "response": {"id": id, "status": "completed"}}),
    ]
}

type Socket = WebSocketStream<TcpStream>;

/// Accepts a WebSocket; gives back the headers that asked for it.
async fn accepted(listener: &TcpListener) -> (Socket, Vec<String>) {
    let (stream, _) = listener.accept().await.unwrap();
    let mut headers = Vec::new();
    #[expect(clippy::result_large_err, reason = "the type of the library")]
    let look = |request: &tokio_tungstenite::tungstenite::handshake::server::Request, response| {
        let names = ["openai-beta", "session-id", "content-type", "authorization"];
        let found = names.into_iter().filter_map(|name| Some((name, request.headers().get(name)?)));
        headers.extend(found.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())));
        Ok(response)
    };
    let socket = accept_hdr_async(stream, look).await.unwrap();
    (socket, headers)
}

/// Reads a request and answers it with these events.
async fn exchange(socket: &mut Socket, events: &[Value]) -> Value {
    let Message::Text(text) = socket.next().await.unwrap().unwrap() else { panic!("no text") };
    for event in events {
        socket.send(Message::text(event.to_string())).await.unwrap();
    }
    serde_json::from_str(&text).unwrap()
}

/// Reads a request over HTTP and answers it as an event stream.
async fn exchange_over_http(listener: &TcpListener, events: &[Value]) -> String {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = vec![0; 64 * 1024];
    let size = stream.read(&mut head).await.unwrap();
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    stream.write_all(ok(&body).as_bytes()).await.unwrap();
    String::from_utf8_lossy(&head[..size]).lines().next().unwrap().to_owned()
}

async fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

#[tokio::test]
async fn next_request_has_new_items_alone() {
    let (listener, address) = listener().await;
    let http = Http::default();
    let serve = async {
        let (mut socket, headers) = accepted(&listener).await;
        let first = exchange(&mut socket, &answer("r1", "Yes.")).await;
        (headers, first, exchange(&mut socket, &answer("r2", "So.")).await)
    };
    let ask = async {
        let options = options(Transport::Auto);
        let first = asked(&http, request(&address, json!([user("one")])), &options).await;
        let input = json!([user("one"), said("r1", "Yes."), user("two")]);
        (first, asked(&http, request(&address, input), &options).await)
    };
    let ((headers, first, second), answers) = tokio::join!(serve, ask);
    let finished = |text: &str| vec![text.to_owned(), format!("{:?}", Finish::Stop)];
    assert_eq!(answers, (finished("Yes."), finished("So.")));
    let expected =
        ["openai-beta: responses_websockets=2026-02-06", "session-id: session", "authorization: Bearer key"];
    assert_eq!(headers, expected);
    assert_eq!(first, json!({"type": "response.create", "model": "m", "input": [user("one")]}));
    let expected = json!({
        "type": "response.create", "model": "m", "input": [user("two")], "previous_response_id": "r1",
    });
    assert_eq!(second, expected);
}

#[tokio::test]
async fn whole_conversation_is_sent_without_continuation() {
    let (listener, address) = listener().await;
    let http = Http::default();
    let serve = async {
        let (mut socket, _) = accepted(&listener).await;
        exchange(&mut socket, &answer("r1", "Yes.")).await;
        exchange(&mut socket, &answer("r2", "So.")).await
    };
    let input = json!([user("one"), said("r1", "Yes."), user("two")]);
    let ask = async {
        let options = options(Transport::WebSocket);
        asked(&http, request(&address, json!([user("one")])), &options).await;
        asked(&http, request(&address, input.clone()), &options).await
    };
    let (second, _) = tokio::join!(serve, ask);
    assert_eq!(second, json!({"type": "response.create", "model": "m", "input": input}));
}

#[tokio::test]
async fn lost_answer_is_asked_whole_again() {
    let (listener, address) = listener().await;
    let http = Http::default();
    let serve = async {
        let (mut socket, _) = accepted(&listener).await;
        exchange(&mut socket, &answer("r1", "Yes.")).await;
        let lost =
            json!({"type": "error", "error": {"code": "previous_response_not_found", "message": "No"}});
        exchange(&mut socket, &[lost]).await;
        let (mut socket, _) = accepted(&listener).await;
        exchange(&mut socket, &answer("r2", "So.")).await
    };
    let input = json!([user("one"), said("r1", "Yes."), user("two")]);
    let ask = async {
        let options = options(Transport::Auto);
        asked(&http, request(&address, json!([user("one")])), &options).await;
        asked(&http, request(&address, input.clone()), &options).await
    };
    let (again, answers) = tokio::join!(serve, ask);
    assert_eq!((&again["input"], &again["previous_response_id"]), (&input, &Value::Null));
    assert_eq!(answers, ["So.", "Stop"]);
}

#[tokio::test]
async fn refused_socket_falls_back_for_session() {
    let (listener, address) = listener().await;
    let http = Http::default();
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = vec![0; 4096];
        let size = stream.read(&mut head).await.unwrap();
        stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        drop(stream);
        let first = String::from_utf8_lossy(&head[..size]).lines().next().unwrap().to_owned();
        let second = exchange_over_http(&listener, &answer("r1", "Yes.")).await;
        [first, second, exchange_over_http(&listener, &answer("r2", "So.")).await]
    };
    let ask = async {
        let options = options(Transport::Auto);
        let first = asked(&http, request(&address, json!([user("one")])), &options).await;
        (first, asked(&http, request(&address, json!([user("two")])), &options).await)
    };
    let (lines, answers) = tokio::join!(serve, ask);
    let post = "POST /codex/responses HTTP/1.1";
    assert_eq!(lines, ["GET /codex/responses HTTP/1.1", post, post]);
    assert_eq!(
        answers,
        (vec!["Yes.".to_owned(), "Stop".to_owned()], vec!["So.".to_owned(), "Stop".to_owned()])
    );
}

#[tokio::test]
async fn socket_that_closes_in_answer_fails_it() {
    let (listener, address) = listener().await;
    let http = Http::default();
    let serve = async {
        let (mut socket, _) = accepted(&listener).await;
        exchange(&mut socket, &answer("r1", "Yes.")[..1]).await;
        socket.close(None).await.unwrap();
    };
    let options = options(Transport::Auto);
    let (_, answers) = tokio::join!(serve, asked(&http, request(&address, json!([user("one")])), &options));
    assert_eq!(answers, ["terminated: WebSocket closed"]);
}

#[tokio::test]
async fn sse_asks_for_no_socket() {
    let (listener, address) = listener().await;
    let http = Http::default();
    let events = answer("r1", "Yes.");
    let serve = exchange_over_http(&listener, &events);
    let options = options(Transport::Sse);
    let (line, _) = tokio::join!(serve, asked(&http, request(&address, json!([user("one")])), &options));
    assert_eq!(line, "POST /codex/responses HTTP/1.1");
}
