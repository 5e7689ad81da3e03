//! What follows a run where the end of all is told: whether it is what the run's end has promised.

use super::moment::Moment;
use crate::{
    machine::{findings::Findings, requests::Open, state::State},
    protocol::{
        AgentEndEvent, AgentMessage, AgentSessionEvent, FlowState, RpcCommand, RpcCommandKind,
        RuleId as Rule, StopReason,
    },
};

#[derive(Clone, Debug, Default)]
pub struct Settling {
    /// Whether the last run has said that it is tried again; none once that is settled, or where nobody said so.
    promise: Option<bool>,
    /// The last answer was aborted.
    aborted: bool,
    /// The host has asked to stop what goes on since the last run began.
    stopped: bool,
}

impl Settling {
    pub const fn command(&mut self, command: &RpcCommand) {
        self.stopped |= matches!(command.kind(), RpcCommandKind::Abort) || command.kind().cuts();
    }

    pub fn event(&mut self, event: &AgentSessionEvent, cut: bool, found: &mut Findings) {
        use AgentSessionEvent as Event;
        match event {
            Event::AgentStart(_) => {
                self.kept_for(false, found);
                (self.aborted, self.stopped) = (false, false);
            }
            Event::AgentEnd(end) => {
                self.promise = end.will_retry.filter(|_| !cut);
                self.aborted = !cut && is_aborted(end);
            }
            Event::AutoRetryStart(_) => self.kept_for(true, found),
            Event::CompactionStart(_) => self.kept_for(false, found),
            Event::AgentSettled(settled) => {
                self.kept_for(false, found);
                if std::mem::take(&mut self.aborted) {
                    found.expect(Rule::Settled, settled.aborted, || {
                        "`aborted`, as the last answer was".to_owned()
                    });
                }
            }
            _ => {}
        }
    }

    /// Whoever takes the session away, or stops what goes on, waits until that is settled.
    pub fn answered(&self, request: &Open, success: bool, at: &Moment, found: &mut Findings) {
        let waits = success && (request.command == RpcCommandKind::Abort || request.command.cuts());
        if waits && at.now.flow == FlowState::Settling {
            found.broken(Rule::Settled, "`agent_settled` before the answer");
        }
    }

    /// An event was said of which the kind alone is known.
    pub const fn unread(&mut self) {
        (self.promise, self.aborted) = (None, false);
    }

    /// What comes first behind the run is a retry, or something else.
    fn kept_for(&mut self, retries: bool, found: &mut Findings) {
        let Some(promise) = self.promise.take() else { return };
        let excused = promise && self.stopped;
        found.expect(Rule::WillRetry, promise == retries || excused, || match promise {
            true => "the `auto_retry_start` that the end of the run has promised".to_owned(),
            false => "no retry, as the end of the run said `willRetry` false".to_owned(),
        });
    }

    /// Nothing was said for so long that nothing more will come.
    pub fn quiet(&self, state: State, found: &mut Findings) {
        let waits = state.flow == FlowState::Settling && state.asks == 0;
        if waits {
            found.broken(Rule::Settled, "`agent_settled` behind all that the prompt has begun");
        }
    }
}

fn is_aborted(end: &AgentEndEvent) -> bool {
    let last = end.messages.iter().rev().find_map(|message| match message {
        AgentMessage::Assistant(message) => Some(message.stop_reason),
        _ => None,
    });
    last == Some(StopReason::Aborted)
}
