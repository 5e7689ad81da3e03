//! What is known of one member of the session's state, and what it was before.

use crate::protocol::MemberValue;
use std::collections::VecDeque;

/// What is known of a value.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there is one for each member, and few members")]
pub enum Knowledge {
    /// Nothing.
    #[default]
    Unknown,
    /// It is one of these.
    OneOf(Vec<MemberValue>),
    /// It is none of these.
    NoneOf(Vec<MemberValue>),
    /// It is this.
    Known(MemberValue),
}

impl Knowledge {
    /// Whether it can be `value`.
    pub fn allows(&self, value: &MemberValue) -> bool {
        match self {
            Self::Unknown => true,
            Self::OneOf(values) => values.contains(value),
            Self::NoneOf(values) => !values.contains(value),
            Self::Known(known) => known == value,
        }
    }
}

/// A member over time. Values that no open request can have met are dropped.
#[derive(Clone, Debug, Default)]
pub struct MemberHistory {
    now: Knowledge,
    /// Earlier ones, each with the frame that ended it, oldest first.
    before: VecDeque<(u64, Knowledge)>,
}

/// Earlier values that are kept of a member; beyond that the member counts as unknown to older requests.
const KEPT: usize = 16;

impl MemberHistory {
    /// What is known of it now.
    pub const fn now(&self) -> &Knowledge {
        &self.now
    }

    /// The value, where it is known.
    pub const fn value(&self) -> Option<&MemberValue> {
        match &self.now {
            Knowledge::Known(value) => Some(value),
            _ => None,
        }
    }

    /// From this frame on the value is another one, as far as is known.
    pub fn change(&mut self, frame: u64, to: Knowledge) {
        let before = std::mem::replace(&mut self.now, to);
        self.before.push_back((frame, before));
        if self.before.len() > KEPT {
            self.before.pop_front();
            if let Some((_, oldest)) = self.before.front_mut() {
                *oldest = Knowledge::Unknown;
            }
        }
    }

    /// Whether the member can have had `value` at some time since `frame`.
    pub fn allows_since(&self, frame: u64, value: &MemberValue) -> bool {
        self.since(frame).any(|known| known.allows(value))
    }

    /// What was known of it at `frame` and since, the latest first.
    pub fn since(&self, frame: u64) -> impl Iterator<Item = &Knowledge> {
        let before = self.before.iter().rev().filter(move |(until, _)| *until > frame);
        [&self.now].into_iter().chain(before.map(|(_, before)| before))
    }

    /// Whether its value was told at `frame` for certain: it has not changed since.
    pub fn is_unchanged_since(&self, frame: u64) -> bool {
        self.before.back().is_none_or(|(until, _)| *until <= frame)
    }

    /// The value was told, and has not changed since the question: it is known from now on.
    pub fn learn(&mut self, value: MemberValue) {
        self.now = Knowledge::Known(value);
    }

    /// No open request is older than `frame`.
    pub fn forget_before(&mut self, frame: u64) {
        while self.before.front().is_some_and(|(until, _)| *until <= frame) {
            self.before.pop_front();
        }
    }
}
