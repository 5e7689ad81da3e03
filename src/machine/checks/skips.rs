//! Calls that are skipped for a message of the user: which may be, and what has to follow.

use super::moment::Moment;
use crate::{
    machine::{findings::Findings, kind::Kind, requests::Open},
    protocol::{
        AgentMessageKind, AgentSessionEvent, DialectToolExecution, InterruptMode, RpcCommand, RuleId as Rule,
        SessionState, ToolExecutionEndEvent, UserContent, errors,
    },
};
use std::collections::VecDeque;

/// Changes of the mode that are kept, the latest.
const KEPT: usize = 4096;

/// Follows the results of the open turn.
#[derive(Clone, Debug, Default)]
pub struct Skips {
    /// Commands so far: their numbers are those of the requests.
    count: u64,
    /// Modes that were asked for, without an answer.
    asked: VecDeque<(u64, InterruptMode)>,
    /// Unknown until it is told, and while it changes.
    mode: Option<InterruptMode>,
    /// The mode when the open run began, which it keeps.
    run_mode: Option<InterruptMode>,
    /// A call of the open turn was run.
    ran: bool,
    /// A call of the open turn was skipped.
    skipped: bool,
    /// The open run was seen from its start on.
    is_whole: bool,
    /// A call of the turn before was skipped, and the message that it was skipped for has not come.
    waits: bool,
}

impl Skips {
    /// Sees what the host wants.
    pub fn command(&mut self, command: &RpcCommand) {
        if let RpcCommand::SetInterruptMode(set) = command {
            self.mode = None;
            self.asked.push_back((self.count, set.mode));
            if self.asked.len() > KEPT {
                self.asked.pop_front();
            }
        }
        self.count += 1;
    }

    /// A command was answered.
    pub fn answered(&mut self, request: &Open, success: bool) {
        let place = self.asked.iter().position(|(number, _)| *number == request.number);
        if let Some((_, mode)) = place.and_then(|place| self.asked.remove(place)) {
            self.mode = (success && self.asked.is_empty()).then_some(mode);
        }
    }

    /// What the server says of its state.
    pub fn state(&mut self, state: &SessionState) {
        if self.asked.is_empty() {
            self.mode = state.interrupt_mode;
        }
    }

    /// Sees an event; `stopped`: the open run was to be stopped.
    pub fn event(&mut self, event: &AgentSessionEvent, at: &Moment, stopped: bool, found: &mut Findings) {
        use AgentSessionEvent as Event;
        match event {
            Event::AgentStart(_) => {
                self.run_mode = self.mode;
                (self.ran, self.skipped, self.waits) = (false, false, false);
                self.is_whole = true;
            }
            Event::ToolExecutionEnd(end) if end.parent_tool_call_id.is_none() => {
                self.result(end, at, found);
            }
            Event::TurnEnd(_) => {
                self.waits = std::mem::take(&mut self.skipped);
                self.ran = false;
            }
            Event::MessageStart(start) if at.met.flow.is_streaming() => match start.message.kind() {
                AgentMessageKind::System | AgentMessageKind::ToolResult => {}
                kind => {
                    let came = kind != AgentMessageKind::Assistant;
                    // An extension may end the run or take the message back.
                    let is_excused = stopped || at.now.closing || at.extended;
                    if std::mem::take(&mut self.waits) && !is_excused {
                        found.expect(Rule::SkipCause, came, || {
                            "the message that calls were skipped for".to_owned()
                        });
                    }
                }
            },
            _ => {}
        }
    }

    /// An event was said of which the kind alone is known.
    pub fn unread(&mut self, kind: Kind) {
        if kind.is_event() {
            (self.ran, self.skipped, self.waits) = (true, false, false);
        }
    }

    fn result(&mut self, end: &ToolExecutionEndEvent, at: &Moment, found: &mut Findings) {
        let execution = at.dialect.record().tool_execution;
        let skipped = end.is_error && !at.cut && is_skipped(end, at);
        if execution == DialectToolExecution::SequentialSkip {
            if skipped {
                found.expect(Rule::SkipCause, self.ran || !self.is_whole, || {
                    "the first call to be run".to_owned()
                });
            } else if self.skipped && !at.cut {
                found.broken(Rule::SkipCause, "this call to be skipped like the one before");
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

fn is_skipped(end: &ToolExecutionEndEvent, at: &Moment) -> bool {
    match end.result.content.as_slice() {
        [UserContent::Text(text)] => text.text == errors::skipped(at.base()),
        _ => false,
    }
}
