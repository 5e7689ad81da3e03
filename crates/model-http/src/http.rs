//! Requests to real models: one `POST`, and the events of its answer as they arrive.

mod answer_watch;
#[cfg(feature = "aws-chain")]
mod aws_chain;
mod exchange;
mod extra_authorities;
mod failure;
mod federated_token;
mod google_exchange;
pub mod google_token;
mod proxy;
mod redactor;
mod response;
mod signature;
mod socket;

#[cfg(feature = "aws-chain")]
use self::aws_chain::{ChainClients, KeyChain};
pub use self::{
    answer_watch::{AnswerWatch, RawEvent, ResponseHead},
    exchange::{ExchangeFailure, ExchangeLimits, Exchanged},
};
use self::{
    failure::{RequestFailure, chain, no_event_stream, refusal, seconds},
    redactor::Redactor,
    response::event_stream,
    signature::add_signature,
};
use super::{
    body::{self, ServerSentEvent},
    frames,
};
use futures_util::{Stream, StreamExt};
use pi_rpc_files::secrets::{Secrets, redact_url};
pub use pi_rpc_model::http_options::HttpOptions;
use pi_rpc_model::{
    bedrock::{AwsKeySource, SignatureScope},
    request::{HttpRequest, Reader, StreamFormat, ZSTD},
    types::StreamEvent,
};
use reqwest::{
    Client, ClientBuilder, Request, Response, Url,
    header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    mem,
    net::IpAddr,
    pin::Pin,
    sync::{Mutex, OnceLock, PoisonError},
    time::{Duration, SystemTime},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep, timeout},
};

/// An HTTP client for providers that keeps connections open. It is set up at the first request.
///
/// Proxies are those of the environment (`HTTP_PROXY`, which serves HTTPS, too, where `HTTPS_PROXY` and `ALL_PROXY` are not set;
/// `NO_PROXY`). Models on this
/// machine over plain HTTP are reached directly, and need no installed certificates. Redirects are not followed: they
/// would carry the key to another host.
#[derive(Debug, Default)]
pub struct Http {
    /// The client for other machines and HTTPS.
    outward: OnceLock<Client>,
    /// The client for plain HTTP on this machine.
    local: OnceLock<Client>,
    /// The client for other machines and HTTPS that speaks HTTP/1.1 alone, which WebSockets need.
    outward_sockets: OnceLock<Client>,
    /// WebSockets by session.
    sockets: socket::Sockets,
    /// Tokens for Google accounts.
    google_tokens: google_token::TokenCache,
    /// Tokens of Anthropic in exchange for those of a platform.
    federated_tokens: federated_token::FederatedTokens,
    /// The proxy of the user's settings.
    proxy: Option<String>,
    /// Keys that are redacted in the texts of failures.
    secrets: Secrets,
    /// Hosts that have answered, to which connections may be kept that they have closed since.
    reached: Mutex<BTreeSet<String>>,
    /// Keys of AWS that neither the environment nor a file has.
    #[cfg(feature = "aws-chain")]
    chain: KeyChain,
}

/// The text for hosts after a panic, whose own message may hold parts of the request and a key.
pub const DEFECT: &str = "a bug in this program; the log names the place";

/// The text for hosts when a request needs keys that only the vendor's chain of providers has.
#[cfg(not(feature = "aws-chain"))]
const NO_AWS_KEYS: &str = "No AWS keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_BEARER_TOKEN_BEDROCK, or an AWS_PROFILE \
                          with aws_access_key_id. Roles, single sign-on, processes, containers and machines need the feature \
                          aws-chain, which this program was built without";

/// Time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval of probes on a silent connection, so that a dead one is noticed before the idle limit.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// Factor on the idle limit for an answer without content on a connection that is kept alive: some models think in
/// silence for minutes, with pings.
pub const SILENT_IDLE_FACTOR: u32 = 10;
/// Time limit for the body of an error: the status is known, and the user waits.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Kept connections that are replaced for one request, when they turn out to be closed.
const MOST_REPLACED: u32 = 2;
/// Size up to which a body is encoded on the spot, in some 100 µs. Another thread would start about as late.
const INLINE_BODY_BYTES: usize = 128 * 1024;

impl Http {
    /// Creates a client that redacts these keys in the texts of failures: providers repeat the key that they refuse.
    #[must_use]
    pub fn with_secrets(secrets: Secrets) -> Self {
        Self { secrets, ..Self::default() }
    }

    /// Sets the proxy of the user's settings, for where the environment names none. Its address may hold a password.
    #[must_use]
    pub fn with_proxy(self, proxy: Option<String>) -> Self {
        proxy.iter().for_each(|url| self.secrets.remember_url(url));
        Self { proxy, ..self }
    }

    /// Sends a request, and sends the events that `reader` makes of the answer to `events`; the last one is exactly
    /// one [`StreamEvent::Finish`] or [`StreamEvent::Fail`].
    ///
    /// A request that fails before its answer begins is retried as `options` say: without a connection, and where the
    /// provider's response allows it. Dropping the future or the receiver closes the connection or ends the wait for
    /// a retry.
    ///
    /// Texts of failures: `Connection error: …` without a connection; `terminated: …` if a connection breaks;
    /// `<status> <what reader finds in the body>` for a status other than 2xx, with the wait that the provider asks
    /// for. If the wait is too long, `Server requested <seconds>s retry delay (max: <seconds>s).` stands before it.
    pub async fn stream_answer(
        &self,
        request: HttpRequest,
        reader: Box<dyn Reader>,
        options: &HttpOptions,
        events: mpsc::Sender<StreamEvent>,
    ) {
        self.stream_watched_answer(request, reader, options, events, AnswerWatch::default()).await;
    }

    /// Like [`Self::stream_answer`], but sends the head and the events of an answer to `watch`, and reads on once each is
    /// acknowledged.
    pub async fn stream_watched_answer(
        &self,
        request: HttpRequest,
        reader: Box<dyn Reader>,
        options: &HttpOptions,
        events: mpsc::Sender<StreamEvent>,
        watch: AnswerWatch,
    ) {
        let redactor = Redactor::of(&request.headers, self.secrets.clone());
        let answered = tokio::select! {
            answered = self.answer(request, reader, options, &events, watch, &redactor) => answered,
            () = events.closed() => return,
        };
        if let Err(failure) = answered {
            // Without a receiver the failure is of no interest.
            let _ = events.send(failure.into_event(&redactor)).await;
        }
    }

    async fn answer(
        &self,
        mut request: HttpRequest,
        mut reader: Box<dyn Reader>,
        options: &HttpOptions,
        events: &mpsc::Sender<StreamEvent>,
        watch: AnswerWatch,
        redactor: &Redactor,
    ) -> Result<(), RequestFailure> {
        let signing = request.signing.take();
        let request = match json_size(&request.body) < INLINE_BODY_BYTES {
            true => post(request)?,
            // With images a body has many megabytes: encoding it here would block everything else.
            false => {
                let request = tokio::task::spawn_blocking(move || post(request)).await;
                // A panic's message may hold a part of the request.
                request
                    .map_err(|_| RequestFailure::new(format!("The request could not be written: {DEFECT}")))
                    .flatten()?
            }
        };
        let host = host(request.url());
        let idle = options.idle;
        let response =
            self.send_with_retries(request, signing.as_ref(), reader.as_mut(), options, redactor).await?;
        if let Some(heads) = watch.heads {
            let (head, seen) = ResponseHead::of(&response);
            // Without a receiver there is nothing to wait for.
            let _ = heads.send(head).await;
            let _ = seen.await;
        }
        let format = reader.stream_format();
        let pieces = event_stream(response, format, idle, idle.min(ERROR_BODY_TIMEOUT)).await;
        let pieces = pieces.map_err(|other| no_event_stream(&host, other, redactor))?;
        let mut stream: Pin<Box<dyn Stream<Item = Result<ServerSentEvent, String>> + Send>> = match format {
            StreamFormat::ServerSentEvents => Box::pin(body::events(pieces)),
            StreamFormat::AmazonEventStream => Box::pin(frames::frames(pieces)),
        };
        let longest = idle.saturating_mul(SILENT_IDLE_FACTOR);
        let mut last_activity = Instant::now();
        loop {
            let next = timeout(longest.saturating_sub(last_activity.elapsed()), stream.next()).await;
            let next = next.map_err(|_| {
                RequestFailure::new(format!(
                    "terminated: the provider kept the connection alive and said nothing for {}",
                    seconds(longest)
                ))
            })?;
            let Some(event) = next else { break };
            let event = match event {
                Ok(event) => event,
                Err(_) if reader.is_complete() => break,
                Err(reason) => return Err(RequestFailure::new(reason)),
            };
            if let Some(watching) = &watch.events {
                let (seen, acknowledged) = oneshot::channel();
                // Without a receiver there is nothing to wait for.
                let _ = watching.send(RawEvent { data: event.data.clone(), seen }).await;
                let _ = acknowledged.await;
            }
            let made = reader.event(&event.name, &event.data);
            let says = !made.is_empty();
            if forward_events(made, events, redactor).await {
                return Ok(());
            }
            if says {
                last_activity = Instant::now();
            }
        }
        forward_events(reader.end(), events, redactor).await;
        Ok(())
    }

    /// Sends the request, with retries, until an answer begins.
    async fn send_with_retries(
        &self,
        mut request: Request,
        signing: Option<&SignatureScope>,
        reader: &mut dyn Reader,
        options: &HttpOptions,
        redactor: &Redactor,
    ) -> Result<Response, RequestFailure> {
        let client = self.client(request.url())?;
        let host = host(request.url());
        let (mut tried, mut replaced) = (0, 0);
        loop {
            let again = request.try_clone();
            if let Some(signing) = signing {
                // Each time anew: a signature is valid for minutes.
                self.sign(&mut request, signing).await.map_err(RequestFailure::new)?;
            }
            let authorization = request.headers().get(AUTHORIZATION).and_then(|it| it.to_str().ok());
            let authorization = authorization.unwrap_or_default().to_owned();
            let mut failure = match send(&client, request, reader, options, redactor).await {
                Ok(response) => {
                    self.reached.lock().unwrap_or_else(PoisonError::into_inner).insert(host);
                    return Ok(response);
                }
                Err(failure) => failure,
            };
            if failure.is_unauthorized {
                self.federated_tokens.forget(&authorization);
            }
            let is_stale = failure.is_broken && replaced < MOST_REPLACED && self.has_reached(&host);
            if let Some(instead) = failure.instead.take()
                && let Some(mut again) = again
            {
                tracing::debug!("another request: {}", redactor.redact(failure.message));
                *again.body_mut() = Some(instead.to_string().into());
                request = again;
                continue;
            }
            request = match again {
                // A connection that was kept, and closed by the other side: a new one replaces it.
                Some(again) if is_stale => {
                    tracing::debug!("a new connection: {}", redactor.redact(failure.message));
                    (request, replaced) = (again, replaced + 1);
                    continue;
                }
                Some(again) if failure.is_transient && tried < options.retry.retries => again,
                _ => return Err(failure),
            };
            let wait = match failure.retry_after {
                Some(delay) => match options.retry.exceeded_limit(delay) {
                    Some(longest) => return Err(failure.too_long(delay, longest)),
                    None => delay,
                },
                None => options.retry.backoff(tried, fastrand::f64()),
            };
            tracing::debug!("asking again in {}: {}", seconds(wait), redactor.redact(failure.message));
            sleep(wait).await;
            tried += 1;
        }
    }

    fn has_reached(&self, host: &str) -> bool {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner).contains(host)
    }

    /// Signs the request with the keys that `signing` has, or names.
    async fn sign(&self, request: &mut Request, signing: &SignatureScope) -> Result<(), String> {
        match &signing.keys {
            AwsKeySource::Known(keys) => add_signature(request, signing, keys, SystemTime::now()),
            #[cfg(feature = "aws-chain")]
            source @ (AwsKeySource::Chain | AwsKeySource::Profile(_)) => {
                let profile = match source {
                    AwsKeySource::Profile(name) => Some(name.as_str()),
                    _ => None,
                };
                let client = |url: &str| {
                    let url = Url::parse(url).map_err(|error| error.to_string())?;
                    self.client(&url).map_err(|failure| failure.message)
                };
                let clients = ChainClients {
                    outward: client("https://amazonaws.com")?,
                    local: client("http://localhost")?,
                };
                let keys = self.chain.keys(clients, profile, &signing.region, &self.secrets).await?;
                add_signature(request, signing, &keys, SystemTime::now())
            }
            #[cfg(not(feature = "aws-chain"))]
            AwsKeySource::Chain | AwsKeySource::Profile(_) => Err(NO_AWS_KEYS.to_owned()),
        }
    }

    /// Returns the client for `url`, created at its first use.
    fn client(&self, url: &Url) -> Result<Client, RequestFailure> {
        self.known_client(url, &self.outward, builder)
    }

    /// Returns the client for the upgrade of a connection to `url`, created at its first use.
    fn socket_client(&self, url: &Url) -> Result<Client, RequestFailure> {
        self.known_client(url, &self.outward_sockets, || builder().http1_only())
    }

    /// Returns the client for `url`: that of this machine, or `outward`, which `builder` makes.
    fn known_client(
        &self,
        url: &Url,
        outward: &OnceLock<Client>,
        builder: impl Fn() -> ClientBuilder,
    ) -> Result<Client, RequestFailure> {
        let local = url.scheme() == "http" && is_loopback(url);
        let known = if local { &self.local } else { outward };
        if let Some(client) = known.get() {
            return Ok(client.clone());
        }
        // Fails if a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let proxies = if local { Ok(Vec::new()) } else { proxy::proxies(self.proxy.as_deref()) };
        let proxies = proxies.map_err(RequestFailure::new)?;
        let outward = || proxies.iter().cloned().fold(builder(), ClientBuilder::proxy);
        let client = match (local, extra_authorities::extra_certificates()) {
            (true, _) => builder().no_proxy().tls_certs_only([]).build(),
            (false, further) if further.is_empty() => outward().build(),
            (false, further) => outward().tls_certs_merge(further).build().or_else(|error| {
                extra_authorities::warn_ignored(&chain(error));
                outward().build()
            }),
        };
        let client = client
            .map_err(|error| RequestFailure::new(format!("HTTPS cannot be set up: {}", chain(error))))?;
        Ok(known.get_or_init(|| client).clone())
    }
}

/// Settings of all clients.
fn builder() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("pi-rpc/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_keepalive(KEEPALIVE_INTERVAL)
        .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
}

/// Sends events on; returns whether the last one was among them.
async fn forward_events(
    made: Vec<StreamEvent>,
    events: &mpsc::Sender<StreamEvent>,
    redactor: &Redactor,
) -> bool {
    for mut event in made {
        if let StreamEvent::Fail { message, .. } = &mut event {
            *message = redactor.redact(mem::take(message));
        }
        let last = matches!(event, StreamEvent::Finish(_) | StreamEvent::Fail { .. });
        if events.send(event).await.is_err() || last {
            return true;
        }
    }
    false
}

/// Estimates the size of a value as JSON in bytes.
pub fn json_size(value: &Value) -> usize {
    let inner: usize = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(json_size).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + 3 + json_size(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
    };
    inner + 2
}

fn post(request: HttpRequest) -> Result<Request, RequestFailure> {
    let url = Url::parse(&request.url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or_else(|| {
        RequestFailure::new(format!(
            "{} is no HTTP address: the model's baseUrl must begin with http:// or https://",
            redact_url(&request.url)
        ))
    })?;
    let mut headers = HeaderMap::new();
    for (name, value) in &request.headers {
        // The text names the header only: its value may be a key.
        let wrong =
            || RequestFailure::new(format!("The header {name:?} has characters that HTTP does not allow"));
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        // Any header may be a key: kept out of logs and of HTTP/2's header table.
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    let mut post = Request::new(reqwest::Method::POST, url);
    *post.headers_mut() = headers;
    post.headers_mut().entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
    let body = request.body.to_string();
    let is_packed = post.headers().get(CONTENT_ENCODING).is_some_and(|encoding| encoding == ZSTD);
    *post.body_mut() = Some(match is_packed {
        true => compress_to_vec(body.as_bytes(), CompressionLevel::Fastest).into(),
        false => body.into(),
    });
    Ok(post)
}

/// Sends the request once and waits for the head of its answer.
async fn send(
    client: &Client,
    request: Request,
    reader: &mut dyn Reader,
    options: &HttpOptions,
    redactor: &Redactor,
) -> Result<Response, RequestFailure> {
    let host = host(request.url());
    match timeout(options.first, client.execute(request)).await {
        Ok(Ok(response)) if response.status().is_success() => Ok(response),
        Ok(Ok(response)) => {
            Err(refusal(response, reader, options.idle.min(ERROR_BODY_TIMEOUT), redactor).await)
        }
        Ok(Err(error)) => {
            let is_broken = !error.is_connect() && !error.is_timeout();
            let failure = RequestFailure::of_connection(format!("{host}: {}", chain(error)));
            Err(RequestFailure { is_broken, ..failure })
        }
        Err(_) => {
            Err(RequestFailure::of_connection(format!("{host} was silent for {}", seconds(options.first))))
        }
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    host == "localhost"
        || host.ends_with(".localhost")
        || address.is_some_and(|address| address.is_loopback())
}

/// The request's host, for error texts.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or(host.to_owned(), |port| format!("{host}:{port}"))
}
