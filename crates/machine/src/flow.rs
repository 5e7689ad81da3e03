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
//! Only dialects that emit `agent_settled` have `settling`; the others are idle then. A change that no frame announces is an
//! unannounced [`Step`], which only the server's own machine takes.

use crate::kind::{Kind, Step};
use pi_rpc_protocol::{
    AgentMessageKind as Role, AgentSessionEventKind as Event, Base, DialectRunEnd, FlowState,
    RpcCommandKind as Command, fires_anywhere,
};
use statig::prelude::*;

/// The parameters of the flow: what its transitions depend on besides the state.
#[derive(Clone, Default)]
pub struct Flow {
    /// Whether an event ends what follows a run by itself: `agent_settled`, or an `agent_end` for all runs together.
    settles: bool,
    /// Whether `agent_end` comes once, when all that followed by itself has ended.
    ends_chains: bool,
}

impl Flow {
    /// Creates the flow of dialects built on `base`.
    pub fn new(base: Base) -> Self {
        let ends_chains = base.record().run_end == DialectRunEnd::Chain;
        Self { settles: ends_chains || Event::AgentSettled.is_in(base), ends_chains }
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
    fn idle(&self, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Response(Some(Command::Prompt | Command::AbortAndPrompt), true) => {
                Transition(State::starting())
            }
            Kind::Unannounced(Step::PromptBegins) => Transition(State::starting()),
            Kind::Event(Event::AgentStart) => Transition(State::between()),
            Kind::Event(Event::AutoRetryStart) if !self.settles => Transition(State::retrying()),
            Kind::Event(Event::AutoCompactionStart) | Kind::CompactionStart(false) => {
                Transition(State::compacting())
            }
            Kind::CompactionStart(true) | Kind::Unannounced(Step::CompactionBegins) => {
                Transition(State::compacting_manual())
            }
            // A retry has succeeded, which is reported behind the end of its run.
            Kind::RetryEnd(true) if self.ends_chains => Handled,
            // All attempts were used up; or a second overflow in a row, which is only reported.
            Kind::RetryEnd(false) | Kind::CompactionEnd(false) if !self.settles => Handled,
            // An extension adds a message; or open todos begin a run.
            Kind::MessageStart(Role::Custom) | Kind::MessageEnd(Role::Custom) | Kind::Ready => Handled,
            Kind::Event(Event::TodoReminder) if !self.ends_chains => Handled,
            _ => Super,
        }
    }

    /// A prompt was acknowledged. It may still fail, or be a command of an extension that begins no run, so everything that
    /// may follow the previous run is legal here, too.
    #[state(superstate = "session")]
    fn starting(&self, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Response(Some(Command::Prompt | Command::AbortAndPrompt), false) => {
                Transition(State::idle())
            }
            Kind::Unannounced(Step::PromptEnds) => Transition(State::idle()),
            Kind::MessageStart(Role::Custom)
            | Kind::MessageEnd(Role::Custom)
            | Kind::Unannounced(Step::PromptBegins) => Handled,
            Kind::Event(Event::TodoReminder) if !self.ends_chains => Handled,
            Kind::RetryEnd(true) if self.ends_chains => Handled,
            Kind::RetryEnd(false) | Kind::CompactionEnd(false) if !self.settles => Handled,
            Kind::Event(Event::AgentStart) => Transition(State::between()),
            Kind::Event(Event::AutoRetryStart) if !self.settles => Transition(State::retrying()),
            Kind::Event(Event::AutoCompactionStart) | Kind::CompactionStart(false) => {
                Transition(State::compacting())
            }
            Kind::CompactionStart(true) | Kind::Unannounced(Step::CompactionBegins) => {
                Transition(State::compacting_manual())
            }
            _ => Super,
        }
    }

    #[state(superstate = "streaming")]
    fn turn(context: &mut Verdict, event: &Kind) -> Outcome<State> {
        match event {
            Kind::MessageStart(Role::Assistant) => Transition(State::message()),
            Kind::MessageStart(role) | Kind::MessageEnd(role) if is_input(*role) => Handled,
            Kind::MessageUpdate(_) => context.resynchronize(State::message()),
            Kind::AssistantEnd(_) => context.resynchronize(State::tools()),
            _ => Super,
        }
    }

    #[state(superstate = "streaming")]
    fn message(context: &mut Verdict, event: &Kind) -> Outcome<State> {
        match event {
            Kind::MessageUpdate(_) => Handled,
            Kind::AssistantEnd(_) => Transition(State::tools()),
            Kind::Event(Event::ToolExecutionStart) => context.resynchronize(State::tools()),
            _ => Super,
        }
    }

    #[state(superstate = "streaming")]
    fn tools(&self, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Event(Event::ToolExecutionStart | Event::ToolExecutionUpdate | Event::ToolExecutionEnd)
            | Kind::MessageStart(Role::ToolResult)
            | Kind::MessageEnd(Role::ToolResult)
            | Kind::HostToolCall
            | Kind::HostToolCancel
            | Kind::HostUriRequest
            | Kind::HostUriCancel => Handled,
            Kind::RetryEnd(true) if !self.ends_chains => Handled,
            Kind::Event(Event::TurnEnd) => Transition(State::between()),
            _ => Super,
        }
    }

    #[state(superstate = "streaming")]
    fn between(&self, context: &mut Verdict, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Event(Event::TurnStart) => Transition(State::turn()),
            Kind::Event(Event::AgentEnd) if self.ends_chains => Transition(State::idle()),
            Kind::Event(Event::AgentEnd) => Transition(self.after_run()),
            Kind::Event(Event::AutoRetryStart) if self.ends_chains => Transition(State::retrying()),
            Kind::Event(Event::AutoCompactionStart) if self.ends_chains => Transition(State::compacting()),
            Kind::Event(Event::TodoReminder) if self.ends_chains => Transition(State::settling()),
            Kind::RetryEnd(_) if self.ends_chains => Handled,
            Kind::Unannounced(Step::RunEnds) if self.ends_chains => Transition(State::settling()),
            Kind::CompactionStart(false) if self.settles => Transition(State::mid_compacting()),
            Kind::MessageStart(Role::Custom) | Kind::MessageEnd(Role::Custom) if self.settles => Handled,
            // A message of an extension may be a stray; any other shows that a turn has begun.
            Kind::MessageStart(role) if is_input(*role) && *role != Role::Custom => {
                context.resynchronize(State::turn())
            }
            _ => Super,
        }
    }

    #[state(superstate = "streaming")]
    fn mid_compacting(event: &Kind) -> Outcome<State> {
        match event {
            Kind::CompactionEnd(false) => Transition(State::between()),
            Kind::MessageStart(Role::Custom) | Kind::MessageEnd(Role::Custom) => Handled,
            _ => Super,
        }
    }

    #[state(superstate = "session")]
    fn settling(&self, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Event(Event::AgentEnd) if self.ends_chains => Transition(State::idle()),
            Kind::Event(Event::AutoCompactionStart) if self.ends_chains => Transition(State::compacting()),
            Kind::Event(Event::TodoReminder) | Kind::RetryEnd(true) if self.ends_chains => Handled,
            Kind::Unannounced(Step::PromptEnds) if self.ends_chains => Transition(State::idle()),
            Kind::Event(Event::AgentSettled) => Transition(State::idle()),
            Kind::Unannounced(Step::PromptBegins) => Transition(State::starting()),
            Kind::Event(Event::AgentStart) => Transition(State::between()),
            Kind::Event(Event::AutoRetryStart) => Transition(State::retrying()),
            Kind::CompactionStart(false) => Transition(State::compacting()),
            // A second overflow in a row is only reported; all attempts were used up; or an extension adds a message.
            Kind::CompactionEnd(false)
            | Kind::RetryEnd(false)
            | Kind::MessageStart(Role::Custom)
            | Kind::MessageEnd(Role::Custom) => Handled,
            _ => Super,
        }
    }

    #[state(superstate = "session")]
    fn retrying(&self, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Event(Event::AgentStart) => Transition(State::between()),
            Kind::RetryEnd(false) => Transition(self.after_run()),
            Kind::MessageStart(Role::Custom) | Kind::MessageEnd(Role::Custom) => Handled,
            _ => Super,
        }
    }

    #[state(superstate = "session")]
    fn compacting(&self, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Event(Event::AutoCompactionEnd) | Kind::CompactionEnd(false) => {
                Transition(self.after_run())
            }
            Kind::Unannounced(Step::PromptWaits) => Transition(State::compacting_before_prompt()),
            Kind::MessageStart(Role::Custom) | Kind::MessageEnd(Role::Custom) => Handled,
            _ => Super,
        }
    }

    #[state(superstate = "session")]
    fn compacting_manual(event: &Kind) -> Outcome<State> {
        match event {
            Kind::CompactionEnd(true) | Kind::Unannounced(Step::CompactionEnds) => Transition(State::idle()),
            Kind::Unannounced(Step::PromptWaits) => Transition(State::compacting_before_prompt()),
            Kind::MessageStart(Role::Custom) | Kind::MessageEnd(Role::Custom) => Handled,
            _ => Super,
        }
    }

    #[state(superstate = "session")]
    fn compacting_before_prompt(&self, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Event(Event::AutoCompactionEnd) | Kind::CompactionEnd(false) => {
                Transition(self.after_run())
            }
            Kind::CompactionEnd(true) | Kind::Unannounced(Step::CompactionEnds) => Transition(State::idle()),
            Kind::MessageStart(Role::Custom) | Kind::MessageEnd(Role::Custom) => Handled,
            _ => Super,
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
            | Kind::Chunk
            | Kind::FrameError
            | Kind::EndOfInput
            | Kind::Exit
            | Kind::Stray
            | Kind::Response(..)
            | Kind::UiRequest(_)
            | Kind::ExtensionError => Handled,
            Kind::Event(event) if fires_anywhere(event.as_str()) => Handled,
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
