//! What a name has used of its limits over all nodes: one record, which a node writes behind the revision that it has read.
//!
//! Commands are one bucket that drains with time, and drains once: the record says up to when it has. No clock is trusted beyond its own
//! node. A node reads the record's time by its wall clock once, and counts from there on by the time that passes: a record that seems to
//! be of the future has just been written, as far as this node knows. Dollars are kept by day, each node's by its own.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One command in the level of a record: a limit of N a minute drains N in a millisecond.
pub const COMMAND: u64 = 60_000;

/// Milliseconds of a day.
const DAY: u64 = 24 * 60 * 60 * 1000;

/// Days that a record has at most; those farthest from the node's own are forgotten.
const MAX_DAYS: usize = 4;

/// A moment, by the clocks of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Moment {
    /// Milliseconds since the node has begun, which never go back.
    pub elapsed: u64,
    /// Milliseconds since the Unix epoch.
    pub wall: u64,
}

impl Moment {
    /// The day of UTC.
    pub const fn day(self) -> u64 {
        self.wall / DAY
    }
}

/// Billionths of dollars, by day of UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Dollars(BTreeMap<u64, u64>);

impl Dollars {
    /// Adds to a day.
    pub fn add(&mut self, day: u64, nanodollars: u64) {
        let known = self.0.entry(day).or_default();
        *known = known.saturating_add(nanodollars);
    }

    /// Those of a day.
    pub fn of(&self, day: u64) -> u64 {
        self.0.get(&day).copied().unwrap_or_default()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds all of the others.
    pub fn add_all(&mut self, others: &Self) {
        others.0.iter().for_each(|(day, nanodollars)| self.add(*day, *nanodollars));
    }

    /// Takes the others away.
    pub fn remove_all(&mut self, others: &Self) {
        for (day, nanodollars) in &others.0 {
            if let Some(known) = self.0.get_mut(day) {
                *known = known.saturating_sub(*nanodollars);
            }
        }
        self.0.retain(|_, known| *known > 0);
    }

    /// Forgets the days that are farthest from `today`, beyond [`MAX_DAYS`].
    fn forget_far_days(&mut self, today: u64) {
        while self.0.len() > MAX_DAYS
            && let Some(far) = self.0.keys().copied().max_by_key(|day| day.abs_diff(today))
        {
            self.0.remove(&far);
        }
    }
}

/// What a name has used. A record with further members is refused: this version would drop them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageRecord {
    /// Up to when commands have drained, in milliseconds since the Unix epoch by the clock of the node that drained last.
    pub at: u64,
    /// Commands that have not drained by then, in [`COMMAND`]ths.
    pub commands: u64,
    /// What was spent.
    pub dollars: Dollars,
    /// Names the write of this record.
    pub write: u64,
}

/// What a write adds to a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Addition {
    /// The limit of commands a minute, if one is taken; `None`: none is taken, and the limit may not be known.
    pub command: Option<u32>,
    /// What was spent.
    pub dollars: Dollars,
}

/// A record as a node has read or written it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KnownRecord {
    /// The record.
    pub record: UsageRecord,
    /// Its revision; 0: there is none.
    pub revision: u64,
    /// When this node first had this revision, by [`Moment::elapsed`].
    pub since: u64,
    /// Milliseconds that had passed by then since the record's time, by the wall clock of this node.
    pub age: u64,
    /// When it was last seen to be the present one.
    pub checked: u64,
}

impl KnownRecord {
    /// A record that was read now. `before`: what was known until now.
    pub fn read(record: Option<UsageRecord>, revision: u64, now: Moment, before: Option<Self>) -> Self {
        let record = record.unwrap_or_default();
        match before.filter(|before| before.revision == revision && before.record == record) {
            Some(before) => Self { checked: now.elapsed, ..before },
            None => {
                let age = now.wall.saturating_sub(record.at);
                Self { record, revision, since: now.elapsed, age, checked: now.elapsed }
            }
        }
    }

    /// Milliseconds since the record's time.
    fn passed(&self, now: Moment) -> u64 {
        self.age.saturating_add(now.elapsed.saturating_sub(self.since))
    }

    /// Commands that have not drained yet, in [`COMMAND`]ths.
    pub fn level(&self, per_minute: u32, now: Moment) -> u64 {
        let per_minute = u64::from(per_minute);
        // A level of a higher limit would refuse for longer than a minute.
        let known = self.record.commands.min(per_minute * COMMAND);
        known.saturating_sub(self.passed(now).saturating_mul(per_minute))
    }

    /// What is known once the record is written with an addition, but for its revision; `None`: no command is left. `write` names the
    /// write.
    pub fn with(&self, addition: &Addition, now: Moment, write: u64) -> Option<Self> {
        let mut next = Self { checked: now.elapsed, ..self.clone() };
        if let Some(per_minute) = addition.command {
            let (level, full) = (self.level(per_minute, now), u64::from(per_minute) * COMMAND);
            if level + COMMAND > full {
                return None;
            }
            next.record.commands = level + COMMAND;
            next.record.at = self.record.at.saturating_add(self.passed(now));
            (next.since, next.age) = (now.elapsed, 0);
        }
        next.record.dollars.add_all(&addition.dollars);
        next.record.dollars.forget_far_days(now.day());
        next.record.write = write;
        Some(next)
    }
}

/// Billionths in a dollar.
pub const DOLLAR: f64 = 1e9;

/// Dollars in billionths.
pub fn nanodollars(dollars: f64) -> u64 {
    // Saturates, and is 0 for what is no number.
    (dollars * DOLLAR).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A moment of a node whose clock is so many milliseconds ahead.
    fn at(seconds: u64, ahead: i64) -> Moment {
        let wall = (1_000_000 + 1000 * seconds).saturating_add_signed(ahead);
        Moment { elapsed: 1000 * seconds, wall }
    }

    fn command(per_minute: u32) -> Addition {
        Addition { command: Some(per_minute), dollars: Dollars::default() }
    }

    fn none() -> KnownRecord {
        KnownRecord::read(None, 0, at(0, 0), None)
    }

    /// Takes commands in turn at these seconds, each by a node whose clock is so far ahead, from one record.
    fn taken(per_minute: u32, takers: &[(u64, i64)]) -> Vec<bool> {
        let (mut record, mut revision) = (UsageRecord::default(), 0);
        let mut known: BTreeMap<i64, KnownRecord> = BTreeMap::new();
        let take = |&(seconds, ahead): &(u64, i64)| {
            let now = at(seconds, ahead);
            let read = KnownRecord::read(Some(record.clone()), revision, now, known.remove(&ahead));
            let next = read.with(&command(per_minute), now, 0);
            let is_taken = next.is_some();
            if let Some(next) = &next {
                (record, revision) = (next.record.clone(), revision + 1);
            }
            known.insert(ahead, next.map_or(read, |next| KnownRecord { revision, ..next }));
            is_taken
        };
        takers.iter().map(take).collect()
    }

    #[test]
    fn bucket_drains_over_a_minute() {
        let takers = [0, 0, 0, 29, 30, 31, 120, 120, 120].map(|seconds| (seconds, 0));
        assert_eq!(taken(2, &takers), [true, true, false, false, true, false, true, true, false]);
    }

    #[test]
    fn bucket_drains_once_for_all_nodes() {
        // One is ten seconds behind. Each of them sees the time pass, and none of it twice.
        let takers: Vec<(u64, i64)> =
            (0..600).map(|second| (second, [0, -10_000][second as usize % 2])).collect();
        let count = taken(6, &takers).into_iter().filter(|is_taken| *is_taken).count();
        assert!((58..=66).contains(&count), "{count}");
    }

    #[test]
    fn clock_ahead_locks_nobody_out() {
        let hour = 3_600_000;
        let takers = [(0, hour), (0, hour), (1, 0), (30, 0), (31, 0), (32, 0), (62, 0)];
        assert_eq!(taken(2, &takers), [true, true, false, false, true, false, true]);
    }

    #[test]
    fn clock_that_jumps_changes_nothing_read() {
        let known = none().with(&command(1), at(0, 0), 0).unwrap();
        assert_eq!(known.with(&command(1), at(59, 9_000_000), 0), None);
        assert!(known.with(&command(1), at(60, -900_000), 0).is_some());
    }

    #[test]
    fn lower_limit_refuses_for_a_minute() {
        let full = UsageRecord { at: 1_000_000, commands: 600 * COMMAND, ..UsageRecord::default() };
        let known = KnownRecord::read(Some(full), 7, at(0, 0), None);
        assert_eq!(known.with(&command(2), at(29, 0), 0), None);
        assert!(known.with(&command(2), at(30, 0), 0).is_some());
    }

    #[test]
    fn dollars_leave_the_bucket_alone() {
        let half = UsageRecord { at: 1_000_000, commands: COMMAND, ..UsageRecord::default() };
        let known = KnownRecord::read(Some(half.clone()), 7, at(45, 0), None);
        let mut dollars = Dollars::default();
        dollars.add(0, nanodollars(0.25));
        let spent = known.with(&Addition { command: None, dollars: dollars.clone() }, at(50, 0), 3).unwrap();
        assert_eq!(spent.record, UsageRecord { dollars, write: 3, ..half });
        // What has passed in the meantime still counts, here and elsewhere.
        assert_eq!(spent.with(&command(1), at(59, 0), 0), None);
        assert!(spent.with(&command(1), at(60, 0), 0).is_some());
        let elsewhere = KnownRecord::read(Some(spent.record), 8, at(60, 0), None);
        assert!(elsewhere.with(&command(1), at(60, 0), 0).is_some());
    }

    #[test]
    fn dollars_are_of_each_nodes_day() {
        let mut known = none();
        for (day, spent) in [(5, 1), (6, 2), (5, 4), (99, 8), (4, 16), (3, 32)] {
            let mut dollars = Dollars::default();
            dollars.add(day, spent);
            let now = Moment { elapsed: 0, wall: day * DAY };
            known = known.with(&Addition { command: None, dollars }, now, 0).unwrap();
        }
        let kept = [3, 4, 5, 6, 99].map(|day| known.record.dollars.of(day));
        assert_eq!(kept, [32, 16, 5, 2, 0]);
    }

    #[test]
    fn record_is_read_again_as_written() {
        let mut dollars = Dollars::default();
        dollars.add(20_000, nanodollars(1.25));
        let record = UsageRecord { at: 7, commands: COMMAND, dollars, write: u64::MAX };
        let text = serde_json::to_string(&record).unwrap();
        let expected =
            format!(r#"{{"at":7,"commands":60000,"dollars":{{"20000":1250000000}},"write":{}}}"#, u64::MAX);
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<UsageRecord>(&text).unwrap(), record);
    }
}
