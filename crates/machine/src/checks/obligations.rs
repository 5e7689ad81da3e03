//! Obligations of the server: events that have to follow in time, such as the run of a prompt, a retry, or a response.
//!
//! An obligation is broken when its time has passed and the server has shown that it is alive by answering a request that was
//! written after that time: everything that it wrote before has been read by then, however slow the reader. At the end of a
//! recording, silence shows the same. Whatever holds up the server restarts the time: a dialog, an event of a run, a
//! compaction.
//!
//! Rules: `resp-once`, `run-after-ack`, `settled`, `retry-pairs`, `will-retry`, `overflow-retry`, `todo-reminder`.

use super::frame_context::FrameContext;
use crate::{
    findings::Findings,
    kind::Kind,
    requests::{OpenRequest, Requests},
    state::State,
};
use pi_rpc_protocol::{
    AgentSessionEventKind as Event, FlowState, ResponseTime, RpcCommand, RpcCommandKind as Command,
    RuleId as Rule, fires_anywhere,
};
use std::collections::BTreeSet;

/// The event that has to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObligationKind {
    /// The run of the prompt with this number.
    Run(u64),
    /// The retry that the end of a run has announced.
    Retry,
    /// The run of a retry, or the end of retrying.
    RetryRun,
    /// The end of retrying after the last attempt has failed.
    GivenUp,
    /// The end of retrying behind the chain of runs in which an attempt has succeeded.
    Recovered,
    /// The run after a compaction that has announced one.
    ResumedRun,
    /// The run after a reminder.
    ReminderRun,
    /// `agent_settled`.
    Settled,
    /// The response to the aborted shell command with this number.
    Bash(u64),
}

/// Milliseconds that an event may take; generous, because recordings are made on busy machines.
const PATIENCE: u64 = 10_000;

/// Milliseconds that an event may take if extensions, a provider or a process may hold it up.
pub const LONG_PATIENCE: u64 = 30_000;

/// Milliseconds of silence at the end after which nothing more is expected.
const SILENCE: u64 = 2000;

/// The most obligations that are tracked, and the most reported requests.
const MAX_OBLIGATIONS: usize = 4096;

/// The outstanding obligations.
#[derive(Clone, Debug, Default)]
pub struct Obligations {
    open: Vec<Obligation>,
    /// The numbers of requests that were reported as late.
    late: BTreeSet<u64>,
    /// The time of the last response to a command that holds up others, if commands are handled one after the other.
    served: u64,
    /// The time of the last event of a run.
    stirred: u64,
    /// Whether the latest run was announced by a compaction.
    resumes: bool,
}

#[derive(Clone, Copy, Debug)]
/// An outstanding obligation.
struct Obligation {
    kind: ObligationKind,
    /// The time from which on the event is awaited, if there is a clock.
    from: Option<u64>,
}

impl ObligationKind {
    const fn rule(self) -> Rule {
        match self {
            Self::Run(_) => Rule::RunAfterAck,
            Self::Retry => Rule::WillRetry,
            Self::RetryRun | Self::GivenUp | Self::Recovered => Rule::RetryPairs,
            Self::ResumedRun => Rule::OverflowRetry,
            Self::ReminderRun => Rule::TodoReminder,
            Self::Settled => Rule::Settled,
            Self::Bash(_) => Rule::RespOnce,
        }
    }

    const fn expected(self) -> &'static str {
        match self {
            Self::Run(_) => "`agent_start` after the prompt was acknowledged",
            Self::Retry => "the `auto_retry_start` that the end of the run has promised",
            Self::RetryRun => "the run of the further try, or `auto_retry_end`",
            Self::GivenUp => "`auto_retry_end`, as the last attempt has failed",
            Self::Recovered => "`auto_retry_end`, as an attempt has succeeded",
            Self::ResumedRun | Self::ReminderRun => "the run that was promised",
            Self::Settled => "`agent_settled` behind all that the prompt has begun",
            Self::Bash(_) => "a response to the `bash` that was aborted",
        }
    }

    /// Whether nothing in this state can delay the event.
    const fn is_due_in(self, state: State) -> bool {
        if state.dialogs > 0 {
            return false;
        }
        match self {
            // A compaction may precede the run.
            Self::Run(_) => matches!(state.flow, FlowState::Idle | FlowState::Starting),
            Self::RetryRun => matches!(state.flow, FlowState::Retrying),
            Self::Settled => matches!(state.flow, FlowState::Settling),
            Self::Retry | Self::GivenUp | Self::Recovered | Self::ResumedRun | Self::ReminderRun => {
                matches!(state.flow, FlowState::Idle | FlowState::Starting | FlowState::Settling)
            }
            Self::Bash(_) => true,
        }
    }

    fn patience(self, at: &FrameContext) -> u64 {
        match self {
            Self::Settled | Self::Bash(_) => LONG_PATIENCE,
            _ if at.has_extensions => LONG_PATIENCE,
            _ => PATIENCE,
        }
    }
}

impl Obligations {
    /// Adds an obligation that begins `after` some milliseconds.
    pub fn add(&mut self, kind: ObligationKind, after: u64, at: &FrameContext) {
        self.fulfil(kind);
        self.open.push(Obligation { kind, from: at.time.map(|now| now.saturating_add(after)) });
        if self.open.len() > MAX_OBLIGATIONS {
            self.open.remove(0);
        }
    }

    /// Removes an obligation that was fulfilled or has become void. Returns whether there was one.
    pub fn fulfil(&mut self, kind: ObligationKind) -> bool {
        let promised = self.contains(kind);
        self.open.retain(|promise| promise.kind != kind);
        promised
    }

    /// Whether there is such an obligation.
    pub fn contains(&self, kind: ObligationKind) -> bool {
        self.open.iter().any(|promise| promise.kind == kind)
    }

    /// Takes in a command, before its request is opened.
    pub fn on_command(&mut self, command: &RpcCommand, at: &FrameContext) {
        let kind = command.kind();
        let stops = kind.ends_run() || kind == Command::AbortRetry;
        // The prompt's own run may come first.
        let prompts = kind == Command::Prompt && !at.met.flow.is_streaming();
        if !stops && !prompts {
            return;
        }
        self.open.retain(|promise| {
            let taken_back = match promise.kind {
                ObligationKind::Settled | ObligationKind::Bash(_) => false,
                ObligationKind::ResumedRun | ObligationKind::ReminderRun => true,
                ObligationKind::Run(_)
                | ObligationKind::Retry
                | ObligationKind::RetryRun
                | ObligationKind::GivenUp
                | ObligationKind::Recovered => stops,
            };
            // An obligation that is late already stays so.
            !taken_back || is_late(promise, at.time, at)
        });
    }

    /// Restarts all deadlines.
    pub fn restart_deadlines(&mut self, now: u64) {
        self.stirred = now;
        for promise in &mut self.open {
            promise.from = promise.from.map(|from| from.max(now));
        }
    }

    /// Takes in an outbound frame.
    pub fn on_frame(&mut self, kind: Kind, at: &FrameContext, found: &mut Findings) {
        if kind == Kind::Event(Event::AgentStart) {
            self.run_starts(found);
        }
        if let Kind::RetryEnd(_) = kind {
            self.fulfil(ObligationKind::RetryRun);
            self.fulfil(ObligationKind::GivenUp);
            self.fulfil(ObligationKind::Recovered);
        }
        if matches!(kind, Kind::Event(Event::AgentStart | Event::AgentSettled | Event::AutoRetryStart)) {
            for ended in [ObligationKind::GivenUp, ObligationKind::Recovered] {
                if self.fulfil(ended) {
                    found.fail(ended.rule(), ended.expected());
                }
            }
        }
        let tells = kind.is_event() && kind.name().is_some_and(|name| !fires_anywhere(name));
        if let Some(now) = at.time
            && (tells || at.now.dialogs != at.met.dialogs)
        {
            self.restart_deadlines(now);
        }
        match (at.now.flow == FlowState::Settling, self.contains(ObligationKind::Settled)) {
            (true, false) => self.add(ObligationKind::Settled, 0, at),
            (false, true) => drop(self.fulfil(ObligationKind::Settled)),
            _ => {}
        }
    }

    /// Takes in an event of which only the kind is known, and which may have fulfilled any obligation.
    pub fn on_unread_event(&mut self) {
        let known =
            |promise: &Obligation| matches!(promise.kind, ObligationKind::Run(_) | ObligationKind::Bash(_));
        self.open.retain(known);
    }

    /// Whether the latest run was announced by a compaction.
    pub const fn resumes(&self) -> bool {
        self.resumes
    }

    fn run_starts(&mut self, found: &mut Findings) {
        self.resumes = self.fulfil(ObligationKind::ResumedRun);
        for kind in [ObligationKind::ReminderRun, ObligationKind::RetryRun] {
            if self.fulfil(kind) {
                found.pass(kind.rule());
            }
        }
    }

    /// Takes in a response: obligations that were due when its request was written are broken.
    pub fn on_response(
        &mut self,
        request: &OpenRequest,
        requests: &Requests,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        self.fulfil(ObligationKind::Bash(request.number));
        let (Some(written), Some(now)) = (request.written, at.time) else { return };
        if request.command == Command::AbortBash {
            // The command that it aborts has to end, if it is the only one.
            let mut shells = requests.outstanding().filter(|open| open.command == Command::Bash);
            if let (Some(only), None) = (shells.next(), shells.next())
                && only.number < request.number
            {
                self.add(ObligationKind::Bash(only.number), 0, at);
            }
        }
        let serial = at.dialect.is_serial();
        self.late_promises(written, at, found);
        let since = if serial { self.served } else { 0 };
        let holds_up = |older: &&OpenRequest| !at.dialect.runs_beside_others(older.command);
        let first = requests.outstanding().find(holds_up);
        // Those that were sent after the answered one are not late, however many there are.
        let older = |open: &&OpenRequest| open.written.is_none_or(|sent| sent <= written);
        for open in requests.outstanding().take_while(older) {
            let late = is_slow(open, since, self.stirred, written, at);
            let behind = serial && first.is_some_and(|first| first.number < open.number);
            if late && !behind && self.late.insert(open.number) {
                found.fail(Rule::RespOnce, missing(open));
            }
            if self.late.len() > MAX_OBLIGATIONS {
                self.late.pop_first();
            }
        }
        if !request.command.is_read() && !request.command.is_control() {
            self.served = now;
        }
    }

    fn late_promises(&mut self, written: u64, at: &FrameContext, found: &mut Findings) {
        if self.open.is_empty() {
            return;
        }
        let now = at.time;
        for promise in &mut self.open {
            if !promise.kind.is_due_in(at.now) {
                promise.from = now;
            }
        }
        let late = |promise: &Obligation| is_late(promise, Some(written), at);
        self.report(late, found);
    }

    /// Takes in that the server was silent at the end for so long that nothing more will come.
    pub fn on_silence(&mut self, at: &FrameContext, found: &mut Findings) {
        let (state, now) = (at.now, at.time);
        let due = |promise: &Obligation| {
            let waited = match (promise.from, now) {
                (Some(from), Some(now)) => now >= from.saturating_add(SILENCE),
                _ => true,
            };
            waited && promise.kind.is_due_in(state)
        };
        self.report(due, found);
    }

    /// Whether the missing response to this request was reported.
    pub fn is_reported(&self, number: u64) -> bool {
        self.late.contains(&number)
    }

    /// Reports the broken obligations, each once. If a retry does not come, the missing `agent_settled` is not reported, too.
    fn report(&mut self, is_broken: impl Fn(&Obligation) -> bool, found: &mut Findings) {
        let (broken, open): (Vec<Obligation>, Vec<Obligation>) =
            self.open.iter().copied().partition(|promise| is_broken(promise));
        self.open = open;
        let alone = broken.len() == 1;
        for Obligation { kind, .. } in broken {
            if kind != ObligationKind::Settled || alone {
                found.fail(kind.rule(), kind.expected());
            }
            if let ObligationKind::Bash(number) = kind {
                self.late.insert(number);
            }
        }
    }
}

fn is_late(promise: &Obligation, when: Option<u64>, at: &FrameContext) -> bool {
    match (promise.from, when) {
        (Some(from), Some(when)) => when >= from.saturating_add(promise.kind.patience(at)),
        _ => false,
    }
}

/// Whether a request has no response although one that was `written` much later has.
fn is_slow(open: &OpenRequest, served: u64, stirred: u64, written: u64, at: &FrameContext) -> bool {
    let Some(sent) = open.written else { return false };
    let Some((patience, calm)) = patience(open.command, at) else { return false };
    let from = if calm { sent.max(served).max(stirred) } else { sent.max(served) };
    written >= from.saturating_add(patience)
}

/// The milliseconds that the response to a command may take, and whether other events extend them; `None` for any time.
fn patience(command: Command, at: &FrameContext) -> Option<(u64, bool)> {
    // Extensions may wait for a dialog.
    let held = at.now.dialogs > 0 || at.has_extensions;
    let time = command.response_time();
    match command {
        command if command.is_read() => Some((PATIENCE, false)),
        _ if matches!(time, Some(ResponseTime::Always | ResponseTime::Soon)) && !held => {
            Some((PATIENCE, false))
        }
        _ if time == Some(ResponseTime::Later) && !held => Some((LONG_PATIENCE, false)),
        // It waits for the end of the run, and the command answered just now may begin another.
        Command::Abort if !held && matches!(at.met.flow, FlowState::Idle) => Some((PATIENCE, true)),
        cuts if !held
            && cuts.cuts()
            && cuts != Command::Compact
            && matches!(at.met.flow, FlowState::Idle) =>
        {
            Some((LONG_PATIENCE, true))
        }
        Command::Bash if !held => {
            let most = at.dialect.record().bash.timeout_seconds?;
            Some((most.saturating_mul(1000).saturating_add(LONG_PATIENCE), false))
        }
        Command::Abort if !held && matches!(at.now.flow, FlowState::StreamingMessage) => {
            Some((LONG_PATIENCE, false))
        }
        _ => None,
    }
}

/// Whether a command is answered at once in this context.
pub fn answers_at_once(command: Command, at: &FrameContext) -> bool {
    !matches!(command, Command::Abort) && patience(command, at).is_some_and(|(most, _)| most == PATIENCE)
}

/// The missing response, as an expectation in words.
pub fn missing(open: &OpenRequest) -> String {
    let id = open.id.as_ref().map_or_else(String::new, |id| format!(" ({id})"));
    format!("a response to the `{}`{id}", open.command)
}
