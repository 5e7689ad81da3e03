//! Judges the beginning of further turns and the end of runs.
//!
//! Rules: `turn-cause`, `run-goes-on`.

use super::{frame_context::FrameContext, queues::Queues};
use crate::{findings::Findings, kind::Kind};
use pi_rpc_protocol::{
    AgentEndEvent, AgentMessage, AgentMessageKind, AgentSessionEvent, AssistantContent, RpcCommand,
    RpcCommandKind as Command, RuleId as Rule, StopReason,
};

/// Tracks the turns of the current run.
#[derive(Clone, Debug, Default)]
pub struct TurnBoundaries {
    /// The previous turn of the same run; `None` if there is none, or it was missed.
    before: Option<PreviousTurn>,
    /// Whether the current turn is the first of its run.
    first: bool,
    /// Whether a message to the model has come in the current turn.
    inputs: bool,
    /// Whether a result of the current turn requests the end of the run.
    terminates: bool,
    /// The number of outstanding commands that stop a run.
    stopping: usize,
    /// Whether the current run was to be stopped.
    stopped: bool,
}

/// A turn that has ended.
#[derive(Clone, Copy, Debug)]
struct PreviousTurn {
    calls: bool,
    failed: bool,
    terminates: bool,
}

impl TurnBoundaries {
    /// Takes in a command.
    pub const fn on_command(&mut self, command: &RpcCommand) {
        if command.kind().ends_run() {
            self.stopping += 1;
            self.stopped = true;
        }
    }

    /// Takes in a response.
    pub const fn on_response(&mut self, command: Command) {
        if command.ends_run() {
            self.stopping = self.stopping.saturating_sub(1);
        }
    }

    /// Whether a follow-up may be delivered in the current turn.
    pub fn takes_follow_ups(&self) -> bool {
        self.before.is_none_or(|before| !before.calls || before.terminates)
    }

    /// Whether the current run was to be stopped.
    pub const fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Takes in an event, after the queues have.
    pub fn on_event(
        &mut self,
        event: &AgentSessionEvent,
        at: &FrameContext,
        queues: &mut Queues,
        found: &mut Findings,
    ) {
        use AgentSessionEvent as Event;
        match event {
            Event::AgentStart(_) => {
                (self.before, self.first, self.stopped) = (None, true, self.stopping > 0);
            }
            Event::TurnStart(_) => (self.inputs, self.terminates) = (false, false),
            Event::MessageStart(start) if at.met.flow.is_streaming() => match start.message.kind() {
                AgentMessageKind::Assistant => self.opens(at, queues, found),
                AgentMessageKind::System | AgentMessageKind::ToolResult => {}
                _ => self.inputs = true,
            },
            Event::ToolExecutionEnd(end) => self.terminates |= end.result.terminate == Some(true),
            Event::TurnEnd(end) => {
                queues.turn_ends(end.message.stop_reason, found);
                let is_call = |block: &AssistantContent| matches!(block, AssistantContent::ToolCall(_));
                let reason = end.message.stop_reason;
                let before = PreviousTurn {
                    calls: end.message.content.iter().any(is_call),
                    failed: matches!(reason, StopReason::Error | StopReason::Aborted),
                    terminates: std::mem::take(&mut self.terminates),
                };
                // A deferred answer is requested again.
                self.before = (reason != StopReason::Deferred).then_some(before);
            }
            // A run may continue after a compaction for its own reason.
            Event::CompactionEnd(_) => self.before = None,
            Event::AgentEnd(end) => self.run_ends(end, at, queues, found),
            _ => {}
        }
    }

    /// Takes in an event of which only the kind is known.
    pub fn on_unread_event(&mut self, kind: Kind) {
        if kind.is_event() {
            (self.before, self.first, self.inputs) = (None, false, true);
        }
    }

    /// Judges the beginning of a turn's answer.
    fn opens(&mut self, at: &FrameContext, queues: &mut Queues, found: &mut Findings) {
        match self.before {
            Some(before) if before.failed => {
                found.fail(Rule::TurnCause, "the end of the run behind an answer that failed");
            }
            Some(before) => {
                // A run that is stopped between two turns ends with an additional turn.
                let cause =
                    before.calls || self.inputs || self.stopped || at.now.closing || at.has_extensions;
                found.expect(Rule::TurnCause, cause, || {
                    "a message before the answer, as the turn before had no calls".to_owned()
                });
            }
            None => {}
        }
        let known = self.first || self.before.is_some();
        if known && !self.stopped {
            queues.turn_opens(at, found);
        }
        self.first = false;
    }

    fn run_ends(
        &mut self,
        end: &AgentEndEvent,
        at: &FrameContext,
        queues: &mut Queues,
        found: &mut Findings,
    ) {
        let Some(before) = self.before.take() else { return };
        let excused = before.failed || has_failed(end) || self.stopped || at.now.closing || at.has_extensions;
        if excused {
            return;
        }
        found.expect(Rule::RunGoesOn, !before.calls || before.terminates, || {
            "a turn in which the model gets the results of its calls".to_owned()
        });
        if !before.calls || before.terminates {
            queues.run_ends(at, found);
        }
    }
}

/// Whether the last assistant message of the run has failed.
fn has_failed(end: &AgentEndEvent) -> bool {
    let last = end.messages.iter().rev().find_map(|message| match message {
        AgentMessage::Assistant(message) => Some(message.stop_reason),
        _ => None,
    });
    matches!(last, Some(StopReason::Error | StopReason::Aborted))
}
