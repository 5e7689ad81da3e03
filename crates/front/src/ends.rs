//! The end of runs, and of everything that follows them by itself, where two dialects show it by different frames.

use crate::front::{Front, Origin, Output, typed};
use pi_rpc_machine::Kind;
use pi_rpc_protocol::{
    AgentSessionEventKind as Event, Base, Check as _, Dialect, DialectPromptResults, DialectRunEnd,
    FlowState, GetStateCommand, Outbound, PromptResultEvent, PromptStatus, RequestId, SessionState,
    StopReason,
};
use serde_json::{Map, Value};

/// What is known of the end of the work that goes on.
#[derive(Debug)]
pub struct RunEnds {
    /// How the server shows the end of all work.
    server: Shown,
    /// How the client learns of it.
    client: Shown,
    /// `agent_end` of the server that waits for what follows.
    held: Option<Value>,
    /// Messages of the runs whose end the client has not seen.
    pub messages: Vec<Value>,
    /// Number of events that have a place in the chart.
    pub events: u64,
    /// Whether work goes on that the client has seen begin.
    is_open: bool,
    /// Whether the server has announced one more run.
    expects_run: bool,
    /// Whether the client sees the run of the server as several.
    is_cut: bool,
    /// Whether a retry has begun whose end has not come.
    is_retrying: bool,
    /// Whether the server tells the success of a retry behind the run, and the client expects it within.
    tells_retries_late: bool,
    /// Number of the attempt whose success the client has not been told.
    attempt: Option<Value>,
    /// Whether the client has been told of a success that the server has yet to tell.
    has_told_retry: bool,
}

/// How the end of all work is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// By an event of its own, behind the end of the last run.
    Event,
    /// By the end of the run, which comes once.
    RunEnd,
    /// Not at all.
    Nowhere,
}

impl Shown {
    fn of(dialect: Dialect) -> Self {
        match () {
            () if SETTLED.iter().any(|event| Kind::Event(*event).is_in(dialect.base())) => Self::Event,
            () if dialect.record().run_end == DialectRunEnd::Chain => Self::RunEnd,
            () => Self::Nowhere,
        }
    }
}

/// Events that say that all work has ended.
const SETTLED: [Event; 1] = [Event::AgentSettled];

/// Events that a client gets from the account where its server has no such event.
pub const COMPUTED: [Event; 1] = SETTLED;

/// Events that say what has become of a prompt; a client gets them from the account where its server has no such event.
pub const TOLD: [Event; 1] = [Event::PromptResult];

impl RunEnds {
    /// Nothing goes on.
    pub fn new(server: Dialect, client: Dialect) -> Self {
        let shown = |dialect: Dialect| match Shown::of(dialect) {
            Shown::Event if dialect.record().run_end == DialectRunEnd::Chain => Shown::RunEnd,
            shown => shown,
        };
        Self {
            server: shown(server),
            client: shown(client),
            held: None,
            messages: Vec::new(),
            events: 0,
            is_open: false,
            expects_run: false,
            is_cut: false,
            is_retrying: false,
            tells_retries_late: !tells_success_within(server.base()) && tells_success_within(client.base()),
            attempt: None,
            has_told_retry: false,
        }
    }

    /// Whether the client knows already what the end of a retry says.
    pub fn has_told_retry_end(&mut self) -> bool {
        std::mem::take(&mut self.has_told_retry)
    }

    /// Whether an end is only known once the server has been asked.
    fn needs_probe(&self) -> bool {
        self.server == Shown::Nowhere && self.client != Shown::Nowhere
    }

    /// Notes an event that begins or reports something.
    pub fn note(&mut self, kind: Kind, value: &Value) {
        match kind {
            Kind::Event(Event::AgentStart) => {
                (self.is_open, self.expects_run, self.is_cut) = (true, false, false);
            }
            Kind::CompactionEnd(_) | Kind::Event(Event::AutoCompactionEnd) => {
                self.expects_run = value.get("willRetry") == Some(&Value::Bool(true));
            }
            Kind::Event(_) | Kind::CompactionStart(_) => {
                self.is_open = true;
                if kind == Kind::Event(Event::AutoRetryStart) {
                    self.is_retrying = true;
                    self.attempt = value.get(ATTEMPT).filter(|_| self.tells_retries_late).cloned();
                }
            }
            Kind::RetryEnd(_) => (self.is_retrying, self.attempt) = (false, None),
            Kind::MessageEnd(_) | Kind::AssistantEnd(_) => {
                self.messages.extend(value.get("message").cloned());
            }
            _ => {}
        }
    }
}

/// Whether a dialect sends the `auto_retry_end` of a retry that succeeded before its run ends, not behind it.
fn tells_success_within(base: Base) -> bool {
    let rows = Event::AutoRetryEnd.fires().iter();
    let mut rows = rows.filter(|row| row.only.is_none_or(|only| base.is_in(only)));
    rows.any(|row| row.states.contains(&FlowState::StreamingTools))
}

impl Front {
    /// Tells the client that a retry has succeeded, behind an answer, where its dialect has that.
    pub(crate) fn end_retry_within(&mut self, reason: StopReason, out: &mut Output) {
        if matches!(reason, StopReason::Error | StopReason::Aborted) {
            return;
        }
        let Some(attempt) = self.ends.attempt.take() else { return };
        let members = [("success".to_owned(), true.into()), (ATTEMPT.to_owned(), attempt)];
        self.ends.has_told_retry = self.emit_computed(Event::AutoRetryEnd, Map::from_iter(members), out);
    }

    /// Takes the end of a run of the server.
    pub(crate) fn run_ended(&mut self, end: Value, out: &mut Output) {
        match (self.ends.server, self.ends.client) {
            (Shown::RunEnd, Shown::RunEnd) => {
                self.emit_event(end, out);
                self.end_work(out);
            }
            // The end of the retry comes behind it, where the client expects it before.
            (Shown::RunEnd, _) if self.ends.is_retrying => self.ends.held = Some(end),
            (Shown::RunEnd, _) => {
                self.account.will_retry = false;
                let end = self.with_messages(end);
                self.emit_event(end, out);
                self.end_work(out);
            }
            (Shown::Nowhere, Shown::Nowhere) => {
                let end = if self.ends.is_cut { self.with_messages(end) } else { end };
                self.emit_event(end, out);
            }
            _ => {
                self.ends.held = Some(end);
                if self.ends.needs_probe() {
                    self.probe(out);
                }
            }
        }
    }

    /// Whether the end of the work waits for the end of a retry.
    pub(crate) fn ends_wait_for_retry(&self) -> bool {
        self.ends.server == Shown::RunEnd && self.ends.held.is_some()
    }

    /// Lets the end of the last run go, as something follows it: `next`, or nothing.
    pub(crate) fn release_end(&mut self, next: Option<Kind>, out: &mut Output) {
        let Some(end) = self.ends.held.take() else { return };
        self.account.will_retry = next == Some(Kind::Event(Event::AutoRetryStart));
        if self.ends.client == Shown::RunEnd && next.is_some() {
            return;
        }
        let is_other = self.ends.client == Shown::RunEnd || self.ends.is_cut;
        let end = if is_other { self.with_messages(end) } else { end };
        self.emit_event(end, out);
    }

    /// The end of a run with the messages that the client has seen since it saw a run begin.
    fn with_messages(&mut self, mut end: Value) -> Value {
        let messages = std::mem::take(&mut self.ends.messages);
        if let Some(object) = end.as_object_mut() {
            object.insert(MESSAGES.to_owned(), Value::Array(messages));
        }
        end
    }

    /// All work has ended: shows it to the client as its dialect does.
    pub(crate) fn end_work(&mut self, out: &mut Output) {
        self.release_end(None, out);
        // What was to follow the last run has been given up.
        if self.ends.client == Shown::RunEnd && self.client.machine.flow() != FlowState::Idle {
            let messages = Value::Array(std::mem::take(&mut self.ends.messages));
            self.emit_computed(Event::AgentEnd, Map::from_iter([(MESSAGES.to_owned(), messages)]), out);
        }
        if self.ends.client == Shown::Event {
            for event in SETTLED {
                self.emit_computed(event, Map::new(), out);
            }
        }
        self.ends.is_open = false;
        self.ends.messages.clear();
        self.end_prompts(out);
        self.account.is_aborted = false;
        self.late.clear();
    }

    /// Sends `prompt_result` for a prompt that starts no run, if the client's dialect has that event; of one that starts a run, it is due
    /// at the end of the run.
    pub(crate) fn prompt_accepted(&mut self, id: Option<RequestId>, is_handled: bool, out: &mut Output) {
        match (self.client.dialect.record().prompt_results, is_handled) {
            (DialectPromptResults::None, _) | (DialectPromptResults::Handled, false) => {}
            (_, true) => self.emit_prompt_result(id, false, out),
            (DialectPromptResults::Every, false) => self.prompts.push(id),
        }
    }

    fn end_prompts(&mut self, out: &mut Output) {
        for id in std::mem::take(&mut self.prompts) {
            self.emit_prompt_result(id, true, out);
        }
    }

    fn emit_prompt_result(&mut self, id: Option<RequestId>, agent_invoked: bool, out: &mut Output) {
        let is_aborted = agent_invoked && self.account.is_aborted;
        let status = if is_aborted { PromptStatus::Aborted } else { PromptStatus::Completed };
        let (status, session_settled) = (Some(status), Some(true));
        let result = PromptResultEvent { id, agent_invoked, status, session_settled, error: None };
        let mut frame = Outbound::AgentSessionEvent(result.into());
        frame.fit(self.client.base());
        if self.may_come(Kind::of_outbound(&frame)) {
            self.emit(frame, out);
        }
    }

    /// Emits an event of the client's dialect whose members are computed, if it may come now.
    pub(crate) fn emit_computed(
        &mut self,
        event: Event,
        members: Map<String, Value>,
        out: &mut Output,
    ) -> bool {
        let Some(id) = self.to_client.frame(event.as_str()) else { return false };
        let frame = self.to_client.carry(id, Value::Object(members), &self.account);
        frame.is_some_and(|frame| {
            let kind =
                typed::<Outbound>(&frame).map_or(Kind::Event(event), |frame| Kind::of_outbound(&frame));
            self.may_come(kind) && self.emit_value(&frame, out)
        })
    }

    /// Emits the ends and the start of a run that have to come before an event of this kind in the client's dialect.
    pub(crate) fn emit_bounds_before(&mut self, kind: Kind, out: &mut Output) {
        let base = self.client.base();
        for bound in [Event::AgentEnd].into_iter().chain(SETTLED).chain([Event::AgentStart]) {
            let flow = self.client.machine.flow();
            if kind.row_in(flow, base).is_some() {
                return;
            }
            let after = Kind::Event(bound).row_in(flow, base).and_then(|row| row.to);
            if !after.is_some_and(|after| leads_to(kind, after, base)) {
                continue;
            }
            self.account.will_retry = kind == Kind::Event(Event::AutoRetryStart);
            let mut members = Map::new();
            if bound == Event::AgentEnd {
                members.insert(MESSAGES.to_owned(), Value::Array(std::mem::take(&mut self.ends.messages)));
            }
            self.ends.is_cut = true;
            self.emit_computed(bound, members, out);
        }
    }

    /// Asks the server whether anything goes on: commands are read behind whatever has begun by itself.
    fn probe(&mut self, out: &mut Output) {
        self.send_own(GetStateCommand::default().into(), Origin::Probe(self.ends.events), out);
    }

    /// Whether the answer to a probe is outstanding.
    pub(crate) fn is_probing(&self) -> bool {
        self.open.iter().any(|open| matches!(open.origin, Origin::Probe(_)))
    }

    /// Takes the answer to a probe that was sent at this count of events.
    pub(crate) fn probed(&mut self, events: u64, state: &SessionState, out: &mut Output) {
        if events == self.ends.events && !state.is_streaming && !state.is_compacting {
            self.end_work(out);
        }
        for response in std::mem::take(&mut self.delayed) {
            self.emit(response, out);
        }
    }

    /// Takes what is held back as told: it comes from what had passed before the translation began, which the client has seen.
    pub fn forget_held(&mut self) {
        let mut told = Output::default();
        self.release_end(None, &mut told);
        for response in std::mem::take(&mut self.delayed) {
            self.emit(response, &mut told);
        }
        self.late.clear();
        self.last_step = None;
    }

    /// Asks for the end of work that an event may have ended, other than the end of a run.
    pub(crate) fn probe_after(&mut self, out: &mut Output) {
        let is_idle = self.server.machine.flow() == FlowState::Idle;
        let is_over = is_idle && self.ends.is_open && !self.ends.expects_run && self.ends.held.is_none();
        if is_over && self.ends.needs_probe() {
            self.probe(out);
        }
    }

    /// Whether an event of this kind may come now in the client's dialect.
    pub(crate) fn may_come(&self, kind: Kind) -> bool {
        kind.row_in(self.client.machine.flow(), self.client.base()).is_some()
    }
}

/// Whether an event of this kind may come in a state, or behind the end of all work in it.
fn leads_to(kind: Kind, state: FlowState, base: Base) -> bool {
    let behind = |event: &Event| {
        let after = Kind::Event(*event).row_in(state, base).and_then(|row| row.to);
        after.is_some_and(|after| kind.row_in(after, base).is_some())
    };
    kind.row_in(state, base).is_some() || SETTLED.iter().any(behind)
}

/// The member with the number of an attempt.
const ATTEMPT: &str = "attempt";

/// The member with the messages of a run.
const MESSAGES: &str = "messages";
