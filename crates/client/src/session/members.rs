//! Changes of members, and whether a value in a response is still current.

use super::{
    lists::no_tokens,
    state::{Cause, Change, OpenCommand, SessionState},
};
use pi_rpc_machine::Knowledge;
use pi_rpc_protocol::{MemberValue, SessionMember as Member, TokenTotals};

impl SessionState {
    /// Whether nothing has changed a member since the frame `since`, and no outstanding command may.
    pub(super) fn is_steady(&self, member: Member, since: u64) -> bool {
        let is_changing = self.open.iter().any(|open| open.kind.changes().contains(&member));
        !is_changing && self.changes[member as usize].is_none_or(|change| change.at <= since)
    }

    /// Whether another command may have changed the member between a command and its response. In dialects that serve
    /// commands one by one, only one that runs beside the others may.
    pub(super) fn is_contested(&self, member: Member, open: &OpenCommand, effect: Contest) -> bool {
        let runs_beside = |it: &OpenCommand| self.dialect.runs_beside_others(it.kind);
        if self.dialect.is_serial() && !runs_beside(open) && !self.open.iter().any(runs_beside) {
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

    /// Whether an event has set the member since the frame `since`.
    pub(super) fn was_announced(&self, member: Member, since: u64) -> bool {
        let change = self.changes[member as usize];
        change.is_some_and(|it| it.by == Cause::Event && it.at > since) && self.is_known(member)
    }

    /// Sets a member and records the change; `None`: unknown.
    pub(super) fn change(&mut self, member: Member, value: Option<MemberValue>, by: Cause) {
        self.note(member, by);
        self.store(member, value);
    }

    /// Records that the current frame changes a member.
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

    /// Resets a member to its first value, or to unknown.
    pub(super) fn reset(&mut self, member: Member) {
        match member {
            Member::Messages => {
                let changes = self.messages.clear();
                self.revise(member, changes);
            }
            // The server writes the first entries of a session.
            Member::Entries => {
                let changes = self.entries.forget();
                self.revise(member, changes);
            }
            Member::Usage => self.set_usage(Some(no_tokens())),
            _ => self.store(member, member.first_value()),
        }
    }

    pub(super) fn store(&mut self, member: Member, value: Option<MemberValue>) {
        let changes = self.get(member) != value.as_ref();
        self.members.slot_mut(member).set(value.map_or(Knowledge::Unknown, Knowledge::Known));
        self.revise(member, changes);
    }

    pub(super) fn set_usage(&mut self, usage: Option<TokenTotals>) {
        let changes = self.usage != usage;
        self.usage = usage;
        self.revise(Member::Usage, changes);
    }

    /// Counts a revision of a member, if it changes.
    pub(super) const fn revise(&mut self, member: Member, changes: bool) {
        if changes {
            self.revision += 1;
            self.revisions[member as usize] = self.revision;
        }
    }
}

/// The kind of change that a command makes, for [`SessionState::is_contested`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contest {
    /// The member keeps its value.
    Keeps,
    /// The member gets another value.
    Sets,
    /// The list gets one more item.
    Appends,
}
