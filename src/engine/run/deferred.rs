//! What waits for the end of the open run.

use crate::engine::{prompt::Prompt, store::next_session::NextSession};
use crate::protocol::{CompactCommand, RequestId, RpcCommandKind};

/// What waits for the end of whatever goes on.
#[derive(Debug)]
pub enum AfterRun {
    /// The answer to an abort.
    AbortResponse {
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
    AbortedCompaction(CompactCommand),
    /// A prompt that came while another one was examined. It waits for that alone, and ends no run.
    AfterPrompt(Box<Prompt>),
    /// A run of its own.
    Prompt(Box<Prompt>),
}

impl AfterRun {
    /// Whether it waits for another prompt only.
    pub const fn is_after_prompt(&self) -> bool {
        matches!(self, Self::AfterPrompt(_))
    }

    /// Whether an abort has stopped it; its answer comes first.
    pub const fn is_aborted(&self) -> bool {
        matches!(self, Self::AbortedCompaction(_))
    }
}
