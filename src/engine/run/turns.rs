//! A run: its turns, one step at a time.

use crate::engine::{
    CallId, Engine, ModelCall, Purpose,
    extensions::hooks::Then,
    extensions::notifications::Step,
    queues::TurnInput,
    run::after::AfterRun,
    run::batch::Batch,
    run::partial_message::{Growing, Grown},
};
use crate::{
    model::types::StreamEvent,
    protocol::{
        AgentEndEvent, AgentMessage, AgentStartEvent, AssistantContent, AssistantMessage, ContextHook,
        HookName, InterruptMode, MessageEndHook, MessageStartEvent, Rule, Said, StopReason, ThinkingLevel,
        ToolCall, ToolResultMessage, TurnEndEvent, TurnStartEvent, errors,
    },
};
use std::{collections::VecDeque, sync::Arc, time::Duration};

/// An open run, from `agent_start` to `agent_end`.
#[derive(Debug)]
pub struct Run {
    /// Its messages, for `agent_end`.
    pub(in crate::engine) messages: Vec<Arc<AgentMessage>>,
    /// Place of its model: a change during the run is for the next one.
    model: usize,
    /// The instructions that come first.
    system_prompt: Arc<str>,
    level: Option<ThinkingLevel>,
    /// What steering does to its tool calls, as it was when the run began.
    pub(in crate::engine) interrupt: InterruptMode,
    /// The input messages of the open turn that are still to be said.
    inputs: VecDeque<TurnInput>,
    /// The assistant message that streams.
    growing: Option<Growing>,
    /// The assistant message of the open turn, once complete.
    pub(in crate::engine) assistant: Option<AssistantMessage>,
    /// The tool calls that run.
    pub(in crate::engine) batch: Option<Batch>,
    /// The run is to end before a model is asked again.
    pub(in crate::engine) ending: Option<Ending>,
    /// How long the provider wants to be left alone after the last answer.
    retry_after: Option<Duration>,
    /// It ends because a message could not be stored.
    pub(in crate::engine) unkept: bool,
    /// The tool that the model must call first.
    forced_tool: Option<String>,
    /// The rules that its last answer was stopped for.
    pub(in crate::engine) broken: Vec<Rule>,
    /// Extensions have their say in what the model is told.
    asking: bool,
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

/// The next turn of an open run, before it is known which messages it begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextTurn {
    /// The model hears of what the tools did, and of steering that waits.
    Results,
    /// Only if messages wait.
    Messages,
}

impl Engine {
    /// Opens a run with these messages; steering that waits joins its first turn.
    pub(in crate::engine) fn start_run(&mut self, inputs: impl IntoIterator<Item = TurnInput>) {
        self.start_run_under(self.system_prompt.clone(), inputs);
    }

    /// Opens a run with instructions of its own.
    pub(in crate::engine) fn start_run_under(
        &mut self,
        system_prompt: Arc<str>,
        inputs: impl IntoIterator<Item = TurnInput>,
    ) {
        let ending = (self.unasked || self.ends_at_once()).then_some(Ending::Aborted);
        self.abandon_navigation();
        self.open_chain(ending.is_some());
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
            asking: false,
        });
        self.event(AgentStartEvent {});
        self.then(Step::OpenTurn(inputs.into_iter().collect()));
    }

    /// The first turn of the run, with what came in before it.
    pub(in crate::engine) fn open_first_turn(&mut self, inputs: Vec<TurnInput>) {
        let triggering = std::mem::take(&mut self.triggering);
        let steering = self.steering.take();
        let triggering = triggering.into_iter().map(TurnInput::from);
        self.open_turn(inputs.into_iter().chain(triggering).chain(steering));
    }

    /// Whether a run that opens now ends before a model is asked: what was asked for after its prompt ends it, too.
    pub(in crate::engine) fn ends_at_once(&self) -> bool {
        self.lifecycle.aborts_work() || !self.after_run.iter().all(AfterRun::is_lined_up)
    }

    /// Does the next thing of the open run; `false` when there is none, or it waits for a model or a tool.
    pub(in crate::engine) fn advance_run(&mut self) -> bool {
        let Some(run) = self.run.as_mut().filter(|_| self.compacting.is_none()) else { return false };
        if let Some(input) = run.inputs.pop_front() {
            self.delivered(&input);
            self.whole_message(input.message);
        } else if run.batch.is_some() {
            return self.advance_batch();
        } else if run.growing.is_some() {
            return false;
        } else if run.assistant.is_some() {
            self.answered();
        } else if run.asking {
            return false;
        } else if let Some(ending) = run.ending.clone() {
            self.closing_message(&ending);
        } else {
            self.call_model();
        }
        true
    }

    /// Ends the open run: at once while the model streams, after their end while tools run.
    pub(in crate::engine) fn abort_run(&mut self) {
        let Some(run) = self.run.as_mut().filter(|run| run.ending.is_none()) else { return };
        if let Some(mut growing) = run.growing.take() {
            let text = errors::request_aborted(self.dialect.base());
            growing.close(StopReason::Aborted, Some(text), self.now);
            self.cancel_model(growing.call);
            self.message_over(growing);
        } else {
            run.ending = Some(Ending::Aborted);
            self.cancel_tools();
        }
    }

    /// A step of a model's answer; of an answer that nobody waits for any more, it is nothing.
    pub(in crate::engine) fn model_event(&mut self, call: CallId, event: StreamEvent) {
        let now = self.now;
        let Some(event) = self.summary_event(call, event) else { return };
        let Some(event) = self.outside_event(call, event) else { return };
        let Some(growing) =
            self.run.as_mut().and_then(|run| run.growing.as_mut()).filter(|growing| growing.call == call)
        else {
            return;
        };
        let begins = !growing.started && !matches!(event, StreamEvent::Fail { .. });
        if begins {
            growing.started = true;
            let message = AgentMessage::Assistant(growing.message.clone());
            self.event(MessageStartEvent { message });
        }
        let Some(growing) = self.run.as_mut().and_then(|run| run.growing.as_mut()) else { return };
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

    /// All calls of the turn have their results: the turn ends, and what comes next begins. `terminates`: the tools want
    /// the model not to be asked again, so that only messages that wait are a reason to go on.
    pub(in crate::engine) fn batch_over(&mut self, results: Vec<ToolResultMessage>, terminates: bool) {
        let over = self.run.as_ref().and_then(|run| run.assistant.as_ref()).is_none_or(has_failed);
        self.end_turn(results);
        self.then(match over {
            true => Step::EndRun,
            false if terminates && !self.is_ending_run() => Step::TurnOver(NextTurn::Messages),
            false => Step::TurnOver(NextTurn::Results),
        });
    }

    /// A turn is over, but not its run: the next one follows, after a compaction if the context needs one.
    pub(in crate::engine) fn turn_over(&mut self, next: NextTurn) {
        let waits = !(self.steering.is_empty() && self.follow_up.is_empty());
        // Aborted while its end was told: there is nothing left to abort.
        if !waits && next == NextTurn::Messages {
            return self.end_run();
        }
        let goes_on = !self.is_ending_run() && (waits || next == NextTurn::Results);
        if !(goes_on && self.compacts_between(next)) {
            self.next_turn(next);
        }
    }

    /// Opens the next turn: with messages that wait, steering first. Without any the run may end.
    pub(in crate::engine) fn next_turn(&mut self, next: NextTurn) {
        if self.is_ending_run() {
            return self.open_turn([]);
        }
        let mut inputs = self.steering.take();
        if inputs.is_empty() && next == NextTurn::Messages {
            inputs = self.follow_up.take();
            if inputs.is_empty() {
                return self.end_run();
            }
        }
        self.open_turn(inputs);
    }

    /// Whether the open run ends before a model is asked again.
    fn is_ending_run(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.ending.is_some())
    }

    /// A message that is complete at once.
    pub(in crate::engine) fn whole_message(&mut self, message: AgentMessage) {
        self.event(MessageStartEvent { message: message.clone() });
        self.then(Step::Complete(Box::new(message)));
    }

    fn open_turn(&mut self, inputs: impl IntoIterator<Item = TurnInput>) {
        self.event(TurnStartEvent {});
        self.then(Step::Inputs(inputs.into_iter().collect()));
    }

    /// The turn has begun: the model is told what is new, then what was said.
    pub(in crate::engine) fn begin_turn(&mut self, inputs: Vec<TurnInput>) {
        let news = self.system_news();
        if let Some(run) = &mut self.run {
            // Who is not asked is not told.
            let news = news.filter(|_| run.ending.is_none()).map(|news| AgentMessage::System(news).into());
            run.inputs.extend(news.into_iter().chain(inputs));
        }
    }

    /// Asks the model; the extensions have their say in the conversation that it is told.
    fn call_model(&mut self) {
        if !self.is_hooked(HookName::Context) {
            return self.ask_about(self.session.messages().clone());
        }
        if let Some(run) = &mut self.run {
            run.asking = true;
        }
        let messages = self.session.messages().iter().map(AsRef::as_ref);
        let messages = messages.filter(|message| !matches!(message, AgentMessage::System(_)));
        let event = ContextHook { messages: messages.cloned().collect() };
        self.tell_all(event.into(), Then::Ask);
    }

    /// The extensions have had their say in the conversation; `None`: it stays.
    pub(in crate::engine) fn context_said(&mut self, messages: Option<Vec<AgentMessage>>) {
        let Some(run) = &mut self.run else { return };
        run.asking = false;
        // Aborted meanwhile.
        if run.ending.is_some() {
            return;
        }
        let instead = messages.map(|messages| Arc::new(messages.into_iter().map(Arc::new).collect()));
        self.ask_about(instead.unwrap_or_else(|| self.session.messages().clone()));
    }

    /// Asks the model about this conversation.
    fn ask_about(&mut self, messages: Arc<Vec<Arc<AgentMessage>>>) {
        let call = self.ids.call();
        let Some(run) = &mut self.run else { return };
        let model = self.models[run.model].model.clone();
        let growing = Growing::new(call, &model, self.dialect, self.now).at(run.level);
        let start = growing.started.then(|| AgentMessage::Assistant(growing.message.clone()));
        run.growing = Some(growing);
        self.rules.reset();
        let request = ModelCall {
            call,
            place: run.model,
            model,
            level: run.level,
            session_id: self.session.id().to_owned(),
            system_prompt: run.system_prompt.clone(),
            messages,
            tools: self.tools.specs().clone(),
            forced_tool: run.forced_tool.take(),
            count: self.calls,
            purpose: Purpose::Turn,
        };
        self.calls += 1;
        if let Some(message) = start {
            self.event(MessageStartEvent { message });
        }
        self.ask_model(request);
    }

    /// The model's answer is over.
    pub(in crate::engine) fn message_over(&mut self, growing: Growing) {
        let (retry_after, started) = (growing.retry_after, growing.started);
        let message = growing.finish();
        if !started {
            self.event(MessageStartEvent { message: AgentMessage::Assistant(message.clone()) });
        }
        if let Some(run) = &mut self.run {
            run.retry_after = retry_after;
            run.assistant = Some(message.clone());
        }
        self.conclude(AgentMessage::Assistant(message));
    }

    /// A message is complete: it is kept, or what the extensions put in its place.
    pub(in crate::engine) fn conclude(&mut self, message: AgentMessage) {
        match self.is_hooked(HookName::MessageEnd) && !self.lifecycle.leaves_work() {
            true => self.tell_all(MessageEndHook { message }.into(), Then::Keep),
            false => self.keep_message(message),
        }
    }

    /// The extensions have had their say in a message of the run; `changed`: this one takes its place.
    pub(in crate::engine) fn message_said(&mut self, message: AgentMessage, changed: bool) {
        self.telling.replaced |= changed;
        if let Some(run) = self.run.as_mut().filter(|_| changed) {
            match &message {
                AgentMessage::Assistant(answer) => run.assistant = Some(answer.clone()),
                AgentMessage::ToolResult(result) => {
                    run.batch.iter_mut().for_each(|batch| batch.replace_result(result));
                }
                _ => {}
            }
        }
        self.keep_message(message);
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
        self.then(if failed { Step::EndRun } else { Step::TurnOver(NextTurn::Messages) });
    }

    /// The empty message that the originals say where the model would have been asked after an abort.
    fn closing_message(&mut self, ending: &Ending) {
        let now = self.now;
        let aborted = errors::request_aborted(self.dialect.base());
        let Some(run) = &mut self.run else { return };
        let model = &self.models[run.model].model;
        let growing = Growing::new(0, model, self.dialect, now);
        let started = growing.started;
        let empty = growing.finish();
        let (stop_reason, text) = match ending {
            Ending::Aborted => (StopReason::Aborted, aborted),
            Ending::Failed(text) => (StopReason::Error, text.clone()),
        };
        // No request was made, so there is nothing to be timed.
        let message = AssistantMessage {
            stop_reason,
            error_message: Some(text),
            duration_ms: Some(0),
            thinking_level: run.level,
            ..empty.clone()
        };
        run.assistant = Some(message.clone());
        let start = if started { empty } else { message.clone() };
        self.event(MessageStartEvent { message: AgentMessage::Assistant(start) });
        self.conclude(AgentMessage::Assistant(message));
    }

    fn end_turn(&mut self, tool_results: Vec<ToolResultMessage>) {
        let Some(message) = self.run.as_mut().and_then(|run| run.assistant.take()) else { return };
        self.event(TurnEndEvent { message, tool_results });
    }

    pub(in crate::engine) fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let messages = run.messages.iter().map(|message| message.as_ref().clone()).collect();
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
        let retries = self.ended.as_ref().is_some_and(|ended| self.retry_wait(ended).is_some());
        let end = AgentEndEvent { messages, will_retry: Some(retries && !self.ends_at_once()) };
        match self.syncs_runs && self.session.is_on_disk() && self.broken.is_none() && self.tell.is_none() {
            true => self.sync_before(end),
            false => self.event(end),
        }
    }
}

impl Run {
    /// The message that streams.
    pub(in crate::engine) const fn growing(&self) -> Option<&Growing> {
        self.growing.as_ref()
    }

    /// Takes it out: it ends here.
    pub(in crate::engine) const fn take_growing(&mut self) -> Option<Growing> {
        self.growing.take()
    }

    /// The instructions that come first.
    pub(in crate::engine) const fn instructions(&self) -> &Arc<str> {
        &self.system_prompt
    }

    /// It goes on with other instructions, if it has those from `before`.
    pub(in crate::engine) fn instruct(&mut self, before: &Arc<str>, now: &Arc<str>) {
        if Arc::ptr_eq(&self.system_prompt, before) {
            self.system_prompt = now.clone();
        }
    }

    /// The model must call this tool first.
    pub(in crate::engine) fn force(&mut self, tool: &str) {
        self.forced_tool = Some(tool.to_owned());
    }
}

/// Whether the run ends with this answer, whatever it asks for.
pub(in crate::engine) const fn has_failed(message: &AssistantMessage) -> bool {
    matches!(message.stop_reason, StopReason::Error | StopReason::Aborted)
}

const fn as_call(block: &AssistantContent) -> Option<&ToolCall> {
    match block {
        AssistantContent::ToolCall(call) => Some(call),
        _ => None,
    }
}
