//! An open run: its data, and its phases with theirs.

use crate::{
    budget::ReachedLimit,
    io::CallId,
    queues::TurnInput,
    run::{batch::Batch, compaction::Compaction, partial_message::has_failed},
};
use pi_rpc_protocol::{
    AgentMessage, AssistantContent, AssistantMessage, FlowState, InterruptMode, Rule, ThinkingLevel,
    arguments_error,
};
use std::{collections::VecDeque, sync::Arc, time::Duration};

/// An open run, from `agent_start` to `agent_end`.
#[derive(Debug)]
pub struct Run {
    /// Its messages, for `agent_end`.
    pub messages: Vec<Arc<AgentMessage>>,
    /// Place of its model: a change during the run is for the next one.
    pub model: usize,
    /// The system prompt.
    pub system_prompt: Arc<str>,
    /// The thinking level of its model.
    pub level: Option<ThinkingLevel>,
    /// Whether steering interrupts tool calls, as set when the run began.
    pub interrupt: InterruptMode,
    /// Why the run ends before a model is requested again.
    pub early_end: Option<EarlyEnd>,
    /// The provider's `retry-after` of the last answer.
    pub retry_after: Option<Duration>,
    /// The run ends because a message could not be persisted.
    pub is_unpersisted: bool,
    /// The tool that the model must call first.
    pub forced_tool: Option<String>,
    /// The rules that its last answer was stopped for.
    pub broken_rules: Vec<Rule>,
    /// An extension wants one more request of the model.
    pub continues: bool,
}

/// The sub-states of `streaming`.
#[derive(Debug)]
pub enum Phase {
    /// No turn is open: the next one follows, or the end of the run.
    Between,
    /// A turn is open. These messages are still to be emitted before a model is requested.
    Turn(VecDeque<TurnInput>),
    /// The host is asked whether the run goes on beyond a limit of its budget.
    AtLimit(ReachedLimit),
    /// The `context` hook is outstanding.
    Context,
    /// A model is requested; its message has not begun.
    Requested(CallId),
    /// The message that this request is for streams.
    Message(CallId),
    /// The assistant message is complete, and is emitted as soon as it is persisted.
    Answered(Box<AssistantMessage>),
    /// The assistant message is emitted: its tool calls run, or the turn ends.
    Tools {
        /// The assistant message.
        answer: Box<AssistantMessage>,
        /// Its calls, once they are taken up.
        batch: Option<Box<Batch>>,
    },
    /// The conversation is compacted before the next turn.
    Compacting(Box<Compaction>),
}

impl Phase {
    /// Whether the phase is within `state` of the chart.
    pub const fn fits(&self, state: FlowState) -> bool {
        match self {
            // The end of a compaction is emitted between the turns.
            Self::Between => matches!(state, FlowState::StreamingBetween | FlowState::StreamingCompacting),
            Self::Turn(_) | Self::AtLimit(_) | Self::Context | Self::Requested(_) => {
                matches!(state, FlowState::StreamingTurn)
            }
            Self::Message(_) | Self::Answered(_) => matches!(state, FlowState::StreamingMessage),
            Self::Tools { .. } => matches!(state, FlowState::StreamingTools),
            Self::Compacting(_) => matches!(state, FlowState::StreamingCompacting),
        }
    }
}

/// Why a run ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlyEnd {
    /// By an abort.
    Aborted,
    /// By a failure, for this reason.
    Failed(String),
}

/// A run that has ended.
#[derive(Debug)]
pub struct EndedRun {
    /// Its last answer.
    pub answer: AssistantMessage,
    /// The provider's `retry-after`.
    pub retry_after: Option<Duration>,
    /// Whether the run ended because a message could not be persisted.
    pub is_unpersisted: bool,
    /// The rules that its last answer was stopped for.
    pub broken_rules: Vec<Rule>,
}

impl Run {
    /// Whether the run ends before a model is requested again.
    pub const fn ends_early(&self) -> bool {
        self.early_end.is_some()
    }

    /// Replaces the instructions, if they are those from `before`.
    pub fn replace_instructions(&mut self, before: &Arc<str>, now: &Arc<str>) {
        if Arc::ptr_eq(&self.system_prompt, before) {
            self.system_prompt = now.clone();
        }
    }

    /// The run after `agent_end`; `None` without an answer.
    pub fn ended(&self) -> Option<EndedRun> {
        let answer = self.messages.iter().rev().find_map(|message| match message.as_ref() {
            AgentMessage::Assistant(answer) => Some(answer.clone()),
            _ => None,
        })?;
        Some(EndedRun {
            answer,
            retry_after: self.retry_after,
            is_unpersisted: self.is_unpersisted,
            broken_rules: self.broken_rules.clone(),
        })
    }
}

/// Replaces a complete answer by that of an extension.
pub fn replace_answer(answer: &mut AssistantMessage, by: &AssistantMessage) {
    let before = std::mem::replace(answer, by.clone());
    keep_refusals(&before, answer);
}

/// Keeps the calls of an answer from running that could not run in the answer `before` it, which an extension has
/// replaced: those that it has given no other arguments.
fn keep_refusals(before: &AssistantMessage, answer: &mut AssistantMessage) {
    for block in &mut answer.content {
        let AssistantContent::ToolCall(call) = block else { continue };
        let known = before.content.iter().find_map(|block| match block {
            AssistantContent::ToolCall(known) if known.id == call.id => Some(known),
            _ => None,
        });
        let Some(known) = known.filter(|known| known.arguments == call.arguments) else { continue };
        let of_failed = || {
            let arguments = serde_json::to_string(&known.arguments).unwrap_or_default();
            has_failed(before).then(|| arguments_error("The answer has failed", &arguments))
        };
        call.arguments_error =
            known.arguments_error.clone().or_else(of_failed).or_else(|| call.arguments_error.take());
    }
}
