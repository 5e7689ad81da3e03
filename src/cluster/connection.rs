//! The connection of a node to NATS: its streams and buckets, which the first node creates.

use async_nats::{
    Client, ConnectOptions, ServerAddr,
    jetstream::{
        self, Context, kv,
        stream::{Config, DiscardPolicy, Republish, Stream},
    },
};
use std::{fmt::Display, path::PathBuf, time::Duration};

/// Entries of sessions: subject `pi-rpc.entries.ID`.
pub const ENTRIES: &str = "pi-rpc-entries";
/// What sessions emit: subject `pi-rpc.output.ID`.
pub const OUTPUT: &str = "pi-rpc-output";
/// Lines of clients: subject `pi-rpc.input.ID`.
pub const INPUT: &str = "pi-rpc-input";
/// Bucket of sessions: who owns each, and how far its input was taken.
pub const SESSIONS: &str = "pi-rpc-sessions";

/// How long a request to NATS may take before it is tried again.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// How long output and input are kept for clients and owners that come back.
const KEPT: Duration = Duration::from_secs(3600);

/// Frames of a session that are kept at most, in messages.
const KEPT_OUTPUT_MESSAGES: i64 = 8192;

/// How long NATS may take to become usable when a node starts.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Where NATS is, and how it keeps what it is given.
#[derive(Clone, Debug, Default)]
pub struct NatsOptions {
    /// URLs of servers, separated by commas. They may contain a user and a password, or a token.
    pub urls: String,
    /// A file of credentials.
    pub credentials: Option<PathBuf>,
    /// Copies of each stream that is created.
    pub replicas: usize,
}

/// Why NATS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The URLs are wrong.
    #[error("--nats: expected nats://HOST:PORT, separated by commas: {0}")]
    Urls(String),
    /// The file of credentials cannot be used.
    #[error("--nats-credentials {}: {}", .0.display(), .1)]
    Credentials(PathBuf, std::io::Error),
    /// No server answers, or it refuses.
    #[error("NATS: {0}")]
    Refused(String),
}

/// A connection to NATS.
#[derive(Clone)]
pub struct Connection {
    /// The client.
    pub client: Client,
    /// JetStream.
    pub context: Context,
    /// Entries of sessions.
    pub entries: Stream,
    /// What sessions emit.
    pub output: Stream,
    /// Lines of clients.
    pub input: Stream,
    /// The bucket of sessions.
    pub sessions: kv::Store,
}

impl Connection {
    /// Connects, and creates what is missing. What exists is used as it is.
    ///
    /// # Errors
    ///
    /// The options are wrong, or NATS is not usable within half a minute.
    pub async fn open(options: &NatsOptions, name: &str) -> Result<Self, ConnectionError> {
        let urls: Result<Vec<ServerAddr>, _> =
            options.urls.split(',').map(|url| url.trim().parse()).collect();
        let urls = urls.map_err(|error| ConnectionError::Urls(error.to_string()))?;
        let mut connect = ConnectOptions::new()
            .name(format!("pi-rpc {name}"))
            .connection_timeout(REQUEST_TIMEOUT)
            .request_timeout(Some(REQUEST_TIMEOUT))
            .ping_interval(Duration::from_secs(2))
            .max_reconnects(None)
            .reconnect_delay_callback(|attempt| Duration::from_millis(50 * attempt.min(10) as u64))
            .event_callback(|event| async move { tracing::info!("NATS: {event}") });
        if let Some(file) = &options.credentials {
            let wrong = |error| ConnectionError::Credentials(file.clone(), error);
            let text = std::fs::read_to_string(file).map_err(wrong)?;
            connect = connect.credentials(&text).map_err(wrong)?;
        }
        let refused = |error: &dyn Display| ConnectionError::Refused(error.to_string());
        let client = connect.connect(urls).await.map_err(|error| refused(&error))?;
        let context = jetstream::ContextBuilder::new()
            .timeout(REQUEST_TIMEOUT)
            .ack_timeout(REQUEST_TIMEOUT)
            .build(client.clone());
        let replicas = options.replicas.max(1);
        let open = async {
            loop {
                // The servers of a cluster may still choose their leader.
                match Self::with_streams(&client, &context, replicas).await {
                    Ok(connection) => break connection,
                    Err(error) => tracing::warn!("NATS: {error}"),
                }
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
        };
        let late = || ConnectionError::Refused("JetStream is not usable; see the log".to_owned());
        tokio::time::timeout(START_TIMEOUT, open).await.map_err(|_| late())
    }

    async fn with_streams(
        client: &Client,
        context: &Context,
        replicas: usize,
    ) -> Result<Self, async_nats::Error> {
        let republish = |kind: &str| {
            Some(Republish {
                source: format!("pi-rpc.{kind}.>"),
                destination: format!("pi-rpc.stored.{kind}.>"),
                headers_only: false,
            })
        };
        let stream = |name: &str, kind: &str| Config {
            name: name.to_owned(),
            subjects: vec![format!("pi-rpc.{kind}.*")],
            num_replicas: replicas,
            allow_direct: true,
            ..Config::default()
        };
        let entries = Config { discard: DiscardPolicy::New, ..stream(ENTRIES, "entries") };
        let output = Config {
            max_age: KEPT,
            max_messages_per_subject: KEPT_OUTPUT_MESSAGES,
            republish: republish("output"),
            ..stream(OUTPUT, "output")
        };
        let input = Config {
            max_age: KEPT,
            discard: DiscardPolicy::New,
            republish: republish("input"),
            ..stream(INPUT, "input")
        };
        let sessions = kv::Config {
            bucket: SESSIONS.to_owned(),
            history: 1,
            num_replicas: replicas,
            ..kv::Config::default()
        };
        let sessions = match context.get_key_value(SESSIONS).await {
            Ok(store) => store,
            Err(_) => context.create_key_value(sessions).await?,
        };
        Ok(Self {
            client: client.clone(),
            context: context.clone(),
            entries: context.get_or_create_stream(entries).await?,
            output: context.get_or_create_stream(output).await?,
            input: context.get_or_create_stream(input).await?,
            sessions,
        })
    }
}

/// The subject of a session in one of the streams.
pub fn subject(stream: &str, session: &str) -> String {
    format!("{}.{session}", stream.replacen("pi-rpc-", "pi-rpc.", 1))
}
