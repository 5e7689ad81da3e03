//! The state of an open run: common data, and the data of each phase.

use crate::{
    io::CallId,
    queues::TurnInput,
    run::{batch::Batch, compaction::Compaction, partial_message::has_failed},
};
use pi_rpc_protocol::{
    AgentMessage, AssistantContent, AssistantMessage, FlowState, InterruptMode, Rule, ThinkingLevel,
    ToolResultMessage, arguments_error,
};
use std::{collections::VecDeque, sync::Arc, time::Duration};

/// An open run, from `agent_start` to `agent_end`.
#[derive(Debug)]
pub struct Run {
    /// How far the run is.
    pub phase: Phase,
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
}

/// The sub-states of `streaming`.
#[derive(Debug)]
pub enum Phase {
    /// No turn is open: the next one follows, or the end of the run.
    Between,
    /// A turn is open. These messages are still to be emitted before a model is requested.
    Turn(VecDeque<TurnInput>),
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

    /// The state of the chart that the run is in.
    pub fn state(&self) -> FlowState {
        match &self.phase {
            Phase::Between => FlowState::StreamingBetween,
            Phase::Turn(_) | Phase::Context | Phase::Requested(_) => FlowState::StreamingTurn,
            Phase::Message(_) | Phase::Answered(_) => FlowState::StreamingMessage,
            Phase::Tools { .. } => FlowState::StreamingTools,
            Phase::Compacting(_) => FlowState::StreamingCompacting,
        }
    }

    /// The complete assistant message of the open turn.
    pub fn answer(&self) -> Option<&AssistantMessage> {
        match &self.phase {
            Phase::Answered(answer) | Phase::Tools { answer, .. } => Some(answer),
            _ => None,
        }
    }

    /// Takes the complete assistant message: its turn ends.
    pub fn take_answer(&mut self) -> Option<AssistantMessage> {
        match std::mem::replace(&mut self.phase, Phase::Between) {
            Phase::Answered(answer) | Phase::Tools { answer, .. } => Some(*answer),
            other => {
                self.phase = other;
                None
            }
        }
    }

    /// Moves to the phase of tool calls: the assistant message is emitted.
    pub fn answer_emitted(&mut self) {
        if let Phase::Answered(_) = &self.phase
            && let Phase::Answered(answer) = std::mem::replace(&mut self.phase, Phase::Between)
        {
            self.phase = Phase::Tools { answer, batch: None };
        }
    }

    /// The tool calls of the open turn.
    pub fn batch(&self) -> Option<&Batch> {
        match &self.phase {
            Phase::Tools { batch, .. } => batch.as_deref(),
            _ => None,
        }
    }

    /// The tool calls of the open turn.
    pub fn batch_mut(&mut self) -> Option<&mut Batch> {
        match &mut self.phase {
            Phase::Tools { batch, .. } => batch.as_deref_mut(),
            _ => None,
        }
    }

    /// Replaces the complete answer of the turn, or a result.
    pub fn replace(&mut self, message: &AgentMessage) {
        match (message, &mut self.phase) {
            (AgentMessage::Assistant(it), Phase::Answered(answer) | Phase::Tools { answer, .. }) => {
                let before = std::mem::replace(&mut **answer, it.clone());
                keep_refusals(&before, answer);
            }
            (AgentMessage::ToolResult(result), Phase::Tools { batch: Some(batch), .. }) => {
                let same = |it: &&mut ToolResultMessage| it.tool_call_id == result.tool_call_id;
                if let Some(previous) = batch.results.iter_mut().rev().find(same) {
                    *previous = result.clone();
                }
            }
            _ => {}
        }
    }

    /// Replaces the instructions, if they are those from `before`.
    pub fn replace_instructions(&mut self, before: &Arc<str>, now: &Arc<str>) {
        if Arc::ptr_eq(&self.system_prompt, before) {
            self.system_prompt = now.clone();
        }
    }

    /// The run after `agent_end`; `None` without an answer.
    pub fn end(self) -> Option<EndedRun> {
        let answer = self.messages.iter().rev().find_map(|message| match message.as_ref() {
            AgentMessage::Assistant(answer) => Some(answer.clone()),
            _ => None,
        })?;
        Some(EndedRun {
            answer,
            retry_after: self.retry_after,
            is_unpersisted: self.is_unpersisted,
            broken_rules: self.broken_rules,
        })
    }
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
