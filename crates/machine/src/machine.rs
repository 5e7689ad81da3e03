//! The machine: its regions, the requests, and the checks.
//!
//! Rules: `fires-in`, `host-line`, `host-schema`.

mod outbound;

use crate::{
    asks::{AskEvent, Asks},
    carrier::{Carried, Chart},
    checks::{
        conversation_checks::ConversationChecks, frame_context::FrameContext, run_checks::RunChecks,
        server_exit::ServerExit,
    },
    findings::{BrokenRule, Findings, RuleSet},
    kind::{Kind, Step},
    lifecycle::{Lifecycle, LifecycleEvent},
    requests::Requests,
    session_switch::{SessionSwitch, SwitchEvent},
    shell::{OpenCommands, Shell},
    spoken::Spoken,
    state::State,
    violation::Violation,
};
use pi_rpc_protocol::{
    Case, Dialect, DialectStreamingFlag, Emission, FlowState, Inbound, LineError, MemberValue, RpcCommand,
    RpcCommandKind, RuleId as Rule, SessionMember, Tier,
};

/// The state machine of one conversation, whose states carry `D`. A clone is independent of the original.
#[derive(Clone)]
pub struct Machine<D = ()> {
    spoken: Spoken,
    chart: Chart<D>,
    asks: Asks,
    shell: Shell,
    switch: SessionSwitch,
    lifecycle: Lifecycle,
    requests: Requests,
    run_checks: Option<RunChecks>,
    conversation_checks: Option<Box<ConversationChecks>>,
    frames: u64,
    /// Whether a frame was emitted already, so that `ready` would come too late.
    has_emitted: bool,
    /// The time of the clock in milliseconds, if there is one.
    time: Option<u64>,
    /// The time at which the input ended.
    input_ended: Option<u64>,
    /// Whether the conversation was observed from the start of the process, and every line of the host was valid.
    whole: bool,
    /// The latest illegal event: its rule, and the state.
    last_illegal: Option<(Rule, FlowState)>,
    exercised: RuleSet,
}

impl Machine {
    /// Creates a machine at the start of a conversation. With `checked` it also checks counts and equalities, for which it
    /// stores the messages of the current run.
    pub fn new(dialect: Dialect, checked: bool) -> Self {
        Self::carrying(dialect, checked)
    }
}

impl<D: Carried> Machine<D> {
    /// Creates a machine whose states carry data.
    pub fn carrying(dialect: Dialect, checked: bool) -> Self {
        Self {
            spoken: Spoken { dialect, any_version: false },
            chart: Chart::new(dialect.base()),
            asks: Asks::default(),
            shell: Shell::default(),
            switch: SessionSwitch::default(),
            lifecycle: Lifecycle::new(dialect.record().end_of_input),
            requests: Requests::default(),
            run_checks: checked.then(|| RunChecks::new(Spoken { dialect, any_version: false })),
            conversation_checks: checked.then(Box::default),
            frames: 0,
            has_emitted: false,
            time: None,
            input_ended: None,
            whole: true,
            last_illegal: None,
            exercised: RuleSet::default(),
        }
    }

    /// Declares that the beginning of the conversation may have been missed.
    #[must_use]
    pub const fn joined_late(mut self) -> Self {
        self.whole = false;
        self
    }

    /// Declares that frames alone have shown the dialect, so that any of its versions with the same frames may be spoken.
    #[must_use]
    pub fn of_any_version(mut self) -> Self {
        self.spoken.any_version = true;
        if let Some(run_checks) = &mut self.run_checks {
            *run_checks = RunChecks::new(self.spoken);
        }
        self
    }

    /// Sets the time of the following frames, in milliseconds since any fixed moment. Without a clock nothing is late.
    pub const fn time(&mut self, ms: u64) {
        self.time = Some(ms);
    }

    /// Declares that the server loads extensions.
    pub fn load_extensions(&mut self) {
        if let Some(conversation_checks) = &mut self.conversation_checks {
            conversation_checks.load_extensions();
        }
    }

    /// The dialect of the conversation.
    pub const fn dialect(&self) -> Dialect {
        self.spoken.dialect
    }

    /// Whether the machine checks counts and equalities.
    pub const fn is_checked(&self) -> bool {
        self.run_checks.is_some()
    }

    /// The state of all regions.
    pub fn state(&self) -> State {
        let (dialogs, shell) = (self.asks.count(), self.shell.count());
        State { flow: self.flow(), dialogs, shell, closing: self.lifecycle.is_closing() }
    }

    /// The region `input`: how far the process is.
    pub const fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }

    /// Moves the region `input`.
    pub fn move_lifecycle(&mut self, event: LifecycleEvent) {
        self.lifecycle.handle(event);
    }

    /// Whether the session is being changed: the region `switch`, which no frame shows.
    pub fn is_switching(&self) -> bool {
        self.switch.is_switching()
    }

    /// Begins or ends a change of the session.
    pub fn move_session(&mut self, event: SwitchEvent) {
        self.switch.handle(event);
    }

    /// Moves the region `shell` after a request was opened or closed.
    fn move_shell(&mut self) {
        let running = self.requests.outstanding().filter(|it| it.command == RpcCommandKind::Bash).count();
        self.shell.handle(OpenCommands(running));
    }

    /// The state of the region `flow`.
    pub fn flow(&self) -> FlowState {
        self.chart.state()
    }

    /// The `isStreaming` that `get_state` would return; `None`: frames do not show it.
    pub fn is_streaming(&self) -> Option<bool> {
        use FlowState as F;
        let flow = self.flow();
        let goes_on = matches!(flow, F::Settling | F::Retrying | F::Compacting);
        let (goes_on, prepares) = match self.spoken.dialect.record().streaming_flag {
            DialectStreamingFlag::Run => (false, None),
            DialectStreamingFlag::Busy => (goes_on, Some(true)),
            DialectStreamingFlag::Settled => (goes_on, None),
        };
        match flow {
            F::Starting => prepares,
            F::CompactingBeforePrompt => prepares.map(|_| false),
            flow => Some(flow.is_streaming() || goes_on),
        }
    }

    /// What the state of the flow carries.
    pub const fn carried(&self) -> &D {
        self.chart.carried()
    }

    /// What the state of the flow carries.
    pub const fn carried_mut(&mut self) -> &mut D {
        self.chart.carried_mut()
    }

    /// Replaces what the state of the flow carries. Returns a violation if the state does not carry such data.
    pub fn carry(&mut self, next: D::Next) -> Vec<Violation> {
        let fits = self.chart.carry(next);
        (!fits).then(|| self.unfit(Kind::Stray)).into_iter().collect()
    }

    /// The violation of a state without its data.
    fn unfit(&self, kind: Kind) -> Violation {
        self.defect(kind, self.state(), format!("what {} carries", self.flow()))
    }

    /// Finds the first of these values that contradicts the frames so far. Ignored are members that an outstanding command may
    /// change and, if there are `extensions`, members that these may change silently.
    pub fn contradiction(
        &self,
        values: impl IntoIterator<Item = MemberValue>,
        extensions: bool,
    ) -> Option<SessionMember> {
        let known = self.conversation_checks.as_ref()?.known_state();
        let contradiction = |value: &MemberValue| {
            let member = value.member();
            let is_open = known.is_changing(member) || (extensions && member.is_silent());
            !is_open && !known.members.allows(value)
        };
        values.into_iter().find(contradiction).map(|value| value.member())
    }

    /// The outstanding requests of the host.
    pub const fn requests(&self) -> &Requests {
        &self.requests
    }

    /// The disposition of `command` in the current state.
    pub fn disposition(&self, command: &RpcCommand) -> Option<&'static Case> {
        let cases = command.kind().cases(self.flow());
        Case::first(cases, self.spoken.dialect.base(), |field| command.choice(field))
    }

    /// The disposition of a command of this kind in the current state, if it does not depend on the command's members.
    pub fn disposition_of(&self, kind: RpcCommandKind) -> Option<&'static Case> {
        Case::first(kind.cases(self.flow()), self.spoken.dialect.base(), |_| None)
    }

    /// Takes in an inbound frame, which opens a request or answers a dialog. Returns its violations.
    pub fn inbound(&mut self, frame: &Inbound) -> Vec<Violation> {
        self.frames += 1;
        let met = self.state();
        let mut found = Findings::for_frame(self.frames);
        let context = self.context(met, met, false);
        if let Some(conversation_checks) = &mut self.conversation_checks {
            conversation_checks.on_inbound(frame, &self.requests, &context, &mut found);
        }
        match frame {
            Inbound::Command(command) => {
                self.requests.add(self.frames, command.id().cloned(), command.kind(), met.flow, self.time);
                self.move_shell();
            }
            Inbound::ExtensionUIResponse(response) => {
                self.asks.handle(AskEvent::Closed(response.id()));
            }
            Inbound::HostToolUpdate(_) | Inbound::HostToolResult(_) | Inbound::HostUriResult(_) => {}
        }
        self.report(found, Kind::of_inbound(frame), met)
    }

    /// Takes a step that no frame announces; the state after it takes `next`. Returns a violation if the chart does not allow
    /// it.
    pub fn unannounced(&mut self, step: Step, next: D::Next) -> Vec<Violation> {
        self.move_unseen(Kind::Unannounced(step), next)
    }

    /// Moves the flow by an event that is withheld from the host; the state after it takes `next`. Returns a violation if the
    /// chart does not allow it.
    pub fn withheld(&mut self, event: &Emission, next: D::Next) -> Vec<Violation> {
        self.move_unseen(Kind::of_emitted(event), next)
    }

    /// Moves the flow by what the host does not see.
    fn move_unseen(&mut self, kind: Kind, next: D::Next) -> Vec<Violation> {
        let met = self.state();
        let verdict = self.chart.advance(kind, next);
        if self.flow() != met.flow {
            self.requests.add_state(self.flow());
        }
        let illegal = || self.defect(kind, met, format!("no {kind} in {}", met.flow));
        let unfit = || verdict.unfit.then(|| self.unfit(kind));
        verdict.illegal.then(illegal).or_else(unfit).into_iter().collect()
    }

    /// The violation of a server whose own state is wrong, which no frame need show: serious in every dialect.
    const fn defect(&self, kind: Kind, state: State, expected: String) -> Violation {
        Violation {
            rule: Rule::FiresIn,
            tier: Tier::Must,
            frame: self.frames,
            kind,
            state,
            expected,
            difference: None,
            cause: None,
        }
    }

    /// Closes a dialog without a response: it has timed out, or was cancelled.
    pub fn close_dialog(&mut self, id: &str) {
        self.asks.handle(AskEvent::Closed(id));
        self.restart_deadlines();
    }

    /// Declares that another process has emitted the beginning of the open run: what it lists is not compared.
    pub fn resume(&mut self) {
        self.whole = false;
        self.run_checks.iter_mut().for_each(RunChecks::mark_incomplete);
        self.conversation_checks.iter_mut().for_each(|checks| checks.doubt());
    }

    /// Restarts all deadlines, because something has held up the server: a dialog, or a host that did not read.
    pub fn restart_deadlines(&mut self) {
        if let (Some(conversation_checks), Some(now)) = (&mut self.conversation_checks, self.time) {
            conversation_checks.restart_deadlines(now);
        }
    }

    /// Takes in an inbound line that is not a frame and needs an error response. Returns the host's violation.
    pub fn invalid_line(&mut self, error: &LineError) -> Vec<Violation> {
        self.frames += 1;
        // A more lenient server may have executed it.
        self.whole = false;
        self.requests.add_invalid_line(self.frames, error);
        let mut found = Findings::for_frame(self.frames);
        if self.conversation_checks.is_some() {
            match error {
                LineError::Parse { reason, .. } => found.fail(Rule::HostLine, reason.clone()),
                LineError::Unknown { kind, .. } => {
                    found.fail(Rule::HostSchema, format!("a command of the dialect, not `{kind}`"));
                }
                LineError::Field { kind, reason, .. } => {
                    found.fail(Rule::HostSchema, format!("a valid `{kind}`: {reason}"));
                }
                // The frame is valid.
                LineError::Refused { .. } => {}
            }
        }
        self.report(found, Kind::Stray, self.state())
    }

    /// Takes in the end of the input.
    pub fn end_of_input(&mut self) {
        self.begin_exit(LifecycleEvent::Ended);
    }

    /// Takes in the end of the input, or the request to exit.
    pub fn begin_exit(&mut self, event: LifecycleEvent) {
        let state = self.state();
        self.lifecycle.handle(event);
        self.input_ended = self.input_ended.or(self.time);
        if let Some(conversation_checks) = &mut self.conversation_checks {
            conversation_checks.on_end_of_input(state, &self.requests);
        }
    }

    /// Takes in the end of the process or of the recording. Returns violations for frames that are missing.
    pub fn exit(&mut self, end: &ServerExit) -> Vec<Violation> {
        let (state, mut found) = (self.state(), Findings::for_frame(self.frames));
        let now = self.input_ended.or(self.time);
        let context = FrameContext { time: now, ..self.context(state, state, false) };
        if let Some(conversation_checks) = &mut self.conversation_checks {
            conversation_checks.on_exit(end, &context, &self.requests, &mut found);
        }
        if end.gone {
            self.lifecycle.handle(LifecycleEvent::Exited);
        }
        self.report(found, Kind::Exit, state)
    }

    /// The context of a frame between two states.
    const fn context(&self, met: State, now: State, cut: bool) -> FrameContext {
        let (frame, time, whole) = (self.frames, self.time, self.whole);
        let Spoken { dialect, any_version } = self.spoken;
        FrameContext { dialect, any_version, met, now, frame, cut, time, whole, has_extensions: false }
    }

    /// The number of frames so far, of both directions.
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// The rules exercised so far.
    pub const fn exercised(&self) -> &RuleSet {
        &self.exercised
    }

    /// Converts findings about a frame of `kind` in `state` to violations, by the rules of the dialect. Public for callers that
    /// check more than frames: bytes, session files.
    pub fn report(&mut self, found: Findings, kind: Kind, state: State) -> Vec<Violation> {
        self.exercised.extend(&found.exercised);
        if found.broken.is_empty() {
            return Vec::new();
        }
        let (base, frame) = (self.spoken.dialect.base(), self.frames);
        let of_frame = found.cause();
        let violation = |BrokenRule { rule, expected, difference, cause }| {
            let cause = cause.or(of_frame).filter(|cause| *cause != frame);
            let tier = rule.tier(base)?;
            Some(Violation { rule, tier, frame, kind, state, expected, difference, cause })
        };
        found.broken.into_iter().filter_map(violation).collect()
    }
}
