//! The connection of a node to NATS: its streams and buckets, which the first node creates.

use super::urls::NatsServers;
use async_nats::{
    Client, ConnectOptions, HeaderMap, ServerAddr,
    jetstream::{
        self, Context, kv,
        stream::{Config, DiscardPolicy, Republish, Stream},
    },
};
use pi_rpc_files::regular_files;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// Entries of sessions: subject `pi-rpc.entries.ID`.
pub const ENTRIES: &str = "pi-rpc-entries";
/// What sessions emit: subject `pi-rpc.output.ID`.
pub const OUTPUT: &str = "pi-rpc-output";
/// Lines of clients: subject `pi-rpc.input.ID`.
pub const INPUT: &str = "pi-rpc-input";
/// Bucket of sessions: who owns each, and how far its input was taken.
pub const SESSIONS: &str = "pi-rpc-sessions";
/// Bucket of what tokens have used over all nodes: the key is the name in hexadecimal.
pub const USAGE: &str = "pi-rpc-usage";

/// Age at which records of use are removed: no limit looks back for longer than a day.
const KEPT_USAGE: Duration = Duration::from_secs(2 * 24 * 3600);

/// How long a request to NATS may take before it is tried again.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// How long output and input are kept for clients and owners that come back.
const KEPT: Duration = Duration::from_secs(3600);

/// Frames of a session that are kept at most, in messages.
const KEPT_OUTPUT_MESSAGES: i64 = 8192;

/// How long NATS may take to become usable when a node starts.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The smallest limit of a message that a node works with, in bytes: the record of a session is one message.
pub const MIN_MAX_PAYLOAD: usize = 64 * 1024;

/// Bytes of a message beside its payload and the headers of its record: what names the write, and what it is expected behind.
const HEADER_ROOM: usize = 1024;

/// Largest payload of a part of something long: larger ones hold the stream up for all sessions.
const MAX_PART: usize = 512 * 1024;

/// Where NATS is, and how it keeps what it is given.
#[derive(Clone, Default)]
pub struct NatsOptions {
    /// URLs of servers, separated by commas. One of them may contain a user and a password, or a token; it is used for all.
    pub urls: String,
    /// A file of credentials: a JWT with the seed of its key.
    pub credentials: Option<PathBuf>,
    /// A file with the seed of a key.
    pub nkey: Option<PathBuf>,
    /// A file of certificates that vouch for the servers, besides those of the system.
    pub authorities: Option<PathBuf>,
    /// A file with the certificate of the node.
    pub certificate: Option<PathBuf>,
    /// A file with the key of the certificate.
    pub key: Option<PathBuf>,
    /// Copies of each stream that is created.
    pub replicas: usize,
}

impl std::fmt::Debug for NatsOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URLs may contain a login.
        let Self { urls: _, credentials, nkey, authorities, certificate, key, replicas } = self;
        f.debug_struct("NatsOptions")
            .field("credentials", credentials)
            .field("nkey", nkey)
            .field("authorities", authorities)
            .field("certificate", certificate)
            .field("key", key)
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
    #[error("--nats: expected one login: in a URL, by --nats-credentials, or by --nats-nkey")]
    TwoLogins,
    /// A certificate is without its key, or a key without its certificate.
    #[error("--nats-cert and --nats-key: expected both or none")]
    HalfCertificate,
    /// The servers take too short messages.
    #[error(
        "NATS: expected max_payload to be {MIN_MAX_PAYLOAD} bytes or more, got {0}; raise it in its configuration"
    )]
    MaxPayload(usize),
    /// The file of an option cannot be used.
    #[error("{} {}: {}", .0, .1.display(), .2)]
    File(&'static str, PathBuf, std::io::Error),
    /// No server answers, or it refuses.
    #[error("NATS: {0}")]
    Refused(String),
}

impl NatsOptions {
    /// How to connect, and to which servers.
    fn connect(&self, name: &str) -> Result<(ConnectOptions, Vec<ServerAddr>), ConnectionError> {
        let servers = NatsServers::parse(&self.urls).map_err(ConnectionError::Urls)?;
        let mut connect = ConnectOptions::new()
            .name(format!("pi-rpc {name}"))
            .connection_timeout(REQUEST_TIMEOUT)
            .request_timeout(Some(REQUEST_TIMEOUT))
            .ping_interval(Duration::from_secs(2))
            .max_reconnects(None)
            .reconnect_delay_callback(|attempt| Duration::from_millis(50 * attempt.min(10) as u64))
            .event_callback(|event| async move { tracing::info!("NATS: {event}") });
        let logins = [servers.login.is_some(), self.credentials.is_some(), self.nkey.is_some()];
        if logins.into_iter().filter(|is_there| *is_there).count() > 1 {
            return Err(ConnectionError::TwoLogins);
        }
        if let Some(login) = &servers.login {
            connect = login.apply(connect);
        }
        if let Some(file) = &self.credentials {
            let wrong = |error| ConnectionError::File("--nats-credentials", file.clone(), error);
            let text = regular_files::read_to_string(file, regular_files::CONFIGURATION).map_err(wrong)?;
            connect = connect.credentials(&text).map_err(wrong)?;
        }
        if let Some(file) = &self.nkey {
            let wrong = |error| ConnectionError::File("--nats-nkey", file.clone(), error);
            let text = regular_files::read_to_string(file, regular_files::CONFIGURATION).map_err(wrong)?;
            connect = connect.nkey(seed(&text).map_err(wrong)?);
        }
        if let Some(file) = &self.authorities {
            check_file("--nats-ca", file)?;
            connect = connect.add_root_certificates(file.clone());
        }
        match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                check_file("--nats-cert", certificate)?;
                check_file("--nats-key", key)?;
                connect = connect.add_client_certificate(certificate.clone(), key.clone()).require_tls(true);
            }
            (None, None) => {}
            _ => return Err(ConnectionError::HalfCertificate),
        }
        Ok((connect, servers.addresses))
    }
}

/// The seed in a file of one: the line that is no comment and no frame around it.
fn seed(text: &str) -> std::io::Result<String> {
    let lines = text.lines().map(str::trim);
    let mut seeds = lines.filter(|line| line.starts_with('S') && line.len() == SEED);
    match (seeds.next(), seeds.next()) {
        (Some(seed), None) => Ok(seed.to_owned()),
        // The text may be a secret.
        _ => Err(std::io::Error::other(format!("expected one line with a seed: S and {} letters", SEED - 1))),
    }
}

/// Letters of the seed of an NKey.
const SEED: usize = 58;

/// Checks that a file can be read, which the library of NATS would say without its name, and only once it connects.
fn check_file(option: &'static str, file: &Path) -> Result<(), ConnectionError> {
    let read = regular_files::read(file, regular_files::CONFIGURATION);
    read.map(drop).map_err(|error| ConnectionError::File(option, file.to_owned(), error))
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
    /// The bucket of what tokens have used.
    pub usage: kv::Store,
    /// Copies of each stream that is created.
    replicas: usize,
}

impl Connection {
    /// Connects, and creates what is missing. What exists is used as it is.
    ///
    /// # Errors
    ///
    /// The options are wrong, or NATS is not usable within half a minute.
    pub async fn open(options: &NatsOptions, name: &str) -> Result<Self, ConnectionError> {
        let client = Self::client(options, name).await?;
        let max_payload = client.max_payload();
        if max_payload < MIN_MAX_PAYLOAD {
            return Err(ConnectionError::MaxPayload(max_payload));
        }
        let context = Self::context(&client);
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

    /// Connects to one of the servers.
    pub(crate) async fn client(options: &NatsOptions, name: &str) -> Result<Client, ConnectionError> {
        let (connect, addresses) = options.connect(name)?;
        connect.connect(addresses).await.map_err(|error| ConnectionError::Refused(error.to_string()))
    }

    /// JetStream of a client.
    pub(crate) fn context(client: &Client) -> Context {
        jetstream::ContextBuilder::new()
            .timeout(REQUEST_TIMEOUT)
            .ack_timeout(REQUEST_TIMEOUT)
            .build(client.clone())
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
        Ok(Self {
            client: client.clone(),
            context: context.clone(),
            entries: context.get_or_create_stream(entries).await?,
            output: context.get_or_create_stream(output).await?,
            input: context.get_or_create_stream(input).await?,
            sessions: Self::bucket(context, SESSIONS, Duration::ZERO, replicas).await?,
            usage: Self::bucket(context, USAGE, KEPT_USAGE, replicas).await?,
            replicas,
        })
    }

    /// A bucket, which is created if it is missing. `max_age`: how long records are kept; zero: for ever.
    async fn bucket(
        context: &Context,
        name: &str,
        max_age: Duration,
        replicas: usize,
    ) -> Result<kv::Store, async_nats::Error> {
        let config = kv::Config {
            bucket: name.to_owned(),
            history: 1,
            max_age,
            num_replicas: replicas,
            ..kv::Config::default()
        };
        match context.get_key_value(name).await {
            Ok(store) => Ok(store),
            Err(_) => Ok(context.create_key_value(config).await?),
        }
    }

    /// Creates the bucket of what tokens have used, if an operator has removed it.
    pub async fn restore_usage(&self) -> Result<(), async_nats::Error> {
        Self::bucket(&self.context, USAGE, KEPT_USAGE, self.replicas).await.map(drop)
    }
}

impl Connection {
    /// Removes all that is there of a session that could not be opened. What cannot be removed stays, with a record that is closed.
    pub async fn remove(&self, session: &str) {
        let record = format!("$KV.{SESSIONS}.{session}");
        // The record goes last: without it, nobody looks for the rest.
        let subjects = [
            (&self.entries, subject(ENTRIES, session)),
            (&self.output, subject(OUTPUT, session)),
            (&self.input, subject(INPUT, session)),
            (&self.sessions.stream, record),
        ];
        for (stream, subject) in subjects {
            if let Err(error) = stream.purge().filter(subject.as_str()).await {
                tracing::warn!("{subject}: {error}");
                return;
            }
        }
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
