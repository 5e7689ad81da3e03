//! What follows an append, and what is taken back if it fails.

use crate::engine::{io::CallId, prompt::Recipient};
use crate::{
    protocol::{AgentEndEvent, AgentMessage, RpcSuccess, ThinkingLevel, TreeHook, UserMessage},
    session::Session,
};
use std::sync::Arc;

/// What follows the append of everything kept so far.
#[derive(Debug)]
pub enum AfterAppend {
    /// Nothing: it was emitted before.
    Nothing,
    /// A message of the run is complete.
    MessageEnd(Arc<AgentMessage>),
    /// Entries are emitted that no other event shows.
    Entries {
        /// Their ids.
        entries: Vec<Arc<str>>,
        /// The context is compacted then, because a request did not fit into it.
        compacts: bool,
    },
    /// A run has ended, and all of it is on the disk.
    RunEnd(Box<AgentEndEvent>),
    /// An extension has added a message where no run is open; if it cannot be written, it was not added.
    ExtensionMessage(Arc<AgentMessage>, Recipient),
    /// A command is responded to; if it cannot be written, it has changed nothing.
    Response(ChangeResponse, Rollback),
    /// A run opens that was held up by entries which could not be written before.
    OpenRun {
        /// Who receives the response.
        recipient: Recipient,
        /// What the user says.
        message: Box<UserMessage>,
        /// It was aborted before it was served.
        is_aborted: bool,
    },
    /// The context is compacted.
    Compaction,
    /// The session goes on at another place.
    Navigation {
        /// The action that wanted it.
        call: CallId,
        /// What extensions receive of it.
        event: Box<TreeHook>,
        /// The session as it was.
        before: Box<Session>,
    },
    /// Another session has begun.
    Fork {
        /// The response.
        response: Box<RpcSuccess>,
        /// The session before it.
        before: Box<Session>,
    },
}

/// The response to a command whose change is written.
#[derive(Debug)]
pub enum ChangeResponse {
    /// This one.
    Response(Box<RpcSuccess>),
    /// The plain success.
    Success(Recipient),
}

impl ChangeResponse {
    /// This response.
    pub fn response(response: impl Into<RpcSuccess>) -> Self {
        Self::Response(Box::new(response.into()))
    }
}

/// What a change of settings is taken back to.
#[derive(Debug)]
pub struct Rollback {
    /// How many changes of the session were kept for it.
    pub changes: usize,
    /// Place of the model.
    pub model: usize,
    /// The thinking level.
    pub level: Option<ThinkingLevel>,
    /// The session gets a name.
    pub named: bool,
    /// An entry that no other frame shows, by its id.
    pub appended: Option<Arc<str>>,
}
