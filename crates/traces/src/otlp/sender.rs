//! Performs the requests of the exporter, in a thread of its own: a session's thread has no part in it.

use super::counts::Counts;
use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response, ResponseBodyTooLarge};
use reqwest::{Client, redirect};
use std::{
    env,
    error::Error,
    io,
    sync::{Arc, OnceLock},
    thread,
    time::Duration,
};
use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
};

/// The longest response of a collector, in bytes.
const MAX_RESPONSE: usize = 64 * 1024;

/// How long a request may take by default. Source: the specification of OTLP.
const USUAL_TIMEOUT: Duration = Duration::from_secs(10);

/// The thread with the connections. It ends when this is dropped.
pub struct Sender {
    client: HttpSender,
    _stop: oneshot::Sender<()>,
}

impl Sender {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub fn start(counts: Arc<Counts>) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        thread::Builder::new().name("traces".to_owned()).spawn(move || {
            // It is only ever dropped.
            let _ = runtime.block_on(stopped);
        })?;
        Ok(Self { client: HttpSender { handle, counts, client: Arc::default() }, _stop: stop })
    }

    /// What sends requests by the thread.
    pub fn client(&self) -> HttpSender {
        self.client.clone()
    }
}

/// Sends requests.
#[derive(Clone, Debug)]
pub struct HttpSender {
    handle: Handle,
    counts: Arc<Counts>,
    /// Keeps the connection from one batch to the next.
    client: Arc<OnceLock<Client>>,
}

#[async_trait]
impl HttpClient for HttpSender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sending = send(self.client.clone(), request);
        let sent = self.handle.spawn(sending).await.map_err(|error| SendError::Other(error.into())).flatten();
        match &sent {
            Ok(response) if response.status().is_success() => {}
            Ok(response) => {
                self.counts.note_reason(format!("the collector has answered {}", response.status()))
            }
            Err(error) => self.counts.note_reason(error.reason()),
        }
        sent.map_err(|error| match error {
            SendError::Http(error) => error.without_url().into(),
            SendError::TooLarge => ResponseBodyTooLarge::new().into(),
            SendError::Other(error) => error,
        })
    }
}

/// Why a request has failed.
enum SendError {
    Http(reqwest::Error),
    TooLarge,
    Other(HttpError),
}

impl From<reqwest::Error> for SendError {
    fn from(error: reqwest::Error) -> Self {
        Self::Http(error)
    }
}

impl SendError {
    /// The reason, without the address, which may have a secret in it.
    fn reason(&self) -> String {
        match self {
            Self::Http(error) if error.is_timeout() => "the collector does not answer in time".to_owned(),
            Self::Http(error) => {
                let kind = if error.is_connect() { "cannot be reached" } else { "is lost" };
                let mut cause: &dyn Error = error;
                while let Some(deeper) = cause.source() {
                    cause = deeper;
                }
                // The outermost error has the address.
                match error.source() {
                    Some(_) => format!("the collector {kind}: {cause}"),
                    None => format!("the collector {kind}"),
                }
            }
            Self::TooLarge => format!("the collector's response has more than {MAX_RESPONSE} bytes"),
            Self::Other(error) => error.to_string(),
        }
    }
}

async fn send(client: Arc<OnceLock<Client>>, request: Request<Bytes>) -> Result<Response<Bytes>, SendError> {
    let client = match client.get() {
        Some(client) => client,
        None => {
            let is_plain = request.uri().scheme_str() == Some("http");
            let built = new_client(is_plain)?;
            client.get_or_init(|| built)
        }
    };
    let mut response = client.execute(request.try_into()?).await?;
    let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_RESPONSE {
            return Err(SendError::TooLarge);
        }
    }
    let mut response = Response::new(body.into());
    (*response.status_mut(), *response.headers_mut()) = (status, headers);
    Ok(response)
}

/// A client of a collector; a plain one speaks no TLS, for which certificates would be read.
fn new_client(is_plain: bool) -> reqwest::Result<Client> {
    // Fails if a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder()
        .user_agent(concat!("pi-rpc/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .timeout(timeout());
    if is_plain { client.tls_certs_only([]).build() } else { client.build() }
}

/// How long a request may take, by the variables.
fn timeout() -> Duration {
    let variables = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];
    let given = variables.iter().find_map(|variable| env::var(variable).ok()?.trim().parse().ok());
    given.map_or(USUAL_TIMEOUT, Duration::from_millis)
}
