//! The steps that wait until the extensions have received a notification.
//!
//! Meanwhile nothing new begins: no turn, no model, no tool, nothing that follows a run. What is under way goes on, and
//! is taken in: the host's frames, a model that streams, tools, timers, aborts. The rest of the step that sent the
//! notification is kept as a [`Step`], so that what an extension does meanwhile counts for what comes next. Source: pi
//! source.

use crate::engine::queues::{NextTurn, TurnInput};
use crate::machine::Rule;
use crate::protocol::AgentMessage;

/// The rest of a step of the engine, behind an event.
#[derive(Debug)]
pub enum PendingStep {
    /// The run has begun: its first turn opens.
    OpenTurn(Vec<TurnInput>),
    /// The turn has begun: these messages are said.
    SetInputs(Vec<TurnInput>),
    /// A message has begun, and is complete at once.
    CompleteMessage(Box<AgentMessage>),
    /// The call at this place of the batch was announced.
    CheckCall(usize),
    /// The end of the call at this place was told: its result follows.
    EmitCallResult(usize),
    /// The turn has ended.
    ContinueRun(NextTurn),
    /// The turn has ended, and with it the run.
    EndRun,
}

/// Whether a rule compares a complete message with what was shown of it before, or with itself.
pub(in crate::engine) const fn is_of_messages(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::StartFinalNonassistant
            | Rule::AssistantConstant
            | Rule::AssistantStartEmpty
            | Rule::StartStopReason
            | Rule::BlockProtocol
            | Rule::BlocksAnnounced
            | Rule::ToolcallEndEq
            | Rule::EndEqLast
            | Rule::StopReason
            | Rule::AfterAssistant
            | Rule::ToolStartPerCall
            | Rule::ToolResultEq
            | Rule::UsageSum
            | Rule::StatsConsistent
    )
}
