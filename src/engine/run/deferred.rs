//! What waits for the end of the open run.

use crate::engine::prompt::Prompting;
use crate::protocol::{CompactCommand, NewSessionCommand, RequestId, RpcCommandKind, SwitchSessionCommand};

/// What waits for the end of whatever goes on.
#[derive(Debug)]
pub enum AfterRun {
    /// The answer to an abort.
    Answer {
        /// Of the request.
        id: Option<RequestId>,
        /// Of the request.
        kind: RpcCommandKind,
    },
    /// A new session.
    NewSession(NewSessionCommand),
    /// Another session.
    SwitchSession(SwitchSessionCommand),
    /// A session made of a part of this one.
    Fork {
        /// Of the request.
        id: Option<RequestId>,
        /// Of the request.
        kind: RpcCommandKind,
        /// The message of the user that it is forked at.
        entry: String,
    },
    /// A session made of a copy of this one's branch; the id is the request's.
    Clone(Option<RequestId>),
    /// A compaction.
    Compact(CompactCommand),
    /// A compaction that was aborted before it began.
    StoppedCompaction(CompactCommand),
    /// A prompt that came while another one was looked at. It waits for that alone, and ends no run.
    LinedUp(Box<Prompting>),
    /// A run of its own.
    Prompt(Box<Prompting>),
}

impl AfterRun {
    /// Whether it waits for another prompt only.
    pub const fn is_lined_up(&self) -> bool {
        matches!(self, Self::LinedUp(_))
    }

    /// Whether an abort has stopped it; its answer comes first.
    pub const fn is_stopped(&self) -> bool {
        matches!(self, Self::StoppedCompaction(_))
    }
}
