//! The four regions together.

use super::{
    Checks, Kind, Requests, Rule, Violation,
    flow::{Flow, Verdict},
};
use crate::protocol::{
    Case, Dialect, DialectPromptAck, DialectReady, FlowState, Inbound, LineError, Outbound, RpcCommand,
    RpcCommandKind, Said,
};
use statig::prelude::*;
use std::{collections::BTreeSet, fmt};

/// Where the conversation stands: the four regions side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// What the agent is doing.
    pub flow: FlowState,
    /// Dialogs that wait for the host.
    pub asks: usize,
    /// Shell commands of the host that run.
    pub shell: usize,
    /// Input has ended.
    pub closing: bool,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.flow)?;
        if self.asks > 0 {
            f.write_str("+awaiting_ui")?;
        }
        if self.shell > 0 {
            f.write_str("+bash")?;
        }
        if self.closing {
            f.write_str("+closing")?;
        }
        Ok(())
    }
}

/// The state machine of one conversation.
pub struct Machine {
    dialect: Dialect,
    flow: statig::blocking::StateMachine<Flow>,
    asks: BTreeSet<String>,
    asked: BTreeSet<String>,
    requests: Requests,
    closing: bool,
    checks: Option<Checks>,
    frames: u64,
    /// Something was said already: `ready` would come too late.
    spoken: bool,
    /// The last event that was out of place: its rule, and where.
    strayed: Option<(Rule, FlowState)>,
}

impl Machine {
    /// A machine at the start of a conversation. `checked`: with the checks of counts and equalities, which keep the
    /// messages of the open run.
    pub fn new(dialect: Dialect, checked: bool) -> Self {
        Self {
            dialect,
            flow: Flow.state_machine(),
            asks: BTreeSet::new(),
            asked: BTreeSet::new(),
            requests: Requests::default(),
            closing: false,
            checks: checked.then(|| Checks::new(dialect)),
            frames: 0,
            spoken: false,
            strayed: None,
        }
    }

    /// Where the conversation stands.
    pub fn state(&self) -> State {
        let shell = self.requests.waiting().filter(|r| r.command == RpcCommandKind::Bash).count();
        State { flow: self.flow.state().name(), asks: self.asks.len(), shell, closing: self.closing }
    }

    /// The requests that wait for a response.
    pub const fn requests(&self) -> &Requests {
        &self.requests
    }

    /// What becomes of `command` here.
    pub fn disposition(&self, command: &RpcCommand) -> Option<&'static Case> {
        let cases = command.kind().cases(self.state().flow);
        Case::first(cases, self.dialect.base(), |field| command.choice(field))
    }

    /// A frame came in: opens a request, or answers a dialog.
    pub fn inbound(&mut self, frame: &Inbound) {
        self.frames += 1;
        match frame {
            Inbound::Command(command) => {
                let state = self.state().flow;
                self.requests.open(command.id().cloned(), command.kind(), state);
            }
            Inbound::ExtensionUIResponse(response) => {
                self.asks.remove(response.id());
            }
            Inbound::HostToolUpdate(_) | Inbound::HostToolResult(_) => {}
        }
    }

    /// A dialog is over without an answer: its time has come, or nobody wants the answer any more.
    pub fn ask_over(&mut self, id: &str) {
        self.asks.remove(id);
    }

    /// A line came in that was no frame; it is owed an error.
    pub fn bad_line(&mut self, error: &LineError) {
        self.frames += 1;
        self.requests.bad_line(error);
    }

    /// Input has ended, or a shutdown was asked for.
    pub const fn end_of_input(&mut self) {
        self.closing = true;
    }

    /// Something is said. Gives what is wrong with it, and goes on from where it leads.
    pub fn outbound(&mut self, said: &Said) -> Vec<Violation> {
        self.frames += 1;
        let kind = Kind::of_said(said);
        let met = self.state();
        let mut found: Vec<(Rule, String)> = Vec::new();
        let mut verdict = Verdict::default();
        self.flow.handle_with_context(&kind, &mut verdict);
        self.place(kind, met.flow, verdict.illegal, &mut found);
        if verdict.cut {
            found.push((Rule::RunCut, "the run's closing events first".to_owned()));
        }
        if let Said::Frame(frame) = said {
            self.regions(frame, &mut found);
        }
        self.spoken = true;
        if self.state().flow != met.flow {
            self.requests.moved(self.state().flow);
        }
        if let Some(checks) = &mut self.checks {
            match verdict.cut {
                true => *checks = Checks::new(self.dialect),
                false if verdict.lost => checks.lost(said),
                false if verdict.illegal => {}
                false => checks.see(said, &mut found),
            }
        }
        let frame = self.frames;
        found
            .into_iter()
            .map(|(rule, expected)| Violation { rule, frame, kind, state: met, expected })
            .collect()
    }

    /// Notes an event out of place, once: those that stray behind it to the same place have the same cause.
    fn place(&mut self, kind: Kind, at: FlowState, illegal: bool, found: &mut Vec<(Rule, String)>) {
        let rule = rule_of(kind);
        if illegal && self.strayed != Some((rule, at)) {
            found.push((rule, self.places(kind)));
        }
        match illegal {
            true => self.strayed = Some((rule, at)),
            false if kind.is_event() => self.strayed = None,
            false => {}
        }
    }

    fn regions(&mut self, frame: &Outbound, found: &mut Vec<(Rule, String)>) {
        let record = self.dialect.record();
        match frame {
            Outbound::Response(response) => {
                let late = record.prompt_ack == DialectPromptAck::ImmediateThenMaybeError;
                found.extend(self.requests.answer(response, late).err());
            }
            Outbound::ExtensionUIRequest(request) => {
                if !self.asked.insert(request.id().to_owned()) {
                    found.push((Rule::UiIdUnique, "an id that was not used before".to_owned()));
                }
                if request.kind().wants_answer() {
                    self.asks.insert(request.id().to_owned());
                }
            }
            Outbound::ReadyFrame(_)
                if found.is_empty() && (record.ready == DialectReady::None || self.spoken) =>
            {
                found
                    .push((Rule::Ready, "`ready` once, first, and only where the dialect has it".to_owned()));
            }
            _ => {}
        }
    }

    /// The states in which `kind` would have been legal, in words.
    fn places(&self, kind: Kind) -> String {
        let rows = kind.fires(self.dialect.base());
        let mut states: Vec<&str> = rows.flat_map(|row| row.states).map(|state| state.as_str()).collect();
        states.dedup();
        match states.is_empty() {
            true => "nothing of the kind".to_owned(),
            false => format!("it in {}", states.join(" or ")),
        }
    }
}

/// The rule that a misplaced frame breaks.
const fn rule_of(kind: Kind) -> Rule {
    use crate::protocol::AgentSessionEventKind as Event;
    match kind {
        Kind::Event(Event::AgentStart | Event::AgentEnd) => Rule::RunNesting,
        Kind::Event(Event::TurnStart | Event::TurnEnd) => Rule::TurnNesting,
        Kind::MessageStart(_) | Kind::MessageEnd(_) | Kind::AssistantEnd(_) => Rule::MsgNesting,
        Kind::MessageUpdate(_) => Rule::UpdateInAssistant,
        Kind::Event(Event::ToolExecutionStart | Event::ToolExecutionUpdate | Event::ToolExecutionEnd) => {
            Rule::ToolWindow
        }
        Kind::Event(Event::AutoRetryStart) | Kind::RetryEnd(_) => Rule::RetryPairs,
        Kind::Event(Event::AutoCompactionStart | Event::AutoCompactionEnd) => Rule::CompactionPairs,
        Kind::HostToolCall | Kind::HostToolCancel => Rule::HostCallWindow,
        Kind::Ready => Rule::Ready,
        _ => Rule::FiresIn,
    }
}
