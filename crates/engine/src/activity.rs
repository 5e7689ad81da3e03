//! What the agent is doing: the state of the [chart](pi_rpc_machine), and what that state carries.
//!
//! Both change in this module alone. A caller names the cause of a move and gives the data of the next state;
//! `Engine::transition` checks the cause against the chart, moves the chart, and emits the frame, in that order. An illegal
//! cause, and a state without the data that it needs, are violations in every build; the frame is emitted all the same.

use crate::{
    core::Engine,
    extensions::hook::Hook,
    held_frames::is_run_event,
    io::Output,
    prompt::RunStart,
    queues::TurnInput,
    run::{
        batch::Batch,
        boundary::Boundary,
        compaction::{AfterCompaction, Compaction, CompactionCause},
        state::{EndedRun, Phase, Run, replace_answer},
    },
    step::is_of_messages,
};
use pi_rpc_machine::{Carried, Lifecycle, LifecycleEvent, Machine, Rule, Step, SwitchEvent, Violation};
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, AgentSessionEventKind, AssistantMessage, Dialect, Emission, FlowState,
    Inbound, LineError, Outbound, Side, ToolResultMessage, read,
};
use std::{collections::VecDeque, time::Duration};

/// The machine of the conversation, and what the state that it is in carries.
pub struct Activity {
    machine: Machine<Data>,
}

/// The data of a state; what only one state has lies in its variant.
#[derive(Debug, Default)]
pub enum Data {
    /// No data: nothing is under way, a prompt starts, the runs of a chain settle, or a compaction is refused at once.
    #[default]
    Nothing,
    /// An open run, from `agent_start` to `agent_end`, and how far it is.
    Run(Box<Run>, Phase),
    /// A run that has ended, until it is decided what follows.
    Ended(Box<EndedRun>),
    /// The moment of the monotonic clock at which a failed run is retried.
    Retry(Duration),
    /// A compaction between runs.
    Compaction(Box<Compaction>),
}

/// What the state after a cause carries.
#[derive(Default)]
pub enum Next {
    /// The data of the state before, if the state after carries it, too; else nothing.
    #[default]
    Kept,
    /// Nothing.
    Nothing,
    /// The run that opens.
    Run(Box<Run>),
    /// The open run, in this phase.
    Phase(Phase),
    /// The open run, whose complete answer is emitted: its tool calls run, or the turn ends.
    Tools,
    /// The run that has ended; `None`: without an answer.
    Ended(Option<Box<EndedRun>>),
    /// A wait for a retry, until this moment of the monotonic clock.
    Retry(Duration),
    /// A compaction, of the open run or between runs.
    Compaction(Box<Compaction>),
    /// The compaction under way, with the prompt that waits for it.
    PromptWaits(Box<RunStart>),
}

/// What moves the agent, or changes what its state carries.
enum Cause {
    /// A frame to emit.
    Frame(Emission),
    /// An event that only the extensions see, because the shutdown withholds events from the host, or because the host has
    /// selected others.
    Withheld(Emission),
    /// A step that no frame announces.
    Step(Step),
    /// Nothing that the chart knows: its state stays.
    Within,
}

impl Carried for Data {
    type Next = Next;

    /// Whether `state` carries such data. A run is between two phases while the end of its compaction is emitted, and has
    /// ended already while its `agent_end` waits for the disk. The chart passes through `starting` at the response to a
    /// prompt that starts no run.
    fn fits(&self, state: FlowState) -> bool {
        use FlowState::{
            Compacting, CompactingBeforePrompt, CompactingManual, Idle, Retrying, Settling, Starting,
            StreamingBetween,
        };
        match self {
            Self::Nothing => !state.is_streaming() && state != Retrying,
            Self::Run(_, phase) => phase.fits(state),
            Self::Ended(_) => matches!(state, Idle | Starting | Settling | StreamingBetween),
            Self::Retry(_) => state == Retrying,
            Self::Compaction(compaction) => match compaction.why {
                CompactionCause::Command(_) => matches!(state, CompactingManual | CompactingBeforePrompt),
                CompactionCause::Full { .. } => matches!(state, Compacting | CompactingBeforePrompt),
            },
        }
    }

    /// The data after a cause.
    fn followed_by(self, next: Next, state: FlowState) -> Self {
        match (next, self) {
            // Leaving a state drops what it carries.
            (Next::Kept, kept) => match !kept.fits(state) && Self::Nothing.fits(state) {
                true => Self::Nothing,
                false => kept,
            },
            (Next::Nothing | Next::Ended(None), _) => Self::Nothing,
            (Next::Run(run), _) => Self::Run(run, Phase::Between),
            (Next::Phase(phase), Self::Run(run, _)) => Self::Run(run, phase),
            (Next::Tools, Self::Run(run, Phase::Answered(answer))) => {
                Self::Run(run, Phase::Tools { answer, batch: None })
            }
            (Next::Phase(_) | Next::Tools, other) => other,
            (Next::Ended(Some(ended)), _) => Self::Ended(ended),
            (Next::Retry(due), _) => Self::Retry(due),
            (Next::Compaction(compaction), Self::Run(run, _)) => {
                Self::Run(run, Phase::Compacting(compaction))
            }
            (Next::Compaction(compaction), _) => Self::Compaction(compaction),
            (Next::PromptWaits(start), mut waiting) => {
                if let Some(compaction) = waiting.compaction_mut() {
                    compaction.is_aborted = start.is_aborted;
                    compaction.next = AfterCompaction::Prompt(start);
                }
                waiting
            }
        }
    }
}

impl Data {
    /// The compaction under way, between runs or between two turns of one.
    const fn compaction_mut(&mut self) -> Option<&mut Compaction> {
        match self {
            Self::Compaction(compaction) | Self::Run(_, Phase::Compacting(compaction)) => Some(compaction),
            _ => None,
        }
    }
}

impl Activity {
    /// Nothing is under way yet.
    pub fn new(dialect: Dialect, checked: bool) -> Self {
        Self { machine: Machine::carrying(dialect, checked) }
    }

    /// The machine that checks every emitted frame.
    pub const fn machine(&self) -> &Machine<Data> {
        &self.machine
    }

    /// The state of the chart.
    pub fn state(&self) -> FlowState {
        self.machine.flow()
    }

    /// Moves the chart by a cause, and replaces what its state carries. Returns the server's violations.
    fn transition(&mut self, cause: &Cause, next: Next) -> Vec<Violation> {
        let violations = match cause {
            // Checks of content need the frame as its bytes decode.
            Cause::Frame(emission @ Emission::Line { line, .. }) if self.machine.is_checked() => {
                match read(line.trim_ascii_end(), self.machine.dialect()) {
                    Ok(frame) => self.machine.outbound_with(&Emission::Frame(frame), next),
                    Err(_) => self.machine.outbound_with(emission, next),
                }
            }
            Cause::Frame(emission) => self.machine.outbound_with(emission, next),
            Cause::Withheld(emission) => self.machine.withheld(emission, next),
            Cause::Step(step) => self.machine.unannounced(*step, next),
            Cause::Within => self.machine.carry(next),
        };
        // Violations of the host's rules show in our responses, too; they are no defect of the server.
        violations.into_iter().filter(|it| it.rule.about().side == Side::Server).collect()
    }

    /// Moves the chart by an event that another process has emitted; what it says is not judged again.
    pub fn replay(&mut self, event: AgentSessionEvent, next: Next) {
        let mut emission = Emission::from(Outbound::AgentSessionEvent(event));
        emission.fit(self.machine.dialect().base());
        self.machine.outbound_with(&emission, next);
    }

    /// Goes on with the run that another process has begun and [`replay`](Self::replay) has opened.
    pub fn resume(&mut self) {
        self.machine.resume();
    }

    /// Takes in a frame of the host.
    pub fn inbound(&mut self, frame: &Inbound) {
        self.machine.inbound(frame);
    }

    /// Takes in a line of the host that is not a frame and needs an error response.
    pub fn invalid_line(&mut self, error: &LineError) {
        self.machine.invalid_line(error);
    }

    /// How far the process is, from its start to its exit.
    pub const fn lifecycle(&self) -> &Lifecycle {
        self.machine.lifecycle()
    }

    /// Moves the process on.
    pub fn move_lifecycle(&mut self, event: LifecycleEvent) {
        self.machine.move_lifecycle(event);
    }

    /// Takes in the end of the input, or the request to exit.
    pub fn begin_exit(&mut self, event: LifecycleEvent) {
        self.machine.begin_exit(event);
    }

    /// Closes a dialog without a response.
    pub fn close_dialog(&mut self, id: &str) {
        self.machine.close_dialog(id);
    }

    /// Declares that extensions are loaded.
    pub fn load_extensions(&mut self) {
        self.machine.load_extensions();
    }

    /// The open run.
    pub const fn run(&self) -> Option<&Run> {
        match self.machine.carried() {
            Data::Run(run, _) => Some(run),
            _ => None,
        }
    }

    /// The open run.
    pub const fn run_mut(&mut self) -> Option<&mut Run> {
        match self.machine.carried_mut() {
            Data::Run(run, _) => Some(run),
            _ => None,
        }
    }

    /// How far the open run is.
    pub const fn phase(&self) -> Option<&Phase> {
        match self.machine.carried() {
            Data::Run(_, phase) => Some(phase),
            _ => None,
        }
    }

    const fn phase_mut(&mut self) -> Option<&mut Phase> {
        match self.machine.carried_mut() {
            Data::Run(_, phase) => Some(phase),
            _ => None,
        }
    }

    /// The messages that the open turn still emits before a model is requested.
    pub const fn inputs_mut(&mut self) -> Option<&mut VecDeque<TurnInput>> {
        match self.phase_mut() {
            Some(Phase::Turn(inputs)) => Some(inputs),
            _ => None,
        }
    }

    /// The complete assistant message of the open turn.
    pub const fn answer(&self) -> Option<&AssistantMessage> {
        match self.phase() {
            Some(Phase::Answered(answer) | Phase::Tools { answer, .. }) => Some(answer),
            _ => None,
        }
    }

    /// The tool calls of the open turn.
    pub fn batch(&self) -> Option<&Batch> {
        match self.phase() {
            Some(Phase::Tools { batch, .. }) => batch.as_deref(),
            _ => None,
        }
    }

    /// The tool calls of the open turn.
    pub fn batch_mut(&mut self) -> Option<&mut Batch> {
        match self.phase_mut() {
            Some(Phase::Tools { batch, .. }) => batch.as_deref_mut(),
            _ => None,
        }
    }

    /// Takes up the tool calls of the open turn.
    pub fn start_batch(&mut self, taken_up: Batch) {
        if let Some(Phase::Tools { batch, .. }) = self.phase_mut() {
            *batch = Some(Box::new(taken_up));
        }
    }

    /// Takes the tool calls of the open turn: all of them have ended.
    pub const fn take_batch(&mut self) -> Option<Box<Batch>> {
        match self.phase_mut() {
            Some(Phase::Tools { batch, .. }) => batch.take(),
            _ => None,
        }
    }

    /// Replaces the complete answer of the open turn, or a result.
    pub fn replace(&mut self, message: &AgentMessage) {
        match (message, self.phase_mut()) {
            (AgentMessage::Assistant(it), Some(Phase::Answered(answer) | Phase::Tools { answer, .. })) => {
                replace_answer(answer, it);
            }
            (AgentMessage::ToolResult(result), Some(Phase::Tools { batch: Some(batch), .. })) => {
                let same = |it: &&mut ToolResultMessage| it.tool_call_id == result.tool_call_id;
                if let Some(previous) = batch.results.iter_mut().rev().find(same) {
                    *previous = result.clone();
                }
            }
            _ => {}
        }
    }

    /// The compaction under way, between runs or between two turns of one.
    pub const fn compaction(&self) -> Option<&Compaction> {
        match self.machine.carried() {
            Data::Compaction(compaction) | Data::Run(_, Phase::Compacting(compaction)) => Some(compaction),
            _ => None,
        }
    }

    /// The compaction under way, between runs or between two turns of one.
    pub const fn compaction_mut(&mut self) -> Option<&mut Compaction> {
        self.machine.carried_mut().compaction_mut()
    }

    /// Takes the compaction under way, whose end is emitted next.
    pub fn take_compaction(&mut self) -> Option<Compaction> {
        let (left, compaction) = match std::mem::take(self.machine.carried_mut()) {
            Data::Compaction(compaction) => (Data::Nothing, Some(*compaction)),
            Data::Run(run, Phase::Compacting(compaction)) => {
                (Data::Run(run, Phase::Between), Some(*compaction))
            }
            other => (other, None),
        };
        *self.machine.carried_mut() = left;
        compaction
    }

    /// Takes the run that has ended: what follows it is decided now.
    pub fn take_ended(&mut self) -> Option<Box<EndedRun>> {
        match std::mem::take(self.machine.carried_mut()) {
            Data::Ended(ended) => Some(ended),
            other => {
                *self.machine.carried_mut() = other;
                None
            }
        }
    }

    /// Whether a prompt is accepted, whose run opens after the `before_agent_start` hook.
    pub fn is_starting(&self) -> bool {
        self.state() == FlowState::Starting
    }

    /// Whether a run is open.
    pub const fn is_streaming(&self) -> bool {
        self.run().is_some()
    }

    /// Whether a compaction between runs is under way.
    pub const fn is_compacting_between_runs(&self) -> bool {
        matches!(self.machine.carried(), Data::Compaction(_))
    }

    /// Whether a run has ended, and it is not decided yet what follows.
    pub const fn has_ended_run(&self) -> bool {
        matches!(self.machine.carried(), Data::Ended(_))
    }

    /// Whether the session is being changed.
    pub fn is_switching(&self) -> bool {
        self.machine.is_switching()
    }

    /// Whether a run, a retry or a compaction is under way.
    pub const fn is_under_way(&self) -> bool {
        !matches!(self.machine.carried(), Data::Nothing)
    }

    /// Whether a failed run waits for its retry.
    pub const fn is_retrying(&self) -> bool {
        self.retry_due().is_some()
    }

    /// When a failed run is retried, on the monotonic clock.
    pub const fn retry_due(&self) -> Option<Duration> {
        match self.machine.carried() {
            Data::Retry(due) => Some(*due),
            _ => None,
        }
    }
}

impl Engine {
    /// Emits a frame that brings no data to the state after it.
    pub(crate) fn emit(&mut self, emission: impl Into<Emission>) {
        let emission = emission.into();
        let is_kept_back = matches!(emission, Emission::Update(_))
            && self.is_kept_back(AgentSessionEventKind::MessageUpdate);
        let cause = if is_kept_back { Cause::Withheld(emission) } else { Cause::Frame(emission) };
        self.transition(cause, Next::Kept);
    }

    /// Emits an event that brings no data to the state after it.
    pub(crate) fn emit_event(&mut self, event: impl Into<AgentSessionEvent>) {
        self.emit_event_with(event, Next::Kept);
    }

    /// Emits an event; the state after it carries `next`. Where the shutdown withholds events, only the chart and the
    /// extensions see it.
    pub(crate) fn emit_event_with(&mut self, event: impl Into<AgentSessionEvent>, next: Next) {
        let mut event = event.into();
        self.number_message(&mut event);
        let kind = event.kind();
        let emission = Emission::from(Outbound::AgentSessionEvent(event));
        let awaited = self.extensions.awaited_event(&emission).map(|event| (kind, event));
        let cause = match self.withholds_events() || self.is_kept_back(kind) {
            true => Cause::Withheld(emission),
            false => Cause::Frame(emission),
        };
        let Some((kind, event)) = awaited else { return self.transition(cause, next) };
        let holds_frame = is_run_event(kind);
        if holds_frame {
            self.hold_frames();
        }
        self.transition(cause, next);
        self.notify(Hook::Event { event, holds_frame, boundary: Boundary::default() });
    }

    /// Gives the events of a message its id, in dialects that have one.
    fn number_message(&mut self, event: &mut AgentSessionEvent) {
        if !self.dialect.record().message_ids {
            return;
        }
        let ids = &mut self.series.message_ids;
        match event {
            AgentSessionEvent::MessageStart(start) => {
                ids.last += 1;
                ids.open.push(ids.last);
                start.message_id = Some(format!("msg-{}", ids.last));
            }
            AgentSessionEvent::MessageEnd(end) => {
                end.message_id = ids.open.pop().map(|id| format!("msg-{id}"));
            }
            _ => {}
        }
    }

    /// Takes a step that no frame announces; the state after it carries `next`.
    pub(crate) fn take_step(&mut self, step: Step, next: Next) {
        self.transition(Cause::Step(step), next);
    }

    /// Begins or ends a change of the session, during which the state carries nothing.
    pub(crate) fn move_session(&mut self, event: SwitchEvent) {
        self.carry(Next::Nothing);
        self.activity.machine.move_session(event);
    }

    /// Changes what the state carries; the state stays.
    pub(crate) fn carry(&mut self, next: Next) {
        self.transition(Cause::Within, next);
    }

    /// The one way in which the agent moves: the chart is asked and moves, then the frame is emitted, or held until the
    /// handlers of its event have run.
    fn transition(&mut self, mut cause: Cause, next: Next) {
        if let Cause::Frame(emission) = &mut cause {
            emission.fit(self.dialect.base());
        }
        let violations = self.activity.transition(&cause, next);
        match cause {
            Cause::Frame(emission) => {
                self.notify_observers(&emission);
                self.emit_or_hold(emission);
            }
            Cause::Withheld(emission) => self.notify_observers(&emission),
            Cause::Step(_) | Cause::Within => {}
        }
        // Frames do not show that titles are opted in.
        let (emits_title, replaces) = (self.extensions.emits_title, self.extensions.has_replaced_message);
        let violations = violations.into_iter().filter(|it| !(emits_title && it.rule == Rule::NoTitle));
        let violations = violations.filter(|it| !(replaces && is_of_messages(it.rule)));
        violations.for_each(|violation| self.push(Output::Violation(violation)));
    }
}

#[cfg(test)]
mod tests {
    //! A move that the chart forbids, and a state without its data, are seen in every build.

    use super::*;
    use crate::{ExtensionSetup, ModelChoice, Modes, Now, SessionStorage, Setup, Toolbox, limits::Limits};
    use pi_rpc_machine::Kind;
    use pi_rpc_protocol::{AgentStartEvent, TurnStartEvent};
    use serde_json::json;

    /// An engine at rest, checked as in the program that people run.
    fn engine() -> Engine {
        let dialect = Dialect::Pi;
        let model = serde_json::from_value(json!({
            "id": "none", "name": "None", "api": "none", "provider": "none", "baseUrl": "", "reasoning": false,
            "input": ["text"], "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 },
            "contextWindow": 0, "maxTokens": 0,
        }));
        let setup = Setup {
            dialect,
            models: vec![ModelChoice::none("There is no model.".to_owned(), model.expect("a model"))],
            start: 0,
            chosen: false,
            scope: None,
            reloads_models: false,
            level: None,
            modes: Modes::of(dialect),
            limits: Limits::default(),
            place: SessionStorage::in_memory("/work"),
            session: None,
            tools: Toolbox::new(Vec::new()),
            system_prompt: "".into(),
            extension_setup: ExtensionSetup::default(),
            name: None,
            seed: 1,
            checked: false,
        };
        let mut engine = Engine::new(setup, Now { monotonic: Duration::ZERO, wall: 0 });
        while engine.poll().is_some() {}
        engine
    }

    /// Everything that the engine has to perform.
    fn outputs(engine: &mut Engine) -> Vec<String> {
        let outputs = std::iter::from_fn(|| engine.poll()).map(|output| match output {
            Output::Emit(emission) => Kind::of_emitted(&emission).to_string(),
            Output::Violation(violation) => violation.to_string(),
            other => format!("{other:?}"),
        });
        outputs.collect()
    }

    #[test]
    fn illegal_step_is_a_violation() {
        let mut engine = engine();
        engine.take_step(Step::CompactionEnds, Next::Nothing);
        let expected =
            ["fires-in: frame 0, unannounced(it ends) in idle: expected no unannounced(it ends) in idle"];
        assert_eq!(outputs(&mut engine), expected);
    }

    #[test]
    fn illegal_frame_is_reported_and_sent() {
        let mut engine = engine();
        engine.emit_event(TurnStartEvent {});
        let expected = [
            "turn_start",
            "run-nesting: frame 1, turn_start in idle: expected no turn_start in idle, but in streaming.between",
        ];
        assert_eq!(outputs(&mut engine), expected);
    }

    #[test]
    fn state_without_data_is_a_violation() {
        let mut engine = engine();
        engine.emit_event(AgentStartEvent {});
        let expected = [
            "agent_start",
            "fires-in: frame 1, agent_start in streaming.between: expected what streaming.between carries",
        ];
        assert_eq!(outputs(&mut engine), expected);
    }
}
