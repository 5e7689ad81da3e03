//! Model of runs, turns, queues and messages by the documents, which predicts the input messages of every turn.

use super::brief::text_of;
use crate::{Checked, ensure};
use pi_rpc_engine::ShellEnd;
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, AgentSessionEventKind, AssistantContent, AssistantMessage, Base,
    BashExecutionMessage, Check as _, Dialect, DialectToolExecution, FollowUpCommand, InterruptMode,
    QueueMode, RpcCommand, RpcSuccess, SteerCommand, StopReason, StreamingBehavior,
};
use std::{collections::VecDeque, sync::Arc};

/// Model of one conversation.
pub struct RunModel {
    base: Base,
    steering: Queue,
    follow_up: Queue,
    interrupt: InterruptMode,
    /// Expected messages of the session.
    messages: Vec<AgentMessage>,
    /// Messages that are expected after the end of the run.
    deferred: Vec<AgentMessage>,
    /// Number of the current session.
    pub session: usize,
    session_id: Option<String>,
    /// Accepted prompt whose run starts next.
    due: Option<String>,
    /// Whether the end of input has ended the run, behind which messages only wait.
    is_cut: bool,
    run: Option<Run>,
    /// Whether a run has ended without its `agent_settled`.
    settling: bool,
    /// Whether a run with the queued messages follows, once nothing else does.
    delivers: bool,
    dialect: Dialect,
}

struct Queue {
    mode: QueueMode,
    texts: VecDeque<String>,
}

struct Run {
    interrupt: InterruptMode,
    prompt: Option<String>,
    /// Inputs that the open turn must still emit.
    inputs: VecDeque<String>,
    /// Whether the run is being aborted; the open turn is then the empty one that ends it.
    aborted: bool,
    /// Whether the run delivers what was queued when the run before it was aborted. It begins before the commands behind
    /// the abort are served.
    delivers: bool,
    assistant: Option<AssistantMessage>,
}

impl Queue {
    const fn new() -> Self {
        Self { mode: QueueMode::OneAtATime, texts: VecDeque::new() }
    }

    fn take(&mut self) -> VecDeque<String> {
        let count = match self.mode {
            QueueMode::All => self.texts.len(),
            QueueMode::OneAtATime => self.texts.len().min(1),
        };
        self.texts.drain(..count).collect()
    }
}

impl Run {
    fn failed(&self) -> bool {
        let failed =
            |it: &AssistantMessage| matches!(it.stop_reason, StopReason::Error | StopReason::Aborted);
        self.assistant.as_ref().is_some_and(failed)
    }

    /// Whether the run delivers what was queued, and has no answer yet.
    const fn is_delivering(&self) -> bool {
        self.delivers && self.assistant.is_none()
    }

    fn had_calls(&self) -> bool {
        let is_call = |block: &AssistantContent| matches!(block, AssistantContent::ToolCall(_));
        !self.failed() && self.assistant.as_ref().is_some_and(|it| it.content.iter().any(is_call))
    }
}

impl RunModel {
    pub fn new(dialect: Dialect) -> Self {
        Self {
            base: dialect.base(),
            steering: Queue::new(),
            follow_up: Queue::new(),
            interrupt: InterruptMode::parse(dialect.record().defaults.interrupt_mode.as_str())
                .unwrap_or(InterruptMode::Wait),
            messages: Vec::new(),
            deferred: Vec::new(),
            session: 0,
            session_id: None,
            due: None,
            is_cut: false,
            run: None,
            settling: false,
            delivers: false,
            dialect,
        }
    }

    /// Expects no further events of the run.
    pub fn cut(&mut self) {
        (self.due, self.run, self.settling, self.delivers) = (None, None, false, false);
        self.is_cut = true;
    }

    pub const fn run_open(&self) -> bool {
        self.run.is_some()
    }

    /// Number of messages in the queues.
    pub fn queued(&self) -> usize {
        self.steering.texts.len() + self.follow_up.texts.len()
    }

    /// Whether the first turn is open of a run that delivers what was queued when the run before it was aborted.
    pub fn is_delivering(&self) -> bool {
        self.run.as_ref().is_some_and(Run::is_delivering)
    }

    /// Whether a steering message waits.
    pub fn steers(&self) -> bool {
        !self.steering.texts.is_empty()
    }

    /// Whether steering aborts the tools of the open run.
    pub fn interrupts(&self) -> bool {
        let may = self.dialect.record().tool_execution == DialectToolExecution::Interrupt;
        may && self.run.as_ref().is_some_and(|run| run.interrupt == InterruptMode::Immediate)
    }

    /// Checks the number of messages of the session.
    pub fn holds(&self, messages: &[Arc<AgentMessage>]) -> Checked {
        let lost = || format!("the session has {} messages, not {}", messages.len(), self.messages.len());
        ensure!(messages.len() == self.messages.len(), "{}", lost());
        Ok(())
    }

    /// Checks the messages of the session one by one.
    pub fn holds_exactly(&self, messages: &[Arc<AgentMessage>]) -> Checked {
        let fitted = messages.iter().map(|message| {
            let mut message = message.as_ref().clone();
            message.fit(self.base);
            message
        });
        ensure!(fitted.eq(self.messages.iter().cloned()), "the session lost or changed a message");
        Ok(())
    }

    /// Handles the success of a command.
    pub fn succeeded(&mut self, command: &RpcCommand, response: &RpcSuccess) -> Checked {
        match (command, response) {
            (RpcCommand::Prompt(it), _) if self.run.is_some() => {
                let queue = match it.streaming_behavior {
                    Some(StreamingBehavior::FollowUp) => &mut self.follow_up,
                    _ => &mut self.steering,
                };
                queue.texts.push_back(it.message.clone());
            }
            (RpcCommand::Prompt(it), _) => self.due = Some(it.message.clone()),
            (RpcCommand::AbortAndPrompt(it), _) => {
                ensure!(self.run.is_none(), "the prompt was accepted before the abort was over");
                self.due = Some(it.message.clone());
            }
            (
                RpcCommand::Steer(SteerCommand { message, .. })
                | RpcCommand::FollowUp(FollowUpCommand { message, .. }),
                _,
            ) if self.run.is_none() && !self.is_cut && self.dialect.record().starts_when_idle => {
                self.due = Some(message.clone());
            }
            (RpcCommand::Steer(it), _) => self.steering.texts.push_back(it.message.clone()),
            (RpcCommand::FollowUp(it), _) => self.follow_up.texts.push_back(it.message.clone()),
            (RpcCommand::Abort(_), _) => ensure!(self.run.is_none(), "an abort was answered in a run"),
            (RpcCommand::NewSession(_), _) => {
                ensure!(self.run.is_none(), "a session was begun in a run");
                self.session += 1;
                self.session_id = None;
                self.messages.clear();
                self.steering.texts.clear();
                self.follow_up.texts.clear();
            }
            (RpcCommand::SetSteeringMode(it), _) => self.steering.mode = it.mode,
            (RpcCommand::SetFollowUpMode(it), _) => self.follow_up.mode = it.mode,
            (RpcCommand::SetInterruptMode(it), _) => self.interrupt = it.mode,
            (_, RpcSuccess::GetState(response)) => {
                let state = &response.data;
                let pending = state.pending_message_count.or(state.queued_message_count);
                ensure!(pending == Some(self.queued() as u64), "{} wait, not {pending:?}", self.queued());
                ensure!(state.is_streaming == self.run.is_some(), "isStreaming {}", state.is_streaming);
                ensure!(!state.is_compacting, "nothing is compacted");
                let count = self.messages.len();
                ensure!(state.message_count == count as u64, "{count} messages, not {}", state.message_count);
                ensure!(state.steering_mode == self.steering.mode, "the steering mode is another");
                ensure!(state.follow_up_mode == self.follow_up.mode, "the follow-up mode is another");
                ensure!(
                    state.interrupt_mode.is_none_or(|it| it == self.interrupt),
                    "the interrupt mode is another"
                );
                let id = self.session_id.get_or_insert_with(|| state.session_id.clone());
                ensure!(*id == state.session_id, "the session's id changed");
            }
            (_, RpcSuccess::GetMessages(response)) => {
                ensure!(response.data.messages == self.messages, "get_messages is not what was said");
            }
            (_, RpcSuccess::GetSessionStats(response)) => {
                ensure!(
                    response.data.total_messages == self.messages.len() as u64,
                    "the statistics count {} messages, not {}",
                    response.data.total_messages,
                    self.messages.len()
                );
            }
            _ => {}
        }
        Ok(())
    }

    /// Handles the response to a shell command that was started in `session`.
    pub fn shell_ended(&mut self, command: &str, end: &ShellEnd, session: usize, wall: u64) {
        if session != self.session {
            return;
        }
        let message = AgentMessage::BashExecution(BashExecutionMessage {
            command: command.to_owned(),
            output: end.output.clone(),
            exit_code: end.exit_code.map(i64::from),
            cancelled: end.cancelled,
            truncated: end.truncated,
            full_output_path: end.full_output_path.clone(),
            meta: None,
            timestamp: wall,
            exclude_from_context: None,
        });
        match self.run {
            Some(_) => self.deferred.push(message),
            None => self.messages.push(message),
        }
    }

    /// Checks that a run that is due starts with the next event.
    pub fn said(&mut self, event: Option<&AgentSessionEvent>) -> Checked {
        use AgentSessionEvent as Event;
        let starts = matches!(event, Some(Event::AgentStart(_)));
        ensure!(
            !self.settling || matches!(event, Some(Event::AgentStart(_) | Event::AgentSettled(_))),
            "what follows a run follows it at once"
        );
        ensure!(
            starts == self.due.is_some() || starts && (self.settling || self.delivers),
            "a run starts exactly behind the answer to its prompt, or for what was queued"
        );
        Ok(())
    }

    /// Checks an event of a run. `aborts`: a command waits that ends the run.
    pub fn event(&mut self, event: &AgentSessionEvent, aborts: bool) -> Checked {
        use AgentSessionEvent as Event;
        if let Event::AgentSettled(settled) = event {
            ensure!(std::mem::take(&mut self.settling), "nothing was to settle");
            ensure!(settled.aborted == Some(aborts), "aborted: {:?}", settled.aborted);
            ensure!(aborts || self.queued() == 0, "all is done, but messages wait");
            self.messages.append(&mut self.deferred);
            return Ok(());
        }
        if let Event::AgentStart(_) = event {
            let goes_on = std::mem::take(&mut self.settling);
            let delivers = std::mem::take(&mut self.delivers) && self.due.is_none();
            ensure!(!delivers || self.queued() > 0, "a run was to deliver what waits");
            ensure!(!goes_on || self.queued() > 0 && !aborts, "a run followed another for nothing");
            let (prompt, interrupt) = (self.due.take(), self.interrupt);
            let inputs = VecDeque::new();
            self.run = Some(Run { interrupt, prompt, inputs, aborted: false, delivers, assistant: None });
            return Ok(());
        }
        if let Event::AgentEnd(_) = event {
            let run = self.run.take().ok_or("a run ended that had not begun")?;
            if !run.failed() {
                ensure!(!run.had_calls(), "a run ended that owed the model tool results");
                ensure!(self.queued() == 0, "a run ended while messages waited");
            }
            self.delivers = self.dialect.record().abort_delivers && self.queued() > 0;
            self.settling = AgentSessionEventKind::AgentSettled.is_in(self.base);
            if !self.settling {
                self.messages.append(&mut self.deferred);
            }
            return Ok(());
        }
        match event {
            Event::TurnStart(_) => self.turn_start(aborts)?,
            Event::MessageStart(start) => {
                if let (AgentMessage::Assistant(_), Some(run)) = (&start.message, &self.run) {
                    ensure!(run.inputs.is_empty(), "a turn did not take up {:?}", run.inputs);
                    let told =
                        self.messages.iter().filter(|it| matches!(it, AgentMessage::System(_))).count();
                    let opens = self.dialect.record().system_message_opens_run;
                    ensure!(told <= 1 && (told == 1 || !opens || run.aborted), "{told} system messages");
                }
            }
            Event::MessageEnd(end) => self.message_end(&end.message)?,
            _ => {}
        }
        Ok(())
    }

    fn turn_start(&mut self, aborts: bool) -> Checked {
        let run = self.run.as_mut().ok_or("a turn outside a run")?;
        if let Some(prompt) = run.prompt.take() {
            run.inputs = [prompt].into_iter().chain(self.steering.take()).collect();
        } else if aborts && !run.is_delivering() {
            run.aborted = true;
        } else {
            ensure!(!run.failed(), "a run went on after a failed message");
            run.inputs = self.steering.take();
            if run.inputs.is_empty() && !run.had_calls() {
                run.inputs = self.follow_up.take();
                ensure!(!run.inputs.is_empty(), "a turn began for nothing");
            }
        }
        Ok(())
    }

    fn message_end(&mut self, message: &AgentMessage) -> Checked {
        let run = self.run.as_mut().ok_or("a message outside a run")?;
        match message {
            AgentMessage::User(user) => {
                let (text, owed) = (text_of(user), run.inputs.pop_front());
                ensure!(owed.as_ref() == Some(&text), "{text:?} was delivered, {owed:?} was next");
            }
            AgentMessage::Assistant(message) => {
                let empty = message.stop_reason == StopReason::Aborted && message.content.is_empty();
                ensure!(!run.aborted || empty, "an aborted run ended with more than an empty message");
                run.assistant = Some(message.clone());
            }
            _ => {}
        }
        self.messages.push(message.clone());
        Ok(())
    }
}
