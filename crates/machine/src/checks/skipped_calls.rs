//! Judges tool calls that are skipped for a steering message: which may be skipped, and what has to follow.
//!
//! Rule: `skip-cause`.

use super::frame_context::FrameContext;
use crate::{findings::Findings, kind::Kind, requests::OpenRequest};
use pi_rpc_protocol::{
    AgentMessageKind, AgentSessionEvent, DialectToolExecution, InterruptMode, RpcCommand, RuleId as Rule,
    SessionState, StopReason, ToolExecutionEndEvent, UserContent, errors,
};
use std::{collections::VecDeque, mem};

/// The most outstanding mode changes that are kept.
const MAX_MODE_CHANGES: usize = 4096;

/// Tracks the results of the current turn.
#[derive(Clone, Debug, Default)]
pub struct SkippedCalls {
    /// Requested modes without a response.
    outstanding: VecDeque<(u64, InterruptMode)>,
    /// The interrupt mode; `None` until it is reported, and while it changes.
    mode: Option<InterruptMode>,
    /// The mode at the beginning of the current run, which keeps it.
    run_mode: Option<InterruptMode>,
    /// Whether a call of the current turn was executed.
    ran: bool,
    /// Whether a call of the current turn was skipped.
    skipped: bool,
    /// Whether the current run was observed from its start.
    is_whole: bool,
    /// Whether a call of the previous turn was skipped, and the message for which it was skipped has not come.
    waits: bool,
    /// Whether the answer of the current turn came instead of that message.
    is_missed: bool,
    /// Whether a steering message was queued when the last call of the current turn ended, so that the rest must be skipped.
    interrupted: bool,
    /// The frame of a call that was executed all the same.
    carried_out: Option<u64>,
}

impl SkippedCalls {
    /// Takes in a command, the request with this number.
    pub fn on_command(&mut self, number: u64, command: &RpcCommand) {
        if let RpcCommand::SetInterruptMode(set) = command {
            self.mode = None;
            self.outstanding.push_back((number, set.mode));
            if self.outstanding.len() > MAX_MODE_CHANGES {
                self.outstanding.pop_front();
            }
        }
    }

    /// Takes in a response.
    pub fn on_response(&mut self, request: &OpenRequest, success: bool) {
        let place = self.outstanding.iter().position(|(number, _)| *number == request.number);
        if let Some((_, mode)) = place.and_then(|place| self.outstanding.remove(place)) {
            self.mode = (success && self.outstanding.is_empty()).then_some(mode);
        }
    }

    /// Takes in a reported state.
    pub fn on_state(&mut self, state: &SessionState) {
        if self.outstanding.is_empty() {
            self.mode = state.interrupt_mode;
        }
    }

    /// Takes in an event. `stopped`: the current run was to be stopped; `steered`: an interrupting message is queued.
    pub fn on_event(
        &mut self,
        event: &AgentSessionEvent,
        at: &FrameContext,
        stopped: bool,
        steered: bool,
        found: &mut Findings,
    ) {
        use AgentSessionEvent as Event;
        match event {
            Event::AgentStart(_) => {
                *self = Self {
                    run_mode: self.mode,
                    is_whole: true,
                    mode: self.mode,
                    outstanding: mem::take(&mut self.outstanding),
                    ..Self::default()
                };
            }
            Event::ToolExecutionEnd(end) if end.parent_tool_call_id.is_none() => {
                self.result(end, at, stopped, found);
                self.interrupted = steered;
            }
            Event::TurnEnd(end) => {
                // A server that cannot store the message ends its run with a failed answer.
                if mem::take(&mut self.is_missed) && end.message.stop_reason != StopReason::Error {
                    found
                        .fail(Rule::SkipCause, "the message that calls were skipped for, before this answer");
                }
                self.waits = mem::take(&mut self.skipped);
                (self.ran, self.interrupted) = (false, false);
            }
            Event::MessageStart(start) if at.met.flow.is_streaming() => match start.message.kind() {
                AgentMessageKind::System | AgentMessageKind::ToolResult => {}
                kind => {
                    let came = kind != AgentMessageKind::Assistant;
                    // An extension may end the run or remove the message.
                    let is_excused = stopped || at.now.closing || at.has_extensions;
                    if mem::take(&mut self.waits) && !is_excused {
                        match came {
                            true => found.pass(Rule::SkipCause),
                            false => self.is_missed = true,
                        }
                    }
                    // There is another rule for a message that does not come.
                    if let Some(call) = self.carried_out.take().filter(|_| came && !is_excused) {
                        found.with_cause(Some(call), |found| {
                            found.fail(Rule::SkipCause, "the call to be skipped for which this was in time");
                        });
                    }
                }
            },
            _ => {}
        }
    }

    /// Takes in an event of which only the kind is known.
    pub fn on_unread_event(&mut self, kind: Kind) {
        if kind.is_event() {
            (self.ran, self.skipped, self.waits, self.is_missed) = (true, false, false, false);
            (self.interrupted, self.carried_out) = (false, None);
        }
    }

    fn result(
        &mut self,
        end: &ToolExecutionEndEvent,
        at: &FrameContext,
        stopped: bool,
        found: &mut Findings,
    ) {
        let execution = at.dialect.record().tool_execution;
        let skipped = end.is_error && !at.cut && has_text(end, &errors::skipped(at.base()));
        // Tools have words of their own for it.
        let is_aborted = stopped && end.is_error;
        if execution == DialectToolExecution::SequentialSkip {
            if skipped {
                found.expect(Rule::SkipCause, self.ran || !self.is_whole, || {
                    "the first call of the message to be run, not skipped".to_owned()
                });
            } else if self.skipped
                && !at.cut
                && !has_text(end, &errors::tool_aborted(at.base()))
                && !is_aborted
            {
                found.fail(Rule::SkipCause, "this call to be skipped like the one before");
            } else if self.interrupted && !stopped && !end.is_error && !at.cut {
                self.carried_out = Some(at.frame);
            }
        }
        if skipped && execution == DialectToolExecution::Interrupt {
            found.expect(Rule::SkipCause, self.run_mode != Some(InterruptMode::Wait), || {
                "no call to be skipped, as steering waits for the end of the turn".to_owned()
            });
        }
        self.ran |= !skipped;
        self.skipped |= skipped;
    }
}

/// Whether the result of the call is this text alone.
fn has_text(end: &ToolExecutionEndEvent, expected: &str) -> bool {
    matches!(end.result.content.as_slice(), [UserContent::Text(text)] if text.text == expected)
}
