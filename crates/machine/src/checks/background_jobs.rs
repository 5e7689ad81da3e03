//! Judges whether the end of a run tells that background work goes on.
//!
//! Rule: `terminal-flag`.

use super::frame_context::FrameContext;
use crate::{findings::Findings, kind::Kind};
use pi_rpc_protocol::{
    AgentEndEvent, AgentMessage, AgentMessageKind, AgentSessionEvent, RuleId as Rule, StopReason,
    ToolExecutionEndEvent,
};

/// The background jobs that results of calls have announced.
#[derive(Clone, Debug, Default)]
pub struct BackgroundJobs {
    /// Whether a job was ever announced, or may have been.
    any: bool,
    /// The frame that has announced a job in the current run, if no message of an extension or a tool has come since.
    running: Option<u64>,
}

impl BackgroundJobs {
    /// Takes in an event.
    pub fn on_event(&mut self, event: &AgentSessionEvent, at: &FrameContext, found: &mut Findings) {
        use AgentSessionEvent as Event;
        match event {
            Event::AgentStart(_) => self.running = None,
            Event::ToolExecutionEnd(end) if is_running(end) => {
                (self.any, self.running) = (true, Some(at.frame));
            }
            // The result of the job may have come.
            Event::MessageStart(start) if start.message.kind() == AgentMessageKind::Custom => {
                self.running = None;
            }
            Event::AgentEnd(end) if !at.cut && at.whole && !at.has_extensions => {
                let Some(is_terminal) = end.is_terminal else { return };
                let running = self.running.take();
                // An abort may have ended the job.
                if running.is_some() && has_failed(end) {
                    return;
                }
                found.with_cause(running, |found| {
                    let what = "whether nothing follows by itself, as a job is under way";
                    match running {
                        Some(_) => {
                            found.expect_same(Rule::TerminalFlag, "/isTerminal", what, &false, &is_terminal);
                        }
                        None if !self.any => {
                            let what = "whether nothing follows by itself, as no job was begun";
                            found.expect_same(Rule::TerminalFlag, "/isTerminal", what, &true, &is_terminal);
                        }
                        None => {}
                    }
                });
            }
            _ => {}
        }
    }

    /// Takes in an event of which only the kind is known.
    pub const fn on_unread_event(&mut self, kind: Kind) {
        if kind.is_event() {
            (self.any, self.running) = (true, None);
        }
    }
}

/// Whether the last answer of the run has failed.
fn has_failed(end: &AgentEndEvent) -> bool {
    let last = end.messages.iter().rev().find_map(|message| match message {
        AgentMessage::Assistant(message) => Some(message.stop_reason),
        _ => None,
    });
    matches!(last, Some(StopReason::Error | StopReason::Aborted))
}

/// Whether a call goes on in the background.
fn is_running(end: &ToolExecutionEndEvent) -> bool {
    let state = end.result.details.as_ref().and_then(|details| details.get("async")?.get("state")?.as_str());
    state == Some("running")
}
