//! The members of the state in earlier sessions of a process: what a new session must differ in, and what a reopened one has.

use pi_rpc_protocol::{Model, ThinkingLevel};
use std::collections::VecDeque;

/// The state of a session when it was left.
#[derive(Clone, Debug, Default)]
pub struct PreviousSession {
    /// The id, if known.
    pub id: Option<String>,
    /// The path of the file, if known.
    pub file: Option<String>,
    /// The name; `None` if not known.
    pub name: Option<Option<String>>,
    /// The model, if the session has an entry for it.
    pub model: Option<Model>,
    /// The level, if the session has an entry for it.
    pub level: Option<Option<ThinkingLevel>>,
    /// Whether the session has an entry for its level.
    pub has_level: bool,
    /// The number of changes of the level until then.
    pub level_changes: u64,
    /// Whether the file certainly exists: servers write none before the first assistant message.
    pub is_written: bool,
}

/// The earlier sessions of a process, and notes about the current one.
#[derive(Clone, Debug, Default)]
pub struct SessionHistory {
    pub left: VecDeque<PreviousSession>,
    /// Whether the model was set in the current session, which then has an entry for it.
    pub has_model: bool,
    /// Whether the current session has a complete assistant message.
    pub is_answered: bool,
    /// Whether the newest assistant message is of another model.
    pub answers_differ: bool,
    /// Whether the level was set in the current session, which then has an entry for it.
    pub has_level: bool,
    /// Whether the current session has the entries of another one, and begins with none of its own for the level.
    pub is_copy: bool,
    /// The number of changes of the level so far.
    pub level_changes: u64,
    /// That number when the current session began with the level of the previous one; `None` if it did not.
    pub same_level: Option<u64>,
}

/// The most sessions that are remembered.
const MAX_SESSIONS: usize = 64;

impl SessionHistory {
    /// Adds a session that was left.
    pub fn add(&mut self, session: PreviousSession) {
        self.left.retain(|other| other.id.is_none() || other.id != session.id);
        self.left.push_back(session);
        if self.left.len() > MAX_SESSIONS {
            self.left.pop_front();
        }
        (self.has_model, self.has_level) = (false, false);
        (self.is_answered, self.answers_differ) = (false, false);
    }

    /// Learns the current level, which is also that of the previous session if it was taken over.
    pub fn learn_level(&mut self, level: Option<ThinkingLevel>) {
        let is_same = self.same_level == Some(self.level_changes);
        if let Some(before) = self.left.back_mut().filter(|before| is_same && before.has_level) {
            before.level = Some(level);
        }
    }
}
