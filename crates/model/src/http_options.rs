//! What the user sets about requests over HTTP.

use super::retry::RetryPolicy;
use serde::Deserialize;
use std::time::Duration;

/// Time limits and retries of a request. Traffic without content, such as comments and pings, resets `idle`, up to
/// ten times as long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpOptions {
    /// Longest silence before the answer begins.
    pub first: Duration,
    /// Longest silence within the answer.
    pub idle: Duration,
    /// Retries of a request that failed before its answer began.
    pub retry: RetryPolicy,
    /// How answers come from providers that also speak WebSockets.
    pub transport: Transport,
    /// Time limit for opening a WebSocket.
    pub socket_connect: Duration,
}

/// How answers come from providers that also speak WebSockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// By WebSocket, with what is new in the conversation alone, and by server-sent events where that fails.
    #[default]
    Auto,
    /// As server-sent events.
    Sse,
    /// By WebSocket, with the whole conversation, and by server-sent events where that fails.
    #[serde(rename = "websocket")]
    WebSocket,
    /// The same as [`Auto`](Self::Auto).
    #[serde(rename = "websocket-cached")]
    WebSocketCached,
}

impl Transport {
    /// Whether a request has only what is new, where the provider holds the rest.
    pub const fn continues(self) -> bool {
        matches!(self, Self::Auto | Self::WebSocketCached)
    }
}

impl Default for HttpOptions {
    /// Five minutes of silence, as in pi, and its retries.
    fn default() -> Self {
        let silence = Duration::from_secs(300);
        Self {
            first: silence,
            idle: silence,
            retry: RetryPolicy::default(),
            transport: Transport::default(),
            socket_connect: Duration::from_secs(15),
        }
    }
}

/// Whether caches are kept warm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheWarming {
    /// Never.
    #[default]
    Off,
    /// While a run is open.
    Streaming,
    /// Between runs, too.
    Idle,
}
