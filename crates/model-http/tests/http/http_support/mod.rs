//! A server on loopback that does exactly what a test says, and what an answer comes to.

use pi_rpc_model::{
    api::Api,
    http_options::HttpOptions,
    request::HttpRequest,
    retry::RetryPolicy,
    types::{BlockStart, Finish, StreamEvent, TokenCounts},
};
use pi_rpc_model_http::http::Http;
use serde_json::json;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

/// Longer than anything takes that works: what lasts so long hangs.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A short answer of Anthropic Messages.
pub const ANSWER: &str = concat!(
    "event: message_start\n",
    "data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"usage\":{\"input_tokens\":3}}}\n\n",
    "event: ping\ndata: {\"type\":\"ping\"}\n\n",
    "event: content_block_start\n",
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,",
    "\"delta\":{\"type\":\"text_delta\",\"text\":\"Grüße 🎈\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: message_delta\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":4}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

/// The events of [`ANSWER`].
pub fn finished() -> Vec<StreamEvent> {
    let counts = TokenCounts { input: 3, cache_write_1h: Some(0), ..TokenCounts::default() };
    vec![
        StreamEvent::ResponseId("msg_1".to_owned()),
        StreamEvent::Usage(counts),
        StreamEvent::Start { index: 0, block: BlockStart::Text },
        StreamEvent::Delta { index: 0, delta: "Grüße 🎈".to_owned() },
        StreamEvent::End { index: 0, signature: None },
        StreamEvent::Usage(TokenCounts { output: 4, ..counts }),
        StreamEvent::ProviderReason("end_turn".to_owned()),
        StreamEvent::Finish(Finish::Stop),
    ]
}

/// An event stream that says its length.
pub fn ok(body: &str) -> String {
    with_status(200, "content-type: text/event-stream\r\n", body)
}

/// An answer with more `headers`, each ended by CR LF.
pub fn with_status(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} Scripted\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
}

/// A request to `url` with a key.
pub fn request(url: &str, key: &str) -> HttpRequest {
    let headers = vec![("x-api-key".to_owned(), key.to_owned())];
    HttpRequest { url: url.to_owned(), headers, body: json!({ "model": 1 }), signing: None }
}

/// The events of a request to the server at `address`.
pub async fn ask(address: String) -> Vec<StreamEvent> {
    ask_with(request(&format!("http://{address}/v1/messages"), "k"), PATIENCE).await
}

/// The events of `request`; `idle` is how long the server may be silent.
pub async fn ask_with(request: HttpRequest, idle: Duration) -> Vec<StreamEvent> {
    ask_by(&Http::default(), request, idle).await
}

/// The same by `http`, without a retry.
pub async fn ask_by(http: &Http, request: HttpRequest, idle: Duration) -> Vec<StreamEvent> {
    ask_as(http, request, &retrying(0, idle)).await
}

/// Options with so many retries, which follow at once; `idle` is how long the server may be silent.
pub fn retrying(retries: u32, idle: Duration) -> HttpOptions {
    let retry = RetryPolicy { retries, first_delay: Duration::ZERO, ..RetryPolicy::default() };
    HttpOptions { first: idle, idle, retry, ..HttpOptions::default() }
}

/// The events of `request` by `http` with these options.
pub async fn ask_as(http: &Http, request: HttpRequest, options: &HttpOptions) -> Vec<StreamEvent> {
    let (events, mut received) = mpsc::channel(1);
    let reader = Api::AnthropicMessages.reader();
    let collect = async {
        let mut all = Vec::new();
        while let Some(event) = received.recv().await {
            all.push(event);
        }
        all
    };
    tokio::join!(http.stream_answer(request, reader, options, events), collect).1
}

/// The events when the server answers `bytes` and closes the connection.
pub async fn asked(bytes: &str) -> Vec<StreamEvent> {
    asked_by(&Http::default(), bytes.as_bytes(), Closing::Orderly).await
}

/// The same by `http`, with the connection closed in that way.
pub async fn asked_by(http: &Http, bytes: &[u8], closing: Closing) -> Vec<StreamEvent> {
    let server = Server::new().await;
    let url = format!("http://{}/v1/messages", server.address());
    tokio::join!(ask_by(http, request(&url, "k"), PATIENCE), async {
        let (mut connection, _) = server.accept().await;
        write(&mut connection, bytes).await;
        if closing == Closing::Reset {
            connection.set_zero_linger().unwrap();
        }
    })
    .0
}

/// How a server closes a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Closing {
    /// After everything was delivered.
    Orderly,
    /// At once; what was not read yet is lost.
    Reset,
}

/// A server that answers nothing by itself.
pub struct Server(TcpListener);

impl Server {
    pub async fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    pub fn address(&self) -> String {
        self.0.local_addr().unwrap().to_string()
    }

    /// The next connection, and the whole request that it brings.
    pub async fn accept(&self) -> (TcpStream, String) {
        let (mut connection, _) = self.0.accept().await.unwrap();
        let mut request = Vec::new();
        while !is_whole(&request) {
            let read = connection.read_buf(&mut request).await.unwrap();
            assert_ne!(read, 0, "the request is cut: {}", String::from_utf8_lossy(&request));
        }
        (connection, String::from_utf8(request).unwrap())
    }
}

/// Whether a request has as many bytes as its head says.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

/// Whether all of `bytes` could be written.
pub async fn write(connection: &mut TcpStream, bytes: &[u8]) -> bool {
    connection.write_all(bytes).await.is_ok()
}
