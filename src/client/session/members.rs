//! How members change, and when what is told of one can be believed.

use super::{
    lists::no_tokens,
    state::{Cause, Change, OpenCommand, SessionState},
};
use crate::protocol::{DialectDispatch, MemberValue, SessionMember as Member, TokenTotals};

impl SessionState {
    /// Whether nothing has changed a member since the frame `since`, and no open command may.
    pub(super) fn is_steady(&self, member: Member, since: u64) -> bool {
        let is_changing = self.open.iter().any(|open| open.kind.changes().contains(&member));
        !is_changing && self.changes[member as usize].is_none_or(|change| change.at <= since)
    }

    /// Whether another command that changes the member may have come between a command and its response. Where commands are
    /// served one by one, none can.
    pub(super) fn is_contested(&self, member: Member, open: &OpenCommand, effect: Contest) -> bool {
        if self.dialect.record().dispatch == DialectDispatch::SerialWithControlLane {
            return false;
        }
        let mut others = self.open.iter().filter(|other| other.kind.changes().contains(&member)).peekable();
        let is_alone = others.peek().is_none();
        if effect == Contest::Appends && others.all(|other| other.kind == open.kind) {
            return false;
        }
        let change = self.changes[member as usize].filter(|it| it.by == Cause::Command && it.at > open.since);
        !is_alone || (change.is_some() && effect != Contest::Keeps)
    }

    /// Whether an event has told the member since the frame `since`.
    pub(super) fn was_announced(&self, member: Member, since: u64) -> bool {
        let change = self.changes[member as usize];
        change.is_some_and(|it| it.by == Cause::Event && it.at > since) && self.is_known(member)
    }

    /// Gives a member a value; `None`: one that is not known.
    pub(super) fn change(&mut self, member: Member, value: Option<MemberValue>, by: Cause) {
        self.note(member, by);
        self.store(member, value);
    }

    /// Notes that the frame changes a member, whatever its value is then.
    pub(super) const fn note(&mut self, member: Member, by: Cause) {
        self.changes[member as usize] = Some(Change { at: self.frames, by });
    }

    pub(super) fn forget_all(&mut self, members: &[Member], by: Cause) {
        members.iter().for_each(|member| self.forget(*member, by));
    }

    pub(super) fn forget(&mut self, member: Member, by: Cause) {
        self.note(member, by);
        match member {
            Member::Messages => {
                let changes = self.messages.forget();
                self.revise(member, changes);
            }
            Member::Entries => {
                let changes = self.entries.forget();
                self.revise(member, changes);
            }
            Member::Usage => self.set_usage(None),
            _ => self.store(member, None),
        }
    }

    /// Gives a member its first value, where that is known.
    pub(super) fn reset(&mut self, member: Member) {
        match member {
            Member::Messages => {
                let changes = self.messages.clear();
                self.revise(member, changes);
            }
            // The first entries of a session are the server's.
            Member::Entries => {
                let changes = self.entries.forget();
                self.revise(member, changes);
            }
            Member::Usage => self.set_usage(Some(no_tokens())),
            _ => self.store(member, member.first_value()),
        }
    }

    pub(super) fn store(&mut self, member: Member, value: Option<MemberValue>) {
        let changes = self.values[member as usize] != value;
        if changes {
            self.values[member as usize] = value;
        }
        self.revise(member, changes);
    }

    pub(super) fn set_usage(&mut self, usage: Option<TokenTotals>) {
        let changes = self.usage != usage;
        self.usage = usage;
        self.revise(Member::Usage, changes);
    }

    /// Counts a revision of a member, where it changes.
    pub(super) const fn revise(&mut self, member: Member, changes: bool) {
        if changes {
            self.revision += 1;
            self.revisions[member as usize] = self.revision;
        }
    }
}

/// What a command makes of a member, where others may come between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contest {
    /// A value that the member has already.
    Keeps,
    /// Another value.
    Sets,
    /// One more item.
    Appends,
}
