//! The state of a compaction that is under way.

use crate::{io::CallId, prompt::RunStart, queues::NextTurn, run::summaries::Summaries};
use pi_rpc_protocol::{CompactionReason, CompactionResult, HookReason, RequestId};
use pi_rpc_session::compaction::Preparation;

/// A compaction that is under way.
#[derive(Debug)]
pub struct Compaction {
    /// The cause.
    pub why: CompactionCause,
    /// The messages to summarise, and those to keep.
    pub preparation: Preparation,
    /// Its `session_before_compact` hook.
    pub hook: CallId,
    /// The summary, as far as it is written.
    pub summaries: Summaries,
    /// The result, once it is appended.
    pub result: Option<CompactionResult>,
    /// The work that waits for the end.
    pub next: AfterCompaction,
    /// Whether it was aborted since: no run follows by itself, and the run of a waiting prompt ends at once.
    pub is_aborted: bool,
    /// Whether the summary is an extension's.
    pub from_extension: bool,
    /// Whether the summary is appended, so that it cannot be cancelled any more.
    pub done: bool,
}

/// The cause of a compaction.
#[derive(Debug)]
pub enum CompactionCause {
    /// The command `compact`, with its id.
    Command(Option<RequestId>),
    /// A full context.
    Full {
        reason: CompactionReason,
        /// The request that did not fit is made again.
        will_retry: bool,
    },
}

/// Work that waits for the end of a compaction.
#[derive(Debug)]
pub enum AfterCompaction {
    /// No work; only automatic continuations follow.
    Nothing,
    /// A prompt that was acknowledged meanwhile, or that found the context full.
    Prompt(Box<RunStart>),
    /// The open run, with its next turn.
    Turn(NextTurn),
}

impl Compaction {
    /// Whether a command waits for it.
    pub const fn is_manual(&self) -> bool {
        matches!(self.why, CompactionCause::Command(_))
    }

    /// Whether a `compact` command with this id has begun it.
    pub fn is_requested_by(&self, id: &RequestId) -> bool {
        matches!(&self.why, CompactionCause::Command(Some(own)) if own == id)
    }

    /// Whether a prompt waits for it.
    pub const fn has_prompt(&self) -> bool {
        matches!(self.next, AfterCompaction::Prompt(_))
    }

    /// Aborts what follows: the run of a prompt that waits ends at once, and none opens by itself.
    pub const fn abort_what_follows(&mut self) {
        self.is_aborted = true;
    }

    /// Whether a request that did not fit is made again afterwards.
    pub const fn will_retry(&self) -> bool {
        matches!(self.why, CompactionCause::Full { will_retry: true, .. })
    }

    /// The cause as `session_before_compact` has it.
    pub fn hook_reason(&self) -> HookReason {
        HookReason::parse(self.reason().as_str()).unwrap_or(HookReason::Threshold)
    }

    /// The cause as events have it.
    pub const fn reason(&self) -> CompactionReason {
        match self.why {
            CompactionCause::Command(_) => CompactionReason::Manual,
            CompactionCause::Full { reason, .. } => reason,
        }
    }
}
