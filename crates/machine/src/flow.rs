//! The region `flow` as a statig hierarchy: the activity of the agent.
//!
//! ```text
//! session
//! ├─ idle          nothing is under way
//! ├─ starting      a prompt was acknowledged, agent_start not yet seen
//! ├─ streaming     a run is open
//! │  ├─ turn       a turn is open, input messages may come
//! │  ├─ message    the assistant message is open
//! │  ├─ tools      the assistant message is complete, its calls run
//! │  ├─ between    no turn is open
//! │  └─ compacting an automatic compaction between two turns
//! ├─ settling      the run is over, what follows by itself is to come
//! ├─ retrying      a failed run waits to be tried again
//! ├─ compacting    an automatic compaction is under way
//! ├─ compacting_manual   a compaction that the host asked for is under way
//! └─ compacting_before_prompt   a compaction is under way, and a prompt waits for it
//! ```
//!
//! Which events are legal in a state, and where they lead, is the schema's `x-fires-in`: [`Flow::by_schema`]. Written by hand
//! is the rest: what responses and unannounced steps lead to, and where the flow goes on after a violation.
//!
//! Only dialects that emit `agent_settled` have `settling`; the others are idle then. A change that no frame announces is an
//! unannounced [`Step`], which only the server's own machine takes.

use crate::kind::{Kind, Step};
use pi_rpc_protocol::{
    AgentMessageKind as Role, AgentSessionEventKind as Event, Base, DialectRunEnd, FlowState,
    RpcCommandKind as Command,
};
use statig::prelude::*;

/// The parameters of the flow: what its transitions depend on besides the state.
#[derive(Clone)]
pub struct Flow {
    base: Base,
    /// Whether an event ends what follows a run by itself: `agent_settled`, or an `agent_end` for all runs together.
    settles: bool,
    /// Whether `agent_end` comes once, when all that followed by itself has ended.
    ends_chains: bool,
}

impl Flow {
    /// Creates the flow of dialects built on `base`.
    pub fn new(base: Base) -> Self {
        let ends_chains = base.record().run_end == DialectRunEnd::Chain;
        Self { base, settles: ends_chains || Event::AgentSettled.is_in(base), ends_chains }
    }

    /// What the schema (`x-fires-in`) says of a frame in a state: where it leads, or [`Super`] if it is not legal there. A
    /// kind of frame that only other dialects have is taken as there, if they have the states that it leads to in common.
    fn by_schema(&self, at: FlowState, context: &mut Verdict, event: &Kind) -> Outcome<State> {
        if let Some(row) = event.row_in(at, self.base) {
            context.is_listed = true;
            return leads_to(row.to, at);
        }
        context.is_listed = event.fires(self.base).next().is_some();
        let of_others = event.fires_anywhere().find(|row| row.is_in(at)).map(|row| row.to);
        match of_others.filter(|to| !context.is_listed && to.is_none_or(|to| to.is_in(self.base))) {
            Some(to) => leads_to(to, at),
            None => Super,
        }
    }

    /// The state after a run.
    fn after_run(&self) -> State {
        if self.settles { State::settling() } else { State::idle() }
    }
}

/// The verdict on one frame.
#[derive(Debug, Default)]
pub struct Verdict {
    /// The frame is a violation in this state.
    pub illegal: bool,
    /// The frame is a violation that shows that frames were missed: the flow has moved to the state that it implies.
    pub lost: bool,
    /// The frame ended a run without closing events, as the originals may do.
    pub cut: bool,
    /// The schema says in which states of the dialect the frame is legal.
    pub is_listed: bool,
    /// The state after the frame does not carry the data that it has.
    pub unfit: bool,
}

impl Verdict {
    /// Resynchronizes: the frame is a violation that shows a missed change, so the flow moves to the state that it implies, and
    /// one cause is reported once. Late and stray frames leave the state as it is instead.
    const fn resynchronize(&mut self, to: State) -> Outcome<State> {
        self.illegal = true;
        self.lost = true;
        Transition(to)
    }
}

#[state_machine(
    initial = "State::idle()",
    state(derive(Clone, Copy, Debug, PartialEq, Eq)),
    superstate(derive(Clone, Copy, Debug, PartialEq, Eq))
)]
impl Flow {
    #[state(superstate = "session")]
    fn idle(&self, context: &mut Verdict, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Response(Some(Command::Prompt | Command::AbortAndPrompt), true)
            | Kind::Unannounced(Step::PromptBegins) => Transition(State::starting()),
            Kind::Unannounced(Step::CompactionBegins) => Transition(State::compacting_manual()),
            _ => self.by_schema(FlowState::Idle, context, event),
        }
    }

    /// A prompt was acknowledged. It may still fail, or be a command of an extension that begins no run, so everything that
    /// may follow the previous run is legal here, too.
    #[state(superstate = "session")]
    fn starting(&self, context: &mut Verdict, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Response(Some(Command::Prompt | Command::AbortAndPrompt), false)
            | Kind::Unannounced(Step::PromptEnds) => Transition(State::idle()),
            Kind::Unannounced(Step::PromptBegins) => Handled,
            Kind::Unannounced(Step::CompactionBegins) => Transition(State::compacting_manual()),
            _ => self.by_schema(FlowState::Starting, context, event),
        }
    }

    #[state(superstate = "streaming")]
    fn turn(&self, context: &mut Verdict, event: &Kind) -> Outcome<State> {
        match event {
            Kind::MessageUpdate(_) => context.resynchronize(State::message()),
            Kind::AssistantEnd(_) => context.resynchronize(State::tools()),
            _ => self.by_schema(FlowState::StreamingTurn, context, event),
        }
    }

    #[state(superstate = "streaming")]
    fn message(&self, context: &mut Verdict, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Event(Event::ToolExecutionStart) => context.resynchronize(State::tools()),
            _ => self.by_schema(FlowState::StreamingMessage, context, event),
        }
    }

    #[state(superstate = "streaming")]
    fn tools(&self, context: &mut Verdict, event: &Kind) -> Outcome<State> {
        self.by_schema(FlowState::StreamingTools, context, event)
    }

    #[state(superstate = "streaming")]
    fn between(&self, context: &mut Verdict, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Unannounced(Step::RunEnds) if self.ends_chains => Transition(State::settling()),
            // A message of an extension may be a stray; any other shows that a turn has begun.
            Kind::MessageStart(role) if is_input(*role) && *role != Role::Custom => {
                context.resynchronize(State::turn())
            }
            _ => self.by_schema(FlowState::StreamingBetween, context, event),
        }
    }

    #[state(superstate = "streaming")]
    fn mid_compacting(&self, context: &mut Verdict, event: &Kind) -> Outcome<State> {
        self.by_schema(FlowState::StreamingCompacting, context, event)
    }

    #[state(superstate = "session")]
    fn settling(&self, context: &mut Verdict, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Unannounced(Step::PromptEnds) if self.ends_chains => Transition(State::idle()),
            Kind::Unannounced(Step::PromptBegins) => Transition(State::starting()),
            _ => self.by_schema(FlowState::Settling, context, event),
        }
    }

    #[state(superstate = "session")]
    fn retrying(&self, context: &mut Verdict, event: &Kind) -> Outcome<State> {
        self.by_schema(FlowState::Retrying, context, event)
    }

    #[state(superstate = "session")]
    fn compacting(&self, context: &mut Verdict, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Unannounced(Step::PromptWaits) => Transition(State::compacting_before_prompt()),
            _ => self.by_schema(FlowState::Compacting, context, event),
        }
    }

    #[state(superstate = "session")]
    fn compacting_manual(&self, context: &mut Verdict, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Unannounced(Step::CompactionEnds) => Transition(State::idle()),
            Kind::Unannounced(Step::PromptWaits) => Transition(State::compacting_before_prompt()),
            _ => self.by_schema(FlowState::CompactingManual, context, event),
        }
    }

    #[state(superstate = "session")]
    fn compacting_before_prompt(&self, context: &mut Verdict, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Unannounced(Step::CompactionEnds) => Transition(State::idle()),
            _ => self.by_schema(FlowState::CompactingBeforePrompt, context, event),
        }
    }

    #[superstate(superstate = "session")]
    fn streaming(&self, context: &mut Verdict, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Response(Some(command), true) if command.cuts() => {
                context.cut = true;
                Transition(State::idle())
            }
            Kind::Event(Event::TurnEnd) => context.resynchronize(State::between()),
            Kind::Event(Event::AgentEnd) if self.ends_chains => context.resynchronize(State::idle()),
            Kind::Event(Event::AgentEnd) => context.resynchronize(self.after_run()),
            Kind::Event(Event::AgentSettled) => context.resynchronize(State::idle()),
            Kind::Event(Event::AutoRetryStart) => context.resynchronize(State::retrying()),
            // The originals from 0.73 on leave the run without an event.
            Kind::CompactionStart(true) => context.resynchronize(State::compacting_manual()),
            _ => Super,
        }
    }

    /// Handles frames that are legal in every state, and violations, which statig would drop silently. An opening frame is
    /// believed even if it is a violation.
    #[superstate]
    fn session(context: &mut Verdict, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Command(_)
            | Kind::DialogResponse
            | Kind::HostToolUpdate
            | Kind::HostToolResult
            | Kind::HostUriResult
            | Kind::EndOfInput
            | Kind::Exit
            | Kind::Stray
            | Kind::Response(..) => Handled,
            Kind::Event(Event::AgentStart) => context.resynchronize(State::between()),
            Kind::Event(Event::TurnStart) => context.resynchronize(State::turn()),
            Kind::MessageStart(Role::Assistant) => context.resynchronize(State::message()),
            _ => {
                context.illegal = true;
                Handled
            }
        }
    }
}

/// The outcome of a legal frame; without a state that it leads to, the state stays.
fn leads_to(to: Option<FlowState>, at: FlowState) -> Outcome<State> {
    match to.filter(|to| *to != at) {
        Some(to) => Transition(State::of(to)),
        None => Handled,
    }
}

/// Whether a message of this role may precede the assistant message of a turn.
const fn is_input(role: Role) -> bool {
    matches!(role, Role::User | Role::System | Role::Custom | Role::Developer | Role::FileMention)
}

impl State {
    /// The state's name in the schema.
    pub const fn name(self) -> FlowState {
        match self {
            Self::Idle {} => FlowState::Idle,
            Self::Starting {} => FlowState::Starting,
            Self::Turn {} => FlowState::StreamingTurn,
            Self::Message {} => FlowState::StreamingMessage,
            Self::Tools {} => FlowState::StreamingTools,
            Self::Between {} => FlowState::StreamingBetween,
            Self::MidCompacting {} => FlowState::StreamingCompacting,
            Self::Settling {} => FlowState::Settling,
            Self::Retrying {} => FlowState::Retrying,
            Self::Compacting {} => FlowState::Compacting,
            Self::CompactingManual {} => FlowState::CompactingManual,
            Self::CompactingBeforePrompt {} => FlowState::CompactingBeforePrompt,
        }
    }

    /// The state with this name.
    pub fn of(name: FlowState) -> Self {
        match name {
            FlowState::Idle => Self::idle(),
            FlowState::Starting => Self::starting(),
            FlowState::StreamingTurn => Self::turn(),
            FlowState::StreamingMessage => Self::message(),
            FlowState::StreamingTools => Self::tools(),
            FlowState::StreamingBetween => Self::between(),
            FlowState::StreamingCompacting => Self::mid_compacting(),
            FlowState::Settling => Self::settling(),
            FlowState::Retrying => Self::retrying(),
            FlowState::Compacting => Self::compacting(),
            FlowState::CompactingManual => Self::compacting_manual(),
            FlowState::CompactingBeforePrompt => Self::compacting_before_prompt(),
        }
    }

    /// The superstates of this state, innermost first. Bounded, because a cycle would compile.
    pub fn superstates(mut self) -> Vec<&'static str> {
        let mut names = Vec::new();
        let mut next = statig::blocking::State::superstate(&mut self);
        while let Some(mut superstate) = next.filter(|_| names.len() < FlowState::ALL.len()) {
            names.push(match superstate {
                Superstate::Streaming { .. } => "streaming",
                Superstate::Session { .. } => "session",
            });
            next = statig::blocking::Superstate::superstate(&mut superstate);
        }
        names
    }
}
