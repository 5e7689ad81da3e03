//! How a compaction ends, whatever its events are called; and what `compact` is answered.

use super::frame_context::FrameContext;
use crate::{
    machine::{
        findings::Findings,
        requests::{OpenRequest, Requests, ResponseHead},
    },
    protocol::{
        AgentSessionEvent, AutoCompactionEndEvent, Case, CompactionAction, CompactionEndEvent,
        CompactionReason, CompactionResult, Dialect, DialectCompactionSkipped, DialectEndOfInput,
        Disposition, RpcCommandKind, RpcSuccess, RuleId as Rule, errors,
    },
};
use std::collections::VecDeque;

/// What is known of the start of the compaction that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompactionStart {
    /// None is under way.
    #[default]
    None,
    /// It was missed.
    Missed,
    /// What the compaction is for.
    For(CompactionReason),
}

/// What the end of a compaction says.
pub struct CompactionEnd {
    /// What it was for, where the end repeats that.
    reason: Option<CompactionReason>,
    has_result: bool,
    /// It says why there is no result.
    excused: bool,
    will_retry: bool,
    /// A handoff goes on in another session and leaves no summary in this one.
    summarises: bool,
}

impl From<&AutoCompactionEndEvent> for CompactionEnd {
    fn from(end: &AutoCompactionEndEvent) -> Self {
        Self {
            reason: None,
            has_result: end.result.is_some(),
            excused: end.aborted || end.error_message.is_some() || end.skipped == Some(true),
            will_retry: end.will_retry,
            summarises: end.action != Some(CompactionAction::Handoff),
        }
    }
}

impl From<&CompactionEndEvent> for CompactionEnd {
    fn from(end: &CompactionEndEvent) -> Self {
        Self {
            reason: Some(end.reason),
            has_result: end.result.is_some(),
            excused: end.aborted || end.error_message.is_some(),
            will_retry: end.will_retry,
            summarises: true,
        }
    }
}

impl CompactionEnd {
    /// Judges it behind that start.
    pub fn judge(&self, start: CompactionStart, dialect: Dialect, found: &mut Findings) {
        let started = match start {
            CompactionStart::For(reason) => Some(reason),
            CompactionStart::None | CompactionStart::Missed => None,
        };
        let reason = self.reason.or(started);
        // Without `skipped` there is no other word for a session in which there was nothing to compact.
        let asked = reason == Some(CompactionReason::Manual);
        let nothing = dialect.record().compaction.skipped == DialectCompactionSkipped::Bare
            && !self.will_retry
            && !asked;
        let fits = match self.has_result {
            // What was never begun can only have failed.
            has_result if start == CompactionStart::None && self.reason.is_some() => {
                self.excused && !has_result
            }
            true => !self.excused,
            false => self.excused || nothing || !self.summarises,
        };
        found.expect(Rule::CompactionFields, fits, || "`result` exactly on success".to_owned());
        if let (Some(started), Some(reason)) = (started, self.reason) {
            let what = "the reason that its start gave";
            found.expect_same(Rule::CompactionFields, "/reason", what, &started, &reason);
        }
        if self.will_retry && started.is_some() {
            found.expect(Rule::CompactionFields, reason == Some(CompactionReason::Overflow), || {
                "`willRetry` only where the context has overflowed".to_owned()
            });
        }
    }
}

/// The compactions that the host asked for, in dialects whose events tell of them.
#[derive(Clone, Debug, Default)]
pub struct ManualCompactions {
    /// The ends that no response has come for, with the numbers of their frames.
    ended: VecDeque<(u64, Box<CompactionEndEvent>)>,
    /// One has begun and not ended.
    open: bool,
    /// An end was missed.
    unsure: bool,
}

/// Ends that are kept, the latest.
const KEPT: usize = 64;

impl ManualCompactions {
    pub fn on_event(&mut self, event: &AgentSessionEvent, at: &FrameContext) {
        if let AgentSessionEvent::CompactionStart(start) = event {
            self.open |= start.reason == CompactionReason::Manual;
        }
        let AgentSessionEvent::CompactionEnd(end) = event else { return };
        if end.reason != CompactionReason::Manual {
            return;
        }
        self.open = false;
        self.unsure |= at.cut;
        self.ended.push_back((at.frame, Box::new(end.clone())));
        if self.ended.len() > KEPT {
            self.ended.pop_front();
        }
    }

    /// An event was said of which the kind alone is known.
    pub const fn on_unread_event(&mut self) {
        self.unsure = true;
    }

    pub fn on_response(
        &mut self,
        answer: &ResponseHead,
        success: Option<&RpcSuccess>,
        request: &OpenRequest,
        requests: &Requests,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        if request.command != RpcCommandKind::Compact || std::mem::take(&mut self.unsure) {
            return;
        }
        let Some((ended, end)) = self.ended.pop_front() else {
            // One that was refused has none: what is open is another's.
            let own = self.open && !requests.has_command(RpcCommandKind::Compact);
            let refused = !own && may_be_refused(request, at);
            // Where the end of the input cuts one off, nothing more is told of it.
            let untold = at.now.closing && at.dialect.record().end_of_input == DialectEndOfInput::AbortRun;
            found.expect(Rule::CompactionTold, !answer.success && (refused || untold), || {
                "`compaction_start` and `compaction_end` first".to_owned()
            });
            return;
        };
        let said: Option<&CompactionResult> = match success {
            Some(RpcSuccess::Compact(it)) => Some(&it.data),
            _ => None,
        };
        let failed = |error: &String| {
            end.aborted
                || end.error_message.as_ref() == Some(&errors::manual_compaction_failed(at.base(), error))
        };
        let what = "what its `compaction_end` said";
        found.with_cause(Some(ended), |found| match &answer.error {
            Some(error) => found.expect(Rule::CompactionTold, failed(error), || what.to_owned()),
            None => {
                found.expect_same(Rule::CompactionTold, "/data", what, &end.result.as_ref(), &said);
            }
        });
    }
}

/// Whether a state that the request can have met refuses it.
fn may_be_refused(request: &OpenRequest, at: &FrameContext) -> bool {
    request.met.iter().any(|state| {
        Case::first(request.command.cases(*state), at.base(), |_| None)
            .is_some_and(|case| case.disposition == Disposition::Reject)
    })
}
