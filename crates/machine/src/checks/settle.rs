//! Judges what follows a run in dialects with `agent_settled`, against what the end of the run has announced.
//!
//! Rules: `settled`, `will-retry`.

use super::{
    frame_context::FrameContext,
    obligations::{ObligationKind, Obligations},
};
use crate::{findings::Findings, requests::OpenRequest};
use pi_rpc_protocol::{
    AgentEndEvent, AgentMessage, AgentSessionEvent, FlowState, RpcCommand, RpcCommandKind, RuleId as Rule,
    StopReason,
};

/// What the end of the last run has announced.
#[derive(Clone, Debug, Default)]
pub struct SettleChecks {
    /// Whether the end of the last run has announced a retry; `None` after that was settled, or without an announcement.
    will_retry: Option<bool>,
    /// Whether the last answer was aborted.
    aborted: bool,
    /// Whether the end of the last run is known.
    ended: bool,
    /// Whether the host has sent an abort since the last run began.
    stopped: bool,
}

impl SettleChecks {
    /// Takes in a command.
    pub const fn on_command(&mut self, command: &RpcCommand) {
        self.stopped |= matches!(command.kind(), RpcCommandKind::Abort) || command.kind().cuts();
    }

    /// Takes in an event.
    pub fn on_event(
        &mut self,
        event: &AgentSessionEvent,
        at: &FrameContext,
        obligations: &mut Obligations,
        found: &mut Findings,
    ) {
        use AgentSessionEvent as Event;
        match event {
            Event::AgentStart(_) => {
                self.kept_for(false, obligations, found);
                (self.aborted, self.stopped) = (false, false);
            }
            Event::AgentEnd(end) => {
                self.will_retry = end.will_retry.filter(|_| !at.cut);
                self.aborted = !at.cut && is_aborted(end);
                self.ended = !at.cut;
                if self.will_retry == Some(true) && !self.stopped {
                    obligations.add(ObligationKind::Retry, 0, at);
                }
            }
            Event::AutoRetryStart(_) => self.kept_for(true, obligations, found),
            Event::CompactionStart(_) => self.kept_for(false, obligations, found),
            Event::AgentSettled(settled) => {
                self.kept_for(false, obligations, found);
                let stopped = self.stopped || at.has_extensions || at.now.closing || at.cut;
                match std::mem::take(&mut self.aborted) {
                    true => found.expect(Rule::Settled, settled.aborted != Some(false), || {
                        "`aborted`, as the last answer was".to_owned()
                    }),
                    false if self.ended && !stopped => {
                        found.expect(Rule::Settled, settled.aborted != Some(true), || {
                            "no `aborted`, as nothing was aborted".to_owned()
                        });
                    }
                    false => {}
                }
                self.ended = false;
            }
            _ => {}
        }
    }

    /// Judges that commands that change the session or abort are answered after `agent_settled`.
    pub fn on_response(&self, request: &OpenRequest, success: bool, at: &FrameContext, found: &mut Findings) {
        let waits = success && (request.command == RpcCommandKind::Abort || request.command.cuts());
        if waits && at.now.flow == FlowState::Settling {
            found.fail(Rule::Settled, "`agent_settled` before the answer");
        }
    }

    /// Takes in an event of which only the kind is known.
    pub const fn on_unread_event(&mut self) {
        (self.will_retry, self.aborted, self.ended) = (None, false, false);
    }

    /// Judges the first event after a run, which is a retry or not.
    fn kept_for(&mut self, retries: bool, obligations: &mut Obligations, found: &mut Findings) {
        obligations.fulfil(ObligationKind::Retry);
        let Some(will_retry) = self.will_retry.take() else { return };
        let excused = will_retry && self.stopped;
        found.expect(Rule::WillRetry, will_retry == retries || excused, || match will_retry {
            true => "the `auto_retry_start` that the end of the run has promised".to_owned(),
            false => "no retry, as the end of the run said `willRetry` false".to_owned(),
        });
    }
}

fn is_aborted(end: &AgentEndEvent) -> bool {
    let last = end.messages.iter().rev().find_map(|message| match message {
        AgentMessage::Assistant(message) => Some(message.stop_reason),
        _ => None,
    });
    last == Some(StopReason::Aborted)
}
