//! What the machine reports when a frame may not be said.

use super::{Kind, State};
use std::fmt;

/// The rules that the machine knows. The name is stable: reports and expectation files use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// `agent_start` and `agent_end` alternate; nothing of a run outside one.
    RunNesting,
    /// `turn_start` and `turn_end` alternate inside a run.
    TurnNesting,
    /// One message is open at a time, and input messages come before the assistant's.
    MsgNesting,
    /// Input messages and tool results begin and end at once.
    MsgAdjacent,
    /// A message other than the assistant's is the same at its start and its end.
    StartFinalNonassistant,
    /// `message_update` only inside an assistant message.
    UpdateInAssistant,
    /// A run's first turn starts at once, and it has at least one.
    RunEdges,
    /// Tool events only where calls can be outstanding.
    ToolWindow,
    /// Blocks start, grow and end in order, one after the other.
    BlockProtocol,
    /// The deltas of a block add up to what its end says.
    DeltaConcat,
    /// The argument deltas of a call parse to its arguments.
    ToolcallArgs,
    /// The complete message has the blocks that were streamed.
    EndEqLast,
    /// Role, api, provider, model and timestamp of a message do not change.
    AssistantConstant,
    /// `errorMessage` exactly with `error` and `aborted`.
    StopReason,
    /// `turn_end` repeats the turn's assistant message.
    TurnEndMessage,
    /// `turn_end` lists the turn's tool results in the order in which they were said.
    TurnResults,
    /// Every call of a message that did not fail has a result.
    TurnResultsComplete,
    /// `agent_end` lists the run's messages in order.
    AgentEndMessages,
    /// A start for each call, with its id, name and arguments, and none without a call.
    ToolStartPerCall,
    /// Calls start in block order.
    ToolOrderStart,
    /// The next call starts after the former one's result message, where calls run one by one.
    ToolSequential,
    /// An end for each start.
    ToolEndPerStart,
    /// Progress only between a call's start and end.
    ToolUpdateWindow,
    /// The result message follows the end of its call at once.
    ToolResultAdjacent,
    /// The result message says what the end of the call said.
    ToolResultEq,
    /// Attempts count up, and a wait ends in a run or in `auto_retry_end`.
    RetryPairs,
    /// Compaction starts and ends alternate, outside a run.
    CompactionPairs,
    /// `result` exactly on success.
    CompactionFields,
    /// A response answers a request that was sent.
    RespKnownId,
    /// A request is answered once.
    RespOnce,
    /// A response names its request's command.
    RespCommand,
    /// The originals cut a run without closing events.
    RunCut,
    /// Ids of dialogs are unique.
    UiIdUnique,
    /// `ready` is the first line, once, and only where the dialect has it.
    Ready,
    /// Frames of the host's tools only for calls that are outstanding.
    HostCallWindow,
    /// An event that has no place in this state.
    FiresIn,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Self; 36] = [
        Self::RunNesting,
        Self::TurnNesting,
        Self::MsgNesting,
        Self::MsgAdjacent,
        Self::StartFinalNonassistant,
        Self::UpdateInAssistant,
        Self::RunEdges,
        Self::ToolWindow,
        Self::BlockProtocol,
        Self::DeltaConcat,
        Self::ToolcallArgs,
        Self::EndEqLast,
        Self::AssistantConstant,
        Self::StopReason,
        Self::TurnEndMessage,
        Self::TurnResults,
        Self::TurnResultsComplete,
        Self::AgentEndMessages,
        Self::ToolStartPerCall,
        Self::ToolOrderStart,
        Self::ToolSequential,
        Self::ToolEndPerStart,
        Self::ToolUpdateWindow,
        Self::ToolResultAdjacent,
        Self::ToolResultEq,
        Self::RetryPairs,
        Self::CompactionPairs,
        Self::CompactionFields,
        Self::RespKnownId,
        Self::RespOnce,
        Self::RespCommand,
        Self::RunCut,
        Self::UiIdUnique,
        Self::Ready,
        Self::HostCallWindow,
        Self::FiresIn,
    ];

    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RunNesting => "run-nesting",
            Self::TurnNesting => "turn-nesting",
            Self::MsgNesting => "msg-nesting",
            Self::MsgAdjacent => "msg-adjacent",
            Self::StartFinalNonassistant => "start-final-nonassistant",
            Self::UpdateInAssistant => "update-in-assistant",
            Self::RunEdges => "run-edges",
            Self::ToolWindow => "tool-window",
            Self::BlockProtocol => "block-protocol",
            Self::DeltaConcat => "delta-concat",
            Self::ToolcallArgs => "toolcall-args",
            Self::EndEqLast => "end-eq-last",
            Self::AssistantConstant => "assistant-constant",
            Self::StopReason => "stop-reason",
            Self::TurnEndMessage => "turn-end-message",
            Self::TurnResults => "turn-results",
            Self::TurnResultsComplete => "turn-results-complete",
            Self::AgentEndMessages => "agent-end-messages",
            Self::ToolStartPerCall => "tool-start-per-call",
            Self::ToolOrderStart => "tool-order-start",
            Self::ToolSequential => "tool-sequential",
            Self::ToolEndPerStart => "tool-end-per-start",
            Self::ToolUpdateWindow => "tool-update-window",
            Self::ToolResultAdjacent => "tool-result-adjacent",
            Self::ToolResultEq => "tool-result-eq",
            Self::RetryPairs => "retry-pairs",
            Self::CompactionPairs => "compaction-pairs",
            Self::CompactionFields => "compaction-fields",
            Self::RespKnownId => "resp-known-id",
            Self::RespOnce => "resp-once",
            Self::RespCommand => "resp-command",
            Self::RunCut => "run-cut",
            Self::UiIdUnique => "ui-id-unique",
            Self::Ready => "ready",
            Self::HostCallWindow => "host-call-window",
            Self::FiresIn => "fires-in",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A frame that broke a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The number of the frame, both directions counted together from 1.
    pub frame: u64,
    /// What the frame was.
    pub kind: Kind,
    /// The state that it met.
    pub state: State,
    /// What the rule wanted instead, in words.
    pub expected: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, frame, kind, state, expected } = self;
        write!(f, "{rule}: frame {frame}, {kind} in {state}: expected {expected}")
    }
}
