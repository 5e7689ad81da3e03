//! An open run: what it holds in all of its phases, and what each phase holds alone.

use crate::engine::{
    queues::TurnInput,
    run::{batch::Batch, compaction::Compaction, partial_message::PartialMessage},
};
use crate::protocol::{
    AgentMessage, AssistantMessage, FlowState, InterruptMode, Rule, StopReason, ThinkingLevel,
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
    /// The instructions that come first.
    pub system_prompt: Arc<str>,
    /// The thinking level of its model.
    pub level: Option<ThinkingLevel>,
    /// What steering does to tool calls, as it was when the run began.
    pub interrupt: InterruptMode,
    /// Why the run ends before a model is asked again.
    pub early_end: Option<EarlyEnd>,
    /// How long the provider wants to be left alone after the last answer.
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
    /// A turn is open; it begins with these messages, which are still to be emitted. Then a model is asked.
    Turn(VecDeque<TurnInput>),
    /// Extensions change the conversation that the model is asked about.
    Context,
    /// A model is asked: its message streams.
    Message(Box<PartialMessage>),
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

/// The next turn of an open run, before it is known with which messages it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextTurn {
    /// The model is asked about the results of its calls, and about steering that waits.
    Results,
    /// The turn opens only if messages wait.
    Messages,
}

/// A run that has ended.
#[derive(Debug)]
pub struct EndedRun {
    /// Its last answer.
    pub answer: AssistantMessage,
    /// How long the provider wants to be left alone.
    pub retry_after: Option<Duration>,
    /// It ended because a message could not be persisted.
    pub is_unpersisted: bool,
    /// The rules that its last answer was stopped for.
    pub broken_rules: Vec<Rule>,
}

impl Run {
    /// Whether the run ends before a model is asked again.
    pub const fn ends_early(&self) -> bool {
        self.early_end.is_some()
    }

    /// The state of the chart that the run is in.
    pub fn state(&self) -> FlowState {
        match &self.phase {
            Phase::Between => FlowState::StreamingBetween,
            Phase::Turn(_) | Phase::Context => FlowState::StreamingTurn,
            Phase::Message(partial) if !partial.started => FlowState::StreamingTurn,
            Phase::Message(_) | Phase::Answered(_) => FlowState::StreamingMessage,
            Phase::Tools { .. } => FlowState::StreamingTools,
            Phase::Compacting(_) => FlowState::StreamingCompacting,
        }
    }

    /// The message that streams.
    pub fn partial(&self) -> Option<&PartialMessage> {
        match &self.phase {
            Phase::Message(partial) => Some(partial),
            _ => None,
        }
    }

    /// The message that streams, if this model call makes it.
    pub fn partial_of(&mut self, call: crate::engine::CallId) -> Option<&mut PartialMessage> {
        match &mut self.phase {
            Phase::Message(partial) if partial.call == call => Some(partial),
            _ => None,
        }
    }

    /// Takes the message that streams: it ends here.
    pub fn take_partial(&mut self) -> Option<PartialMessage> {
        match std::mem::replace(&mut self.phase, Phase::Between) {
            Phase::Message(partial) => Some(*partial),
            other => {
                self.phase = other;
                None
            }
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

    /// The assistant message is emitted.
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

    /// Puts a message in the place of the one that was complete: the answer of the turn, or a result.
    pub fn replace(&mut self, message: &AgentMessage) {
        match (message, &mut self.phase) {
            (AgentMessage::Assistant(it), Phase::Answered(answer) | Phase::Tools { answer, .. }) => {
                **answer = it.clone();
            }
            (AgentMessage::ToolResult(result), Phase::Tools { batch: Some(batch), .. }) => {
                batch.replace_result(result);
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

/// Whether the run ends with this answer, whatever it calls for.
pub const fn has_failed(message: &AssistantMessage) -> bool {
    matches!(message.stop_reason, StopReason::Error | StopReason::Aborted)
}
