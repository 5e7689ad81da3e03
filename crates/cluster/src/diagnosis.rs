//! Looks at NATS as a host would use it, and changes nothing.

use super::connection::{Connection, ENTRIES, INPUT, MIN_MAX_PAYLOAD, NatsOptions, OUTPUT, SESSIONS, USAGE};
use async_nats::jetstream::{self, Context};

/// Whether what was looked at is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It works.
    Good,
    /// It works; something is worth knowing.
    Notable,
    /// It does not work.
    Bad,
}

/// What was found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// Whether it works.
    pub condition: Condition,
    /// What was found.
    pub text: String,
    /// What would help.
    pub help: Option<String>,
}

impl Diagnosis {
    fn new(condition: Condition, text: String) -> Self {
        Self { condition, text, help: None }
    }

    fn with_help(self, help: &str) -> Self {
        Self { help: Some(help.to_owned()), ..self }
    }
}

/// The part of a limit from which on it is worth knowing that it comes near.
const NEAR: f64 = 0.9;

/// Examines the servers: whether the login is good, JetStream is there and has room, and what the streams hold.
pub async fn diagnose(options: &NatsOptions) -> Vec<Diagnosis> {
    let client = match Connection::client(options, "doctor").await {
        Ok(client) => client,
        Err(error) => return vec![Diagnosis::new(Condition::Bad, error.to_string())],
    };
    let info = client.server_info();
    let mut found = vec![Diagnosis::new(
        Condition::Good,
        format!("server {} {}, messages of up to {} bytes", info.server_name, info.version, info.max_payload),
    )];
    if info.max_payload < MIN_MAX_PAYLOAD {
        let text = format!("max_payload: expected {MIN_MAX_PAYLOAD} bytes or more, got {}", info.max_payload);
        found.push(Diagnosis::new(Condition::Bad, text).with_help("raise max_payload in its configuration"));
    }
    let context = Connection::context(&client);
    found.push(account(&context).await);
    let [sessions, usage] = [SESSIONS, USAGE].map(|bucket| format!("KV_{bucket}"));
    for name in [ENTRIES, OUTPUT, INPUT, &sessions, &usage] {
        found.push(stream(&context, name).await);
    }
    found
}

async fn account(context: &Context) -> Diagnosis {
    let account = match context.query_account().await {
        Ok(account) => account,
        Err(error) => {
            let help = "enable JetStream for the account, and let it publish to $JS.API.>";
            return Diagnosis::new(Condition::Bad, format!("JetStream: {error}")).with_help(help);
        }
    };
    let used = account.storage;
    let limit = account.limits.max_storage.and_then(|limit| u64::try_from(limit).ok());
    room("the account", used, limit, "give the account more storage")
}

/// What of a limit is used.
fn room(name: &str, used: u64, limit: Option<u64>, help: &str) -> Diagnosis {
    let Some(limit) = limit else {
        return Diagnosis::new(Condition::Good, format!("{name}: {used} bytes, no limit"));
    };
    let text = format!("{name}: {used} bytes of {limit}");
    match used as f64 {
        part if part >= limit as f64 => Diagnosis::new(Condition::Bad, text).with_help(help),
        part if part >= NEAR * limit as f64 => Diagnosis::new(Condition::Notable, text).with_help(help),
        _ => Diagnosis::new(Condition::Good, text),
    }
}

async fn stream(context: &Context, name: &str) -> Diagnosis {
    use jetstream::context::GetStreamErrorKind as Kind;
    let stream = match context.get_stream(name).await {
        Ok(stream) => stream,
        Err(error) => match error.kind() {
            Kind::JetStream(error) if error.error_code() == jetstream::ErrorCode::STREAM_NOT_FOUND => {
                let text = format!("stream {name}: not there; the first host creates it");
                return Diagnosis::new(Condition::Notable, text);
            }
            _ => return Diagnosis::new(Condition::Bad, format!("stream {name}: {error}")),
        },
    };
    let info = stream.cached_info();
    let limit = u64::try_from(info.config.max_bytes).ok().filter(|limit| *limit > 0);
    let name =
        format!("stream {name}, {} messages, {} copies", info.state.messages, info.config.num_replicas);
    room(&name, info.state.bytes, limit, "raise its max_bytes (nats stream edit), or purge what nobody needs")
}
