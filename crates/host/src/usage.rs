//! What principals have used of `commands_per_minute` and `dollars_per_day`: counted here, or by all processes that share sessions.
//!
//! A process alone counts at once. Where [`SharedUsage`] counts for several, a command waits until it is counted, and dollars that are
//! spent are added behind its back; what cannot be counted is refused, as more might be used than a limit allows.

use super::{host_error::HostError, limits::TokenLimits, metrics::METRICS, principal::Principal};
use futures_util::future::BoxFuture;
use pi_rpc_protocol::MultiSessionErrorCode;
use std::{
    collections::HashMap,
    fmt::Debug,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// Counts what names use over several processes.
pub trait SharedUsage: Debug + Send + Sync {
    /// Takes one of so many commands a minute. `false`: there is none left.
    fn take_command(&self, name: &str, per_minute: u32) -> BoxFuture<'static, Result<bool, String>>;
    /// Reads what others have spent, if that was not done within a second.
    fn refresh(&self, name: &str) -> BoxFuture<'static, Result<(), String>>;
    /// Adds dollars that were spent on a day, which is that of `wall`: milliseconds since the Unix epoch.
    fn spend(&self, name: &str, dollars: f64, wall: u64);
    /// Whether dollars of a name are being added.
    fn is_adding(&self, name: &str) -> bool;
    /// Commands that count against so many a minute, as far as they are known here.
    fn commands(&self, name: &str, per_minute: u32) -> Option<u32>;
    /// What was spent on a day, as far as it is known here; `None`: nothing is known of other processes.
    fn dollars(&self, name: &str, wall: u64) -> Option<f64>;
}

/// What a name has used now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    /// Commands that count against the limit; `None`: they are not known.
    pub commands: Option<u32>,
    /// Dollars of today; `None`: they are not known.
    pub dollars: Option<f64>,
}

/// Warns once when what a name uses cannot be counted, and once when it can be again.
#[derive(Debug, Default)]
pub struct UsageOutage(AtomicBool);

impl UsageOutage {
    /// Notes that what a name uses was counted, or why not.
    pub fn note<T>(&self, name: &str, outcome: &Result<T, String>) {
        match outcome {
            Ok(_) => {
                if self.0.swap(false, Ordering::Relaxed) {
                    tracing::warn!("what {name:?} uses is counted again");
                }
            }
            Err(reason) => {
                METRICS.usage_error();
                if !self.0.swap(true, Ordering::Relaxed) {
                    tracing::warn!("what {name:?} uses cannot be counted, and is refused: {reason}");
                }
            }
        }
    }
}

/// What a name has used of its limits.
#[derive(Debug, Default)]
pub struct Usage {
    name: String,
    rate: Mutex<Option<CommandRate>>,
    spend: Mutex<Spend>,
    shared: Arc<OnceLock<Arc<dyn SharedUsage>>>,
}

/// What all names have used, so that it counts across tokens and connections.
#[derive(Clone, Debug, Default)]
pub struct UsageBook {
    names: Arc<Mutex<HashMap<String, Arc<Usage>>>>,
    shared: Arc<OnceLock<Arc<dyn SharedUsage>>>,
}

impl UsageBook {
    /// The principal of this name, until `revoked` is cancelled.
    pub fn principal(&self, name: String, limits: TokenLimits, revoked: CancellationToken) -> Arc<Principal> {
        let new = || Arc::new(Usage { name: name.clone(), shared: self.shared.clone(), ..Usage::default() });
        let usage = lock(&self.names).entry(name.clone()).or_insert_with(new).clone();
        Arc::new(Principal::new(name, limits, usage, revoked))
    }

    /// What a name has used, of so many commands a minute, and of today's dollars.
    pub async fn used(&self, name: &str, per_minute: Option<u32>, now: Instant, wall: u64) -> Used {
        let shared = self.shared.get().filter(|_| name != Principal::LOCAL);
        if let Some(shared) = shared {
            return match shared.refresh(name).await {
                Ok(()) => Used {
                    commands: per_minute.and_then(|limit| shared.commands(name, limit)),
                    dollars: shared.dollars(name, wall),
                },
                Err(_) => Used::default(),
            };
        }
        let usage = lock(&self.names).get(name).cloned().unwrap_or_default();
        let rate = lock(&usage.rate);
        let commands = |limit| rate.as_ref().map_or(0, |rate: &CommandRate| rate.used(limit, now));
        Used { commands: per_minute.map(commands), dollars: Some(lock(&usage.spend).today(wall)) }
    }

    /// From now on, what names use is counted over several processes.
    pub fn share(&self, shared: Arc<dyn SharedUsage>) {
        // A process joins others once.
        let _ = self.shared.set(shared);
    }
}

/// Whether a limit holds up what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpendState {
    /// There is money left.
    Left,
    /// All of it is spent.
    Spent,
    /// What others have spent is not known.
    Unknown,
}

impl Usage {
    fn shared(&self) -> Option<&Arc<dyn SharedUsage>> {
        // What clients without a token use has no limits.
        self.shared.get().filter(|_| self.name != Principal::LOCAL)
    }

    /// Counts a command in this process alone.
    ///
    /// # Errors
    ///
    /// `rate_limited`.
    pub fn take_command(&self, per_minute: u32, now: Instant) -> Result<(), HostError> {
        let mut rate = lock(&self.rate);
        match rate.get_or_insert_with(|| CommandRate::new(per_minute, now)).take(per_minute, now) {
            true => Ok(()),
            false => Err(rate_limited(per_minute)),
        }
    }

    /// Counts a command, and learns of what others have spent, where several processes count; `None`: this one counts alone.
    /// `per_minute`: the limit of the command, if it counts. `spends`: whether it may cost money that is limited.
    pub fn admission(
        &self,
        per_minute: Option<u32>,
        spends: bool,
    ) -> Option<BoxFuture<'static, Result<(), HostError>>> {
        let shared = self.shared()?;
        let taken = per_minute.map(|per_minute| (per_minute, shared.take_command(&self.name, per_minute)));
        let known = spends.then(|| shared.refresh(&self.name));
        let uncounted = |reason| HostError::ClusterUnavailable(format!("limits of the token: {reason}"));
        Some(Box::pin(async move {
            if let Some((per_minute, taken)) = taken
                && !taken.await.map_err(uncounted)?
            {
                return Err(rate_limited(per_minute));
            }
            match known {
                Some(known) => known.await.map_err(uncounted),
                None => Ok(()),
            }
        }))
    }

    /// Whether more than nothing is left of a day's dollars.
    pub fn spend_state(&self, limit: f64, wall: u64) -> SpendState {
        let spent = match self.shared() {
            Some(shared) => shared.dollars(&self.name, wall),
            None => Some(lock(&self.spend).today(wall)),
        };
        match spent {
            Some(spent) if spent < limit => SpendState::Left,
            Some(_) => SpendState::Spent,
            None => SpendState::Unknown,
        }
    }

    /// Whether dollars are on their way to where all processes count.
    pub fn is_adding_dollars(&self) -> bool {
        self.shared().is_some_and(|shared| shared.is_adding(&self.name))
    }

    /// Adds dollars.
    pub fn spend(&self, dollars: f64, wall: u64) {
        match self.shared() {
            Some(shared) => shared.spend(&self.name, dollars, wall),
            None => lock(&self.spend).add(dollars, wall),
        }
    }
}

fn rate_limited(per_minute: u32) -> HostError {
    let text = format!("commands_per_minute: {per_minute}; wait, and send the command again");
    HostError::Forbidden(MultiSessionErrorCode::RateLimited, text)
}

/// Commands that may be given now. By hand: crates for this bring a dozen others, for 15 lines.
#[derive(Debug)]
struct CommandRate {
    left: f64,
    at: Instant,
}

impl CommandRate {
    fn new(per_minute: u32, now: Instant) -> Self {
        Self { left: f64::from(per_minute), at: now }
    }

    /// Commands that are left.
    fn left(&self, per_minute: u32, now: Instant) -> f64 {
        let limit = f64::from(per_minute);
        let refilled = now.saturating_duration_since(self.at).as_secs_f64() * limit / 60.0;
        (self.left + refilled).min(limit)
    }

    /// Commands that are not left.
    fn used(&self, per_minute: u32, now: Instant) -> u32 {
        (f64::from(per_minute) - self.left(per_minute, now)).ceil() as u32
    }

    /// Takes one command; `false`: there is none left.
    fn take(&mut self, per_minute: u32, now: Instant) -> bool {
        (self.left, self.at) = (self.left(per_minute, now), now.max(self.at));
        let is_left = self.left >= 1.0;
        if is_left {
            self.left -= 1.0;
        }
        is_left
    }
}

/// Dollars of one day.
#[derive(Debug, Default)]
struct Spend {
    /// Days since the Unix epoch.
    day: u64,
    dollars: f64,
}

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

impl Spend {
    fn today(&self, wall: u64) -> f64 {
        if wall / DAY_MS > self.day { 0.0 } else { self.dollars }
    }

    fn add(&mut self, dollars: f64, wall: u64) {
        // A clock that goes back gives nothing back.
        *self = Self { dollars: self.today(wall) + dollars, day: self.day.max(wall / DAY_MS) };
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn principal(book: &UsageBook, limits: &str) -> Arc<Principal> {
        let limits = serde_json::from_str(limits).unwrap();
        book.principal("a".to_owned(), limits, CancellationToken::new())
    }

    #[test]
    fn rate_refills_over_a_minute() {
        let start = Instant::now();
        let mut rate = CommandRate::new(2, start);
        let mut taken = |seconds| rate.take(2, start + Duration::from_secs(seconds));
        assert_eq!(
            [0, 0, 0, 29, 30, 31, 120, 120, 120].map(&mut taken),
            [true, true, false, false, true, false, true, true, false]
        );
    }

    #[test]
    fn tokens_of_one_name_share_usage() {
        let (book, now) = (UsageBook::default(), Instant::now());
        let limits = r#"{"commands_per_minute":1,"dollars_per_day":1}"#;
        let (one, other) = (principal(&book, limits), principal(&book, limits));
        one.count_command(now).unwrap();
        one.spend(1.0, 0);
        let codes =
            [other.count_command(now), other.check_spend(0)].map(|refused| refused.unwrap_err().text());
        assert_eq!(
            codes,
            [
                "rate_limited: commands_per_minute: 1; wait, and send the command again",
                "spend_exceeded: dollars_per_day: 1; more is available from 0:00 UTC on",
            ]
        );
    }

    #[test]
    fn spend_begins_anew_each_day() {
        let book = UsageBook::default();
        let one = principal(&book, r#"{"dollars_per_day":1}"#);
        one.spend(0.5, DAY_MS);
        one.check_spend(DAY_MS + 1).unwrap();
        one.spend(0.5, DAY_MS + 1);
        one.check_spend(DAY_MS + 1).unwrap_err();
        // A clock that goes back.
        one.check_spend(1).unwrap_err();
        one.check_spend(2 * DAY_MS).unwrap();
    }

    /// What several processes count, of which nothing can be known.
    #[derive(Debug)]
    struct Unreachable;

    impl SharedUsage for Unreachable {
        fn take_command(&self, _: &str, _: u32) -> BoxFuture<'static, Result<bool, String>> {
            Box::pin(async { Err("no answer".to_owned()) })
        }

        fn refresh(&self, _: &str) -> BoxFuture<'static, Result<(), String>> {
            Box::pin(async { Err("no answer".to_owned()) })
        }

        fn spend(&self, _: &str, _: f64, _: u64) {}

        fn is_adding(&self, _: &str) -> bool {
            true
        }

        fn commands(&self, _: &str, _: u32) -> Option<u32> {
            None
        }

        fn dollars(&self, _: &str, _: u64) -> Option<f64> {
            None
        }
    }

    #[tokio::test]
    async fn what_cannot_be_counted_is_refused() {
        let book = UsageBook::default();
        let limited = principal(&book, r#"{"commands_per_minute":1,"dollars_per_day":1}"#);
        let unlimited = principal(&book, "{}");
        book.share(Arc::new(Unreachable));
        let refused = Err("cluster_unavailable: limits of the token: no answer".to_owned());
        for (counts, spends) in [(true, false), (false, true)] {
            let admitted = limited.admission(counts, spends).unwrap().await;
            assert_eq!(admitted.map_err(|error| error.text()), refused);
        }
        assert!(limited.admission(false, false).is_none());
        assert!(unlimited.admission(true, true).is_none());
        assert_eq!(limited.check_spend(0).unwrap_err().code(), MultiSessionErrorCode::ClusterUnavailable);
        // A run goes on until it is known to have spent too much.
        assert!(!limited.has_overspent(0));
    }
}
