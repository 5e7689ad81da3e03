//! The model that a session begins with, while extensions may still add models.

use crate::{protocol::ThinkingLevel, session::Session};

/// The choice of the first model, until the host is greeted.
#[derive(Debug, Default)]
pub struct FirstModel {
    /// The model is to be chosen, or chosen again.
    pub is_open: bool,
    /// The session before it had a model.
    pub beginning: Option<Box<(Session, Beginning)>>,
}

/// How a session gets its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// It was there before, and may name its model.
    pub taken_up: bool,
    /// The model was asked for: the session does not choose another.
    pub chosen: bool,
    /// The level that was asked for.
    pub level: Option<ThinkingLevel>,
}
