//! Steps of the engine that are held until the extensions have completed a notification.
//!
//! Meanwhile nothing new begins: no turn, no model request, no tool, nothing that follows a run. Everything that is
//! under way goes on: frames of the host, streams of models, tools, timers, aborts. The rest of the step that sent the
//! notification is kept as a [`PendingStep`], so that the actions of extensions take effect before it. Source: pi
//! source.

use crate::queues::{NextTurn, TurnInput};
use pi_rpc_machine::Rule;
use pi_rpc_protocol::AgentMessage;

/// The rest of a step of the engine, after the event that extensions are notified of.
#[derive(Debug)]
pub enum PendingStep {
    /// Opens the first turn of the run with these messages.
    OpenTurn(Vec<TurnInput>),
    /// Sets the messages that the open turn begins with.
    SetInputs(Vec<TurnInput>),
    /// Completes a message that does not stream.
    CompleteMessage(Box<AgentMessage>),
    /// Checks the announced call at this place of the batch.
    CheckCall(usize),
    /// Emits the result message of the call at this place of the batch.
    EmitCallResult(usize),
    /// Opens the next turn, or ends the run.
    ContinueRun(NextTurn),
    /// Ends the run.
    EndRun,
}

/// Whether a rule compares a complete message with its deltas, or with itself: extensions may replace messages.
pub(crate) const fn is_of_messages(rule: Rule) -> bool {
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
