//! A run: its turns, and what waits for its end.

use super::{
    CallId, Engine, ModelCall, Output,
    batch::Batch,
    growing::{Growing, Grown},
};
use crate::{
    model::types::StreamEvent,
    protocol::{
        AgentEndEvent, AgentMessage, AgentStartEvent, AssistantContent, AssistantMessage, InterruptMode,
        MessageEndEvent, MessageStartEvent, NewSessionCommand, RequestId, RpcCommandKind, Said, StopReason,
        ThinkingLevel, ToolCall, ToolResultMessage, TurnEndEvent, TurnStartEvent, UserMessage, errors,
    },
};
use std::sync::Arc;

/// An open run, from `agent_start` to `agent_end`.
#[derive(Debug)]
pub struct Run {
    /// Its messages, for `agent_end`.
    messages: Vec<Arc<AgentMessage>>,
    /// Place of its model: a change during the run is for the next one.
    model: usize,
    level: Option<ThinkingLevel>,
    /// What steering does to its tool calls, as it was when the run began.
    pub(super) interrupt: InterruptMode,
    /// The assistant message that streams.
    growing: Option<Growing>,
    /// The tool calls that run.
    pub(super) batch: Option<Batch>,
    /// The assistant message of the open turn, once complete.
    pub(super) assistant: Option<AssistantMessage>,
    /// An abort waits for the tools to end.
    pub(super) aborting: bool,
}

/// What waits for the open run to end.
#[derive(Debug)]
pub enum AfterRun {
    /// The answer to an abort.
    Answer {
        /// Of the request.
        id: Option<RequestId>,
        /// Of the request.
        kind: RpcCommandKind,
    },
    /// A new session.
    NewSession(NewSessionCommand),
    /// A run of its own.
    Prompt {
        /// Of the request.
        id: Option<RequestId>,
        /// Of the request.
        kind: RpcCommandKind,
        /// What the user says.
        message: Box<UserMessage>,
    },
}

impl Engine {
    /// Opens a run with the user's message; steering that waits joins its first turn.
    pub(super) fn start_run(&mut self, message: UserMessage) {
        self.run = Some(Run {
            messages: Vec::new(),
            model: self.model,
            level: self.level,
            interrupt: self.interrupt,
            growing: None,
            batch: None,
            assistant: None,
            aborting: false,
        });
        self.event(AgentStartEvent {});
        let steering = self.steering.take();
        self.open_turn([message].into_iter().chain(steering).collect());
        match self.after_run.is_empty() && !self.unasked {
            true => self.call_model(),
            // What was asked for after the prompt ends its run, too: nothing is spawned for it any more.
            false => self.end_unasked(),
        }
    }

    /// Ends the open run: at once while the model streams, after their end while tools run.
    pub(super) fn abort_run(&mut self) {
        let Some(run) = &mut self.run else { return };
        if run.aborting {
            return;
        }
        if let Some(mut growing) = run.growing.take() {
            let text = errors::request_aborted(self.dialect.base());
            growing.close(StopReason::Aborted, Some(text), self.now);
            self.push(Output::CancelModel(growing.call));
            self.message_over(growing);
        } else if run.batch.is_some() {
            run.aborting = true;
            self.cancel_tools();
        }
    }

    /// Does what waited for the run's end, in order, as long as no run is open.
    pub(super) fn settle(&mut self) {
        while self.run.is_none() && !self.after_run.is_empty() {
            match self.after_run.remove(0) {
                AfterRun::Answer { id, kind } => self.acknowledge(kind, id),
                AfterRun::NewSession(command) => self.new_session(command),
                AfterRun::Prompt { id, kind, .. } if self.stopping => {
                    let error = errors::shutting_down(self.dialect.base());
                    self.fail(id, kind, error);
                }
                AfterRun::Prompt { id, kind, message } => {
                    self.open_run(id, kind, *message);
                }
            }
        }
    }

    pub(super) fn model_event(&mut self, call: CallId, event: StreamEvent) {
        let now = self.now;
        let Some(run) = &mut self.run else { return };
        let Some(growing) = run.growing.as_mut().filter(|growing| growing.call == call) else { return };
        match growing.apply(event, now) {
            Grown::Quiet => {}
            Grown::Update(update) => self.say(Said::Update(update)),
            Grown::Over => {
                if let Some(growing) = run.growing.take() {
                    self.message_over(growing);
                }
            }
        }
    }

    /// All calls of the turn have their results: the turn ends, and what comes next begins.
    pub(super) fn batch_over(&mut self, results: Vec<ToolResultMessage>) {
        self.end_turn(results);
        if self.run.as_ref().is_some_and(|run| run.aborting) {
            self.open_turn(Vec::new());
            return self.end_unasked();
        }
        let steering = self.steering.take();
        self.open_turn(steering);
        self.call_model();
    }

    /// A message of the run is complete: `message_start` if it is not said yet, `message_end`, and the session.
    pub(super) fn whole_message(&mut self, message: AgentMessage) {
        self.event(MessageStartEvent { message: message.clone() });
        self.end_message(message);
    }

    fn open_turn(&mut self, inputs: Vec<UserMessage>) {
        self.event(TurnStartEvent {});
        for input in inputs {
            self.whole_message(AgentMessage::User(input));
        }
    }

    fn call_model(&mut self) {
        let call = self.ids.call();
        let Some(run) = &mut self.run else { return };
        let model = self.models[run.model].model.clone();
        let growing = Growing::new(call, &model, self.dialect, self.now);
        let message = AgentMessage::Assistant(growing.message.clone());
        run.growing = Some(growing);
        let request = ModelCall {
            call,
            place: run.model,
            model,
            level: run.level,
            session_id: self.session.id.clone(),
            system_prompt: self.system_prompt.clone(),
            messages: self.session.messages().to_vec(),
            tools: self.tools.specs().clone(),
            count: self.calls,
        };
        self.calls += 1;
        self.event(MessageStartEvent { message });
        self.push(Output::CallModel(Box::new(request)));
    }

    /// The model's answer is over: tools run, or the turn ends.
    fn message_over(&mut self, growing: Growing) {
        let message = growing.finish();
        let calls: Vec<ToolCall> = message.content.iter().filter_map(as_call).cloned().collect();
        let failed = matches!(message.stop_reason, StopReason::Error | StopReason::Aborted);
        if let Some(run) = &mut self.run {
            run.assistant = Some(message.clone());
        }
        self.end_message(AgentMessage::Assistant(message.clone()));
        if failed {
            let results = self.results_of_failed(&message, calls);
            self.end_turn(results);
            return self.end_run();
        }
        if !calls.is_empty() {
            return self.start_batch(calls);
        }
        self.end_turn(Vec::new());
        let steering = self.steering.take();
        let next = if steering.is_empty() { self.follow_up.take() } else { steering };
        match next.is_empty() {
            true => self.end_run(),
            false => {
                self.open_turn(next);
                self.call_model();
            }
        }
    }

    /// Ends the run in the open turn, without asking the model.
    fn end_unasked(&mut self) {
        self.aborted_message();
        self.end_turn(Vec::new());
        self.end_run();
    }

    /// The empty message that the originals say where the model would have been asked after an abort.
    fn aborted_message(&mut self) {
        let now = self.now;
        let Some(run) = &mut self.run else { return };
        let model = &self.models[run.model].model;
        let empty = Growing::new(0, model, self.dialect, now).finish();
        let start = AgentMessage::Assistant(empty.clone());
        // No request was made, so there is nothing to be timed.
        let message = AssistantMessage {
            stop_reason: StopReason::Aborted,
            error_message: Some(errors::request_aborted(self.dialect.base())),
            ..empty
        };
        run.assistant = Some(message.clone());
        self.event(MessageStartEvent { message: start });
        self.end_message(AgentMessage::Assistant(message));
    }

    fn end_message(&mut self, message: AgentMessage) {
        let kept = Arc::new(message.clone());
        self.session.append(kept.clone());
        if let Some(run) = &mut self.run {
            run.messages.push(kept);
        }
        self.event(MessageEndEvent { message });
    }

    fn end_turn(&mut self, tool_results: Vec<ToolResultMessage>) {
        let Some(message) = self.run.as_mut().and_then(|run| run.assistant.take()) else { return };
        self.event(TurnEndEvent { message, tool_results });
    }

    fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let messages = run.messages.iter().map(|message| message.as_ref().clone()).collect();
        self.event(AgentEndEvent { messages });
        for message in std::mem::take(&mut self.deferred) {
            self.session.append(message);
        }
    }
}

const fn as_call(block: &AssistantContent) -> Option<&ToolCall> {
    match block {
        AssistantContent::ToolCall(call) => Some(call),
        _ => None,
    }
}
