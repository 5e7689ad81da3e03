//! The kinds of work that wait for the end of the open run: an entry of the backlog.

use crate::{prompt::Prompt, store::next_session::NextSession};
use pi_rpc_protocol::{CompactCommand, RequestId, RpcCommandKind};

/// Work deferred to the end of the open run, retry or compaction.
#[derive(Debug)]
pub enum AfterRun {
    /// The response to an abort.
    AbortResponse {
        /// The id of the abort command.
        id: Option<RequestId>,
        /// The kind of the abort command.
        kind: RpcCommandKind,
    },
    /// A change of the session.
    Session(NextSession),
    /// A compaction.
    Compact(CompactCommand),
    /// A compaction that was aborted before it began.
    AbortedCompaction(CompactCommand),
    /// A prompt behind another one that is being examined. Ends no run, and does not wait for its end.
    AfterPrompt(Box<Prompt>),
    /// A prompt that opens a run of its own, after ending the open one.
    Prompt(Box<Prompt>),
}

impl AfterRun {
    /// Whether the work waits until another prompt is examined, not for the end of a run.
    pub const fn waits_for_prompt(&self) -> bool {
        matches!(self, Self::AfterPrompt(_))
    }

    /// Whether an abort came first; its response precedes later ones.
    pub const fn is_aborted(&self) -> bool {
        matches!(self, Self::AbortedCompaction(_))
    }
}
