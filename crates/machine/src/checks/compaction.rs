//! Judges the end of compactions, for all names of the events, and the responses to `compact`.
//!
//! Rules: `compaction-fields`, `compaction-told`.

use super::frame_context::FrameContext;
use crate::{
    findings::Findings,
    requests::{OpenRequest, Requests, ResponseHead},
};
use pi_rpc_protocol::{
    AgentSessionEvent, AutoCompactionEndEvent, Case, CompactionAction, CompactionEndEvent, CompactionReason,
    CompactionResult, Dialect, DialectCompactionSkipped, DialectEndOfInput, Disposition, Outbound,
    RpcCommandKind, RpcSuccess, RuleId as Rule, errors,
};
use std::collections::VecDeque;

/// The start of the current compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompactionStart {
    /// No compaction is running.
    #[default]
    None,
    /// The start was missed.
    Missed,
    /// The compaction has this reason.
    For(CompactionReason),
}

/// The end of a compaction.
pub struct CompactionEnd {
    /// The reason, if the end repeats it.
    reason: Option<CompactionReason>,
    has_result: bool,
    /// Whether there is an error text.
    excused: bool,
    will_retry: bool,
    /// Whether the session was handed off: it goes on in another one, without a summary in this one.
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
    /// Judges the end after this start.
    pub fn judge(&self, start: CompactionStart, dialect: Dialect, found: &mut Findings) {
        let started = match start {
            CompactionStart::For(reason) => Some(reason),
            CompactionStart::None | CompactionStart::Missed => None,
        };
        let reason = self.reason.or(started);
        // Without the member `skipped`, a session with nothing to compact has no other outcome.
        let is_manual = reason == Some(CompactionReason::Manual);
        let nothing = dialect.record().compaction.skipped == DialectCompactionSkipped::Bare
            && !self.will_retry
            && !is_manual;
        let fits = match self.has_result {
            // A compaction that never began can only have failed.
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

/// Tracks manual compactions, in dialects with events for them.
#[derive(Clone, Debug, Default)]
pub struct ManualCompactions {
    /// The ends without a response yet, with the numbers of their frames.
    ended: VecDeque<(u64, Box<CompactionEndEvent>)>,
    /// Whether a manual compaction is running.
    open: bool,
    /// Whether an end was missed.
    unsure: bool,
}

/// The most ends that are kept.
const MAX_ENDS: usize = 64;

impl ManualCompactions {
    /// Takes in an event.
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
        if self.ended.len() > MAX_ENDS {
            self.ended.pop_front();
        }
    }

    /// Takes in an event of which only the kind is known.
    pub const fn on_unread_event(&mut self) {
        self.unsure = true;
    }

    /// Takes in a response.
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
            // A refused command has no compaction; the running one belongs to another.
            let own = self.open && !requests.has_command(RpcCommandKind::Compact);
            let refused = !own && may_be_refused(request, at);
            // A compaction that the end of the input aborts has no further events.
            let untold = at.now.closing && at.dialect.record().end_of_input == DialectEndOfInput::AbortRun;
            found.expect(Rule::CompactionTold, !answer.success && (refused || untold), || {
                "`compaction_start` and `compaction_end` first".to_owned()
            });
            return;
        };
        let response: Option<&CompactionResult> = match success {
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
                found.expect_same(Rule::CompactionTold, "/data", what, &end.result.as_ref(), &response);
            }
        });
    }
}

/// Whether a possible state of the request refuses it.
fn may_be_refused(request: &OpenRequest, at: &FrameContext) -> bool {
    request.met.iter().any(|state| {
        Case::first(request.command.cases(*state), at.base(), |_| None)
            .is_some_and(|case| case.disposition == Disposition::Reject)
    })
}

/// Whether the frame says that an earlier recovery from an overflow has failed: pi 1 emits that without a start, when the next
/// prompt comes.
pub fn gives_up_overflow(frame: &Outbound) -> bool {
    let Outbound::AgentSessionEvent(AgentSessionEvent::CompactionEnd(end)) = frame else { return false };
    let has_failed = end.result.is_none() && end.error_message.is_some() && !end.aborted && !end.will_retry;
    has_failed && end.reason == CompactionReason::Overflow
}
