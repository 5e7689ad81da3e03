//! Judges prompts and their runs: each prompt has a run, and the run begins with the prompt's message.
//!
//! Rules: `run-after-ack`, `prompt-delivered`, `run-cause`.

use super::{
    frame_context::FrameContext,
    obligations::{ObligationKind, Obligations},
    queue::text_of,
    responses::digest,
    sent_texts::IMAGE_OMITTED,
};
use crate::{findings::Findings, kind::Kind};
use pi_rpc_protocol::{
    AgentEndEvent, AgentMessage, AgentSessionEvent, AgentSessionEventKind, FlowState, MessageContent,
    RpcCommand, RuleId as Rule, StopReason, UserContent, UserMessage, fires_anywhere,
};
use std::collections::VecDeque;

/// The most prompts that are kept.
const MAX_PROMPTS: usize = 4096;

/// Tracks prompts until their messages are delivered.
#[derive(Clone, Debug, Default)]
pub struct Prompts {
    /// Outstanding prompts.
    outstanding: VecDeque<Prompt>,
    /// Acknowledged prompts whose run has not begun.
    started: VecDeque<Prompt>,
    /// How the current run began; `None` once its first message has shown that.
    opening: Option<RunStart>,
    /// Whether a run may begin without a prompt: there was a compaction, a reminder or a TTSR rule since the last run.
    cause: bool,
    /// Whether a run has ended in this process.
    ran: bool,
    /// Digests of the texts that the host has queued before the first run of the process.
    queued: VecDeque<u64>,
    /// Refused prompts: number, and digest of the text.
    refused: VecDeque<(u64, u64)>,
}

/// A prompt of the host.
#[derive(Clone, Debug)]
struct Prompt {
    number: u64,
    digest: u64,
    /// The length of the text in bytes.
    length: usize,
    images: usize,
    /// Whether the text may be a command, a template or a skill, and become another text.
    changes: bool,
}

/// A run without messages so far.
#[derive(Clone, Copy, Debug)]
struct RunStart {
    /// Whether only a prompt can have begun the run.
    prompted: bool,
    /// Whether nothing known has begun the run, unless it delivers a message.
    causeless: bool,
    /// Whether a message has come that may be of an extension.
    added: bool,
}

impl Prompts {
    /// Takes in a command, before its request with this number is opened.
    pub fn on_command(
        &mut self,
        number: u64,
        command: &RpcCommand,
        at: &FrameContext,
        obligations: &Obligations,
    ) {
        let (text, images) = match command {
            RpcCommand::Prompt(it) => (&it.message, &it.images),
            RpcCommand::AbortAndPrompt(it) => (&it.message, &it.images),
            RpcCommand::Steer(it) => return self.queue(&it.message, at),
            RpcCommand::FollowUp(it) => return self.queue(&it.message, at),
            _ => return,
        };
        let prompt = Prompt {
            number,
            digest: digest(text.trim()),
            length: text.trim().len(),
            images: images.as_ref().map_or(0, Vec::len),
            changes: text.trim_start().starts_with('/') || at.cut,
        };
        self.keep_known(obligations);
        self.outstanding.push_back(prompt);
        if self.outstanding.len() > MAX_PROMPTS {
            self.outstanding.pop_front();
        }
    }

    /// Takes in a message that the host queues.
    fn queue(&mut self, text: &str, at: &FrameContext) {
        if at.whole && !self.ran && at.met.flow == FlowState::Idle && self.queued.len() < MAX_PROMPTS {
            self.queued.push_back(digest(text.trim()));
        }
    }

    /// Whether the current run is that of a prompt, and none of its messages has come.
    pub fn is_opening(&self) -> bool {
        self.opening.is_some_and(|opening| opening.prompted && !opening.added) && !self.started.is_empty()
    }

    /// Forgets prompts whose run is no longer an obligation.
    fn keep_known(&mut self, obligations: &Obligations) {
        if !self.started.is_empty() {
            self.started.retain(|prompt| obligations.contains(ObligationKind::Run(prompt.number)));
        }
    }

    /// Takes in the acknowledgement of a prompt whose run has to follow.
    pub fn on_acknowledged(&mut self, number: u64, at: &FrameContext, obligations: &mut Obligations) {
        let Some(prompt) = self.take(number) else { return };
        obligations.add(ObligationKind::Run(number), 0, at);
        self.started.push_back(prompt);
        if self.started.len() > MAX_PROMPTS
            && let Some(oldest) = self.started.pop_front()
        {
            obligations.fulfil(ObligationKind::Run(oldest.number));
        }
    }

    /// Takes in another response to a prompt, perhaps its second.
    pub fn on_not_started(&mut self, number: u64, success: bool, obligations: &mut Obligations) {
        // An acknowledgement may come behind the refusal.
        self.refused.retain(|(refused, _)| !success || *refused != number);
        if let Some(prompt) = self.take(number).filter(|prompt| !success && !prompt.changes) {
            self.refused.push_back((number, prompt.digest));
            if self.refused.len() > MAX_PROMPTS {
                self.refused.pop_front();
            }
        }
        self.started.retain(|prompt| prompt.number != number);
        obligations.fulfil(ObligationKind::Run(number));
    }

    fn take(&mut self, number: u64) -> Option<Prompt> {
        let place = self.outstanding.iter().position(|prompt| prompt.number == number)?;
        self.outstanding.remove(place)
    }

    /// Takes in an event. `waits` tells whether a text is or may be in a queue.
    pub fn on_event(
        &mut self,
        event: &AgentSessionEvent,
        at: &FrameContext,
        waits: impl Fn(&str) -> bool,
        obligations: &mut Obligations,
        found: &mut Findings,
    ) {
        use AgentSessionEvent as Event;
        self.keep_known(obligations);
        match event {
            Event::AgentStart(_) => self.run_starts(at, obligations),
            Event::AgentEnd(end) => self.run_ends(end, at),
            // The host has aborted the wait: no run begins by itself.
            Event::AutoRetryEnd(end) if !end.success && at.met.flow == FlowState::Retrying => {
                self.cause = false;
            }
            Event::TodoReminder(_)
            | Event::TtsrTriggered(_)
            | Event::AutoRetryStart(_)
            | Event::AutoCompactionEnd(_)
            | Event::CompactionEnd(_)
            | Event::AutoCompactionStart(_)
            | Event::CompactionStart(_) => self.cause = true,
            Event::MessageStart(start) if at.met.flow.is_streaming() => {
                self.begins(&start.message, at, waits, obligations, found);
            }
            event if fires_anywhere(event.kind().as_str()) => {}
            _ => {}
        }
    }

    /// Takes in an event of which only the kind is known.
    pub fn on_unread_event(&mut self, kind: Kind) {
        if kind.is_event() {
            (self.opening, self.cause) = (None, true);
            if kind == Kind::Event(AgentSessionEventKind::AgentStart) {
                self.opening = Some(RunStart { prompted: false, causeless: false, added: false });
            }
        }
    }

    fn run_starts(&mut self, at: &FrameContext, obligations: &Obligations) {
        let calm = !self.cause && !at.has_extensions && !obligations.resumes();
        let known = at.whole || self.ran;
        self.opening = Some(RunStart {
            prompted: calm && at.met.flow == FlowState::Starting,
            causeless: calm && known && at.met.flow == FlowState::Idle && self.outstanding.is_empty(),
            added: false,
        });
    }

    fn run_ends(&mut self, end: &AgentEndEvent, at: &FrameContext) {
        let last = end.messages.iter().rev().find_map(|message| match message {
            AgentMessage::Assistant(message) => Some(message.stop_reason),
            _ => None,
        });
        // A failed run may be continued without a known event.
        self.cause = at.cut || !matches!(last, Some(StopReason::Stop | StopReason::Length));
        (self.ran, self.opening) = (true, None);
    }

    fn begins(
        &mut self,
        message: &AgentMessage,
        at: &FrameContext,
        waits: impl Fn(&str) -> bool,
        obligations: &mut Obligations,
        found: &mut Findings,
    ) {
        match message {
            AgentMessage::System(_) => {}
            AgentMessage::User(message) => {
                let opening = self.opening.take();
                // A run without a prompt must not begin with a message that waits for one.
                if opening.is_some_and(|opening| opening.causeless) {
                    let text = digest(text_of(&message.content).trim());
                    let waits = !at.dialect.record().starts_when_idle
                        && !self.ran
                        && self.started.is_empty()
                        && !at.cut
                        && self.queued.contains(&text);
                    found.expect(Rule::RunCause, !waits, || {
                        "a prompt first, as what is queued while nothing goes on waits for one".to_owned()
                    });
                }
                if opening.is_some() && !at.cut && !at.has_extensions {
                    self.refused_runs(text_of(&message.content).trim(), &waits, found);
                }
                self.on_user_message(message, opening.is_some(), at, waits, obligations, found);
            }
            AgentMessage::Assistant(_) => self.answers(obligations, found),
            _ => {
                if let Some(opening) = &mut self.opening {
                    opening.added = true;
                }
            }
        }
    }

    /// Judges that a run does not begin with the text of a prompt that was refused.
    fn refused_runs(&mut self, text: &str, waits: &impl Fn(&str) -> bool, found: &mut Findings) {
        if self.refused.is_empty() || waits(text) {
            return;
        }
        let text = digest(text);
        let is_again = self.started.iter().chain(&self.outstanding).any(|prompt| prompt.digest == text);
        if let Some(place) = self.refused.iter().position(|(_, refused)| *refused == text)
            && !is_again
        {
            self.refused.remove(place);
            found.fail(Rule::RunCause, "no run for a prompt that was refused");
        }
    }

    /// Judges a run that begins with an assistant message.
    fn answers(&mut self, obligations: &mut Obligations, found: &mut Findings) {
        let Some(opening) = self.opening.take().filter(|opening| !opening.added) else { return };
        if opening.causeless && self.started.is_empty() {
            found.fail(Rule::RunCause, "a message that the run answers, or what it goes on with");
        }
        if opening.prompted
            && let Some(prompt) = self.started.pop_front()
        {
            obligations.fulfil(ObligationKind::Run(prompt.number));
            if !prompt.changes && (prompt.length > 0 || prompt.images > 0) {
                found.fail(Rule::PromptDelivered, "the message of the prompt before the answer");
            }
        }
    }

    /// Takes in a user message, the first of the run or a later one.
    fn on_user_message(
        &mut self,
        message: &UserMessage,
        opens: bool,
        at: &FrameContext,
        waits: impl Fn(&str) -> bool,
        obligations: &mut Obligations,
        found: &mut Findings,
    ) {
        let text = text_of(&message.content);
        let text = text.trim();
        let place = match at.cut {
            true => None,
            false => self.started.iter().position(|prompt| prompt.is(text, &message.content)),
        };
        match place {
            Some(place) => self.runs(place, message, at, obligations, found),
            None if opens => self.opens_otherwise(text, at, waits, obligations, found),
            None => {}
        }
    }

    /// Takes in the message of a prompt, in its own run or in another.
    fn runs(
        &mut self,
        place: usize,
        message: &UserMessage,
        at: &FrameContext,
        obligations: &mut Obligations,
        found: &mut Findings,
    ) {
        let Some(prompt) = self.started.remove(place) else { return };
        if obligations.fulfil(ObligationKind::Run(prompt.number)) {
            found.pass(Rule::RunAfterAck);
        }
        found.pass(Rule::RunCause);
        let whole = images(&message.content) >= prompt.images || is_omitted(&message.content);
        found.expect(Rule::PromptDelivered, whole || at.has_extensions, || {
            format!("the {} images of the prompt", prompt.images)
        });
        // The run of an older acknowledged prompt comes before.
        let says = AgentSessionEventKind::AgentSettled.is_in(at.base());
        if says && !at.has_extensions {
            let passed: Vec<Prompt> = self.started.drain(..place).filter(|older| !older.changes).collect();
            for older in passed {
                if obligations.fulfil(ObligationKind::Run(older.number)) {
                    found.fail(Rule::RunAfterAck, "the run of the prompt that was acknowledged before");
                }
            }
        }
    }

    /// Judges a run that begins with a text that no prompt has.
    fn opens_otherwise(
        &mut self,
        text: &str,
        at: &FrameContext,
        waits: impl Fn(&str) -> bool,
        obligations: &mut Obligations,
        found: &mut Findings,
    ) {
        let changing = self.started.iter().position(|prompt| prompt.changes);
        // A run may begin before the response to its prompt.
        let own = || self.outstanding.iter().any(|prompt| prompt.digest == digest(text));
        if changing.is_none() && (waits(text) || own()) {
            return;
        }
        let Some(prompt) = self.started.remove(changing.unwrap_or_default()) else { return };
        obligations.fulfil(ObligationKind::Run(prompt.number));
        if !prompt.changes && !at.has_extensions && !at.cut {
            found.fail(
                Rule::PromptDelivered,
                "the text of the prompt that was acknowledged last, at /message/content",
            );
        }
    }
}

impl Prompt {
    /// Whether a message has the text of the prompt, possibly followed by placeholders for its images.
    fn is(&self, text: &str, content: &MessageContent) -> bool {
        let begins = || {
            self.images > 0
                && is_omitted(content)
                && text.get(..self.length).is_some_and(|begins| digest(begins) == self.digest)
        };
        !self.changes && (digest(text) == self.digest || begins())
    }
}

fn images(content: &MessageContent) -> usize {
    match content {
        MessageContent::Text(_) => 0,
        MessageContent::Blocks(blocks) => {
            blocks.iter().filter(|block| matches!(block, UserContent::Image(_))).count()
        }
    }
}

fn is_omitted(content: &MessageContent) -> bool {
    text_of(content).contains(IMAGE_OMITTED)
}
