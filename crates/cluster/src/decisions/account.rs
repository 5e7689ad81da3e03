//! The account of a name at a node: what is added to its record, and when a write that was not answered counts.
//!
//! [`Account::handle`] takes what has happened and says what to do next, without NATS and clocks. A write is sent once. Where NATS says
//! that another node was faster, the record is read and a new write is decided on. Where it says nothing, the record is read, too:
//!
//! - it is the write, which counts;
//! - it is what the write was to replace: a next write replaces the same, so that at most one of the two counts;
//! - it is another node's: the write may have counted before. Its dollars are not added again, and this node goes on counting them for
//!   itself. Its command is counted or not, and another one is taken.
//!
//! A command is granted only by a write that counts, so there are never more of them than the records allow.

use super::usage::{Addition, COMMAND, Dollars, KnownRecord, Moment, UsageRecord};

/// Milliseconds for which a record that refuses, or that is only looked at, is taken for the present one.
const FRESH: u64 = 1000;

/// What a node wants of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UsageRequest {
    /// To take one of so many commands a minute.
    Command(u32),
    /// To add the dollars that were spent here, and to know those that were spent elsewhere.
    Dollars,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AccountInput {
    /// A request begins. One before that has not ended has failed.
    Request(UsageRequest),
    /// The record was read; `None`: it is not there, or was deleted. The revision is 0 where nothing was ever there.
    Found(Option<UsageRecord>, u64),
    /// The write is stored with this revision.
    Written(u64),
    /// The write is not stored: the record has another revision.
    Overtaken,
    /// The write is stored or not, now or later.
    Unanswered,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AccountOutput {
    /// Read the record.
    Read,
    /// Write the record behind this revision.
    Write(UsageRecord, u64),
    /// The request has ended. `true`: it is granted; `false`: no command is left.
    End(bool),
}

/// A write that was sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SentWrite {
    /// What is known once it is stored.
    next: KnownRecord,
    /// The revision that it is to replace.
    behind: u64,
    /// What it adds.
    dollars: Dollars,
    /// Whether it is of the present request.
    is_present: bool,
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Account {
    /// Names the next write.
    next_write: u64,
    known: Option<KnownRecord>,
    request: UsageRequest,
    sent: Option<SentWrite>,
    /// Writes that were not answered, all to replace the same revision: at most one of them counts.
    unanswered: Vec<SentWrite>,
    /// Spent here, and not known to be in the record.
    unadded: Dollars,
    /// Spent here, and in the record or not: never added again.
    doubtful: Dollars,
}

impl Account {
    /// An account of which nothing is known. `write` names its first write, and no write of another account.
    pub fn new(write: u64) -> Self {
        Self {
            next_write: write,
            known: None,
            request: UsageRequest::Dollars,
            sent: None,
            unanswered: Vec::new(),
            unadded: Dollars::default(),
            doubtful: Dollars::default(),
        }
    }

    /// Notes dollars that were spent here, on a day of UTC.
    pub fn spend(&mut self, day: u64, nanodollars: u64) {
        self.unadded.add(day, nanodollars);
    }

    /// What was spent on a day, as far as this node knows; `None`: it has not read the record.
    pub fn spent(&self, day: u64) -> Option<u64> {
        let known = self.known.as_ref()?.record.dollars.of(day);
        Some(known.saturating_add(self.spent_here(day)))
    }

    /// Commands that count against so many a minute; `None`: this node has not read the record.
    pub fn commands(&self, per_minute: u32, now: Moment) -> Option<u64> {
        Some(self.known.as_ref()?.level(per_minute, now).div_ceil(COMMAND))
    }

    /// What was spent here on a day, and is not known to be in the record.
    pub fn spent_here(&self, day: u64) -> u64 {
        self.unadded.of(day).saturating_add(self.doubtful.of(day))
    }

    /// Whether dollars wait to be added.
    pub fn has_unadded(&self) -> bool {
        !self.unadded.is_empty()
    }

    /// Whether nothing is lost with the account.
    pub fn is_forgettable(&self, now: Moment) -> bool {
        let unanswered = self.sent.is_some() || !self.unanswered.is_empty();
        !unanswered && !self.has_unadded() && self.doubtful.of(now.day()) == 0
    }

    /// Says what to do next.
    pub fn handle(&mut self, input: AccountInput, now: Moment) -> AccountOutput {
        match input {
            AccountInput::Request(request) => {
                // A request that was given up has left a write without an answer.
                self.unanswered.extend(self.sent.take());
                self.unanswered.iter_mut().for_each(|write| write.is_present = false);
                self.request = request;
                match self.known.is_some() && self.unanswered.is_empty() {
                    true => self.decide(now),
                    false => AccountOutput::Read,
                }
            }
            AccountInput::Found(record, revision) => {
                let is_granted = self.resolve(record.as_ref(), revision);
                self.known = Some(KnownRecord::read(record, revision, now, self.known.take()));
                match is_granted {
                    true => AccountOutput::End(true),
                    false => self.decide(now),
                }
            }
            AccountInput::Written(revision) => {
                let Some(write) = self.sent.take() else { return AccountOutput::Read };
                // Those before it were to replace what it has replaced.
                self.unanswered.clear();
                self.unadded.remove_all(&write.dollars);
                self.known = Some(KnownRecord { revision, ..write.next });
                AccountOutput::End(true)
            }
            AccountInput::Overtaken => {
                // What was known until now is still the best that there is, until the record is read.
                self.sent = None;
                AccountOutput::Read
            }
            AccountInput::Unanswered => {
                self.unanswered.extend(self.sent.take());
                AccountOutput::Read
            }
        }
    }

    /// Settles the writes that were not answered by what was read. `true`: the record is one of the present request.
    fn resolve(&mut self, record: Option<&UsageRecord>, revision: u64) -> bool {
        if record.is_none() {
            // The account begins anew.
            self.doubtful = Dollars::default();
        }
        let Some(last) = self.unanswered.last().filter(|write| write.behind != revision) else {
            return false;
        };
        let stored =
            self.unanswered.iter().find(|write| Some(write.next.record.write) == record.map(|it| it.write));
        // Each adds what the ones before it do.
        let counted = stored.unwrap_or(last);
        if stored.is_none() && record.is_some() {
            self.doubtful.add_all(&counted.dollars);
        }
        self.unadded.remove_all(&counted.dollars);
        let is_granted = stored.is_some_and(|write| write.is_present);
        self.unanswered.clear();
        is_granted
    }

    fn decide(&mut self, now: Moment) -> AccountOutput {
        let Some(known) = &self.known else { return AccountOutput::Read };
        let is_fresh = now.elapsed.saturating_sub(known.checked) <= FRESH;
        let addition = match self.request {
            UsageRequest::Command(per_minute) => {
                Addition { command: Some(per_minute), dollars: self.unadded.clone() }
            }
            UsageRequest::Dollars if self.unadded.is_empty() && is_fresh => return AccountOutput::End(true),
            UsageRequest::Dollars if self.unadded.is_empty() => return AccountOutput::Read,
            UsageRequest::Dollars => Addition { command: None, dollars: self.unadded.clone() },
        };
        match known.with(&addition, now, self.next_write) {
            Some(next) => {
                let (record, behind) = (next.record.clone(), known.revision);
                self.next_write = self.next_write.wrapping_add(1);
                self.sent = Some(SentWrite { next, behind, dollars: addition.dollars, is_present: true });
                AccountOutput::Write(record, behind)
            }
            None if is_fresh => AccountOutput::End(false),
            None => AccountOutput::Read,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decisions::usage::nanodollars;
    use AccountInput::{Found, Overtaken, Request, Unanswered, Written};
    use AccountOutput::{End, Read, Write};

    const fn at(seconds: u64) -> Moment {
        Moment { elapsed: 1000 * seconds, wall: 1_000_000 + 1000 * seconds }
    }

    fn account() -> Account {
        let mut account = Account::new(1);
        account.spend(0, nanodollars(1.0));
        account
    }

    fn written(output: AccountOutput) -> (UsageRecord, u64) {
        match output {
            Write(record, behind) => (record, behind),
            other => panic!("{other:?}"),
        }
    }

    /// An account whose first write, of a command and a dollar, was not answered.
    fn doubting() -> (Account, UsageRecord) {
        let mut account = account();
        assert_eq!(account.handle(Request(UsageRequest::Command(2)), at(0)), Read);
        let (record, behind) = written(account.handle(Found(None, 0), at(0)));
        assert_eq!((record.commands, record.dollars.of(0), behind), (COMMAND, nanodollars(1.0), 0));
        assert_eq!(account.handle(Unanswered, at(2)), Read);
        (account, record)
    }

    #[test]
    fn command_is_granted_once_written() {
        let mut account = account();
        account.handle(Request(UsageRequest::Command(1)), at(0));
        written(account.handle(Found(None, 0), at(0)));
        assert_eq!(account.handle(Written(5), at(0)), End(true));
        assert_eq!((account.has_unadded(), account.spent(0)), (false, Some(nanodollars(1.0))));
        assert_eq!(account.handle(Request(UsageRequest::Command(1)), at(1)), End(false));
        // Somebody may have deleted the record since.
        assert_eq!(account.handle(Request(UsageRequest::Command(1)), at(3)), Read);
        assert_eq!(written(account.handle(Found(None, 6), at(3))).1, 6);
    }

    #[test]
    fn faster_node_is_read_first() {
        let mut account = account();
        account.handle(Request(UsageRequest::Command(2)), at(0));
        let (other, _) = written(account.handle(Found(None, 0), at(0)));
        assert_eq!(account.handle(Overtaken, at(0)), Read);
        let other = UsageRecord { write: 77, ..other };
        let (record, behind) = written(account.handle(Found(Some(other), 8), at(0)));
        assert_eq!((record.commands, record.dollars.of(0), behind), (2 * COMMAND, nanodollars(2.0), 8));
    }

    #[test]
    fn lost_answer_is_found_in_the_record() {
        let (mut account, record) = doubting();
        assert_eq!(account.handle(Found(Some(record), 4), at(2)), End(true));
        assert_eq!((account.spent_here(0), account.spent(0)), (0, Some(nanodollars(1.0))));
    }

    #[test]
    fn lost_write_is_replaced() {
        let (mut account, first) = doubting();
        account.spend(0, nanodollars(2.0));
        let (record, behind) = written(account.handle(Found(None, 0), at(2)));
        assert_eq!((record.dollars.of(0), behind), (nanodollars(3.0), 0));
        // The first one comes after all, and the second one no more.
        assert_eq!(account.handle(Overtaken, at(2)), Read);
        assert_eq!(account.handle(Found(Some(first), 4), at(2)), End(true));
        assert_eq!((account.spent_here(0), account.spent(0)), (nanodollars(2.0), Some(nanodollars(3.0))));
    }

    #[test]
    fn perhaps_added_dollars_stay_here() {
        let (mut account, record) = doubting();
        let other = UsageRecord { write: 77, ..record };
        let (record, behind) = written(account.handle(Found(Some(other), 5), at(2)));
        // Its command is taken again, two seconds later; its dollar is not.
        assert_eq!(
            (record.commands, record.dollars.of(0), behind),
            (2 * COMMAND - 4000, nanodollars(1.0), 5)
        );
        assert_eq!(account.handle(Written(6), at(2)), End(true));
        assert_eq!((account.spent_here(0), account.has_unadded()), (nanodollars(1.0), false));
        assert!(!account.is_forgettable(at(2)));
        // Who deletes the record forgives it.
        account.handle(Request(UsageRequest::Dollars), at(9));
        assert_eq!(account.handle(Found(None, 7), at(9)), End(true));
        assert_eq!(account.spent(0), Some(0));
    }

    #[test]
    fn earlier_write_grants_nothing() {
        let (mut account, record) = doubting();
        account.handle(Request(UsageRequest::Command(2)), at(3));
        let (second, behind) = written(account.handle(Found(Some(record), 4), at(3)));
        assert_eq!((second.dollars.of(0), behind), (nanodollars(1.0), 4));
    }

    #[test]
    fn new_bucket_begins_anew() {
        let mut account = account();
        account.handle(Request(UsageRequest::Dollars), at(0));
        account.handle(Found(None, 0), at(0));
        account.handle(Written(900), at(0));
        account.spend(0, 5);
        assert_eq!(written(account.handle(Request(UsageRequest::Dollars), at(1))).1, 900);
        assert_eq!(account.handle(Overtaken, at(1)), Read);
        let (record, behind) = written(account.handle(Found(None, 0), at(1)));
        assert_eq!((record.dollars.of(0), behind), (5, 0));
    }

    #[test]
    fn dollars_of_others_are_known_soon() {
        let mut account = Account::new(1);
        assert_eq!(account.spent(0), None);
        account.handle(Request(UsageRequest::Dollars), at(0));
        assert_eq!(account.handle(Found(None, 0), at(0)), End(true));
        assert_eq!(account.handle(Request(UsageRequest::Dollars), at(1)), End(true));
        assert_eq!(account.handle(Request(UsageRequest::Dollars), at(2)), Read);
    }
}
