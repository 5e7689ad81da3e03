//! Judges the effect of an abort on running tool calls, and on the rest of the run.
//!
//! Rule: `abort-effect`.

use super::frame_context::FrameContext;
use crate::{findings::Findings, kind::Kind};
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, RpcCommand, RuleId as Rule, StopReason, ToolExecutionEndEvent,
    UserContent, errors,
};

/// Tracks the calls of the current run that an abort has ended.
#[derive(Clone, Debug, Default)]
pub struct AbortedCalls {
    /// The frame of the first such call in the current run.
    ended: Option<u64>,
    /// The frame of an answer that was aborted although nothing was to stop the run. A process that is ending does that, too.
    causeless: Option<u64>,
    /// Whether the server itself stops answers.
    ends_answers: bool,
    /// Whether the host has told the server to stop and no answer has ended well since: one that waits in a queue may be
    /// stopped, too.
    told: bool,
}

impl AbortedCalls {
    /// Takes in a command.
    pub const fn on_command(&mut self, command: &RpcCommand) {
        self.told |= command.kind().ends_run();
    }

    /// Sees an event; `stopped`: the open run was to be stopped.
    pub fn on_event(
        &mut self,
        event: &AgentSessionEvent,
        stopped: bool,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        use AgentSessionEvent as Event;
        match event {
            // A process that begins another run is not ending.
            Event::AgentStart(_) => {
                self.ended = None;
                self.goes_on(at, found);
            }
            Event::AgentEnd(_) => self.ended = None,
            Event::ToolExecutionEnd(end)
                if stopped
                    && end.parent_tool_call_id.is_none()
                    && !at.cut
                    && !at.has_extensions
                    && says_aborted(end, at) =>
            {
                found.expect(Rule::AbortEffect, end.is_error, || {
                    "an error, as the call was aborted".to_owned()
                });
                self.ended = Some(at.frame);
            }
            // These stop an answer, too.
            Event::TtsrTriggered(_) => self.ends_answers = true,
            Event::MessageEnd(end) => {
                self.answered(&end.message, stopped, at);
                if let AgentMessage::Assistant(answer) = &end.message
                    && let Some(ended) = self.ended.take()
                {
                    let failed = matches!(answer.stop_reason, StopReason::Aborted | StopReason::Error);
                    found.with_cause(Some(ended), |found| {
                        found.expect(Rule::AbortEffect, failed || at.has_extensions, || {
                            "an aborted answer behind calls that were aborted".to_owned()
                        });
                    });
                }
            }
            _ => {}
        }
    }

    fn answered(&mut self, message: &AgentMessage, stopped: bool, at: &FrameContext) {
        let AgentMessage::Assistant(answer) = message else { return };
        self.told &= answer.stop_reason == StopReason::Aborted;
        let is_excused =
            stopped || self.told || self.ends_answers || at.has_extensions || !at.whole || at.now.closing;
        if answer.stop_reason == StopReason::Aborted && !is_excused {
            self.causeless = Some(at.frame);
        }
    }

    /// Judges, once the process has gone on, that an answer was not aborted by itself.
    pub fn goes_on(&mut self, at: &FrameContext, found: &mut Findings) {
        let Some(frame) = self.causeless.take().filter(|_| !at.has_extensions && !at.now.closing) else {
            return;
        };
        found.with_cause(Some(frame), |found| {
            found.fail(Rule::AbortEffect, "no aborted answer before, as nothing has stopped it");
        });
    }

    /// Takes in an event of which only the kind is known.
    pub fn on_unread_event(&mut self, kind: Kind) {
        if kind.is_event() {
            (self.ended, self.causeless) = (None, None);
        }
    }
}

/// Whether the result has the text for an aborted call.
fn says_aborted(end: &ToolExecutionEndEvent, at: &FrameContext) -> bool {
    let [UserContent::Text(text)] = end.result.content.as_slice() else { return false };
    let own = [errors::tool_aborted(at.base()), errors::bash_aborted(at.base())];
    own.iter().any(|own| match own.ends_with('\n') {
        true => text.text.starts_with(own),
        false => text.text == *own || text.text.ends_with(&format!("\n\n{own}")),
    })
}
