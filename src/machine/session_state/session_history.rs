//! The sessions that a process has had, as far as they were told: what a session that takes the place of another has of its
//! own, and what one has when it is taken up again.

use super::member_history::Knowledge;
use crate::protocol::{MemberValue, Model, ThinkingLevel};
use std::collections::VecDeque;

/// A session as it was when it was left.
#[derive(Clone, Debug, Default)]
pub struct PreviousSession {
    /// Its id.
    pub id: Option<String>,
    /// Its file.
    pub file: Option<String>,
    /// Its name; `None`: not known.
    pub name: Option<Option<String>>,
    /// The model, where the session has an entry of it.
    pub model: Option<Model>,
    /// The level, where the session has an entry of it.
    pub level: Option<Option<ThinkingLevel>>,
    /// The session has an entry of its level.
    pub has_level: bool,
    /// How often the level had changed.
    pub level_changes: u64,
    /// It is in its file for certain: servers write none before the first answer.
    pub is_written: bool,
}

/// The sessions of a process; the latest that were left.
#[derive(Clone, Debug, Default)]
pub struct SessionHistory {
    left: VecDeque<PreviousSession>,
    /// The model was set in the session that is open: it has an entry of it.
    pub has_model: bool,
    /// It has an answer.
    pub is_answered: bool,
    /// Its newest answer is of another model.
    pub answers_differ: bool,
    /// The level was set in it.
    pub has_level: bool,
    /// How often the level has changed.
    pub level_changes: u64,
    /// So often it had when the open session began with the level of the one before; `None`: it did not.
    pub same_level: Option<u64>,
}

/// Sessions that are remembered.
const KEPT: usize = 64;

impl SessionHistory {
    /// A session was left for another one.
    pub fn add(&mut self, session: PreviousSession) {
        self.left.retain(|other| other.id.is_none() || other.id != session.id);
        self.left.push_back(session);
        if self.left.len() > KEPT {
            self.left.pop_front();
        }
        (self.has_model, self.has_level) = (false, false);
        (self.is_answered, self.answers_differ) = (false, false);
    }

    /// The level was told: where it is that of the session before, that is known, too.
    pub fn learn_level(&mut self, level: Option<ThinkingLevel>) {
        let is_same = self.same_level == Some(self.level_changes);
        if let Some(before) = self.left.back_mut().filter(|before| is_same && before.has_level) {
            before.level = Some(level);
        }
    }

    /// The session whose file that is.
    pub fn of_file(&self, path: &str) -> Option<&PreviousSession> {
        self.left.iter().find(|session| session.file.as_deref() == Some(path))
    }

    /// The id of a session that begins: none that another had.
    pub fn new_id(&self) -> Knowledge {
        let ids = self.left.iter().filter_map(|session| session.id.clone());
        Knowledge::NoneOf(ids.map(MemberValue::SessionId).collect())
    }

    /// The file of a session that begins: none that another had.
    pub fn new_file(&self) -> Knowledge {
        let files = self.left.iter().filter_map(|session| session.file.clone());
        Knowledge::NoneOf(files.map(|file| MemberValue::SessionFile(Some(file))).collect())
    }
}
