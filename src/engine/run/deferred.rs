//! What waits for the end of the open run.

use crate::engine::{prompt::Prompt, store::next_session::NextSession};
use crate::protocol::{CompactCommand, RequestId, RpcCommandKind};

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
    /// Another session.
    Session(NextSession),
    /// A compaction.
    Compact(CompactCommand),
    /// A compaction that was aborted before it began.
    StoppedCompaction(CompactCommand),
    /// A prompt that came while another one was examined. It waits for that alone, and ends no run.
    LinedUp(Box<Prompt>),
    /// A run of its own.
    Prompt(Box<Prompt>),
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
