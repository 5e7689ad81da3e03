//! The region `flow` as a statig hierarchy: what the agent is doing.
//!
//! ```text
//! session
//! ├─ idle          nothing is under way
//! ├─ starting      a prompt was acknowledged, agent_start not yet seen
//! ├─ streaming     a run is open
//! │  ├─ turn       a turn is open, input messages may come
//! │  ├─ message    the assistant message is open
//! │  ├─ tools      the assistant message is complete, its calls run
//! │  └─ between    no turn is open
//! ├─ retrying      a failed run waits to be tried again
//! └─ compacting    an automatic compaction is under way
//! ```

use super::Kind;
use crate::protocol::{
    AgentMessageKind as Role, AgentSessionEventKind as Event, FlowState, RpcCommandKind as Command,
};
use statig::prelude::*;

/// The machine has no storage: a state is all that it knows.
#[derive(Default)]
pub struct Flow;

/// What the machine thought of one frame.
#[derive(Debug, Default)]
pub struct Verdict {
    /// It may not be said in this state.
    pub illegal: bool,
    /// It ended a run without closing events: the originals do, ours does not.
    pub cut: bool,
}

#[state_machine(
    initial = "State::idle()",
    state(derive(Clone, Copy, Debug, PartialEq, Eq)),
    superstate(derive(Clone, Copy, Debug, PartialEq, Eq))
)]
impl Flow {
    #[state(superstate = "session")]
    fn idle(event: &Kind) -> Outcome<State> {
        match event {
            Kind::Response(Some(Command::Prompt | Command::AbortAndPrompt), true) => {
                Transition(State::starting())
            }
            Kind::Event(Event::AgentStart) => Transition(State::between()),
            Kind::Event(Event::AutoRetryStart) => Transition(State::retrying()),
            Kind::Event(Event::AutoCompactionStart) => Transition(State::compacting()),
            // Every attempt was used up; or an extension adds a message; or unfinished todos open a run.
            Kind::RetryEnd(false)
            | Kind::MessageStart(Role::Custom)
            | Kind::MessageEnd(Role::Custom)
            | Kind::Event(Event::TodoReminder)
            | Kind::Ready => Handled,
            _ => Super,
        }
    }

    #[state(superstate = "session")]
    fn starting(event: &Kind) -> Outcome<State> {
        match event {
            Kind::Event(Event::AgentStart) => Transition(State::between()),
            Kind::Event(Event::AutoCompactionStart) => Transition(State::compacting()),
            _ => Super,
        }
    }

    #[state(superstate = "streaming")]
    fn turn(event: &Kind) -> Outcome<State> {
        match event {
            Kind::MessageStart(Role::Assistant) => Transition(State::message()),
            Kind::MessageStart(Role::ToolResult) | Kind::MessageEnd(Role::ToolResult) => Super,
            Kind::MessageStart(_) | Kind::MessageEnd(_) => Handled,
            _ => Super,
        }
    }

    #[state(superstate = "streaming")]
    fn message(event: &Kind) -> Outcome<State> {
        match event {
            Kind::MessageUpdate(_) => Handled,
            Kind::AssistantEnd(_) => Transition(State::tools()),
            _ => Super,
        }
    }

    #[state(superstate = "streaming")]
    fn tools(event: &Kind) -> Outcome<State> {
        match event {
            Kind::Event(Event::ToolExecutionStart | Event::ToolExecutionUpdate | Event::ToolExecutionEnd)
            | Kind::MessageStart(Role::ToolResult)
            | Kind::MessageEnd(Role::ToolResult)
            | Kind::RetryEnd(true)
            | Kind::HostToolCall
            | Kind::HostToolCancel => Handled,
            Kind::Event(Event::TurnEnd) => Transition(State::between()),
            _ => Super,
        }
    }

    #[state(superstate = "streaming")]
    fn between(event: &Kind) -> Outcome<State> {
        match event {
            Kind::Event(Event::TurnStart) => Transition(State::turn()),
            Kind::Event(Event::AgentEnd) => Transition(State::idle()),
            _ => Super,
        }
    }

    #[state(superstate = "session")]
    fn retrying(event: &Kind) -> Outcome<State> {
        match event {
            Kind::Event(Event::AgentStart) => Transition(State::between()),
            Kind::RetryEnd(false) => Transition(State::idle()),
            _ => Super,
        }
    }

    #[state(superstate = "session")]
    fn compacting(event: &Kind) -> Outcome<State> {
        match event {
            Kind::Event(Event::AutoCompactionEnd) => Transition(State::idle()),
            _ => Super,
        }
    }

    #[superstate(superstate = "session")]
    fn streaming(context: &mut Verdict, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Response(Some(command), true) if command.cuts() => {
                context.cut = true;
                Transition(State::idle())
            }
            _ => Super,
        }
    }

    /// Everything that is legal everywhere; whatever is left is a violation: statig would drop it silently.
    #[superstate]
    fn session(context: &mut Verdict, event: &Kind) -> Outcome<State> {
        match event {
            Kind::Command(_)
            | Kind::Answer
            | Kind::HostToolUpdate
            | Kind::HostToolResult
            | Kind::EndOfInput
            | Kind::Response(..)
            | Kind::Ask(_)
            | Kind::ExtensionError
            | Kind::Event(
                Event::TodoAutoClear
                | Event::TtsrTriggered
                | Event::RetryFallbackApplied
                | Event::RetryFallbackSucceeded,
            ) => Handled,
            _ => {
                context.illegal = true;
                Handled
            }
        }
    }
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
            Self::Retrying {} => FlowState::Retrying,
            Self::Compacting {} => FlowState::Compacting,
        }
    }
}
