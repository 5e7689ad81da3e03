//! Whether and when a request that failed is sent once more, before anybody is told of the failure.
//!
//! Source: the vendors' client libraries that pi asks with, and pi 1.5.2 for the longest wait.

use std::time::{Duration, SystemTime};

/// How often a request is sent again, and how long to wait in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often it is sent after the first time.
    pub retries: u32,
    /// The wait before the first of them, where the provider asks for none; doubled for each further one.
    pub first_delay: Duration,
    /// The longest wait that a provider may ask for: beyond it the request fails at once. `None`: any.
    pub longest_delay: Option<Duration>,
}

impl Default for RetryPolicy {
    /// As in pi: twice, after half a second and a second; a provider may ask for a minute.
    fn default() -> Self {
        Self {
            retries: 2,
            first_delay: Duration::from_millis(500),
            longest_delay: Some(Duration::from_secs(60)),
        }
    }
}

/// The longest wait where the provider asks for none.
const LONGEST_BACKOFF: Duration = Duration::from_secs(8);

/// The part of such a wait that is left to chance: many clients must not come back at the same moment.
const JITTER: f64 = 0.25;

impl RetryPolicy {
    /// The wait after `tried` retries where the provider asks for none; `chance` is from 0 to 1.
    pub(super) fn backoff(&self, tried: u32, chance: f64) -> Duration {
        let doubled = self.first_delay.saturating_mul(2_u32.saturating_pow(tried));
        doubled.min(LONGEST_BACKOFF).mul_f64(1.0 - JITTER * chance)
    }

    /// The limit that a wait of `asked` breaks, if it does.
    pub(super) fn exceeded_limit(&self, asked: Duration) -> Option<Duration> {
        self.longest_delay.filter(|longest| asked > *longest)
    }
}

/// Whether the request that got this answer may succeed later. What the provider says of it counts most.
pub(super) fn is_transient<'a>(status: u16, header: impl Fn(&str) -> Option<&'a str>) -> bool {
    match header("x-should-retry") {
        Some("true") => true,
        Some("false") => false,
        _ => matches!(status, 408 | 409 | 429 | 500..),
    }
}

/// How long the provider asks to be left alone: `retry-after-ms`, or `retry-after` in seconds or as a date.
pub(super) fn retry_after<'a>(header: impl Fn(&str) -> Option<&'a str>, now: SystemTime) -> Option<Duration> {
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
    fn a_wait_doubles_up_to_eight_seconds_and_chance_takes_a_quarter_at_most() {
        let policy = RetryPolicy::default();
        let waits = |chance| [0, 1, 2, 3, 4, 5, 99].map(|tried| policy.backoff(tried, chance).as_millis());
        assert_eq!(waits(0.0), [500, 1000, 2000, 4000, 8000, 8000, 8000]);
        assert_eq!(waits(1.0), [375, 750, 1500, 3000, 6000, 6000, 6000]);
    }

    #[test]
    fn a_provider_may_ask_for_the_longest_wait_and_no_more() {
        let second = Duration::from_secs(1);
        let policy = RetryPolicy { longest_delay: Some(second), ..RetryPolicy::default() };
        assert_eq!(policy.exceeded_limit(second), None);
        assert_eq!(policy.exceeded_limit(second + Duration::from_millis(1)), Some(second));
        let patient = RetryPolicy { longest_delay: None, ..policy };
        assert_eq!(patient.exceeded_limit(Duration::MAX), None);
    }
}
