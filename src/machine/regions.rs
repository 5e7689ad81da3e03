//! The four regions together.

use crate::protocol::{
    AgentSessionEvent, Case, Dialect, DialectEndOfInput, DialectPromptAck, DialectReady, Emission, FlowState,
    Inbound, LineError, MemberValue, Outbound, RpcCommand, RpcCommandKind, SessionMember,
};
use crate::{
    machine::{
        checks::{
            conversation_checks::ConversationChecks, frame_context::FrameContext, run::has_broken_down,
            run_checks::RunChecks, server_exit::ServerExit,
        },
        findings::{BrokenRule, Findings, RuleSet},
        flow::{Flow, Verdict},
        kind::{Kind, Step},
        placement::{also_exercised, placement_rule},
        requests::{Requests, ResponseHead, ResponseMatch, StrayResponse},
        state::State,
        unreadable_frame::UnreadableFrame,
        violation::Violation,
    },
    protocol::RuleId as Rule,
};
use statig::prelude::*;
use std::collections::BTreeSet;

/// Dialogs that may wait: a host that answers none costs no more than this.
const MAX_DIALOGS: usize = 4096;

/// The state machine of one conversation. A copy goes its own way from here on.
#[derive(Clone)]
pub struct Machine {
    dialect: Dialect,
    flow: statig::blocking::StateMachine<Flow>,
    dialogs: BTreeSet<String>,
    requests: Requests,
    closing: bool,
    run_checks: Option<RunChecks>,
    conversation_checks: Option<Box<ConversationChecks>>,
    frames: u64,
    /// Something was said already: `ready` would come too late.
    has_emitted: bool,
    /// What the clock shows, in milliseconds; none without a clock.
    time: Option<u64>,
    /// The same when the input ended.
    input_ended: Option<u64>,
    /// The conversation is seen from the start of the process on, and every line of the host could be read.
    whole: bool,
    /// The last event that was out of place: its rule, and where.
    last_illegal: Option<(Rule, FlowState)>,
    exercised: RuleSet,
}

impl Machine {
    /// A machine at the start of a conversation. `checked`: with the checks of counts and equalities, which keep the
    /// messages of the open run.
    pub fn new(dialect: Dialect, checked: bool) -> Self {
        Self {
            dialect,
            flow: Flow::new(dialect.base()).state_machine(),
            dialogs: BTreeSet::new(),
            requests: Requests::default(),
            closing: false,
            run_checks: checked.then(|| RunChecks::new(dialect)),
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

    /// The same machine for a conversation of which the beginning may have been missed.
    #[must_use]
    pub const fn joined_late(mut self) -> Self {
        self.whole = false;
        self
    }

    /// Sets the clock, in milliseconds since any context: what follows comes then. Without a clock nothing is late.
    pub const fn time(&mut self, ms: u64) {
        self.time = Some(ms);
    }

    /// The server was told to load extensions.
    pub fn load_extensions(&mut self) {
        if let Some(conversation_checks) = &mut self.conversation_checks {
            conversation_checks.load_extensions();
        }
    }

    /// Whether the machine has its checks of counts and equalities.
    pub const fn is_checked(&self) -> bool {
        self.run_checks.is_some()
    }

    /// Where the conversation stands.
    pub fn state(&self) -> State {
        let shell = self.requests.outstanding().filter(|r| r.command == RpcCommandKind::Bash).count();
        State { flow: self.flow(), dialogs: self.dialogs.len(), shell, closing: self.closing }
    }

    /// What the agent is doing.
    pub fn flow(&self) -> FlowState {
        self.flow.state().name()
    }

    /// The first of these values that the frames so far do not allow. Members that extensions may change silently are passed
    /// over where there are `extensions`, and so are those that a command without a response may change.
    pub fn contradiction(
        &self,
        values: impl IntoIterator<Item = MemberValue>,
        extensions: bool,
    ) -> Option<SessionMember> {
        let known = self.conversation_checks.as_ref()?.known_state();
        let contradiction = |value: &MemberValue| {
            let member = value.member();
            let is_open = known.is_changing(member) || (extensions && member.is_silent());
            !is_open && !known.allows(value)
        };
        values.into_iter().find(contradiction).map(|value| value.member())
    }

    /// The requests that wait for a response.
    pub const fn requests(&self) -> &Requests {
        &self.requests
    }

    /// What becomes of `command` here.
    pub fn disposition(&self, command: &RpcCommand) -> Option<&'static Case> {
        let cases = command.kind().cases(self.flow());
        Case::first(cases, self.dialect.base(), |field| command.choice(field))
    }

    /// What becomes here of a command of this kind, if nothing in it decides.
    pub fn disposition_of(&self, kind: RpcCommandKind) -> Option<&'static Case> {
        Case::first(kind.cases(self.flow()), self.dialect.base(), |_| None)
    }

    /// A frame came in: opens a request, or answers a dialog. Gives what is wrong with it.
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
            }
            Inbound::ExtensionUIResponse(response) => {
                self.dialogs.remove(response.id());
            }
            Inbound::HostToolUpdate(_) | Inbound::HostToolResult(_) => {}
        }
        self.report(found, Kind::of_inbound(frame), met)
    }

    /// Takes a step that no frame announces. Gives a violation where the chart does not allow it.
    pub fn unannounced(&mut self, step: Step) -> Vec<Violation> {
        let (kind, met) = (Kind::Unannounced(step), self.state());
        let mut verdict = Verdict::default();
        self.flow.handle_with_context(&kind, &mut verdict);
        let mut found = Findings::for_frame(self.frames);
        if verdict.illegal {
            found.fail(Rule::FiresIn, format!("no {kind} in {}", met.flow));
        }
        if self.flow() != met.flow {
            self.requests.add_state(self.flow());
        }
        self.report(found, kind, met)
    }

    /// Moves on by an event that is withheld from the host.
    pub fn withheld(&mut self, event: &Emission) {
        self.flow.handle_with_context(&Kind::of_emitted(event), &mut Verdict::default());
    }

    /// A dialog is over without an answer: its time has come, or nobody wants the answer any more.
    pub fn close_dialog(&mut self, id: &str) {
        self.dialogs.remove(id);
        self.restart_deadlines();
    }

    /// Something has happened that gives everything more time: a dialog is over, the host reads again.
    pub fn restart_deadlines(&mut self) {
        if let (Some(conversation_checks), Some(now)) = (&mut self.conversation_checks, self.time) {
            conversation_checks.restart_deadlines(now);
        }
    }

    /// A line came in that was no frame; it is owed an error. Gives the host's rule that it broke.
    pub fn invalid_line(&mut self, error: &LineError) -> Vec<Violation> {
        self.frames += 1;
        // Servers may be more lenient, and do what it dialogs.
        self.whole = false;
        self.requests.add_invalid_line(self.frames, error);
        let mut found = Findings::for_frame(self.frames);
        if self.conversation_checks.is_some() {
            let (rule, reason) = match error {
                LineError::Parse { reason, .. } => (Rule::HostLine, reason.clone()),
                LineError::Unknown { kind, .. } => {
                    (Rule::HostSchema, format!("a command of the dialect, not `{kind}`"))
                }
                LineError::Field { kind, reason, .. } => {
                    (Rule::HostSchema, format!("a valid `{kind}`: {reason}"))
                }
            };
            found.fail(rule, reason);
        }
        self.report(found, Kind::Stray, self.state())
    }

    /// Input has ended, or a shutdown was asked for.
    pub fn end_of_input(&mut self) {
        let state = self.state();
        self.closing = true;
        self.input_ended = self.input_ended.or(self.time);
        if let Some(conversation_checks) = &mut self.conversation_checks {
            conversation_checks.on_end_of_input(state, &self.requests);
        }
    }

    /// The process is gone, or nothing more is known of it. Gives what never came.
    pub fn exit(&mut self, end: &ServerExit) -> Vec<Violation> {
        let (state, mut found) = (self.state(), Findings::for_frame(self.frames));
        let now = self.input_ended.or(self.time);
        let context = FrameContext { time: now, ..self.context(state, state, false) };
        if let Some(conversation_checks) = &mut self.conversation_checks {
            conversation_checks.on_exit(end, &context, &self.requests, &mut found);
        }
        self.report(found, Kind::Exit, state)
    }

    /// Something is said. Gives what is wrong with it, and goes on from where it leads.
    pub fn outbound(&mut self, emission: &Emission) -> Vec<Violation> {
        self.observe(emission, false)
    }

    /// The same of a frame of a recording; `cut`: a string in it was shortened, so what it says is not compared.
    pub fn observe(&mut self, emission: &Emission, cut: bool) -> Vec<Violation> {
        let kind = Kind::of_emitted(emission);
        let answer = match emission {
            Emission::Frame(Outbound::Response(response))
            | Emission::Line { frame: Outbound::Response(response), .. } => Some(ResponseHead::of(response)),
            _ => None,
        };
        let mut found = Findings::for_frame(self.frames + 1);
        let (met, verdict, answered) = self.step(kind, answer.as_ref(), &mut found);
        let mut is_doubtful = false;
        if let Emission::Frame(frame) | Emission::Line { frame, .. } = emission {
            self.track_frame(frame, &mut found);
            if met.flow == FlowState::StreamingTurn && is_breakdown(frame) {
                self.last_illegal = None;
                found.broken.retain(|broken| broken.rule != Rule::RunNesting);
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
        if let Some(run_checks) = &mut self.run_checks {
            match verdict.cut {
                true => *run_checks = RunChecks::new(self.dialect),
                false if verdict.lost => run_checks.resynchronize(emission),
                false if verdict.illegal => run_checks.on_stray(emission),
                false if cut => {
                    run_checks.on_frame(emission, &mut Findings::for_frame(self.frames));
                    run_checks.mark_incomplete();
                }
                false => run_checks.on_frame(emission, &mut found),
            }
        }
        let base = self.dialect.base();
        let mut broken = found.broken.iter().filter(|broken| broken.rule.tier(base).is_some());
        is_doubtful |= kind.reports_messages() && broken.any(BrokenRule::concerns_runs);
        if let Some(conversation_checks) = self.conversation_checks.as_mut().filter(|_| is_doubtful) {
            conversation_checks.doubt();
        }
        self.report(found, kind, met)
    }

    /// A line was said that is no frame of the dialect, or one that could not be read: the flow goes on from what is
    /// known of it, and what it held counts as missed.
    pub fn unreadable_line(&mut self, line: UnreadableFrame) -> Vec<Violation> {
        let mut found = Findings::for_frame(self.frames + 1);
        found.fail(line.rule, line.expected);
        let kind = line.kind.unwrap_or(Kind::Stray);
        let (met, verdict, answered) = self.step(kind, line.answer.as_ref(), &mut found);
        let context = self.context(met, self.state(), true);
        if let Some(conversation_checks) = &mut self.conversation_checks {
            conversation_checks.on_unread_event(kind, &context);
            if let (Some(answer), Some(answered)) = (&line.answer, &answered) {
                conversation_checks.on_response(answer, answered, None, &self.requests, &context, &mut found);
            }
        }
        match &mut self.run_checks {
            Some(run_checks) if verdict.cut => *run_checks = RunChecks::new(self.dialect),
            Some(run_checks) if kind.is_event() => run_checks.lose_content(),
            _ => {}
        }
        self.report(found, kind, met)
    }

    /// Moves the regions that know frames by their kind. Gives the state that it met, what the flow thought of it, and
    /// of a response what it answers.
    fn step(
        &mut self,
        kind: Kind,
        answer: Option<&ResponseHead>,
        found: &mut Findings,
    ) -> (State, Verdict, Option<ResponseMatch>) {
        self.frames += 1;
        let met = self.state();
        let mut verdict = Verdict::default();
        self.flow.handle_with_context(&kind, &mut verdict);
        self.check_placement(kind, met.flow, verdict.illegal, found);
        // Where the end of the input ends runs, nothing is told of that.
        let untold = self.closing && self.dialect.record().end_of_input == DialectEndOfInput::AbortRun;
        if verdict.cut && !untold {
            found.fail(Rule::RunCut, "the run's closing events first");
        }
        let late = self.dialect.record().prompt_ack == DialectPromptAck::ImmediateThenMaybeError;
        let answered = answer.map(|answer| self.requests.match_response(answer, late));
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

    /// Where a frame stands that met one state and left another.
    const fn context(&self, met: State, now: State, cut: bool) -> FrameContext {
        let (dialect, frame, time, whole) = (self.dialect, self.frames, self.time, self.whole);
        FrameContext { dialect, met, now, frame, cut, time, whole, has_extensions: false }
    }

    /// Frames so far, of both directions.
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// The rules that were put to the test so far.
    pub const fn exercised(&self) -> &RuleSet {
        &self.exercised
    }

    /// What is wrong by the rules that the dialect has: of a frame of `kind` that met `state`. For whoever sees more
    /// than frames: their bytes, the session's file.
    pub fn report(&mut self, found: Findings, kind: Kind, state: State) -> Vec<Violation> {
        self.exercised.extend(&found.exercised);
        if found.broken.is_empty() {
            return Vec::new();
        }
        let (base, frame) = (self.dialect.base(), self.frames);
        let of_frame = found.cause();
        let violation = |BrokenRule { rule, expected, difference, cause }| {
            let cause = cause.or(of_frame).filter(|cause| *cause != frame);
            let tier = rule.tier(base)?;
            Some(Violation { rule, tier, frame, kind, state, expected, difference, cause })
        };
        found.broken.into_iter().filter_map(violation).collect()
    }

    /// Notes an event out of place, once: those that stray behind it to the same place have the same cause.
    fn check_placement(&mut self, kind: Kind, at: FlowState, illegal: bool, found: &mut Findings) {
        let rule = placement_rule(kind, at, self.dialect.record().ready);
        if !illegal && kind.fires(self.dialect.base()).next().is_some() {
            found.pass(rule);
            also_exercised(kind, at).into_iter().for_each(|rule| found.pass(rule));
        }
        if illegal && self.last_illegal != Some((rule, at)) {
            found.fail(rule, self.legal_states(kind));
        }
        match illegal {
            true => self.last_illegal = Some((rule, at)),
            false if kind.is_event() => self.last_illegal = None,
            false => {}
        }
    }

    fn track_frame(&mut self, frame: &Outbound, found: &mut Findings) {
        let record = self.dialect.record();
        match frame {
            // A dialog that is told twice is one, and may have been answered in between.
            Outbound::ExtensionUIRequest(request)
                if request.kind().is_dialog()
                    && !self
                        .conversation_checks
                        .as_ref()
                        .is_some_and(|it| it.has_ui_request(request.id())) =>
            {
                self.dialogs.insert(request.id().to_owned());
                if self.dialogs.len() > MAX_DIALOGS {
                    self.dialogs.pop_first();
                }
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

    /// The states in which `kind` would have been legal, in words.
    fn legal_states(&self, kind: Kind) -> String {
        let rows = kind.fires(self.dialect.base());
        let mut states: Vec<&str> = rows.flat_map(|row| row.states).map(|state| state.as_str()).collect();
        states.dedup();
        match states.is_empty() {
            true => "nothing of the kind".to_owned(),
            false => format!("it in {}", states.join(" or ")),
        }
    }
}

/// Whether the loop itself has failed: a run may then end in a turn that has no answer.
fn is_breakdown(frame: &Outbound) -> bool {
    matches!(frame, Outbound::AgentSessionEvent(AgentSessionEvent::AgentEnd(end)) if has_broken_down(end))
}
