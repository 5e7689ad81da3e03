//! What the user sets about requests over HTTP.

use super::retry::RetryPolicy;
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
}

impl Default for HttpOptions {
    /// Five minutes of silence, as in pi, and its retries.
    fn default() -> Self {
        let silence = Duration::from_secs(300);
        Self { first: silence, idle: silence, retry: RetryPolicy::default() }
    }
}
