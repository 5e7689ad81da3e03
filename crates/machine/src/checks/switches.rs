//! Judges that retries and automatic compactions do not happen while the host has switched them off.
//!
//! Rules: `retry-off`, `compaction-off`.

use super::frame_context::FrameContext;
use crate::{findings::Findings, requests::OpenRequest};
use pi_rpc_protocol::{
    AgentMessageKind, AgentSessionEvent, CompactionReason, RpcCommand, RpcCommandKind as Command,
    RuleId as Rule, SessionState,
};
use std::collections::VecDeque;

/// The most outstanding changes that are kept.
const MAX_CHANGES: usize = 4096;

/// The switches for automatic retries and compactions.
#[derive(Clone, Debug, Default)]
pub struct Switches {
    retry: Switch,
    compaction: Switch,
}

/// One switch.
#[derive(Clone, Debug, Default)]
struct Switch {
    /// Requested values without a response.
    outstanding: VecDeque<(u64, bool)>,
    /// The value; `None` until it is reported, and while it changes.
    on: Option<bool>,
    /// Whether the value was set before the last assistant message or the last prompt.
    holds: bool,
}

impl Switches {
    /// Takes in a command, the request with this number.
    pub fn on_command(&mut self, number: u64, command: &RpcCommand) {
        match command {
            RpcCommand::SetAutoRetry(set) => self.retry.ask(number, set.enabled),
            RpcCommand::SetAutoCompaction(set) => self.compaction.ask(number, set.enabled),
            RpcCommand::Prompt(_) | RpcCommand::AbortAndPrompt(_) => self.settle(),
            _ => {}
        }
    }

    /// Takes in a response.
    pub fn on_response(&mut self, request: &OpenRequest, success: bool) {
        match request.command {
            Command::SetAutoRetry => self.retry.on_response(request.number, success),
            Command::SetAutoCompaction => self.compaction.on_response(request.number, success),
            _ => {}
        }
    }

    /// Takes in a reported state.
    pub fn on_state(&mut self, state: &SessionState) {
        let on = Some(state.auto_compaction_enabled);
        if self.compaction.outstanding.is_empty() && self.compaction.on != on {
            (self.compaction.on, self.compaction.holds) = (on, false);
        }
    }

    /// Forgets the values: another session may have other settings.
    pub fn forget(&mut self) {
        (self.retry.on, self.compaction.on) = (None, None);
    }

    /// Whether retries are switched on, as far as known.
    pub fn retries(&self) -> bool {
        self.retry.on != Some(false) && self.retry.outstanding.is_empty()
    }

    /// Takes in an event.
    pub fn on_event(&mut self, event: &AgentSessionEvent, at: &FrameContext, found: &mut Findings) {
        use AgentSessionEvent as Event;
        match event {
            Event::MessageEnd(end) if end.message.kind() == AgentMessageKind::Assistant => self.settle(),
            Event::AutoRetryStart(_) => self.retry.happens(Rule::RetryOff, "no retry", at, found),
            Event::AutoCompactionStart(start) if start.reason == CompactionReason::Threshold => {
                self.compacts(at, found);
            }
            Event::CompactionStart(start) if start.reason == CompactionReason::Threshold => {
                self.compacts(at, found);
            }
            _ => {}
        }
    }

    fn compacts(&self, at: &FrameContext, found: &mut Findings) {
        self.compaction.happens(Rule::CompactionOff, "no compaction", at, found);
    }

    const fn settle(&mut self) {
        (self.retry.holds, self.compaction.holds) = (true, true);
    }
}

impl Switch {
    fn ask(&mut self, number: u64, on: bool) {
        (self.on, self.holds) = (None, false);
        self.outstanding.push_back((number, on));
        if self.outstanding.len() > MAX_CHANGES {
            self.outstanding.pop_front();
        }
    }

    /// Takes in a response.
    fn on_response(&mut self, number: u64, success: bool) {
        let place = self.outstanding.iter().position(|(other, _)| *other == number);
        let Some((_, on)) = place.and_then(|place| self.outstanding.remove(place)) else { return };
        (self.on, self.holds) = ((success && self.outstanding.is_empty()).then_some(on), false);
    }

    fn happens(&self, rule: Rule, expected: &str, at: &FrameContext, found: &mut Findings) {
        let Some(on) = self.on.filter(|_| self.holds && !at.has_extensions) else { return };
        found.expect(rule, on, || format!("{expected}, as the host has switched that off"));
    }
}
