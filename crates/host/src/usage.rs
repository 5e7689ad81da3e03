//! What names have used of their limits: here, and, where processes share it, on all of them.
//!
//! A process counts what it uses at once, and tells the others of it soon ([`UsageBook::take_unshared`]); what all of them have used
//! comes back as one [`Tally`] ([`UsageBook::set_shared`]). Until then, a process does not know what is used elsewhere. The excess of
//! commands is not forgiven: a level goes down by the limit, from wherever it is.

use super::{limits::TokenLimits, principal::Principal};
use pi_rpc_server::wall_ms;
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// What a name has used of its limits.
#[derive(Debug, Default)]
pub struct Usage(Mutex<UsageState>);

#[derive(Debug, Default)]
struct UsageState {
    /// What all processes have used, as far as this one knows.
    shared: Used,
    /// The revision of that.
    revision: u64,
    /// What this one has used and has not told yet, and what it is telling.
    unshared: Used,
    in_flight: Used,
    is_telling: bool,
    /// The commands of a minute that were allowed last.
    per_minute: u32,
    is_shared: bool,
}

/// Commands and dollars.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    commands: Level,
    spend: Spend,
}

/// What all names have used, so that it counts across tokens and connections.
#[derive(Clone, Debug, Default)]
pub struct UsageBook {
    names: Arc<Mutex<HashMap<String, Arc<Usage>>>>,
    is_shared: Arc<AtomicBool>,
}

/// A moment, by both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The monotonic clock of this process.
    pub now: Instant,
    /// Milliseconds since the Unix epoch, which other processes count, too.
    pub wall: u64,
}

impl Moment {
    /// The present one.
    pub fn present() -> Self {
        Self { now: Instant::now(), wall: wall_ms() }
    }
}

/// What a name has used on all processes, at a moment of the wall clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Milliseconds since the Unix epoch.
    pub at: u64,
    /// The level of commands: it goes down by the limit in a minute.
    pub commands: f64,
    /// Days since the Unix epoch.
    pub day: u64,
    /// Dollars of that day.
    pub dollars: f64,
}

/// What a process has used since it last told of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnsharedUsage {
    used: Tally,
    per_minute: u32,
}

impl UsageBook {
    /// The principal of this name, until `revoked` is cancelled.
    pub fn principal(&self, name: String, limits: TokenLimits, revoked: CancellationToken) -> Arc<Principal> {
        let usage = self.usage(&name);
        Arc::new(Principal::new(name, limits, usage, revoked))
    }

    fn usage(&self, name: &str) -> Arc<Usage> {
        let mut names = lock(&self.names);
        if let Some(usage) = names.get(name) {
            return usage.clone();
        }
        let usage = Usage::default();
        lock(&usage.0).is_shared = self.is_shared.load(Ordering::Relaxed);
        names.entry(name.to_owned()).or_insert(Arc::new(usage)).clone()
    }

    /// From now on, what names use is told to other processes.
    pub fn share(&self) {
        self.is_shared.store(true, Ordering::Relaxed);
        lock(&self.names).values().for_each(|usage| lock(&usage.0).is_shared = true);
    }

    /// What names have used here since it was last taken. Names that nobody uses, with nothing that counts, are forgotten.
    pub fn take_unshared(&self, Moment { now, wall }: Moment) -> Vec<(String, UnsharedUsage)> {
        let mut names = lock(&self.names);
        names.retain(|_, usage| Arc::strong_count(usage) > 1 || lock(&usage.0).counts(now, wall));
        let taken = names.iter().filter_map(|(name, usage)| {
            let mut state = lock(&usage.0);
            let used = state.unshared.tally(state.per_minute, now, wall);
            (!state.is_telling && (used.commands > 0.0 || used.dollars > 0.0)).then(|| {
                state.in_flight = std::mem::take(&mut state.unshared);
                state.is_telling = true;
                (name.clone(), UnsharedUsage { used, per_minute: state.per_minute })
            })
        });
        taken.collect()
    }

    /// Takes in what all processes have used, at this revision. `is_told`: with what was taken here last.
    pub fn set_shared(&self, name: &str, tally: Tally, revision: u64, is_told: bool, at: Moment) {
        let usage = self.usage(name);
        let mut state = lock(&usage.0);
        if is_told {
            (state.in_flight, state.is_telling) = (Used::default(), false);
        }
        if revision > state.revision {
            // As old as it is: the limit may not be known here yet.
            let since = Duration::from_millis(at.wall.saturating_sub(tally.at));
            let level = Level { level: tally.commands, at: at.now.checked_sub(since) };
            let spend = Spend { day: tally.day, dollars: tally.dollars };
            (state.revision, state.shared) = (revision, Used { commands: level, spend });
        }
    }

    /// Takes back what could not be told.
    pub fn put_back(&self, name: &str, Moment { now, wall }: Moment) {
        let usage = self.usage(name);
        let mut state = lock(&usage.0);
        let (in_flight, per_minute) = (std::mem::take(&mut state.in_flight), state.per_minute);
        state.is_telling = false;
        state.unshared.commands.add(in_flight.commands.now(per_minute, now), per_minute, now);
        state.unshared.spend.add(in_flight.spend.today(wall), wall);
    }
}

impl UnsharedUsage {
    /// What all have used, with this.
    pub fn added_to(self, tally: Tally) -> Tally {
        let Self { used, per_minute } = self;
        let since = Duration::from_millis(used.at.saturating_sub(tally.at)).as_secs_f64();
        let level = (tally.commands - since * f64::from(per_minute) / 60.0).max(0.0);
        let mut spend = Spend { day: tally.day, dollars: tally.dollars };
        spend.add(used.dollars, used.day * DAY_MS);
        // Clocks differ: what was used in the meantime stays.
        let at = used.at.max(tally.at);
        Tally { at, commands: level + used.commands, day: spend.day, dollars: spend.dollars }
    }
}

impl Usage {
    /// Takes one of so many commands in a minute; `false`: there is none left.
    pub fn take_command(&self, per_minute: u32, now: Instant) -> bool {
        let mut state = lock(&self.0);
        state.per_minute = per_minute;
        let level: f64 = state.all().iter().map(|used| used.commands.now(per_minute, now)).sum();
        let is_left = level + 1.0 <= f64::from(per_minute) + ROUNDING;
        if is_left {
            state.own().commands.add(1.0, per_minute, now);
        }
        is_left
    }

    /// Dollars of today, by the wall clock in milliseconds since the Unix epoch.
    pub fn dollars(&self, wall: u64) -> f64 {
        lock(&self.0).all().iter().map(|used| used.spend.today(wall)).sum()
    }

    /// Adds dollars.
    pub fn spend(&self, dollars: f64, wall: u64) {
        lock(&self.0).own().spend.add(dollars, wall);
    }
}

impl UsageState {
    const fn all(&self) -> [&Used; 3] {
        [&self.shared, &self.unshared, &self.in_flight]
    }

    /// Where this process counts.
    const fn own(&mut self) -> &mut Used {
        if self.is_shared { &mut self.unshared } else { &mut self.shared }
    }

    fn counts(&self, now: Instant, wall: u64) -> bool {
        let per_minute = self.per_minute;
        self.all().iter().any(|used| used.commands.now(per_minute, now) > 0.0 || used.spend.today(wall) > 0.0)
    }
}

impl Used {
    fn tally(&self, per_minute: u32, now: Instant, wall: u64) -> Tally {
        let commands = self.commands.now(per_minute, now);
        Tally { at: wall, commands, day: wall / DAY_MS, dollars: self.spend.today(wall) }
    }
}

/// Commands that were given, less those that a minute allows. By hand: crates for this bring a dozen others, for 20 lines.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    level: f64,
    /// When it was so; `None`: never.
    at: Option<Instant>,
}

/// What sums of fractions may be wrong by.
const ROUNDING: f64 = 1e-6;

impl Level {
    fn now(&self, per_minute: u32, now: Instant) -> f64 {
        let Some(at) = self.at else { return 0.0 };
        let since = now.saturating_duration_since(at).as_secs_f64();
        (self.level - since * f64::from(per_minute) / 60.0).max(0.0)
    }

    fn add(&mut self, commands: f64, per_minute: u32, now: Instant) {
        let at = self.at.map_or(now, |at| at.max(now));
        *self = Self { level: self.now(per_minute, now) + commands, at: Some(at) };
    }
}

/// Dollars of one day.
#[derive(Clone, Copy, Debug, Default)]
struct Spend {
    /// Days since the Unix epoch.
    day: u64,
    dollars: f64,
}

/// Milliseconds of a day.
pub const DAY_MS: u64 = 24 * 60 * 60 * 1000;

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

    #[test]
    fn rate_refills_over_a_minute() {
        let (start, usage) = (Instant::now(), Usage::default());
        let mut taken = |seconds| usage.take_command(2, start + Duration::from_secs(seconds));
        assert_eq!(
            [0, 0, 0, 29, 30, 31, 120, 120, 120].map(&mut taken),
            [true, true, false, false, true, false, true, true, false]
        );
    }

    /// Processes that share what `a` uses by a store, which each of them tells and hears when it comes by.
    struct Processes {
        books: Vec<(UsageBook, Arc<Principal>)>,
        stored: Tally,
        revision: u64,
        start: Instant,
    }

    impl Processes {
        fn new(limits: &str) -> Self {
            let book = |_| {
                let book = UsageBook::default();
                book.share();
                let limits = serde_json::from_str(limits).unwrap();
                let principal = book.principal("a".to_owned(), limits, CancellationToken::new());
                (book, principal)
            };
            let books = (0..2).map(book).collect();
            Self { books, stored: Tally::default(), revision: 0, start: Instant::now() }
        }

        fn at(&self, seconds: u64) -> Moment {
            Moment { now: self.start + Duration::from_secs(seconds), wall: 5 * DAY_MS + 1000 * seconds }
        }

        fn exchange(&mut self, seconds: u64) {
            let at = self.at(seconds);
            for (book, _) in &self.books {
                for (name, unshared) in book.take_unshared(at) {
                    (self.stored, self.revision) = (unshared.added_to(self.stored), self.revision + 1);
                    book.set_shared(&name, self.stored, self.revision, true, at);
                }
            }
            self.books
                .iter()
                .for_each(|(book, _)| book.set_shared("a", self.stored, self.revision, false, at));
        }

        /// How many of ten commands one of them lets through.
        fn commands(&self, which: usize, seconds: u64) -> usize {
            let now = self.at(seconds).now;
            (0..10).filter(|_| self.books[which].1.count_command(now).is_ok()).count()
        }
    }

    #[test]
    fn commands_count_over_all_processes() {
        let mut processes = Processes::new(r#"{"commands_per_minute":6}"#);
        processes.books[0].1.count_command(processes.at(0).now).unwrap();
        processes.exchange(0);
        assert_eq!(processes.commands(1, 0), 5);
        // The first process does not know of those yet: it lets as many through again, which are paid back.
        assert_eq!(processes.commands(0, 0), 5);
        processes.exchange(0);
        assert_eq!([0, 1].map(|which| processes.commands(which, 59)), [0, 0]);
        assert_eq!(processes.commands(0, 62), 1);
        processes.exchange(62);
        assert_eq!(processes.commands(1, 62), 0);
    }

    #[test]
    fn dollars_count_over_all_processes() {
        const DAY: u64 = DAY_MS / 1000;
        let mut processes = Processes::new(r#"{"dollars_per_day":3}"#);
        let (today, tomorrow) = (processes.at(0), processes.at(DAY));
        for (_, principal) in &processes.books {
            principal.spend(2.0, today.wall);
            principal.check_spend(today.wall).unwrap();
        }
        processes.exchange(0);
        assert_eq!((processes.stored.day, processes.stored.dollars), (5, 4.0));
        for (_, principal) in &processes.books {
            principal.check_spend(today.wall).unwrap_err();
            principal.check_spend(tomorrow.wall).unwrap();
        }
        // What could not be told is told later.
        let (book, principal) = &processes.books[0];
        principal.spend(1.0, tomorrow.wall);
        assert_eq!(book.take_unshared(tomorrow).len(), 1);
        book.put_back("a", tomorrow);
        processes.exchange(DAY);
        assert_eq!((processes.stored.day, processes.stored.dollars), (6, 1.0));
    }

    #[test]
    fn unused_names_are_forgotten() {
        let book = UsageBook::default();
        book.share();
        let limits = TokenLimits::default();
        drop(book.principal("a".to_owned(), limits.clone(), CancellationToken::new()));
        let kept = book.principal("b".to_owned(), limits.clone(), CancellationToken::new());
        book.principal("c".to_owned(), limits, CancellationToken::new()).spend(1.0, 0);
        book.take_unshared(Moment { now: Instant::now(), wall: 0 });
        let mut names: Vec<String> = lock(&book.names).keys().cloned().collect();
        names.sort_unstable();
        assert_eq!(names, ["b", "c"]);
        drop(kept);
    }
}
