//! Frames of the server: move the flow, close requests, and are judged.
//!
//! Rules: `resp-known-id`, `resp-once`, `prompt-once`, `resp-command`, `missing-refused`, `run-cut`.

use super::Machine;
use crate::{
    asks::AskEvent,
    carrier::Carried,
    checks::{compaction::gives_up_overflow, run::has_broken_down, run_checks::RunChecks},
    findings::{BrokenRule, Findings},
    flow::Verdict,
    kind::{Kind, is_response},
    lifecycle::LifecycleEvent,
    placement::{also_exercised, placement_rule},
    requests::{ResponseHead, ResponseMatch, StrayResponse},
    state::State,
    unreadable_frame::UnreadableFrame,
    violation::Violation,
};
use pi_rpc_protocol::{
    AgentSessionEvent, DialectEndOfInput, DialectPromptAck, DialectReady, Emission, FlowState, Outbound,
    RpcCommandKind, RuleId as Rule,
};

impl<D: Carried> Machine<D> {
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
                true => format!("no {kind} at all"),
                false => format!("no {kind} in {}, but in {}", at.as_str(), states.join(" or ")),
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
