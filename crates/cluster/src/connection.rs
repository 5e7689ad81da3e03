//! The connection of a node to NATS: its streams and buckets, which the first node creates.

use super::urls::NatsServers;
use async_nats::{
    Client, ConnectOptions, HeaderMap,
    jetstream::{
        self, Context, kv,
        stream::{Config, DiscardPolicy, Republish, Stream},
    },
};
use pi_rpc_files::regular_files;
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

/// The smallest limit of a message that a node works with, in bytes: the record of a session is one message.
const MIN_MAX_PAYLOAD: usize = 64 * 1024;

/// Bytes of a message beside its payload and the headers of its record: what names the write, and what it is expected behind.
const HEADER_ROOM: usize = 1024;

/// Largest payload of a part of something long: larger ones hold the stream up for all sessions.
const MAX_PART: usize = 512 * 1024;

/// Where NATS is, and how it keeps what it is given.
#[derive(Clone, Default)]
pub struct NatsOptions {
    /// URLs of servers, separated by commas. One of them may contain a user and a password, or a token; it is used for all.
    pub urls: String,
    /// A file of credentials.
    pub credentials: Option<PathBuf>,
    /// Copies of each stream that is created.
    pub replicas: usize,
}

impl std::fmt::Debug for NatsOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URLs may contain a login.
        let Self { urls: _, credentials, replicas } = self;
        f.debug_struct("NatsOptions")
            .field("credentials", credentials)
            .field("replicas", replicas)
            .finish_non_exhaustive()
    }
}

/// Why NATS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The URLs are wrong.
    #[error("--nats: expected nats://HOST:PORT, separated by commas: {0}")]
    Urls(String),
    /// There are two logins.
    #[error("--nats-credentials: expected no login in the URLs of --nats beside it")]
    TwoLogins,
    /// The servers take too short messages.
    #[error(
        "NATS: expected max_payload to be {MIN_MAX_PAYLOAD} bytes or more, got {0}; raise it in its configuration"
    )]
    MaxPayload(usize),
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
        let servers = NatsServers::parse(&options.urls).map_err(ConnectionError::Urls)?;
        let mut connect = ConnectOptions::new()
            .name(format!("pi-rpc {name}"))
            .connection_timeout(REQUEST_TIMEOUT)
            .request_timeout(Some(REQUEST_TIMEOUT))
            .ping_interval(Duration::from_secs(2))
            .max_reconnects(None)
            .reconnect_delay_callback(|attempt| Duration::from_millis(50 * attempt.min(10) as u64))
            .event_callback(|event| async move { tracing::info!("NATS: {event}") });
        if let Some(login) = &servers.login {
            connect = login.apply(connect);
        }
        if let Some(file) = &options.credentials {
            if servers.login.is_some() {
                return Err(ConnectionError::TwoLogins);
            }
            let wrong = |error| ConnectionError::Credentials(file.clone(), error);
            let text = regular_files::read_to_string(file, regular_files::CONFIGURATION).map_err(wrong)?;
            connect = connect.credentials(&text).map_err(wrong)?;
        }
        let refused = |error: &dyn Display| ConnectionError::Refused(error.to_string());
        let client = connect.connect(servers.addresses).await.map_err(|error| refused(&error))?;
        let max_payload = client.max_payload();
        if max_payload < MIN_MAX_PAYLOAD {
            return Err(ConnectionError::MaxPayload(max_payload));
        }
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

/// The largest payload of a message with these headers that a stream takes now, in bytes: servers say what they take, each
/// time that the node connects to one. 0: not even the headers fit.
pub fn max_message(client: &Client, stream: &Stream, headers: &HeaderMap) -> usize {
    let of_stream = usize::try_from(stream.cached_info().config.max_message_size).ok().filter(|max| *max > 0);
    let max = of_stream.map_or(usize::MAX, |max| max).min(client.max_payload());
    let headers: usize = headers
        .iter()
        .map(|(name, values)| {
            let name: &str = name.as_ref();
            values.iter().map(|value| name.len() + value.as_str().len() + 4).sum::<usize>()
        })
        .sum();
    max.saturating_sub(HEADER_ROOM + headers)
}

/// The largest payload of a part of something long that goes with these headers, in bytes.
pub fn max_part(client: &Client, stream: &Stream, headers: &HeaderMap) -> usize {
    max_message(client, stream, headers).min(MAX_PART)
}

/// The subject of a session in one of the streams.
pub fn subject(stream: &str, session: &str) -> String {
    format!("{}.{session}", stream.replacen("pi-rpc-", "pi-rpc.", 1))
}
