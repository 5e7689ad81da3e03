//! Decides whether and when a failed request is sent again, before its failure is reported.
//!
//! Source: the vendors' client libraries that pi asks with, and pi 1.5.2 for the longest wait.

use std::time::{Duration, SystemTime};

/// Number of retries, and the waits between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Number of requests after the first.
    pub retries: u32,
    /// Wait before the first retry, doubled for each further one, unless the provider asks for another.
    pub first_delay: Duration,
    /// Longest wait that a provider may ask for, beyond which the request fails at once. `None`: any.
    pub longest_delay: Option<Duration>,
}

impl Default for RetryPolicy {
    /// As in pi: two retries, after half a second and a second; a provider may ask for a minute.
    fn default() -> Self {
        Self {
            retries: 2,
            first_delay: Duration::from_millis(500),
            longest_delay: Some(Duration::from_secs(60)),
        }
    }
}

/// Longest wait unless the provider asks for another.
const LONGEST_BACKOFF: Duration = Duration::from_secs(8);

/// Random part of such a wait, so that many clients do not retry at the same moment.
const JITTER: f64 = 0.25;

impl RetryPolicy {
    /// The wait after `tried` retries unless the provider asks for another; `chance` is from 0 to 1.
    pub fn backoff(&self, tried: u32, chance: f64) -> Duration {
        let doubled = self.first_delay.saturating_mul(2_u32.saturating_pow(tried));
        doubled.min(LONGEST_BACKOFF).mul_f64(1.0 - JITTER * chance)
    }

    /// The limit that a wait of `delay` exceeds; `None`: it is allowed.
    pub fn exceeded_limit(&self, delay: Duration) -> Option<Duration> {
        self.longest_delay.filter(|longest| delay > *longest)
    }
}

/// Whether a response means that a retry may succeed. The provider's own header counts most.
pub fn is_transient_status<'a>(status: u16, header: impl Fn(&str) -> Option<&'a str>) -> bool {
    match header("x-should-retry") {
        Some("true") => true,
        Some("false") => false,
        _ => matches!(status, 408 | 409 | 429 | 500..),
    }
}

/// The wait that the provider asks for: `retry-after-ms`, or `retry-after` in seconds or as a date.
pub fn retry_after<'a>(header: impl Fn(&str) -> Option<&'a str>, now: SystemTime) -> Option<Duration> {
    let number = |text: &str| text.parse::<f64>().ok();
    let millis = header("retry-after-ms").and_then(number).map(|millis| millis / 1000.0);
    let seconds = millis.or_else(|| header("retry-after").and_then(number));
    match seconds {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => {
            let date = httpdate::parse_http_date(header("retry-after")?).ok()?;
            Some(date.duration_since(now).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_up_to_eight_seconds() {
        let policy = RetryPolicy::default();
        let waits = |chance| [0, 1, 2, 3, 4, 5, 99].map(|tried| policy.backoff(tried, chance).as_millis());
        assert_eq!(waits(0.0), [500, 1000, 2000, 4000, 8000, 8000, 8000]);
        assert_eq!(waits(1.0), [375, 750, 1500, 3000, 6000, 6000, 6000]);
    }

    #[test]
    fn wait_beyond_longest_exceeds_limit() {
        let second = Duration::from_secs(1);
        let policy = RetryPolicy { longest_delay: Some(second), ..RetryPolicy::default() };
        assert_eq!(policy.exceeded_limit(second), None);
        assert_eq!(policy.exceeded_limit(second + Duration::from_millis(1)), Some(second));
        let patient = RetryPolicy { longest_delay: None, ..policy };
        assert_eq!(patient.exceeded_limit(Duration::MAX), None);
    }
}
