//! The sessions that a process has had, as far as they were told: what a session that takes the place of another has of its
//! own, and what one has when it is taken up again.

use super::slot::Knowledge;
use crate::protocol::{MemberValue, Model, ThinkingLevel};
use std::collections::VecDeque;

/// A session as it was when it was left.
#[derive(Clone, Debug, Default)]
pub struct Left {
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
}

/// The sessions of a process; the latest that were left.
#[derive(Clone, Debug, Default)]
pub struct Sessions {
    left: VecDeque<Left>,
    /// The model was set in the session that is open: it has an entry of it.
    pub has_model: bool,
    /// The same of the level.
    pub has_level: bool,
}

/// Sessions that are remembered.
const KEPT: usize = 64;

impl Sessions {
    /// A session was left for another one.
    pub fn leave(&mut self, session: Left) {
        self.left.retain(|other| other.id.is_none() || other.id != session.id);
        self.left.push_back(session);
        if self.left.len() > KEPT {
            self.left.pop_front();
        }
        (self.has_model, self.has_level) = (false, false);
    }

    /// The session whose file that is.
    pub fn of_file(&self, path: &str) -> Option<&Left> {
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
