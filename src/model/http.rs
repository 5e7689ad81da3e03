//! Asking a real model: one `POST`, and its answer as it arrives. The only file here that does IO.

use super::{
    request::{HttpRequest, Reader},
    types::StreamEvent,
};
use eventsource_stream::{EventStreamError, Eventsource};
use futures_util::{Stream, StreamExt, stream};
use reqwest::{
    Client, Request, Response, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION},
    redirect,
};
use serde_json::Value;
use std::{
    error::Error,
    net::IpAddr,
    pin::pin,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};
use tokio::{sync::mpsc, time::timeout};

/// Connections to providers, kept open between requests. Nothing is set up before the first request.
///
/// Proxies are those of the environment (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`). A model on this machine
/// that speaks plain HTTP is asked directly, and needs no certificates to be installed. Redirects are not followed:
/// they would carry the key to another host.
#[derive(Debug, Default)]
pub struct Http {
    /// For everything but `local`.
    outward: OnceLock<Client>,
    /// For plain HTTP on this machine.
    local: OnceLock<Client>,
}

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(30);
/// How often a silent connection is tried, so that one that died unnoticed does not wait for the idle deadline.
const ALIVE: Duration = Duration::from_secs(30);
/// How long the body of an error may take: the status is known, and somebody waits.
const ERROR_BODY: Duration = Duration::from_secs(10);
/// Bytes that are read of the body of an error.
const ERROR_BYTES: usize = 64 * 1024;
/// Characters that are shown of what is not JSON.
const SHOWN: usize = 1000;
/// Bytes of one server-sent event. The longest real ones repeat a whole answer.
const EVENT_BYTES: usize = 16 * 1024 * 1024;

impl Http {
    /// Asks, and gives `events` what `reader` makes of the answer, the last of it exactly one
    /// [`StreamEvent::Finish`] or [`StreamEvent::Fail`].
    ///
    /// `idle` is how long the provider may be silent, before and while it answers. Dropping the future closes the
    /// connection; so does dropping the receiver.
    ///
    /// What fails: without a connection `Connection error: …`; a connection that breaks `terminated: …`; a status
    /// other than 2xx as `<status> <what reader finds in the body>`, with the time that the provider asks to wait.
    pub async fn ask(
        &self,
        request: HttpRequest,
        reader: Box<dyn Reader>,
        idle: Duration,
        events: mpsc::Sender<StreamEvent>,
    ) {
        let answered = tokio::select! {
            answered = self.answer(request, reader, idle, &events) => answered,
            () = events.closed() => return,
        };
        if let Err(failure) = answered {
            // Nobody listens any more: nobody needs to know.
            let _ = events.send(failure.into()).await;
        }
    }

    async fn answer(
        &self,
        request: HttpRequest,
        mut reader: Box<dyn Reader>,
        idle: Duration,
        events: &mpsc::Sender<StreamEvent>,
    ) -> Result<(), Failure> {
        // Images make a body of many megabytes: writing it would hold up everything else.
        let request = tokio::task::spawn_blocking(move || post(request)).await;
        let request = request
            .map_err(|panic| Failure::new(format!("The request could not be written: {panic}")))
            .flatten()?;
        let host = host(request.url());
        let client = self.client(request.url())?;
        let response = match timeout(idle, client.execute(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                return Err(Failure::new(format!("Connection error: {host}: {}", chain(error))));
            }
            Err(_) => {
                return Err(Failure::new(format!(
                    "Connection error: {host} was silent for {}",
                    seconds(idle)
                )));
            }
        };
        if !response.status().is_success() {
            return Err(refusal(response, reader, idle.min(ERROR_BODY)).await);
        }
        if let Some(kind) = other_kind(&response) {
            let start = shown(&beginning(response, idle.min(ERROR_BODY)).await);
            return Err(Failure::new(format!(
                "{host} did not answer with an event stream but {kind}: {start}"
            )));
        }
        let unread = AtomicUsize::new(0);
        let mut stream = pin!(lines(response, idle, &unread).eventsource());
        while let Some(event) = stream.next().await {
            unread.store(0, Ordering::Relaxed);
            let event = event.map_err(|error| Failure::new(broken(error, idle)))?;
            if told(reader.event(&event.event, &event.data), events).await {
                return Ok(());
            }
        }
        told(reader.end(), events).await;
        Ok(())
    }

    /// The client for `url`; made when it is first needed.
    fn client(&self, url: &Url) -> Result<Client, Failure> {
        let local = url.scheme() == "http" && is_loopback(url);
        let known = if local { &self.local } else { &self.outward };
        if let Some(client) = known.get() {
            return Ok(client.clone());
        }
        // Fails where one is installed, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder()
            .user_agent(concat!("pi-rpc/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT)
            .tcp_keepalive(ALIVE)
            .http2_keep_alive_interval(ALIVE);
        let builder = if local { builder.no_proxy().tls_certs_only([]) } else { builder };
        let client = builder
            .build()
            .map_err(|error| Failure::new(format!("HTTPS cannot be set up: {}", chain(error))))?;
        Ok(known.get_or_init(|| client).clone())
    }
}

/// Why there is no answer, or no more of it.
struct Failure {
    message: String,
    retry_after: Option<Duration>,
}

impl Failure {
    fn new(message: String) -> Self {
        Self { message, retry_after: None }
    }
}

impl From<Failure> for StreamEvent {
    fn from(failure: Failure) -> Self {
        Self::Fail { message: failure.message, retry_after: failure.retry_after }
    }
}

/// Passes the events on; says whether that was all.
async fn told(made: Vec<StreamEvent>, events: &mpsc::Sender<StreamEvent>) -> bool {
    for event in made {
        let last = matches!(event, StreamEvent::Finish(_) | StreamEvent::Fail { .. });
        if events.send(event).await.is_err() || last {
            return true;
        }
    }
    false
}

fn post(request: HttpRequest) -> Result<Request, Failure> {
    let url = Url::parse(&request.url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or_else(|| {
        Failure::new(format!(
            "{} is no HTTP address: the model's baseUrl must begin with http:// or https://",
            request.url
        ))
    })?;
    let mut headers = HeaderMap::new();
    for (name, value) in &request.headers {
        // Of a wrong value only the name is told: it may be a key.
        let wrong = || Failure::new(format!("The header {name:?} has characters that HTTP does not allow"));
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        // Any of them may be a key: not for logs, nor for what HTTP/2 remembers.
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    let mut post = Request::new(reqwest::Method::POST, url);
    *post.headers_mut() = headers;
    post.headers_mut().entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
    *post.body_mut() = Some(request.body.to_string().into());
    Ok(post)
}

/// The body in whole lines, each piece within `idle`; `unread` grows by their lengths, and is set back by whoever makes
/// events. A reader of lines starts a line over with each piece: long ones in small pieces would take it forever.
fn lines(
    response: Response,
    idle: Duration,
    unread: &AtomicUsize,
) -> impl Stream<Item = Result<Vec<u8>, Broken>> {
    stream::unfold((Some(response), Vec::new()), move |(response, mut line)| async move {
        let mut response = response?;
        loop {
            let piece = match timeout(idle, response.chunk()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) => {
                    // Some servers leave out the blank line after the last event. A cut event is no JSON: it fails.
                    line.extend_from_slice(b"\n\n");
                    return Some((Ok(line), (None, Vec::new())));
                }
                Ok(Err(error)) => return Some((Err(Broken::Connection(error)), (None, Vec::new()))),
                Err(_) => return Some((Err(Broken::Silent), (None, Vec::new()))),
            };
            if unread.fetch_add(piece.len(), Ordering::Relaxed) + piece.len() > EVENT_BYTES {
                return Some((Err(Broken::TooLong), (None, Vec::new())));
            }
            let Some(end) = memchr::memrchr2(b'\n', b'\r', &piece) else {
                line.extend_from_slice(&piece);
                continue;
            };
            line.extend_from_slice(&piece[..=end]);
            return Some((Ok(line), (Some(response), piece[end + 1..].to_vec())));
        }
    })
}

/// Why a body ends too early.
enum Broken {
    Connection(reqwest::Error),
    Silent,
    TooLong,
}

fn broken(error: EventStreamError<Broken>, idle: Duration) -> String {
    match error {
        EventStreamError::Transport(Broken::Connection(error)) => format!("terminated: {}", chain(error)),
        EventStreamError::Transport(Broken::Silent) => {
            format!("terminated: the provider was silent for {}", seconds(idle))
        }
        EventStreamError::Transport(Broken::TooLong) => {
            format!("terminated: the provider sent an event of more than {EVENT_BYTES} bytes")
        }
        EventStreamError::Utf8(_) => "terminated: the provider's answer is not UTF-8".to_owned(),
        EventStreamError::Parser(_) => "terminated: the provider's answer is no event stream".to_owned(),
    }
}

/// What a status other than 2xx says.
async fn refusal(response: Response, reader: Box<dyn Reader>, patience: Duration) -> Failure {
    let status = response.status();
    let retry_after = retry_after(response.headers(), SystemTime::now());
    let location = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).map(str::to_owned);
    let number = status.as_u16();
    let message = match location.filter(|_| status.is_redirection()) {
        Some(to) => format!("{number} redirected to {to}, which is not followed: change the model's baseUrl"),
        None => {
            let body = beginning(response, patience).await;
            match serde_json::from_str::<Value>(&body) {
                Ok(body) => format!("{number} {}", reader.refusal(&body).unwrap_or_else(|| body.to_string())),
                Err(_) if body.trim().is_empty() => format!("{number} status code (no body)"),
                Err(_) => format!("{number} {}", shown(&body)),
            }
        }
    };
    Failure { message, retry_after }
}

/// The body as far as it is worth reading; what does not come in time is left out.
async fn beginning(mut response: Response, patience: Duration) -> String {
    let mut body = Vec::new();
    // A deadline for all of it: a body that drips would keep people waiting for an error.
    let _ = timeout(patience, async {
        while let Ok(Some(piece)) = response.chunk().await {
            body.extend_from_slice(&piece);
            if body.len() > ERROR_BYTES {
                break;
            }
        }
    })
    .await;
    String::from_utf8_lossy(&body).into_owned()
}

fn shown(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// How long the provider asks to be left alone: `retry-after-ms`, or `retry-after` in seconds or as a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok();
    let millis = text("retry-after-ms").and_then(number).map(|millis| millis / 1000.0);
    let seconds = millis.or_else(|| text("retry-after").and_then(number));
    match seconds {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => {
            let date = httpdate::parse_http_date(text("retry-after")?).ok()?;
            Some(date.duration_since(now).unwrap_or_default())
        }
    }
}

/// What the body is said to be, where that cannot be an event stream. Servers that do not say are believed.
fn other_kind(response: &Response) -> Option<String> {
    let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase();
    (kind.contains("json") || kind.contains("html")).then_some(kind)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    host == "localhost"
        || host.ends_with(".localhost")
        || address.is_some_and(|address| address.is_loopback())
}

/// Where the request goes, for people.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or(host.to_owned(), |port| format!("{host}:{port}"))
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// The reasons of an error, from the outermost in; each says something to people that the one before does not.
fn chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut texts: Vec<String> = Vec::new();
    let mut reason: Option<&dyn Error> = error.source();
    while let Some(found) = reason {
        let text = found.to_string();
        let known = texts.last().is_some_and(|last| last.contains(&text));
        if !known && !text.starts_with("client error (") {
            texts.push(text);
        }
        reason = found.source();
    }
    let text = if texts.is_empty() { error.to_string() } else { texts.join(": ") };
    // The library's own words for it end in what its types print.
    match text.split_once("invalid peer certificate: ") {
        Some((before, reason)) => {
            let reason = reason.trim_start_matches("Other(OtherError(").trim_end_matches("))");
            format!(
                "{before}its certificate is not trusted ({reason}); SSL_CERT_FILE may name further authorities"
            )
        }
        None => text,
    }
}
