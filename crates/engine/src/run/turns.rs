//! Advances a run through its turns: messages, model request, tool calls.

use crate::{
    activity::Next,
    core::Engine,
    extensions::hook::Hook,
    io::{CallId, ModelCall, Output, Purpose},
    queues::{NextTurn, TurnInput},
    requests::ModelContinuation,
    run::{
        deferred::AfterRun,
        partial_message::{PartialMessage, has_failed},
        state::{EarlyEnd, Phase, Run},
    },
    step::PendingStep,
    store::after_append::AfterAppend,
};
use pi_rpc_machine::Step;
use pi_rpc_protocol::{
    AgentEndEvent, AgentMessage, AgentStartEvent, AssistantContent, AssistantMessage, ContextHook,
    DialectMessageStart, HookName, MessageEndHook, MessageStartEvent, StopReason, ToolCall,
    ToolResultMessage, TurnEndEvent, TurnStartEvent, errors,
};
use std::{collections::VecDeque, sync::Arc};

impl Engine {
    /// Opens a run with these messages; queued steering joins its first turn.
    pub(crate) fn start_run(&mut self, inputs: impl IntoIterator<Item = TurnInput>) {
        self.start_run_under(self.instructions.text.clone(), inputs, false);
    }

    /// Opens a run with its own system prompt; an aborted one requests no model.
    pub(crate) fn start_run_under(
        &mut self,
        system_prompt: Arc<str>,
        inputs: impl IntoIterator<Item = TurnInput>,
        is_aborted: bool,
    ) {
        let early_end = (is_aborted || self.ends_at_once()).then_some(EarlyEnd::Aborted);
        self.abandon_navigation();
        self.budget.start(self.now.monotonic);
        self.series.delivers_queued = false;
        if self.chains_runs() {
            let chain = self.series.chain.get_or_insert_default();
            chain.aborted |= early_end.is_some();
            chain.is_settling = false;
        }
        let run = Run {
            messages: Vec::new(),
            model: self.models.current,
            system_prompt,
            level: self.models.level,
            interrupt: self.modes.interrupt,
            early_end,
            retry_after: None,
            is_unpersisted: false,
            forced_tool: None,
            broken_rules: Vec::new(),
            continues: false,
        };
        self.emit_event_with(AgentStartEvent {}, Next::Run(Box::new(run)));
        self.perform_after_notifications(PendingStep::OpenTurn(inputs.into_iter().collect()));
    }

    /// Opens the first turn of the run, with these and queued messages.
    pub(crate) fn open_first_turn(&mut self, inputs: Vec<TurnInput>) {
        let triggering = std::mem::take(&mut self.queues.triggering);
        let steering = self.queues.steering.take(self.modes.steering);
        let triggering = triggering.into_iter().map(TurnInput::from);
        self.open_turn(inputs.into_iter().chain(triggering).chain(steering));
    }

    /// Whether a run that opens now ends before a model request: for an exit, or for a command that came after its
    /// prompt.
    pub(crate) fn ends_at_once(&self) -> bool {
        self.activity.lifecycle().aborts_work()
            || !self.backlog.after_run.iter().all(AfterRun::waits_for_prompt)
    }

    /// Performs one step of the open run; `false` if it waits for a request.
    pub(crate) fn advance_run(&mut self) -> bool {
        let early_end = self.activity.run().and_then(|run| run.early_end.clone());
        let next_input = self.activity.inputs_mut().and_then(VecDeque::pop_front);
        let Some(phase) = self.activity.phase() else { return false };
        match phase {
            Phase::Turn(_) => match (next_input, early_end) {
                (Some(input), _) => {
                    self.mark_delivered(&input);
                    self.emit_whole_message(input.message);
                }
                (None, Some(end)) => self.emit_closing_message(&end),
                (None, None) => self.prepare_request(),
            },
            Phase::Tools { batch: Some(_), .. } => return self.advance_batch(),
            Phase::Tools { batch: None, .. } => self.on_answer_emitted(),
            Phase::Between
            | Phase::AtLimit(_)
            | Phase::Context
            | Phase::Requested(_)
            | Phase::Message(_)
            | Phase::Answered(_)
            | Phase::Compacting(_) => return false,
        }
        true
    }

    /// Aborts the open run: at once while the model streams, else after the running tools have ended.
    pub(crate) fn abort_run(&mut self) {
        if self.activity.run().is_none_or(Run::ends_early) {
            return;
        }
        if let Some(Phase::Requested(call) | Phase::Message(call)) = self.activity.phase() {
            return self.abort_message(*call);
        }
        if let Some(run) = self.activity.run_mut() {
            run.early_end = Some(EarlyEnd::Aborted);
        }
        self.cancel_tools();
    }

    /// Ends the message that streams as aborted.
    pub(crate) fn abort_message(&mut self, call: CallId) {
        let Some(mut partial) = self.cancel_model(call) else { return };
        let text = errors::request_aborted(self.dialect.base());
        partial.close(StopReason::Aborted, Some(text), self.now);
        self.on_answer_complete(partial);
    }

    /// Continues the run after a turn: opens the next turn, after a compaction if the context needs one.
    pub(crate) fn continue_run(&mut self, next: NextTurn) {
        let waits = !self.queues.are_empty();
        let continues = self.activity.run_mut().is_some_and(|run| std::mem::take(&mut run.continues));
        let next = if continues { NextTurn::Results } else { next };
        // An abort during the end of the turn changes nothing.
        if !waits && next == NextTurn::Messages {
            return self.end_run();
        }
        let goes_on = !self.is_ending_run() && (waits || next == NextTurn::Results);
        if !(goes_on && self.compact_between_turns(next)) {
            self.open_next_turn(next);
        }
    }

    /// Opens the next turn with queued messages, steering first. Without any the run may end.
    pub(crate) fn open_next_turn(&mut self, next: NextTurn) {
        if self.is_ending_run() {
            return self.open_turn([]);
        }
        let mut inputs = self.queues.steering.take(self.modes.steering);
        if inputs.is_empty() && next == NextTurn::Messages {
            inputs = self.queues.follow_up.take(self.modes.follow_up);
            if inputs.is_empty() {
                return self.end_run();
            }
        }
        self.open_turn(inputs);
    }

    /// Whether the open run ends before a model is requested again.
    pub(crate) fn is_ending_run(&self) -> bool {
        self.activity.run().is_some_and(Run::ends_early)
    }

    /// Emits a message that does not stream.
    pub(crate) fn emit_whole_message(&mut self, message: AgentMessage) {
        self.emit_event(MessageStartEvent { message: message.clone(), message_id: None });
        self.perform_after_notifications(PendingStep::CompleteMessage(Box::new(message)));
    }

    /// Opens a turn with these messages.
    fn open_turn(&mut self, inputs: impl IntoIterator<Item = TurnInput>) {
        self.emit_event_with(TurnStartEvent {}, Next::Phase(Phase::Turn(VecDeque::new())));
        self.perform_after_notifications(PendingStep::SetInputs(inputs.into_iter().collect()));
    }

    /// Sets the messages of a turn that has begun: the changes of the system message, if a model is requested, then
    /// `inputs`.
    pub(crate) fn set_turn_inputs(&mut self, inputs: Vec<TurnInput>) {
        let news = self.system_changes();
        let news = news.filter(|_| !self.is_ending_run());
        if let Some(waiting) = self.activity.inputs_mut() {
            let news = news.map(|news| AgentMessage::System(news).into());
            waiting.extend(news.into_iter().chain(inputs));
        }
    }

    /// Requests the model, after the `context` hook if one is registered, unless the run or its session has reached a limit.
    fn prepare_request(&mut self) {
        if let Some(limit) = self.reached_limit() {
            return self.pause_at_limit(limit);
        }
        if !self.is_hooked(HookName::Context) {
            return self.request_answer();
        }
        self.carry(Next::Phase(Phase::Context));
        let messages = self.store.session.messages().iter().map(AsRef::as_ref);
        let messages = messages.filter(|message| !matches!(message, AgentMessage::System(_)));
        let event = ContextHook { messages: messages.cloned().collect() };
        self.notify(Hook::Context { event, is_changed: false });
    }

    /// Requests the model with the outcome of the `context` hook; `None`: with the session's messages.
    pub(crate) fn request_hooked_answer(&mut self, messages: Option<Vec<AgentMessage>>) {
        if self.activity.run().is_none() {
            return;
        }
        self.carry(Next::Phase(Phase::Turn(VecDeque::new())));
        if self.is_ending_run() {
            return;
        }
        match messages {
            Some(messages) => {
                self.send_answer_request(Arc::new(messages.into_iter().map(Arc::new).collect()), false);
            }
            None => self.request_answer(),
        }
    }

    /// Sends the request of the turn's answer with the session's messages.
    fn request_answer(&mut self) {
        let has_system_messages = self.has_told_instructions();
        self.send_answer_request(self.store.session.messages().clone(), has_system_messages);
    }

    /// Sends the request of the turn's answer with these messages.
    fn send_answer_request(&mut self, messages: Arc<Vec<Arc<AgentMessage>>>, has_system_messages: bool) {
        let call = self.ids.call();
        let Some(run) = self.activity.run_mut() else { return };
        self.rules.reset();
        let request = ModelCall {
            call,
            place: run.model,
            model: self.models.all[run.model].model.clone(),
            level: run.level,
            session_id: self.store.session.id().to_owned(),
            system_prompt: run.system_prompt.clone(),
            messages,
            has_system_messages,
            tools: self.tools.specs().clone(),
            forced_tool: run.forced_tool.take(),
            count: self.requests.models_made,
            purpose: Purpose::Turn,
        };
        let partial = self.expect_answer(&request, ModelContinuation::Turn);
        let message = AgentMessage::Assistant(partial.message.clone());
        match self.begins_with_request() {
            true => self.emit_event_with(
                MessageStartEvent { message, message_id: None },
                Next::Phase(Phase::Message(call)),
            ),
            false => self.carry(Next::Phase(Phase::Requested(call))),
        }
        self.warm_cache_of(&request);
        self.request_model(request);
    }

    /// Whether the dialect emits `message_start` with the request, not with the first stream event.
    fn begins_with_request(&self) -> bool {
        self.dialect.record().message_start == DialectMessageStart::Request
    }

    /// Completes the message of the turn: the answer is complete or has failed.
    pub(crate) fn on_answer_complete(&mut self, partial: PartialMessage) {
        let retry_after = partial.retry_after;
        let message = partial.finish();
        if let Some(run) = self.activity.run_mut() {
            run.retry_after = retry_after;
        }
        let answered = Next::Phase(Phase::Answered(Box::new(message.clone())));
        match self.activity.phase() {
            Some(Phase::Requested(_)) => {
                let start = AssistantMessage { completed_at: None, ..message.clone() };
                self.emit_event_with(
                    MessageStartEvent { message: AgentMessage::Assistant(start), message_id: None },
                    answered,
                );
            }
            _ => self.carry(answered),
        }
        self.complete_message(AgentMessage::Assistant(message));
    }

    /// Completes a message: sends the `message_end` hook if registered, then appends the message.
    pub(crate) fn complete_message(&mut self, message: AgentMessage) {
        match self.is_hooked(HookName::MessageEnd) && !self.activity.lifecycle().leaves_work() {
            true => {
                let event = MessageEndHook { message };
                self.notify(Hook::MessageEnd { event, is_changed: false });
            }
            false => self.append_message(message),
        }
    }

    /// Appends a message whose `message_end` hook has completed; `changed`: an extension has replaced it.
    pub(crate) fn append_hooked_message(&mut self, message: AgentMessage, changed: bool) {
        self.extensions.has_replaced_message |= changed;
        if changed {
            self.activity.replace(&message);
        }
        self.append_message(message);
    }

    /// Runs the tool calls of the emitted assistant message, or ends the turn.
    fn on_answer_emitted(&mut self) {
        let Some(message) = self.activity.answer().cloned() else { return };
        let calls = message.content.iter().filter_map(|block| match block {
            AssistantContent::ToolCall(call) => Some(call.clone()),
            _ => None,
        });
        let calls: Vec<ToolCall> = calls.collect();
        let failed = has_failed(&message);
        if !calls.is_empty() && (!failed || self.dialect.record().results_for_failed_calls) {
            return self.start_batch(&message, calls);
        }
        self.end_turn(Vec::new());
        self.perform_after_notifications(if failed {
            PendingStep::EndRun
        } else {
            PendingStep::ContinueRun(NextTurn::Messages)
        });
    }

    /// Emits the empty message with which the originals replace a model request after an abort.
    fn emit_closing_message(&mut self, end: &EarlyEnd) {
        let now = self.now;
        let aborted = errors::request_aborted(self.dialect.base());
        let Some(run) = self.activity.run() else { return };
        let empty = PartialMessage::new(&self.models.all[run.model].model, self.dialect, now).finish();
        let (stop_reason, text) = match end {
            EarlyEnd::Aborted => (StopReason::Aborted, aborted),
            EarlyEnd::Failed(text) => (StopReason::Error, text.clone()),
        };
        // No request was made, so its duration is 0.
        let closed = AssistantMessage {
            stop_reason,
            error_message: Some(text),
            duration_ms: Some(0),
            thinking_level: run.level,
            ..empty.clone()
        };
        let message = AssistantMessage { completed_at: Some(now.wall), ..closed.clone() };
        let answered = Next::Phase(Phase::Answered(Box::new(message.clone())));
        let start = if self.begins_with_request() { empty } else { closed };
        self.emit_event_with(
            MessageStartEvent { message: AgentMessage::Assistant(start), message_id: None },
            answered,
        );
        self.complete_message(AgentMessage::Assistant(message));
    }

    /// Ends the open turn.
    pub(crate) fn end_turn(&mut self, tool_results: Vec<ToolResultMessage>) {
        let Some(message) = self.activity.answer().cloned() else { return };
        let message = AssistantMessage { completed_at: None, ..message };
        self.emit_event_with(TurnEndEvent { message, tool_results }, Next::Phase(Phase::Between));
    }

    /// Ends the open run.
    pub(crate) fn end_run(&mut self) {
        let ends_chains = self.ends_chains();
        self.budget.pause(self.now.monotonic);
        let Some(run) = self.activity.run() else { return };
        let ended = run.ended().map(Box::new);
        if let Some(chain) = self.series.chain.as_mut().filter(|_| ends_chains) {
            chain.messages.clone_from(&run.messages);
            return self.take_step(Step::RunEnds, Next::Ended(ended));
        }
        let messages = run.messages.iter().map(|message| message.as_ref().clone()).collect();
        let retries = ended.as_ref().is_some_and(|ended| self.retry_wait(ended).is_some());
        let end = AgentEndEvent {
            messages,
            is_terminal: None,
            message_count: None,
            will_retry: Some(retries && !self.ends_at_once()),
            yielded: None,
            awaiting_async_work: None,
        };
        self.emit_run_end(end, Next::Ended(ended));
    }

    /// Emits `agent_end`, after the session is synced where the user wants that; what is `next` is carried at once.
    pub(crate) fn emit_run_end(&mut self, end: AgentEndEvent, next: Next) {
        match self.modes.syncs_runs && self.store.can_sync() {
            true => {
                self.carry(next);
                let write = self.store.sync(AfterAppend::RunEnd(Box::new(end)), self.now.monotonic);
                self.push(Output::Store(write));
            }
            false => self.emit_event_with(end, next),
        }
    }
}
