//! Continuations of an append, and what is rolled back if it fails.

use crate::{io::CallId, prompt::Recipient, run::boundary::AfterBoundary};
use pi_rpc_protocol::{AgentEndEvent, AgentMessage, RpcSuccess, ThinkingLevel, TreeHook, UserMessage};
use pi_rpc_session::Session;
use std::sync::Arc;

/// The continuation once all entries so far are persisted.
#[derive(Debug)]
pub enum AfterAppend {
    /// No continuation.
    Nothing,
    /// A message of the run is complete.
    MessageEnd(Arc<AgentMessage>),
    /// Emit entries that no other event shows.
    Entries {
        /// Their ids.
        entries: Vec<Arc<str>>,
        /// Whether the context is then compacted, because a request did not fit.
        compacts: bool,
    },
    /// Emit entries that extensions have added at the end of a turn or of a chain.
    Boundary {
        /// Their ids.
        entries: Vec<Arc<str>>,
        /// What follows.
        then: AfterBoundary,
    },
    /// Emit the end of a run whose entries are synced.
    RunEnd(Box<AgentEndEvent>),
    /// Emit a message that an extension has added outside of a run; if it cannot be written, it is removed.
    ExtensionMessage(Arc<AgentMessage>, Recipient),
    /// Respond to a command that has changed settings; if the entries cannot be written, the change is rolled back.
    Response(ChangeResponse, Rollback),
    /// Open a run that was held up by failed writes.
    OpenRun {
        /// Who receives the response.
        recipient: Recipient,
        /// The user's message.
        message: Box<UserMessage>,
        /// Whether an abort came before the prompt was served.
        is_aborted: bool,
    },
    /// Complete the compaction.
    Compaction,
    /// Complete a navigation to another branch.
    Navigation {
        /// The navigation.
        call: CallId,
        /// The event for extensions.
        event: Box<TreeHook>,
        /// The session as it was.
        before: Box<Session>,
    },
    /// Respond to the command that has forked the session.
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
    /// A response with data.
    Response(Box<RpcSuccess>),
    /// The plain success.
    Success(Recipient),
}

impl ChangeResponse {
    /// Wraps a response.
    pub fn response(response: impl Into<RpcSuccess>) -> Self {
        Self::Response(Box::new(response.into()))
    }
}

/// The settings to roll back to if a change cannot be written.
#[derive(Debug)]
pub struct Rollback {
    /// How many entries the change has appended.
    pub changes: usize,
    /// Place of the model.
    pub model: usize,
    /// The thinking level.
    pub level: Option<ThinkingLevel>,
    /// Whether the change names the session.
    pub named: bool,
    /// An entry that no other frame shows, by its id.
    pub appended: Option<Arc<str>>,
}
