//! Judges responses: their outcome against the states in which the server may have handled the command, and their order.
//!
//! Rules: `resp-order`, `disposition`, `reject-text`, `ack-before-start`, `disposition-true`, `abort-after-end`,
//! `host-prompt-busy`, `host-legal`.

use super::{frame_context::FrameContext, logins, queue::text_of};
use crate::{
    findings::Findings,
    kind::Kind,
    requests::{OpenRequest, Requests, ResponseHead, ResponseMatch},
};
use pi_rpc_protocol::{
    AgentMessage, AgentMessageKind, AgentSessionEventKind, Base, Case, DialectEndOfInput, DialectPromptAck,
    DialectRunEnd, Disposition, ErrorText, FlowState, PromptDisposition, RpcCommand, RpcCommandKind,
    RuleId as Rule, errors,
};
use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

/// The most commands of which notes are kept.
const MAX_COMMANDS: usize = 4096;

/// Notes on outstanding commands, and on the run that an acknowledged prompt owes.
#[derive(Clone, Debug, Default)]
pub struct Responses {
    commands: VecDeque<CommandNotes>,
    /// The number of runs so far.
    runs: u64,
    /// The number of the prompt that was acknowledged last, if no run has begun since.
    acknowledged: Option<u64>,
    /// The number of the prompt that was outstanding when the current run began.
    early: Option<u64>,
    /// Whether the first message of the current run has come, not counting system messages.
    opened: bool,
    /// Whether the current run began from idle without a known prompt.
    alone: bool,
    /// Digests of the latest prompts that begin no run.
    runless: VecDeque<u64>,
    /// Prompts that were acknowledged although every state refuses them; a later error may still correct that.
    owed: VecDeque<u64>,
    /// The number of the latest request that was reported as out of order.
    overtaken: Option<u64>,
}

/// Notes on a command, in addition to its request.
#[derive(Clone, Debug)]
struct CommandNotes {
    number: u64,
    /// The digest of a prompt's text.
    digest: Option<u64>,
    behavior: Option<&'static str>,
    /// Whether the prompt may be a command of an extension, which begins no run and is never refused.
    slash: bool,
    /// The number of the run that was open, if any.
    run: Option<u64>,
    /// Whether an error was due already.
    warned: bool,
}

impl Responses {
    /// Takes in a command, the request with this number.
    pub fn on_command(&mut self, number: u64, command: &RpcCommand, at: &FrameContext, found: &mut Findings) {
        let mut notes = CommandNotes {
            number,
            digest: None,
            behavior: command.choice("streamingBehavior"),
            slash: false,
            run: at.met.flow.is_streaming().then_some(self.runs),
            warned: false,
        };
        if let RpcCommand::Prompt(prompt) = command {
            notes.digest = Some(digest(&prompt.message));
            notes.slash = prompt.message.trim_start().starts_with('/');
            if !notes.slash && notes.behavior.is_none() {
                notes.warned = at.met.flow.is_streaming();
                found.expect(Rule::HostPromptBusy, !notes.warned, || {
                    "`streamingBehavior`, as a run is open".to_owned()
                });
            }
        }
        self.commands.push_back(notes);
        if self.commands.len() > MAX_COMMANDS {
            self.commands.pop_front();
        }
    }

    /// Takes in the start of a message. A run whose first message is not that of the prompt was begun by an extension.
    pub fn on_message_start(&mut self, message: &AgentMessage, at: &FrameContext, found: &mut Findings) {
        if !at.met.flow.is_streaming() || message.kind() == AgentMessageKind::System {
            return;
        }
        if std::mem::replace(&mut self.opened, true) {
            return;
        }
        let text = match message {
            AgentMessage::User(message) => Some(digest(&text_of(&message.content))),
            _ => None,
        };
        // The same text may have been sent again, and is still outstanding.
        let is_outstanding = self.commands.iter().any(|notes| notes.digest == text);
        let runless = !is_outstanding && text.is_some_and(|text| self.runless.contains(&text));
        if std::mem::take(&mut self.alone) && runless && !at.cut {
            found.fail(Rule::DispositionTrue, "no run for a prompt that was not `started`");
        }
        let same = |number: &mut u64| {
            self.commands.iter().any(|notes| notes.number == *number && notes.digest == text)
        };
        if !self.early.as_mut().is_none_or(same) {
            self.early = None;
        }
    }

    /// Takes in an outbound frame.
    pub fn on_frame(&mut self, kind: Kind, at: &FrameContext, found: &mut Findings) {
        let starts = kind == Kind::Event(AgentSessionEventKind::AgentStart);
        let late = at.dialect.record().prompt_ack == DialectPromptAck::ImmediateThenMaybeError;
        if kind.is_event() {
            match starts {
                // The end of the previous run was missed, so the prompt did not meet a run.
                true if at.met.flow.is_streaming() => self.owed.clear(),
                // An error after the acknowledgement comes before the next run.
                false if late => {}
                _ => self.report_missing_refusals(at.base(), found),
            }
        }
        if kind == Kind::Event(AgentSessionEventKind::AgentEnd)
            && self.early.take().is_some()
            && !at.has_extensions
        {
            found.fail(Rule::AckBeforeStart, "the acknowledgement of its prompt before the run");
        }
        if !starts {
            return;
        }
        self.runs += 1;
        self.opened = false;
        self.alone = self.acknowledged.is_none() && at.met.flow == FlowState::Idle;
        match self.acknowledged.take() {
            Some(_) => {
                found.pass(Rule::AckBeforeStart);
                self.runless.clear();
            }
            // A run that continues by itself, or that an extension has begun, needs no prompt.
            None if at.met.flow == FlowState::Idle => {
                let plain = |notes: &&CommandNotes| {
                    notes.digest.is_some() && !notes.slash && notes.behavior.is_none() && notes.run.is_none()
                };
                self.early = self.commands.iter().find(plain).map(|notes| notes.number);
            }
            None => self.early = None,
        }
    }

    /// Takes in a response. Returns whether it acknowledges a prompt whose run has to follow.
    pub fn on_response(
        &mut self,
        answer: &ResponseHead,
        answered: &ResponseMatch,
        became: Option<PromptDisposition>,
        requests: &Requests,
        at: &FrameContext,
        found: &mut Findings,
    ) -> bool {
        match answered {
            ResponseMatch::First(request) => {
                self.check_order(request, requests, at, found);
                logins::on_response(request, answer.success, requests, found);
                let place = self.commands.iter().position(|notes| notes.number == request.number);
                let notes = place.and_then(|place| self.commands.remove(place));
                return notes
                    .is_some_and(|notes| self.check_outcome(answer, request, &notes, became, at, found));
            }
            ResponseMatch::Again(request) => {
                if let Some(place) = self.owed.iter().position(|number| *number == request.number) {
                    self.owed.remove(place);
                    found.pass(Rule::Disposition);
                    refusal(answer, &errors::busy(at.base()), found);
                }
                if !answer.success && self.acknowledged == Some(request.number) {
                    self.acknowledged = None;
                }
            }
            ResponseMatch::Line(_) | ResponseMatch::Forgotten | ResponseMatch::Nothing(_) => {}
        }
        false
    }

    /// Judges the order of responses. A read may overtake everything except reads; nothing may overtake a read except commands
    /// that always overtake.
    fn check_order(
        &mut self,
        request: &OpenRequest,
        requests: &Requests,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let is_free = |kind: RpcCommandKind| kind.is_control() || at.dialect.runs_beside_others(kind);
        if is_free(request.command) {
            return;
        }
        let precedes = |other: &&OpenRequest| match request.command.is_read() {
            true => other.command.is_read(),
            false => !is_free(other.command),
        };
        let older = requests.outstanding().take_while(|other| other.number < request.number).find(precedes);
        match older {
            None => found.pass(Rule::RespOrder),
            Some(older) if self.overtaken == Some(older.number) => {}
            Some(older) => {
                self.overtaken = Some(older.number);
                found.with_cause(Some(older.frame), |found| {
                    found.fail(Rule::RespOrder, format!("the response to the `{}` before it", older.command));
                });
            }
        }
    }

    fn check_outcome(
        &mut self,
        answer: &ResponseHead,
        request: &OpenRequest,
        notes: &CommandNotes,
        became: Option<PromptDisposition>,
        at: &FrameContext,
        found: &mut Findings,
    ) -> bool {
        use RpcCommandKind::{Abort, AbortAndPrompt, AbortRetry, Prompt};
        let busy = refused(request, notes, at, |case| case.error == Some(ErrorText::Busy));
        let compacting = refused(request, notes, at, |case| case.error == Some(ErrorText::CompactingPrompt));
        let refused = refused(request, notes, at, |_| true);
        if !notes.warned {
            found.expect(Rule::HostLegal, !refused, || {
                format!("no `{}` where it is always refused", request.command)
            });
        }
        let prompts = matches!(request.command, Prompt | AbortAndPrompt);
        let early = self.early.take_if(|number| *number == request.number).is_some();
        let mut begins = false;
        match (prompts, answer.success) {
            (true, true) if early => {
                found.fail(Rule::AckBeforeStart, "its acknowledgement before its `agent_start`");
            }
            (true, true) if busy => {
                self.owed.push_back(request.number);
                if self.owed.len() > MAX_COMMANDS {
                    self.owed.pop_front();
                }
            }
            (true, true) if compacting => {
                let text = errors::compacting_prompt(at.base());
                found.fail(Rule::Disposition, format!("the prompt to be refused: {text}"));
            }
            (true, true) => {
                found.pass(Rule::Disposition);
                let idle = request.met.iter().all(|met| *met == FlowState::Idle);
                let started = match became {
                    Some(became) => self.check_disposition(became, request, notes, at, found),
                    None => !notes.slash && (notes.behavior.is_none() || idle),
                };
                if started {
                    // The run may have just begun.
                    self.alone = false;
                    self.acknowledged = Some(request.number);
                    begins = true;
                }
            }
            (true, false) if busy || compacting => {
                found.pass(Rule::Disposition);
                let text = if busy { errors::busy(at.base()) } else { errors::compacting_prompt(at.base()) };
                refusal(answer, &text, found);
            }
            _ => {}
        }
        if let Some(run) = notes.run
            && matches!(request.command, Abort | AbortAndPrompt)
            && answer.success
        {
            // A run that the end of the input aborts has no further events.
            let untold = at.now.closing && at.dialect.record().end_of_input == DialectEndOfInput::AbortRun;
            let open = run == self.runs && at.now.flow.is_streaming() && !untold;
            found.expect(Rule::AbortAfterEnd, !open, || "the `agent_end` of the run first".to_owned());
        }
        let is_chained = at.dialect.record().run_end == DialectRunEnd::Chain;
        let stops = match request.command {
            Abort | AbortAndPrompt => answer.success,
            // Where a chain of runs has one end, that is not awaited.
            AbortRetry => answer.success && !is_chained,
            _ => false,
        };
        if stops && request.met == [FlowState::Retrying] {
            found.fail(Rule::AbortAfterEnd, "`auto_retry_end` first");
        }
        begins
    }

    /// Judges the disposition that a response reports for a prompt, against the possible states. Returns whether a run has to
    /// follow.
    fn check_disposition(
        &mut self,
        became: PromptDisposition,
        request: &OpenRequest,
        notes: &CommandNotes,
        at: &FrameContext,
        found: &mut Findings,
    ) -> bool {
        let idle = request.met.iter().all(|met| *met == FlowState::Idle);
        let queues =
            !notes.slash && all_cases(request, notes, at, |case| case.disposition == Disposition::Queue);
        let (holds, expected) = match became {
            PromptDisposition::Started => (!queues, "`queued`, as a run is open"),
            PromptDisposition::Queued => (!idle, "`started` or `handled`, as nothing is under way"),
            PromptDisposition::Handled => (true, ""),
        };
        found.expect(Rule::DispositionTrue, holds, || expected.to_owned());
        let started = became == PromptDisposition::Started;
        if !started && let Some(digest) = notes.digest {
            self.runless.push_back(digest);
            if self.runless.len() > MAX_COMMANDS {
                self.runless.pop_front();
            }
        }
        started
    }

    /// Reports prompts that were acknowledged and had to be refused.
    fn report_missing_refusals(&mut self, base: Base, found: &mut Findings) {
        for _ in self.owed.drain(..) {
            found.fail(Rule::Disposition, format!("the prompt to be refused: {}", errors::busy(base)));
        }
    }

    /// Takes in that the server was silent for so long that nothing more will come.
    pub fn on_silence(&mut self, base: Base, found: &mut Findings) {
        self.report_missing_refusals(base, found);
    }
}

/// Whether every possible state refuses the request, by a case that counts.
fn refused(
    request: &OpenRequest,
    notes: &CommandNotes,
    at: &FrameContext,
    counts: impl Fn(&Case) -> bool,
) -> bool {
    // The end of the input may have ended the run without an event.
    if at.met.closing && at.dialect.record().end_of_input == DialectEndOfInput::AbortRun {
        return false;
    }
    // The start of a run is tentative: the acknowledged prompt may have been a command of an extension.
    let refuses = |case: &Case| case.disposition == Disposition::Reject && counts(case);
    !notes.slash && !request.met.contains(&FlowState::Starting) && all_cases(request, notes, at, refuses)
}

/// Whether the disposition in every possible state is a case that counts.
fn all_cases(
    request: &OpenRequest,
    notes: &CommandNotes,
    at: &FrameContext,
    counts: impl Fn(&Case) -> bool,
) -> bool {
    request.met.iter().all(|state| {
        let choice = |field: &str| notes.behavior.filter(|_| field == "streamingBehavior");
        Case::first(request.command.cases(*state), at.base(), choice).is_some_and(&counts)
    })
}

fn refusal(answer: &ResponseHead, text: &str, found: &mut Findings) {
    match &answer.error {
        Some(error) => {
            let what = "the text of the refusal";
            found.expect_same(Rule::RejectText, "/error", what, &text, &error.as_str());
        }
        None => found.pass(Rule::RejectText),
    }
}

/// The hash of a text.
pub fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
