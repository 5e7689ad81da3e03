//! A run: its turns, one step at a time.

use super::{
    CallId, Engine, ModelCall, Output, Purpose,
    after::AfterRun,
    batch::Batch,
    growing::{Growing, Grown},
};
use crate::{
    model::types::StreamEvent,
    protocol::{
        AgentEndEvent, AgentMessage, AgentStartEvent, AssistantContent, AssistantMessage, InterruptMode,
        MessageStartEvent, Rule, Said, StopReason, ThinkingLevel, ToolCall, ToolResultMessage, TurnEndEvent,
        TurnStartEvent, errors,
    },
};
use std::{collections::VecDeque, sync::Arc, time::Duration};

/// An open run, from `agent_start` to `agent_end`.
#[derive(Debug)]
pub struct Run {
    /// Its messages, for `agent_end`.
    pub(super) messages: Vec<Arc<AgentMessage>>,
    /// Place of its model: a change during the run is for the next one.
    model: usize,
    /// The instructions that come first.
    system_prompt: Arc<str>,
    level: Option<ThinkingLevel>,
    /// What steering does to its tool calls, as it was when the run began.
    pub(super) interrupt: InterruptMode,
    /// The input messages of the open turn that are still to be said.
    inputs: VecDeque<AgentMessage>,
    /// The assistant message that streams.
    growing: Option<Growing>,
    /// The assistant message of the open turn, once complete.
    pub(super) assistant: Option<AssistantMessage>,
    /// The tool calls that run.
    pub(super) batch: Option<Batch>,
    /// The run is to end before a model is asked again.
    pub(super) ending: Option<Ending>,
    /// How long the provider wants to be left alone after the last answer.
    retry_after: Option<Duration>,
    /// It ends because a message could not be stored.
    pub(super) unkept: bool,
    /// The tool that the model must call first.
    forced_tool: Option<String>,
    /// The rules that its last answer was stopped for.
    pub(super) broken: Vec<Rule>,
}

/// A run that is over.
#[derive(Debug)]
pub struct Ended {
    /// Its last answer.
    pub answer: AssistantMessage,
    /// How long the provider wants to be left alone.
    pub retry_after: Option<Duration>,
    /// It ended because a message could not be stored.
    pub unkept: bool,
    /// The rules that its last answer was stopped for.
    pub broken: Vec<Rule>,
}

/// Why a run ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was aborted.
    Aborted,
    /// Something failed, and this is what.
    Failed(String),
}

impl Engine {
    /// Opens a run with these messages; steering that waits joins its first turn.
    pub(super) fn start_run(&mut self, inputs: impl IntoIterator<Item = AgentMessage>) {
        self.start_run_under(self.system_prompt.clone(), inputs);
    }

    /// Opens a run with instructions of its own.
    pub(super) fn start_run_under(
        &mut self,
        system_prompt: Arc<str>,
        inputs: impl IntoIterator<Item = AgentMessage>,
    ) {
        let ending = (self.unasked || self.ends_at_once()).then_some(Ending::Aborted);
        self.run = Some(Run {
            messages: Vec::new(),
            model: self.model,
            system_prompt,
            level: self.level,
            interrupt: self.interrupt,
            inputs: VecDeque::new(),
            growing: None,
            assistant: None,
            batch: None,
            ending,
            retry_after: None,
            unkept: false,
            forced_tool: None,
            broken: Vec::new(),
        });
        self.event(AgentStartEvent {});
        let triggering = std::mem::take(&mut self.triggering);
        let steering = self.steering.take();
        self.open_turn(inputs.into_iter().chain(triggering).chain(steering));
    }

    /// Whether a run that opens now ends before a model is asked: what was asked for after its prompt ends it, too.
    pub(super) fn ends_at_once(&self) -> bool {
        self.stopping || !self.after_run.iter().all(AfterRun::is_lined_up)
    }

    /// Does the next thing of the open run; `false` when there is none, or it waits for a model or a tool.
    pub(super) fn advance_run(&mut self) -> bool {
        let Some(run) = &mut self.run else { return false };
        if let Some(input) = run.inputs.pop_front() {
            self.whole_message(input);
        } else if run.batch.is_some() {
            return self.advance_batch();
        } else if run.growing.is_some() {
            return false;
        } else if run.assistant.is_some() {
            self.answered();
        } else if let Some(ending) = run.ending.clone() {
            self.closing_message(&ending);
        } else {
            self.call_model();
        }
        true
    }

    /// Ends the open run: at once while the model streams, after their end while tools run.
    pub(super) fn abort_run(&mut self) {
        let Some(run) = self.run.as_mut().filter(|run| run.ending.is_none()) else { return };
        if let Some(mut growing) = run.growing.take() {
            let text = errors::request_aborted(self.dialect.base());
            growing.close(StopReason::Aborted, Some(text), self.now);
            self.push(Output::CancelModel(growing.call));
            self.message_over(growing);
        } else {
            run.ending = Some(Ending::Aborted);
            self.cancel_tools();
        }
    }

    /// A step of a model's answer; of an answer that nobody waits for any more, it is nothing.
    pub(super) fn model_event(&mut self, call: CallId, event: StreamEvent) {
        let now = self.now;
        let Some(event) = self.summary_event(call, event) else { return };
        let Some(growing) =
            self.run.as_mut().and_then(|run| run.growing.as_mut()).filter(|growing| growing.call == call)
        else {
            return;
        };
        match growing.apply(event, now) {
            Grown::Quiet => {}
            Grown::Update(update) => {
                self.say(Said::Update(update.clone()));
                self.watch(&update);
            }
            Grown::Over => {
                if let Some(growing) = self.run.as_mut().and_then(|run| run.growing.take()) {
                    self.message_over(growing);
                }
            }
        }
    }

    /// All calls of the turn have their results: the turn ends, and what comes next begins.
    pub(super) fn batch_over(&mut self, results: Vec<ToolResultMessage>) {
        let over = self.run.as_ref().and_then(|run| run.assistant.as_ref()).is_none_or(has_failed);
        self.end_turn(results);
        if over {
            return self.end_run();
        }
        let ending = self.run.as_ref().is_some_and(|run| run.ending.is_some());
        let steering = if ending { Vec::new() } else { self.steering.take() };
        self.open_turn(steering);
    }

    /// A message that is complete at once.
    pub(super) fn whole_message(&mut self, message: AgentMessage) {
        self.event(MessageStartEvent { message: message.clone() });
        self.keep_message(message);
    }

    fn open_turn(&mut self, inputs: impl IntoIterator<Item = AgentMessage>) {
        self.event(TurnStartEvent {});
        if let Some(run) = &mut self.run {
            run.inputs.extend(inputs);
        }
    }

    fn call_model(&mut self) {
        let call = self.ids.call();
        let Some(run) = &mut self.run else { return };
        let model = self.models[run.model].model.clone();
        let growing = Growing::new(call, &model, self.dialect, self.now);
        let message = AgentMessage::Assistant(growing.message.clone());
        run.growing = Some(growing);
        self.rules.reset();
        let request = ModelCall {
            call,
            place: run.model,
            model,
            level: run.level,
            session_id: self.session.id().to_owned(),
            system_prompt: run.system_prompt.clone(),
            messages: self.session.messages().to_vec(),
            tools: self.tools.specs().clone(),
            forced_tool: run.forced_tool.take(),
            count: self.calls,
            purpose: Purpose::Turn,
        };
        self.calls += 1;
        self.event(MessageStartEvent { message });
        self.push(Output::CallModel(Box::new(request)));
    }

    /// The model's answer is over.
    pub(super) fn message_over(&mut self, growing: Growing) {
        let retry_after = growing.retry_after;
        let message = growing.finish();
        if let Some(run) = &mut self.run {
            run.retry_after = retry_after;
            run.assistant = Some(message.clone());
        }
        self.keep_message(AgentMessage::Assistant(message));
    }

    /// The answer has been told: tools run, or the turn ends.
    fn answered(&mut self) {
        let Some(message) = self.run.as_ref().and_then(|run| run.assistant.clone()) else { return };
        let calls: Vec<ToolCall> = message.content.iter().filter_map(as_call).cloned().collect();
        let failed = has_failed(&message);
        if !calls.is_empty() && (!failed || self.dialect.record().results_for_failed_calls) {
            return self.start_batch(&message, calls);
        }
        self.end_turn(Vec::new());
        if failed {
            return self.end_run();
        }
        let steering = self.steering.take();
        let next = if steering.is_empty() { self.follow_up.take() } else { steering };
        match next.is_empty() {
            true => self.end_run(),
            false => self.open_turn(next),
        }
    }

    /// The empty message that the originals say where the model would have been asked after an abort.
    fn closing_message(&mut self, ending: &Ending) {
        let now = self.now;
        let aborted = errors::request_aborted(self.dialect.base());
        let Some(run) = &mut self.run else { return };
        let model = &self.models[run.model].model;
        let empty = Growing::new(0, model, self.dialect, now).finish();
        let start = AgentMessage::Assistant(empty.clone());
        let (stop_reason, text) = match ending {
            Ending::Aborted => (StopReason::Aborted, aborted),
            Ending::Failed(text) => (StopReason::Error, text.clone()),
        };
        // No request was made, so there is nothing to be timed.
        let message = AssistantMessage { stop_reason, error_message: Some(text), ..empty };
        run.assistant = Some(message.clone());
        self.event(MessageStartEvent { message: start });
        self.keep_message(AgentMessage::Assistant(message));
    }

    fn end_turn(&mut self, tool_results: Vec<ToolResultMessage>) {
        let Some(message) = self.run.as_mut().and_then(|run| run.assistant.take()) else { return };
        self.event(TurnEndEvent { message, tool_results });
    }

    fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let messages = run.messages.iter().map(|message| message.as_ref().clone()).collect();
        self.event(AgentEndEvent { messages });
        let answer = run.messages.iter().rev().find_map(|message| match message.as_ref() {
            AgentMessage::Assistant(answer) => Some(answer.clone()),
            _ => None,
        });
        self.ended = answer.map(|answer| Ended {
            answer,
            retry_after: run.retry_after,
            unkept: run.unkept,
            broken: run.broken,
        });
    }
}

impl Run {
    /// The message that streams.
    pub(super) const fn growing(&self) -> Option<&Growing> {
        self.growing.as_ref()
    }

    /// Takes it out: it ends here.
    pub(super) const fn take_growing(&mut self) -> Option<Growing> {
        self.growing.take()
    }

    /// The model must call this tool first.
    pub(super) fn force(&mut self, tool: &str) {
        self.forced_tool = Some(tool.to_owned());
    }
}

/// Whether the run ends with this answer, whatever it asks for.
pub(super) const fn has_failed(message: &AssistantMessage) -> bool {
    matches!(message.stop_reason, StopReason::Error | StopReason::Aborted)
}

const fn as_call(block: &AssistantContent) -> Option<&ToolCall> {
    match block {
        AssistantContent::ToolCall(call) => Some(call),
        _ => None,
    }
}
