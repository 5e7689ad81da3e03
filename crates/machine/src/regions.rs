//! The machine: its regions, the requests, and the checks.
//!
//! Rules: `resp-known-id`, `resp-once`, `prompt-once`, `resp-command`, `missing-refused`, `run-nesting`, `run-cut`,
//! `fires-in`, `host-line`, `host-schema`.

use crate::{
    asks::{AskEvent, Asks},
    carrier::{Carried, Chart},
    checks::{
        compaction::gives_up_overflow, conversation_checks::ConversationChecks, frame_context::FrameContext,
        run::has_broken_down, run_checks::RunChecks, server_exit::ServerExit,
    },
    findings::{BrokenRule, Findings, RuleSet},
    flow::Verdict,
    kind::{Kind, Step, is_response},
    lifecycle::{Lifecycle, LifecycleEvent},
    placement::{also_exercised, placement_rule},
    requests::{Requests, ResponseHead, ResponseMatch, StrayResponse},
    session_switch::{SessionSwitch, SwitchEvent},
    shell::{OpenCommands, Shell},
    spoken::Spoken,
    state::State,
    unreadable_frame::UnreadableFrame,
    violation::Violation,
};
use pi_rpc_protocol::{
    AgentSessionEvent, Case, Dialect, DialectEndOfInput, DialectPromptAck, DialectReady,
    DialectStreamingFlag, Emission, FlowState, Inbound, LineError, MemberValue, Outbound, RpcCommand,
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

    /// Takes in an emitted frame, and returns its violations.
    pub fn outbound(&mut self, emission: &Emission) -> Vec<Violation> {
        self.follow(is_response(emission));
        self.outbound_with(emission, D::Next::default())
    }

    /// Takes in an emitted frame; the state after it takes `next`. Returns the violations.
    pub fn outbound_with(&mut self, emission: &Emission, next: D::Next) -> Vec<Violation> {
        self.judge(emission, false, next)
    }

    /// Takes in an outbound frame of a recording. With `cut`, strings in it were shortened, so payloads are not compared.
    pub fn observe(&mut self, emission: &Emission, cut: bool) -> Vec<Violation> {
        self.follow(is_response(emission));
        self.judge(emission, cut, D::Next::default())
    }

    /// Infers from a frame of a server how far it is: it greets before it emits, and serves before it responds.
    fn follow(&mut self, is_response: bool) {
        if is_response && !self.lifecycle.is_greeting_over() {
            self.lifecycle.handle(LifecycleEvent::Served);
        } else if !self.lifecycle.is_greeted() {
            self.lifecycle.handle(LifecycleEvent::Greeted);
        }
    }

    fn judge(&mut self, emission: &Emission, cut: bool, next: D::Next) -> Vec<Violation> {
        let kind = Kind::of_emitted(emission);
        let answer = match emission {
            Emission::Frame(Outbound::Response(response))
            | Emission::Line { frame: Outbound::Response(response), .. } => Some(ResponseHead::of(response)),
            _ => None,
        };
        let mut found = Findings::for_frame(self.frames + 1);
        let (met, verdict, answered) = self.step(kind, next, answer.as_ref(), &mut found);
        let mut is_doubtful = false;
        if let Emission::Frame(frame) | Emission::Line { frame, .. } = emission {
            self.track_frame(frame, &mut found);
            // The agent loop itself has failed: the last turn may lack an answer.
            let is_breakdown = matches!(frame, Outbound::AgentSessionEvent(AgentSessionEvent::AgentEnd(end)) if has_broken_down(end));
            if met.flow == FlowState::StreamingTurn && is_breakdown {
                self.last_illegal = None;
                found.broken.retain(|broken| broken.rule != Rule::RunNesting);
            } else if met.flow == FlowState::Idle && gives_up_overflow(frame) {
                self.last_illegal = None;
                found.broken.retain(|broken| broken.rule != Rule::CompactionPairs);
            } else {
                is_doubtful = verdict.illegal && kind.is_event();
            }
        }
        let now = if self.conversation_checks.is_some() { self.state() } else { met };
        let context = self.context(met, now, cut);
        if let Some(conversation_checks) = &mut self.conversation_checks {
            conversation_checks.on_outbound(emission, kind, &self.requests, &context, &mut found);
            if let (Some(answer), Some(answered)) = (&answer, &answered) {
                conversation_checks.on_response(
                    answer,
                    answered,
                    Some(emission),
                    &self.requests,
                    &context,
                    &mut found,
                );
            }
        }
        let extended = self.conversation_checks.as_ref().is_some_and(|checks| checks.has_extensions());
        found = found.with_extensions(extended);
        if let Some(run_checks) = &mut self.run_checks {
            match verdict.cut {
                true => *run_checks = RunChecks::new(self.spoken),
                false if verdict.lost => run_checks.resynchronize(emission),
                false if verdict.illegal => run_checks.on_stray(emission),
                false if cut => {
                    run_checks.on_frame(emission, &mut Findings::for_frame(self.frames));
                    run_checks.mark_incomplete();
                }
                false => run_checks.on_frame(emission, &mut found),
            }
        }
        let base = self.spoken.dialect.base();
        let mut broken = found.broken.iter().filter(|broken| broken.rule.tier(base).is_some());
        is_doubtful |= kind.reports_messages() && broken.any(BrokenRule::concerns_runs);
        if let Some(conversation_checks) = self.conversation_checks.as_mut().filter(|_| is_doubtful) {
            conversation_checks.doubt();
        }
        let mut violations = self.report(found, kind, met);
        if verdict.unfit && !verdict.illegal {
            violations.push(self.unfit(kind));
        }
        violations
    }

    /// Takes in an outbound line that is not a valid frame: the flow moves as far as its kind is known, and its content counts
    /// as missed.
    pub fn unreadable_line(&mut self, line: UnreadableFrame) -> Vec<Violation> {
        let mut found = Findings::for_frame(self.frames + 1);
        found.fail(line.rule, line.expected);
        let kind = line.kind.unwrap_or(Kind::Stray);
        self.follow(line.answer.is_some());
        let (met, verdict, answered) = self.step(kind, D::Next::default(), line.answer.as_ref(), &mut found);
        let context = self.context(met, self.state(), true);
        if let Some(conversation_checks) = &mut self.conversation_checks {
            conversation_checks.on_unread_event(kind, &context);
            if let (Some(answer), Some(answered)) = (&line.answer, &answered) {
                conversation_checks.on_response(answer, answered, None, &self.requests, &context, &mut found);
            }
        }
        match &mut self.run_checks {
            Some(run_checks) if verdict.cut => *run_checks = RunChecks::new(self.spoken),
            Some(run_checks) if kind.is_event() => run_checks.lose_content(),
            _ => {}
        }
        self.report(found, kind, met)
    }

    /// Moves the regions by the kind of an outbound frame. Returns the state before, the verdict of the flow, and the request
    /// of a response.
    fn step(
        &mut self,
        kind: Kind,
        next: D::Next,
        answer: Option<&ResponseHead>,
        found: &mut Findings,
    ) -> (State, Verdict, Option<ResponseMatch>) {
        self.frames += 1;
        let met = self.state();
        let verdict = self.chart.advance(kind, next);
        self.check_placement(kind, met.flow, &verdict, found);
        // Where the end of the input aborts runs, no closing events come.
        let untold = met.closing && self.spoken.dialect.record().end_of_input == DialectEndOfInput::AbortRun;
        if verdict.cut && !untold {
            found.fail(Rule::RunCut, "the run's closing events first");
        }
        let late = self.spoken.dialect.record().prompt_ack == DialectPromptAck::ImmediateThenMaybeError;
        let answered = answer.map(|answer| self.requests.match_response(answer, late));
        if answered.is_some() {
            self.move_shell();
        }
        match &answered {
            Some(ResponseMatch::First(request) | ResponseMatch::Again(request)) => {
                found.set_cause(Some(request.frame));
            }
            Some(ResponseMatch::Line(frame)) => found.set_cause(Some(*frame)),
            Some(ResponseMatch::Nothing(_) | ResponseMatch::Forgotten) | None => {}
        }
        match &answered {
            Some(ResponseMatch::Nothing(StrayResponse { rule, expected, cause })) => {
                found.with_cause(*cause, |found| found.fail(*rule, expected.clone()));
            }
            Some(ResponseMatch::Again(_)) if !late => {
                found.fail(Rule::PromptOnce, "one answer to the prompt");
            }
            Some(ResponseMatch::First(request)) => {
                let rules = [Rule::RespKnownId, Rule::RespOnce, Rule::RespCommand];
                rules.into_iter().for_each(|rule| found.pass(rule));
                if request.command == RpcCommandKind::Prompt {
                    found.pass(Rule::PromptOnce);
                }
            }
            Some(ResponseMatch::Line(_)) => found.pass(Rule::MissingRefused),
            Some(ResponseMatch::Again(_) | ResponseMatch::Forgotten) | None => {}
        }
        if self.flow() != met.flow {
            self.requests.add_state(self.flow());
        }
        (met, verdict, answered)
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

    /// Judges the placement of a frame. Repeated illegal events with the same rule and state are reported once.
    fn check_placement(&mut self, kind: Kind, at: FlowState, verdict: &Verdict, found: &mut Findings) {
        let illegal = verdict.illegal;
        let rule = placement_rule(kind, at, self.spoken.dialect.record().ready);
        if !illegal && verdict.is_listed {
            found.pass(rule);
            also_exercised(kind, at).into_iter().for_each(|rule| found.pass(rule));
        }
        if illegal && self.last_illegal != Some((rule, at)) {
            let rows = kind.fires(self.spoken.dialect.base());
            let mut states: Vec<&str> = rows.flat_map(|row| row.states).map(|state| state.as_str()).collect();
            states.dedup();
            let expected = match states.is_empty() {
                true => "nothing of the kind".to_owned(),
                false => format!("it in {}", states.join(" or ")),
            };
            found.fail(rule, expected);
        }
        match illegal {
            true => self.last_illegal = Some((rule, at)),
            false if kind.is_event() => self.last_illegal = None,
            false => {}
        }
    }

    fn track_frame(&mut self, frame: &Outbound, found: &mut Findings) {
        let record = self.spoken.dialect.record();
        match frame {
            // A repeated dialog is one, and may have been answered in between.
            Outbound::ExtensionUIRequest(request)
                if request.kind().is_dialog()
                    && !self
                        .conversation_checks
                        .as_ref()
                        .is_some_and(|it| it.has_ui_request(request.id())) =>
            {
                self.asks.handle(AskEvent::Opened(request.id()));
            }
            Outbound::ReadyFrame(_)
                if found.broken.is_empty() && (record.ready == DialectReady::None || self.has_emitted) =>
            {
                found.fail(
                    placement_rule(Kind::Ready, self.flow(), record.ready),
                    "`ready` once, first, and only where the dialect has it",
                );
            }
            _ => {}
        }
        self.has_emitted = true;
    }
}
