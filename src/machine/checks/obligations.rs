//! What has to follow, and by when: the run of a prompt, a further try, the end of all, the answer to a command.
//!
//! A promise is broken when its time has passed and the server has shown that it lives: it answered a request that was
//! written after that time. What it wrote before has then been read, however slowly somebody reads. At the end of a
//! recording, silence shows the same. What keeps a promise from being kept gives it more time: a dialog that waits, an
//! event of a run, a compaction.

use super::frame_context::FrameContext;
use crate::{
    machine::{
        findings::Findings,
        kind::Kind,
        requests::{OpenRequest, Requests},
        state::State,
    },
    protocol::{
        AgentSessionEventKind as Event, DialectDispatch, FlowState, RpcCommand, RpcCommandKind as Command,
        RuleId as Rule, fires_anywhere,
    },
};
use std::collections::BTreeSet;

/// What is to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObligationKind {
    /// The run of the prompt with that number.
    Run(u64),
    /// The further try that the end of a run has said will come.
    Retry,
    /// The run of a further try, or the end of trying.
    RetryRun,
    /// The end of trying, as the last attempt has failed.
    GivenUp,
    /// The run behind a compaction that says so.
    ResumedRun,
    /// The run behind a reminder.
    ReminderRun,
    /// The end of all that a prompt has begun.
    Settled,
    /// The answer to the shell command with that number, which was aborted.
    Bash(u64),
}

/// Milliseconds that anything may take: recordings are made on machines that have other things to do.
const PATIENCE: u64 = 10_000;

/// The same where somebody else may be waited for: extensions, a provider, a process.
pub const LONG_PATIENCE: u64 = 30_000;

/// After so many milliseconds of silence at the end nothing more is to be expected.
const SILENCE: u64 = 2000;

/// Promises that are kept track of, the latest; the same for requests that are known to be late.
const KEPT: usize = 4096;

/// All that is promised.
#[derive(Clone, Debug, Default)]
pub struct Obligations {
    open: Vec<Obligation>,
    /// The requests that have been reported.
    late: BTreeSet<u64>,
    /// When a command that holds up others was last answered, where one is served after the other.
    served: u64,
    /// When something of a run last came.
    stirred: u64,
    /// The run that has begun last was promised by a compaction.
    resumes: bool,
}

#[derive(Clone, Copy, Debug)]
struct Obligation {
    kind: ObligationKind,
    /// From when on it is waited for, in milliseconds of the recording's clock; none without a clock.
    from: Option<u64>,
}

impl ObligationKind {
    const fn rule(self) -> Rule {
        match self {
            Self::Run(_) => Rule::RunAfterAck,
            Self::Retry => Rule::WillRetry,
            Self::RetryRun | Self::GivenUp => Rule::RetryPairs,
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
            Self::ResumedRun | Self::ReminderRun => "the run that was promised",
            Self::Settled => "`agent_settled` behind all that the prompt has begun",
            Self::Bash(_) => "a response to the `bash` that was aborted",
        }
    }

    /// Whether nothing in this state may still keep it waiting.
    const fn is_due_in(self, state: State) -> bool {
        if state.dialogs > 0 {
            return false;
        }
        match self {
            // A compaction before the run takes its time.
            Self::Run(_) => matches!(state.flow, FlowState::Idle | FlowState::Starting),
            Self::RetryRun => matches!(state.flow, FlowState::Retrying),
            Self::Settled => matches!(state.flow, FlowState::Settling),
            Self::Retry | Self::GivenUp | Self::ResumedRun | Self::ReminderRun => {
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
    /// This is to follow from now on, or `after` so many milliseconds.
    pub fn add(&mut self, kind: ObligationKind, after: u64, at: &FrameContext) {
        self.fulfil(kind);
        self.open.push(Obligation { kind, from: at.time.map(|now| now.saturating_add(after)) });
        if self.open.len() > KEPT {
            self.open.remove(0);
        }
    }

    /// It has followed, or is waited for no more. Gives whether it was promised.
    pub fn fulfil(&mut self, kind: ObligationKind) -> bool {
        let promised = self.contains(kind);
        self.open.retain(|promise| promise.kind != kind);
        promised
    }

    /// Whether it is promised.
    pub fn contains(&self, kind: ObligationKind) -> bool {
        self.open.iter().any(|promise| promise.kind == kind)
    }

    /// Sees what the host wants, before its request is open.
    pub fn on_command(&mut self, command: &RpcCommand, at: &FrameContext) {
        let kind = command.kind();
        let stops =
            kind.cuts() || matches!(kind, Command::Abort | Command::AbortAndPrompt | Command::AbortRetry);
        // A prompt begins a run of its own, which may come first.
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
                | ObligationKind::GivenUp => stops,
            };
            // What is late already is not excused by what comes then.
            !taken_back || is_late(promise, at.time, at)
        });
    }

    /// Something has happened that gives everything more time.
    pub fn restart_deadlines(&mut self, now: u64) {
        self.stirred = now;
        for promise in &mut self.open {
            promise.from = promise.from.map(|from| from.max(now));
        }
    }

    /// A frame of the server was seen.
    pub fn on_frame(&mut self, kind: Kind, at: &FrameContext, found: &mut Findings) {
        if kind == Kind::Event(Event::AgentStart) {
            self.run_starts(found);
        }
        if let Kind::RetryEnd(_) = kind {
            self.fulfil(ObligationKind::RetryRun);
            self.fulfil(ObligationKind::GivenUp);
        }
        if matches!(kind, Kind::Event(Event::AgentStart | Event::AgentSettled | Event::AutoRetryStart))
            && self.fulfil(ObligationKind::GivenUp)
        {
            found.fail(Rule::RetryPairs, ObligationKind::GivenUp.expected());
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

    /// An event was said of which the kind alone is known: what it said may have been what was waited for.
    pub fn on_unread_event(&mut self) {
        let known =
            |promise: &Obligation| matches!(promise.kind, ObligationKind::Run(_) | ObligationKind::Bash(_));
        self.open.retain(known);
    }

    /// Whether the run that has begun last goes on behind a compaction that has promised it.
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

    /// A request was answered: whatever was due when it was written, and has not come, does not come.
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
            self.abort_bash(request, requests, at);
        }
        let serial = at.dialect.record().dispatch == DialectDispatch::SerialWithControlLane;
        self.late_promises(written, at, found);
        for open in requests.outstanding() {
            let since = if serial { self.served } else { 0 };
            let late = is_slow(open, since, self.stirred, written, at);
            let behind =
                serial && requests.outstanding().next().is_some_and(|first| first.number < open.number);
            if late && !behind && self.late.insert(open.number) {
                found.fail(Rule::RespOnce, missing(open));
            }
            if self.late.len() > KEPT {
                self.late.pop_first();
            }
        }
        if !request.command.is_read() && !request.command.is_control() {
            self.served = now;
        }
    }

    /// A shell command that is the only one ends when it is aborted.
    fn abort_bash(&mut self, request: &OpenRequest, requests: &Requests, at: &FrameContext) {
        let mut shells = requests.outstanding().filter(|open| open.command == Command::Bash);
        if let (Some(only), None) = (shells.next(), shells.next())
            && only.number < request.number
        {
            self.add(ObligationKind::Bash(only.number), 0, at);
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

    /// Nothing was said for so long before the end that nothing more will come.
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

    /// Whether the silence of that request was reported.
    pub fn is_reported(&self, number: u64) -> bool {
        self.late.contains(&number)
    }

    /// Reports those that are broken, each once. Of a further try that does not come, the end of all is no other cause.
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

/// Whether the answer to a request has not come although one that was `written` much later has its answer.
fn is_slow(open: &OpenRequest, served: u64, stirred: u64, written: u64, at: &FrameContext) -> bool {
    let Some(asked) = open.written else { return false };
    let Some((patience, calm)) = patience(open.command, at) else { return false };
    let from = if calm { asked.max(served).max(stirred) } else { asked.max(served) };
    written >= from.saturating_add(patience)
}

/// How long the answer to a command may take, and whether what goes on beside it counts for that; none where it may
/// take as long as it likes.
fn patience(command: Command, at: &FrameContext) -> Option<(u64, bool)> {
    // Handlers of extensions may wait for a dialog.
    let held = at.now.dialogs > 0 || at.has_extensions;
    match command {
        command if command.is_read() => Some((PATIENCE, false)),
        Command::Steer
        | Command::FollowUp
        | Command::ClearQueue
        | Command::SetTodos
        | Command::SetThinkingLevel
        | Command::CycleThinkingLevel
        | Command::SetSteeringMode
        | Command::SetFollowUpMode
        | Command::SetInterruptMode
        | Command::SetAutoCompaction
        | Command::SetAutoRetry
        | Command::SetSessionName
        | Command::AbortBash
            if !held =>
        {
            Some((PATIENCE, false))
        }
        Command::SetModel | Command::CycleModel | Command::SetHostTools | Command::AbortRetry if !held => {
            Some((LONG_PATIENCE, false))
        }
        // It waits until the run has ended. What was answered now may begin another.
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

/// Whether a command is answered at once here.
pub fn answers_at_once(command: Command, at: &FrameContext) -> bool {
    !matches!(command, Command::Abort) && patience(command, at).is_some_and(|(most, _)| most == PATIENCE)
}

/// Whether a command is answered at once, whatever goes on.
pub const fn is_immediate(command: Command) -> bool {
    command.is_read()
        || matches!(
            command,
            Command::SetSteeringMode
                | Command::SetFollowUpMode
                | Command::SetInterruptMode
                | Command::SetAutoCompaction
                | Command::SetAutoRetry
        )
}

/// The response that is missing, in words.
pub fn missing(open: &OpenRequest) -> String {
    let id = open.id.as_ref().map_or_else(String::new, |id| format!(" ({id})"));
    format!("a response to the `{}`{id}", open.command)
}
