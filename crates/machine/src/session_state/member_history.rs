//! The known values of one member of the session's state over time.

use pi_rpc_protocol::MemberValue;
use std::collections::VecDeque;

/// The knowledge of a value.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there is one for each member, and few members")]
pub enum Knowledge {
    /// Any value is possible.
    #[default]
    Unknown,
    /// One of these values.
    OneOf(Vec<MemberValue>),
    /// None of these values.
    NoneOf(Vec<MemberValue>),
    /// Exactly this value.
    Known(MemberValue),
}

impl Knowledge {
    /// Whether `value` is possible.
    pub fn allows(&self, value: &MemberValue) -> bool {
        match self {
            Self::Unknown => true,
            Self::OneOf(values) => values.contains(value),
            Self::NoneOf(values) => !values.contains(value),
            Self::Known(known) => known == value,
        }
    }

    /// The value, if exactly one is possible.
    pub fn into_value(self) -> Option<MemberValue> {
        match self {
            Self::Known(value) => Some(value),
            _ => None,
        }
    }
}

/// The current and earlier values of a member. Values that no outstanding request can refer to are dropped.
#[derive(Clone, Debug, Default)]
pub struct MemberHistory {
    now: Knowledge,
    /// Earlier values, each with the frame that ended it, oldest first.
    before: VecDeque<(u64, Knowledge)>,
}

/// The most earlier values of a member that are kept; to requests older than those, any value is possible.
const MAX_VALUES: usize = 16;

impl MemberHistory {
    /// The current knowledge.
    pub const fn now(&self) -> &Knowledge {
        &self.now
    }

    /// The current value, if known.
    pub const fn value(&self) -> Option<&MemberValue> {
        match &self.now {
            Knowledge::Known(value) => Some(value),
            _ => None,
        }
    }

    /// Changes the value from this frame on.
    pub fn change(&mut self, frame: u64, to: Knowledge) {
        let before = std::mem::replace(&mut self.now, to);
        self.before.push_back((frame, before));
        if self.before.len() > MAX_VALUES {
            self.before.pop_front();
            if let Some((_, oldest)) = self.before.front_mut() {
                *oldest = Knowledge::Unknown;
            }
        }
    }

    /// Whether `value` was possible at some time since `frame`.
    pub fn allows_since(&self, frame: u64, value: &MemberValue) -> bool {
        self.since(frame).any(|known| known.allows(value))
    }

    /// The knowledge at `frame` and since, the latest first.
    pub fn since(&self, frame: u64) -> impl Iterator<Item = &Knowledge> {
        let before = self.before.iter().rev().filter(move |(until, _)| *until > frame);
        [&self.now].into_iter().chain(before.map(|(_, before)| before))
    }

    /// Whether the value has not changed since `frame`.
    pub fn is_unchanged_since(&self, frame: u64) -> bool {
        self.before.back().is_none_or(|(until, _)| *until <= frame)
    }

    /// Replaces the current knowledge: it is of the whole time since the last change.
    pub fn set(&mut self, now: Knowledge) {
        self.now = now;
    }

    /// Drops values that ended before `frame`.
    pub fn forget_before(&mut self, frame: u64) {
        while self.before.front().is_some_and(|(until, _)| *until <= frame) {
            self.before.pop_front();
        }
    }
}
