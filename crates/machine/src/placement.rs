//! Assigns to each kind of frame and state the rule about their combination.
//!
//! Rules: `ready-first`, `no-ready`, `run-nesting`, `turn-nesting`, `run-edges`, `settled`, `run-cut`, `fires-in`,
//! `msg-nesting`, `update-in-assistant`, `one-assistant-per-turn`, `inputs-first`, `tool-window`,
//! `host-call-window`, `host-cancel`, `retry-pairs`, `retry-end-place`, `compaction-pairs`.

use crate::kind::Kind;
use pi_rpc_protocol::{
    AgentMessageKind as Role, AgentSessionEventKind as Event, DialectReady, FlowState, RuleId as Rule,
};

/// The rule that a frame exercises by occurring in the state `at`: broken if the frame is illegal there.
pub const fn placement_rule(kind: Kind, at: FlowState, ready: DialectReady) -> Rule {
    match kind {
        Kind::MessageUpdate(_) => Rule::UpdateInAssistant,
        Kind::Event(Event::AgentStart | Event::AgentEnd) => Rule::RunNesting,
        Kind::Event(Event::AgentSettled) => Rule::Settled,
        Kind::Event(Event::TurnEnd) if matches!(at, FlowState::StreamingTurn) => Rule::OneAssistantPerTurn,
        Kind::Event(Event::TurnStart | Event::TurnEnd) if at.is_streaming() => Rule::TurnNesting,
        Kind::MessageStart(role) if at.is_streaming() => starting(role, at),
        Kind::MessageEnd(role) if at.is_streaming() => ending(role, at),
        Kind::AssistantEnd(_) if at.is_streaming() => ending(Role::Assistant, at),
        Kind::MessageStart(_) | Kind::MessageEnd(_) | Kind::AssistantEnd(_) => Rule::RunNesting,
        Kind::Event(Event::ToolExecutionStart | Event::ToolExecutionUpdate | Event::ToolExecutionEnd) => {
            tool(at)
        }
        Kind::Event(Event::TurnStart | Event::TurnEnd) => Rule::RunNesting,
        Kind::Event(Event::AutoRetryStart) => Rule::RetryPairs,
        Kind::RetryEnd(_) => Rule::RetryEndPlace,
        // A command of the host takes the session away from the run.
        Kind::CompactionStart(true) if at.is_streaming() => Rule::RunCut,
        Kind::Event(Event::AutoCompactionStart | Event::AutoCompactionEnd)
        | Kind::CompactionStart(_)
        | Kind::CompactionEnd(_) => Rule::CompactionPairs,
        Kind::HostToolCall => Rule::HostCallWindow,
        Kind::HostToolCancel => Rule::HostCancel,
        Kind::Ready => match ready {
            DialectReady::None => Rule::NoReady,
            DialectReady::WithVersion | DialectReady::WithLimits => Rule::ReadyFirst,
        },
        _ => Rule::FiresIn,
    }
}

/// The rule for a `message_start` inside a run.
const fn starting(role: Role, at: FlowState) -> Rule {
    match (at, role) {
        (FlowState::StreamingBetween | FlowState::StreamingCompacting, Role::Custom) => Rule::RunEdges,
        (FlowState::StreamingBetween | FlowState::StreamingCompacting, _) => Rule::TurnNesting,
        (FlowState::StreamingTurn, Role::ToolResult) => Rule::ToolWindow,
        (FlowState::StreamingTools, Role::Assistant) => Rule::OneAssistantPerTurn,
        (FlowState::StreamingTools, Role::ToolResult)
        | (FlowState::StreamingMessage | FlowState::StreamingTurn, _) => Rule::MsgNesting,
        _ => Rule::InputsFirst,
    }
}

/// The rule for a `message_end` inside a run. For a message that did not belong there, it is that of its start.
const fn ending(role: Role, at: FlowState) -> Rule {
    match (at, role) {
        (FlowState::StreamingBetween | FlowState::StreamingCompacting, Role::Custom) => Rule::RunEdges,
        (FlowState::StreamingBetween | FlowState::StreamingCompacting, _) => Rule::TurnNesting,
        (
            FlowState::StreamingTools,
            Role::User | Role::System | Role::Custom | Role::Developer | Role::FileMention,
        ) => Rule::InputsFirst,
        _ => Rule::MsgNesting,
    }
}

const fn tool(at: FlowState) -> Rule {
    match at {
        FlowState::StreamingMessage => Rule::MsgNesting,
        FlowState::StreamingTurn | FlowState::StreamingTools => Rule::ToolWindow,
        FlowState::StreamingBetween | FlowState::StreamingCompacting => Rule::TurnNesting,
        _ => Rule::RunNesting,
    }
}

/// A further rule that a legal frame in the state `at` exercises.
pub const fn also_exercised(kind: Kind, at: FlowState) -> Option<Rule> {
    match (kind, at) {
        (Kind::Event(Event::TurnStart | Event::AgentEnd), _) => Some(Rule::RunEdges),
        (Kind::MessageStart(Role::Assistant), _) => Some(Rule::OneAssistantPerTurn),
        (Kind::MessageStart(_), FlowState::StreamingTurn) => Some(Rule::InputsFirst),
        _ => None,
    }
}
