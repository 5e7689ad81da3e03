//! Judges `prompt_result`, which ends an acknowledged prompt that has no run, or in some dialects every one.
//!
//! Rules: `prompt-result`.

use super::{frame_context::FrameContext, queue::text_of, responses::digest};
use crate::{findings::Findings, requests::OpenRequest};
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, DialectPromptResults, PromptResultEvent, RequestId, RpcCommand,
    RpcSuccess, RuleId as Rule,
};
use std::collections::VecDeque;

/// The most prompts that are kept.
const MAX_PROMPTS: usize = 4096;

/// The prompts that may still have a result.
#[derive(Clone, Debug, Default)]
pub struct PromptResults {
    /// Prompts without a response.
    outstanding: VecDeque<Prompt>,
    /// Acknowledged prompts without a result.
    acknowledged: VecDeque<Prompt>,
    /// Prompts whose result has said that no run follows, each with the frame of the result.
    resulted: VecDeque<(u64, Prompt)>,
    /// Whether a prompt may have been missed.
    unsure: bool,
    /// Whether the session has settled, and nothing has been done in it since.
    settled: bool,
}

/// A prompt of the host.
#[derive(Clone, Debug)]
struct Prompt {
    number: u64,
    id: Option<RequestId>,
    digest: u64,
}

impl PromptResults {
    /// Takes in a command, before its request with this number is opened.
    pub fn on_command(&mut self, number: u64, command: &RpcCommand, at: &FrameContext) {
        // A command may do something that is over at once, and an extension anything at any time.
        self.settled = false;
        let message = match command {
            RpcCommand::Prompt(prompt) => &prompt.message,
            RpcCommand::AbortAndPrompt(prompt) if ends_every(at) => &prompt.message,
            _ => return,
        };
        let digest = digest(message.trim());
        let prompt = Prompt { number, id: command.id().cloned(), digest };
        self.unsure |= push(&mut self.outstanding, prompt);
    }

    /// Takes in the first or the second response to a request.
    pub fn on_response(&mut self, request: &OpenRequest, success: Option<&RpcSuccess>, at: &FrameContext) {
        let is_asked = |prompt: &Prompt| prompt.number == request.number;
        // An error may follow the acknowledgement.
        if !ends_every(at) {
            self.acknowledged.retain(|prompt| !is_asked(prompt));
        }
        let place = self.outstanding.iter().position(is_asked);
        let Some(prompt) = place.and_then(|place| self.outstanding.remove(place)) else { return };
        let awaits_event = match success {
            // What the response tells itself has no event.
            Some(RpcSuccess::Prompt(response)) => {
                response.data.as_ref().is_none_or(|data| data.agent_invoked.is_none())
            }
            Some(RpcSuccess::AbortAndPrompt(_)) => true,
            _ => false,
        };
        if awaits_event {
            self.unsure |= push(&mut self.acknowledged, prompt);
        }
    }

    /// Takes in an event. `waits` tells whether a text is or may be in a queue.
    pub fn on_event(
        &mut self,
        event: &AgentSessionEvent,
        at: &FrameContext,
        waits: impl Fn(&str) -> bool,
        found: &mut Findings,
    ) {
        match event {
            AgentSessionEvent::PromptResult(result) => self.judge(result, at, found),
            AgentSessionEvent::AgentStart(_) => self.settled = false,
            AgentSessionEvent::SessionSettled(_) if at.whole && !self.unsure => {
                let again = std::mem::replace(&mut self.settled, true) && !at.has_extensions;
                found.expect(Rule::PromptResult, !again, || {
                    "one `session_settled` after what the session has done".to_owned()
                });
                let is_over = self.acknowledged.is_empty();
                found.expect(Rule::PromptResult, is_over, || {
                    "the result of every accepted prompt first".to_owned()
                });
                self.acknowledged.clear();
            }
            // An extension may send the text of a prompt that it has handled.
            AgentSessionEvent::MessageStart(start) if !ends_every(at) && !at.has_extensions && !at.cut => {
                let AgentMessage::User(message) = &start.message else { return };
                let text = text_of(&message.content);
                let delivered = digest(text.trim());
                let is_it = |prompt: &Prompt| prompt.digest == delivered;
                if let Some(place) = self.acknowledged.iter().position(is_it) {
                    self.acknowledged.remove(place);
                } else if !self.outstanding.iter().any(is_it)
                    && let Some(place) = self.resulted.iter().position(|(_, prompt)| is_it(prompt))
                    && let Some((frame, _)) = self.resulted.remove(place)
                    && !waits(&text)
                {
                    found.with_cause(Some(frame), |found| {
                        found.fail(Rule::PromptResult, "no result for a prompt that has a run");
                    });
                }
            }
            _ => {}
        }
    }

    fn judge(&mut self, result: &PromptResultEvent, at: &FrameContext, found: &mut Findings) {
        let place = self.acknowledged.iter().position(|prompt| prompt.id == result.id);
        match place.and_then(|place| self.acknowledged.remove(place)) {
            Some(prompt) if !ends_every(at) => {
                self.resulted.push_back((at.frame, prompt));
                if self.resulted.len() > MAX_PROMPTS {
                    self.resulted.pop_front();
                }
            }
            None if self.unsure || !at.whole => return,
            _ => {}
        }
        found.expect(Rule::PromptResult, place.is_some(), || {
            let id = result.id.as_ref().map_or("none".to_owned(), ToString::to_string);
            let without = if ends_every(at) { "a result" } else { "a run and without a result" };
            format!("the id of an acknowledged prompt without {without}, not {id}")
        });
    }

    /// Takes in that the server may have accepted a line of which only the kind is known.
    pub const fn doubt(&mut self) {
        self.unsure = true;
    }
}

/// Whether every accepted prompt has a result.
fn ends_every(at: &FrameContext) -> bool {
    at.dialect.record().prompt_results == DialectPromptResults::Every
}

/// Appends a prompt. Returns whether another had to be forgotten for it.
fn push(prompts: &mut VecDeque<Prompt>, prompt: Prompt) -> bool {
    prompts.push_back(prompt);
    prompts.len() > MAX_PROMPTS && prompts.pop_front().is_some()
}
