//! The messages and entries of inactive sessions, for when one of them is reopened.

use super::{digest::text_digest, entries::Entries, fork_points::ForkPoints, message_log::MessageLog};
use std::collections::VecDeque;

/// The most sessions that are remembered.
const MAX_SESSIONS: usize = 64;
/// The most messages and entries that are remembered, over all sessions.
const MAX_ITEMS: usize = 1 << 16;

/// What is known of an inactive session.
#[derive(Clone, Debug, Default)]
pub struct InactiveSession {
    /// The messages.
    pub log: MessageLog,
    /// The user messages among them.
    pub forks: ForkPoints,
    /// The entries.
    pub entries: Entries,
}

/// The latest inactive sessions, by their files.
#[derive(Clone, Debug, Default)]
pub struct InactiveSessions(VecDeque<(u64, InactiveSession)>);

impl InactiveSession {
    fn len(&self) -> usize {
        self.log.len() + self.entries.listed().unwrap_or_default()
    }
}

impl InactiveSessions {
    /// Adds the session of a file; `None` if its content is not known.
    pub fn insert(&mut self, file: &str, session: Option<InactiveSession>) {
        let file = text_digest(file);
        self.0.retain(|(other, _)| *other != file);
        if let Some(session) = session {
            self.0.push_back((file, session));
        }
        let mut all: usize = self.0.iter().map(|(_, session)| session.len()).sum();
        while all > MAX_ITEMS || self.0.len() > MAX_SESSIONS {
            let Some((_, oldest)) = self.0.pop_front() else { return };
            all -= oldest.len();
        }
    }

    /// Takes the session of a file, which is reopened.
    pub fn take(&mut self, file: &str) -> Option<InactiveSession> {
        let file = text_digest(file);
        let place = self.0.iter().position(|(other, _)| *other == file)?;
        self.0.remove(place).map(|(_, session)| session)
    }

    /// Forgets all sessions: an unknown one may have changed.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn left_session_is_taken_up_once() {
        let mut left = InactiveSessions::default();
        left.insert("a", Some(InactiveSession::default()));
        left.insert("b", Some(InactiveSession::default()));
        assert!(left.take("a").is_some());
        assert!(left.take("a").is_none());
        left.insert("b", None);
        assert!(left.take("b").is_none());
    }

    #[test]
    fn oldest_of_too_many_is_forgotten() {
        let mut left = InactiveSessions::default();
        (0..=MAX_SESSIONS).for_each(|file| left.insert(&file.to_string(), Some(InactiveSession::default())));
        assert!(left.take("0").is_none());
        assert!(left.take("1").is_some());
    }
}
