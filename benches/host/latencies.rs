//! Samples of durations.

use std::time::Duration;

/// Durations in the order in which they were measured, until a quantile is asked for.
#[derive(Default)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    /// Adds a sample.
    pub fn push(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    /// Adds the samples of others.
    pub fn add(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The sample below or at which this share of all lies; zero without samples.
    pub fn quantile(&mut self, share: f64) -> Duration {
        self.0.sort_unstable();
        let at = (self.0.len() as f64 * share).ceil() as usize;
        self.0.get(at.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// A duration in milliseconds.
pub fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}
