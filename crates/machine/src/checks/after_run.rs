//! Judges what follows a run: retries, compactions, reminders.
//!
//! Rules: `retry-pairs`, `retry-after-error`, `retry-delay`, `retry-end-place`, `abort-after-end`, `compaction-silent`,
//! `overflow-retry`, `todo-reminder`.

use super::{
    frame_context::FrameContext,
    obligations::{ObligationKind, Obligations},
};
use crate::{findings::Findings, kind::Kind, requests::OpenRequest};
use pi_rpc_protocol::{
    AgentEndEvent, AgentMessage, AgentMessageKind, AgentSessionEvent, AssistantMessage, AutoRetryEndEvent,
    AutoRetryStartEvent, Case, CompactionReason, Dialect, DialectRunEnd, Disposition, FlowState, RpcCommand,
    RpcCommandKind, RuleId as Rule, StopReason, TodoReminderEvent, errors, fires_anywhere,
};

/// The aftermath of the last run: its error, retries, delays and compactions.
#[derive(Clone, Debug, Default)]
pub struct AfterRun {
    /// The end of the last run.
    last: LastRun,
    /// The frame that ended the last run.
    ended: Option<u64>,
    /// The last retry attempt and its delay in milliseconds.
    wait: Option<(u64, u64)>,
    /// The last retry.
    tried: Option<Tried>,
    /// The most attempts, as they were told first.
    most: Option<u64>,
    /// Whether the assistant message has just ended, without a further event of the turn.
    answered: bool,
    /// Whether the last compaction had the reason overflow.
    overflow: bool,
    /// Whether a prompt came between runs, so that the next run may be its own.
    prompted: bool,
    /// Whether a prompt came in the wait before a retry, which it ends, so that the next run may be its own.
    preempts: bool,
    /// Whether the first message of the run that a compaction has announced is to come.
    resumes: bool,
    /// Whether the first message is to come of a run in the wait before a retry, where a prompt may begin its own run.
    retried: bool,
    /// Whether a response has come since the last run ended, so that its consequences have begun.
    settled: bool,
    /// The number of an outstanding `compact` that met a settled session.
    compact: Option<u64>,
    /// The number of outstanding prompts, each of which may compact before its run.
    prompts: usize,
    /// The time of the latest request that was answered.
    last_answered: Option<u64>,
    /// The earliest time at which the announced delay can be over, however late the announcement was read.
    waits_until: Option<u64>,
    /// Whether `abort_retry` has ended the wait, in a dialect that reports the end behind the response.
    called_off: bool,
}

/// A retry.
#[derive(Clone, Debug)]
struct Tried {
    last: bool,
    error: String,
}

/// The end of a run.
#[derive(Clone, Debug, Default)]
enum LastRun {
    /// Not known: missed, or still open.
    #[default]
    Unknown,
    /// The last message failed with this error.
    Failed(String),
    /// The last message is an answer that was neither aborted nor failed.
    Succeeded,
    /// Any other end.
    Other,
}

impl AfterRun {
    /// Takes in a command.
    pub fn on_command(&mut self, command: &RpcCommand, at: &FrameContext) {
        use RpcCommandKind as Command;
        if prompts(command.kind()) || matches!(command.kind(), Command::Abort | Command::AbortRetry) {
            self.waits_until = None;
        }
        if prompts(command.kind()) {
            (self.settled, self.compact) = (false, None);
            self.prompts += 1;
        }
        match command.kind() {
            // If the prompt begins its own run, that may come first.
            Command::Prompt if !at.met.flow.is_streaming() => {
                let case =
                    Case::first(command.kind().cases(at.met.flow), at.base(), |field| command.choice(field));
                self.preempts = at.met.flow == FlowState::Retrying
                    && case.is_some_and(|case| case.disposition == Disposition::Preempt);
                self.prompted = true;
            }
            _ => {}
        }
        if command.kind() == Command::Compact {
            let calm = self.settled && at.met.flow == FlowState::Idle;
            self.compact = calm.then_some(at.frame);
        }
    }

    /// Takes in a response.
    pub fn on_response(
        &mut self,
        request: &OpenRequest,
        success: bool,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        if request.command == RpcCommandKind::AbortRetry && request.met == [FlowState::Retrying] {
            self.called_off = success && ends_chains(at);
        }
        self.last_answered = self.last_answered.max(request.written);
        if success && request.command.replaces_session() {
            // With other settings, perhaps.
            self.most = None;
        }
        if request.command == RpcCommandKind::Compact && self.compact.take().is_some() {
            found.pass(Rule::CompactionSilent);
        }
        if prompts(request.command) {
            self.prompts = self.prompts.saturating_sub(1);
        }
        let calm = self.prompts == 0 && at.now.flow == FlowState::Idle;
        self.settled |= calm && request.met == [FlowState::Idle];
    }

    /// Takes in an event. `unqueued`: no message is queued; `retries`: retries are switched on.
    pub fn on_event(
        &mut self,
        event: &AgentSessionEvent,
        at: &FrameContext,
        unqueued: bool,
        retries: bool,
        obligations: &mut Obligations,
        found: &mut Findings,
    ) {
        use AgentSessionEvent as Event;
        match event {
            Event::AgentStart(_) => {
                let waited = at.met.flow == FlowState::Retrying && self.preempts && !at.cut;
                if std::mem::take(&mut self.called_off) && at.met.flow == FlowState::Retrying {
                    found.fail(Rule::AbortAfterEnd, "`auto_retry_end` first");
                }
                self.wait_ends(at, found);
                self.run_starts(obligations.resumes());
                self.retried = waited;
            }
            Event::AgentEnd(end) => {
                self.run_ends(end, at);
                let given_up = |tried: &Tried| {
                    tried.last && matches!(&self.last, LastRun::Failed(error) if *error == tried.error)
                };
                if retries && self.tried.as_ref().is_some_and(given_up) {
                    obligations.add(ObligationKind::GivenUp, 0, at);
                }
                // Where a chain of runs has one end, a success is reported behind it, and nothing is tried in the next chain.
                if ends_chains(at) && self.tried.take().is_some() && matches!(self.last, LastRun::Succeeded) {
                    obligations.add(ObligationKind::Recovered, 0, at);
                }
            }
            // Where a chain of runs has one end, a retry follows the turn that failed.
            Event::TurnEnd(end) if ends_chains(at) => self.leg_ends(Some(&end.message), at),
            Event::MessageStart(start) if std::mem::take(&mut self.resumes) => {
                let fresh = unqueued && start.message.kind() == AgentMessageKind::User;
                found.expect(Rule::OverflowRetry, !fresh, || "a run without a new message".to_owned());
            }
            Event::MessageStart(start) if std::mem::take(&mut self.retried) => {
                // A retry adds no message; only a prompt's own run has a message that was not queued.
                let fresh = unqueued && start.message.kind() == AgentMessageKind::User;
                found.expect(Rule::RetryPairs, !fresh, || {
                    "`auto_retry_end` before the run of a prompt".to_owned()
                });
            }
            Event::AutoRetryStart(start) => {
                self.retry_starts(start, at, found);
                obligations.add(ObligationKind::RetryRun, wait_of(start), at);
            }
            Event::AutoRetryEnd(end) => self.retry_ends(end, at, found),
            Event::AutoCompactionStart(_) if self.compact.is_some() => {
                found.fail(Rule::CompactionSilent, "no events of a compaction that the host asked for");
                self.compact = None;
            }
            Event::AutoCompactionStart(start) => self.overflow = start.reason == CompactionReason::Overflow,
            Event::CompactionStart(start) => self.overflow = start.reason == CompactionReason::Overflow,
            Event::AutoCompactionEnd(end) => self.compacted(end.will_retry, at, obligations),
            Event::CompactionEnd(end) => self.compacted(end.will_retry, at, obligations),
            Event::TodoReminder(reminder) if reminds_in(at) => reminds(reminder, obligations, at, found),
            _ => {}
        }
        if !fires_anywhere(event.kind().as_str()) {
            self.answered = matches!(event, Event::MessageEnd(end)
                if end.message.kind() == AgentMessageKind::Assistant);
        }
    }

    /// Takes in the end of a compaction. There is another rule for a retry announced for a reason other than overflow; before a
    /// prompt's run, that run follows.
    fn compacted(&self, retries: bool, at: &FrameContext, obligations: &mut Obligations) {
        let own = self.prompted || (self.prompts > 0 && at.met.flow == FlowState::Compacting);
        if retries && self.overflow && !at.cut && !own {
            obligations.add(ObligationKind::ResumedRun, 0, at);
        }
    }

    /// Takes in an event of which only the kind is known.
    pub fn on_unread_event(&mut self, kind: Kind) {
        // An event that the dialect does not know may be anywhere.
        if kind.is_event() {
            self.answered = matches!(kind, Kind::AssistantEnd(_));
            (self.last, self.wait, self.resumes) = (LastRun::Unknown, None, false);
            (self.tried, self.most) = (None, None);
            self.retried = false;
            self.waits_until = None;
        }
    }

    /// Judges that a retry does not begin before its delay is over.
    fn wait_ends(&mut self, at: &FrameContext, found: &mut Findings) {
        let (Some(until), Some(now)) = (self.waits_until.take(), at.time) else { return };
        if at.met.flow == FlowState::Retrying && !at.has_extensions {
            found.expect(Rule::RetryDelay, now >= until, || {
                format!("the further try {} milliseconds later, when its wait is over", until - now)
            });
        }
    }

    fn run_starts(&mut self, resumes: bool) {
        (self.last, self.settled, self.compact) = (LastRun::Unknown, false, None);
        (self.resumes, self.prompted, self.preempts) = (resumes, false, false);
    }

    fn run_ends(&mut self, end: &AgentEndEvent, at: &FrameContext) {
        (self.settled, self.resumes) = (false, false);
        let answer = end.messages.iter().rev().find_map(|message| match message {
            AgentMessage::Assistant(message) => Some(message),
            _ => None,
        });
        self.leg_ends(answer, at);
    }

    /// Takes in the last answer of a run, or of a part of a chain of runs.
    fn leg_ends(&mut self, answer: Option<&AssistantMessage>, at: &FrameContext) {
        self.ended = Some(at.frame);
        self.last = match answer {
            _ if at.cut => LastRun::Unknown,
            Some(last) => match last.stop_reason {
                StopReason::Error => LastRun::Failed(last.error_message.clone().unwrap_or_default()),
                StopReason::Aborted => LastRun::Other,
                _ => LastRun::Succeeded,
            },
            None => LastRun::Other,
        };
    }

    fn retry_starts(&mut self, start: &AutoRetryStartEvent, at: &FrameContext, found: &mut Findings) {
        let delay_ms = wait_of(start);
        let follows = matches!(
            at.met.flow,
            FlowState::Idle | FlowState::Starting | FlowState::Settling | FlowState::StreamingBetween
        );
        if follows && !at.cut {
            match &self.last {
                LastRun::Unknown => {}
                LastRun::Other | LastRun::Succeeded => {
                    found.fail(Rule::RetryAfterError, "a run that failed before it");
                }
                LastRun::Failed(error) => {
                    let what = "the error of the run";
                    found.with_cause(self.ended, |found| {
                        let rule = Rule::RetryAfterError;
                        found.expect_same(rule, "/errorMessage", what, error, &start.error_message);
                    });
                }
            }
        }
        if let Some((attempt, delay)) = self.wait
            && start.attempt == attempt + 1
        {
            let record = at.dialect.record();
            let doubled = delay.saturating_mul(2);
            let capped = delay_ms == record.defaults.retry_cap_ms;
            let holds = match record.retry.heeds_stated_wait {
                true => delay_ms >= doubled || delay_ms == 0,
                false => delay_ms == doubled,
            };
            match holds || capped {
                true => found.pass(Rule::RetryDelay),
                false => {
                    let what = "twice the wait before";
                    found.fail_with_difference(Rule::RetryDelay, "/delayMs", what, &doubled, &delay_ms);
                }
            }
        }
        self.wait = Some((start.attempt, unraised(start, at.dialect)));
        // The server's clock may be a little faster.
        let certain = delay_ms.saturating_sub(delay_ms / 10).saturating_sub(CLOCKS_DIFFER);
        self.waits_until =
            self.last_answered.filter(|_| !at.cut).map(|last_answered| last_answered.saturating_add(certain));
        if is_for_good(&start.error_message) && delay_ms > 0 && !at.cut && !at.has_extensions {
            found.fail(Rule::RetryAfterError, "no retry of a request that was refused for good");
        }
        let (most, error) = (start.max_attempts, start.error_message.clone());
        // A setting of the session.
        if let Some(before) = self.most.replace(most).filter(|_| !at.has_extensions) {
            let what = "as many attempts as before";
            found.expect_same(Rule::RetryPairs, "/maxAttempts", what, &before, &most);
        }
        self.tried = (!at.cut).then_some(Tried { last: start.attempt == most, error });
    }

    fn retry_ends(&mut self, end: &AutoRetryEndEvent, at: &FrameContext, found: &mut Findings) {
        (self.wait, self.tried, self.waits_until) = (None, None, None);
        self.called_off = false;
        if let (LastRun::Failed(error), Some(reported), false) = (&self.last, &end.final_error, end.success)
            && at.met.flow != FlowState::Retrying
            && *reported != errors::retry_cancelled(at.base())
            && !at.cut
            && !(ends_chains(at) && reported.ends_with(error.as_str()))
        {
            let what = "the error of the run";
            found.with_cause(self.ended, |found| {
                found.expect_same(Rule::RetryAfterError, "/finalError", what, error, reported);
            });
        }
        if let (false, Some(reported), FlowState::Retrying) = (end.success, &end.final_error, at.met.flow) {
            let cancelled = errors::retry_cancelled(at.base());
            let is_error = |error: &str| reported.ends_with(error);
            let is_of_run = match &self.last {
                LastRun::Unknown => true,
                LastRun::Failed(error) => is_error(error),
                _ => false,
            };
            found.expect(Rule::RetryAfterError, *reported == cancelled || is_of_run || at.cut, || {
                format!("{cancelled:?}, as the wait was cancelled, at /finalError")
            });
        }
        match end.success {
            true if at.met.flow == FlowState::StreamingTools => {
                found.expect(Rule::RetryEndPlace, self.answered, || {
                    "it right behind the assistant message".to_owned()
                });
            }
            false if !at.met.flow.is_streaming() => found.pass(Rule::RetryEndPlace),
            // The misplacement is reported already.
            _ => {}
        }
    }
}

/// Whether the dialect has one end for a chain of runs.
fn ends_chains(at: &FrameContext) -> bool {
    at.dialect.record().run_end == DialectRunEnd::Chain
}

/// Whether a reminder is where the dialect has it: between two runs, or inside of a chain of them.
fn reminds_in(at: &FrameContext) -> bool {
    match ends_chains(at) {
        true => matches!(at.met.flow, FlowState::StreamingBetween | FlowState::Settling),
        false => matches!(at.met.flow, FlowState::Idle | FlowState::Starting),
    }
}

fn reminds(
    reminder: &TodoReminderEvent,
    obligations: &mut Obligations,
    at: &FrameContext,
    found: &mut Findings,
) {
    let open = !reminder.todos.is_empty() && reminder.attempt <= reminder.max_attempts;
    found.expect(Rule::TodoReminder, open, || {
        format!("open todos, and attempt 1 to {}", reminder.max_attempts)
    });
    let promised = obligations.contains(ObligationKind::ReminderRun);
    obligations.add(ObligationKind::ReminderRun, 0, at);
    found.expect(Rule::TodoReminder, !promised, || "the run that the last one promised".to_owned());
}

/// The delay without a longer one requested by the provider; the next delay is twice this.
fn unraised(start: &AutoRetryStartEvent, dialect: Dialect) -> u64 {
    let record = dialect.record();
    let doublings = u32::try_from(start.attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    let planned = record.defaults.retry_base_ms.saturating_mul(2_u64.saturating_pow(doublings));
    match record.retry.heeds_stated_wait {
        true => wait_of(start).min(planned),
        false => wait_of(start),
    }
}

/// The wait before an attempt in whole milliseconds.
pub(super) fn wait_of(start: &AutoRetryStartEvent) -> u64 {
    start.delay_ms.as_u64().unwrap_or_else(|| start.delay_ms.as_f64().unwrap_or_default() as u64)
}

/// Milliseconds of tolerance for clocks and timers.
const CLOCKS_DIFFER: u64 = 250;

/// The error type of providers for a request that can never succeed.
const FOR_GOOD: &str = "invalid_request_error";

/// Words of temporary errors, in all servers. Errors with a number, which may be a status, count as temporary, too.
const PASSING: [&str; 23] = [
    "overload",
    "rate",
    "too many",
    "unavailable",
    "server",
    "internal",
    "connect",
    "closed",
    "fetch",
    "upstream",
    "reset",
    "terminated",
    "retry",
    "network",
    "socket",
    "time",
    "stall",
    "stream",
    "quota",
    "usage",
    "limit",
    "provider",
    "capacity",
];

/// Whether the error is certainly permanent.
fn is_for_good(error: &str) -> bool {
    let error = error.to_lowercase();
    let passes = error.contains(|letter: char| letter.is_ascii_digit())
        || PASSING.iter().any(|word| error.contains(word));
    error.contains(FOR_GOOD) && !passes
}

const fn prompts(command: RpcCommandKind) -> bool {
    matches!(command, RpcCommandKind::Prompt | RpcCommandKind::AbortAndPrompt)
}
