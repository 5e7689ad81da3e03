//! State behind the hub's lock; handles the frames of both sides one by one.

use super::{
    DialogHandler, Error, LineObserver, LineOrigin, ServerExit,
    callbacks::{CallbackTask, Callbacks},
    events::EventQueue,
    expected_run::ExpectedRun,
    hub::ShutdownMode,
    session::{Permission, SessionState},
};
use pi_rpc_machine::{Envelope, State};
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, AssistantMessage, ChunkReassembler, Dialect, Emission, FlowState,
    Inbound, Outbound, ReadError, RequestId, RpcCommand, RpcCommandKind, RpcErrorResponse, RpcResponse,
    RpcSuccess,
};
use std::{collections::HashMap, time::Duration};
use tokio::sync::{mpsc, oneshot};

/// The outcome of a call.
pub(super) type Outcome = Result<RpcSuccess, Error>;

/// Session, outstanding calls, callbacks and pending events of one client.
pub(super) struct Inner {
    /// Channel of lines to write; `None` once a shutdown was requested.
    pub input: Option<mpsc::Sender<Vec<u8>>>,
    pub events: EventQueue,
    pub callbacks: Callbacks,
    /// Number of waits for something other than a response.
    pub waiters: usize,
    /// Number of assistant messages that have ended, and the last of them.
    pub assistant_messages: (u64, Option<AssistantMessage>),
    pub shutdown: Option<ShutdownMode>,
    pub expected: ExpectedRun,
    dialect: Dialect,
    /// Frames in chunks.
    pub chunks: ChunkReassembler,
    pub session: SessionState,
    pub observer: Option<LineObserver>,
    pub calls: HashMap<String, OutstandingCall>,
    /// Acknowledged calls that an error may still follow.
    pub late: HashMap<String, oneshot::Sender<LateOutcome>>,
}

/// An outstanding command.
pub struct OutstandingCall {
    /// Number of commands sent before.
    number: u64,
    kind: RpcCommandKind,
    /// Moves of the flow when it was sent, if it is a prompt that certainly begins a run.
    moves_when_sent: Option<u64>,
    answer: oneshot::Sender<Outcome>,
}

/// The part of [`Options`](super::Options) that concerns the hub.
pub(super) struct HubOptions {
    pub unread: usize,
    pub begin_within: Duration,
    pub on_dialog: DialogHandler,
    pub observer: Option<LineObserver>,
}

/// Receivers of a call's outcome, and of what may follow an acknowledgement.
pub(super) type Receivers = (oneshot::Receiver<Outcome>, oneshot::Receiver<LateOutcome>);

/// Outcome of a prompt that comes after its acknowledgement, and instead of a run.
#[derive(Debug)]
pub(super) enum LateOutcome {
    /// The prompt is refused.
    Refused(RpcErrorResponse),
    /// An extension has handled it.
    Handled,
}

impl Inner {
    pub fn new(dialect: Dialect, input: mpsc::Sender<Vec<u8>>, options: HubOptions) -> Self {
        let mut callbacks = Callbacks::default();
        callbacks.set_dialog_handler(options.on_dialog);
        Self {
            input: Some(input),
            events: EventQueue::new(options.unread),
            callbacks,
            waiters: 0,
            assistant_messages: (0, None),
            shutdown: None,
            expected: ExpectedRun::new(options.begin_within),
            dialect,
            chunks: ChunkReassembler::new(dialect),
            session: SessionState::fresh(dialect),
            observer: options.observer,
            calls: HashMap::new(),
            late: HashMap::new(),
        }
    }

    pub fn state(&self) -> State {
        self.session.state()
    }

    /// Shows a line to the observer.
    pub fn observe(&self, origin: LineOrigin, line: &[u8]) {
        if let Some(observer) = &self.observer {
            observer.observe(origin, line);
        }
    }

    /// Follows a frame that is about to be written.
    pub fn note_inbound(&mut self, frame: &Inbound) {
        self.session.inbound(frame);
    }

    /// Registers the outstanding call `id`.
    pub fn register_call(&mut self, number: u64, id: &str, command: &RpcCommand) -> Receivers {
        let (answer, late) = (oneshot::channel(), oneshot::channel());
        let begins = matches!(command, RpcCommand::Prompt(prompt) if !prompt.message.starts_with('/'));
        let moves_when_sent = begins.then(|| self.expected.moves());
        let call = OutstandingCall { number, kind: command.kind(), moves_when_sent, answer: answer.0 };
        self.calls.insert(id.to_owned(), call);
        self.late.insert(id.to_owned(), late.0);
        (answer.1, late.1)
    }

    /// Fails all outstanding calls, as the server has exited.
    pub fn fail_calls(&mut self, ended: &ServerExit) {
        self.input = None;
        self.late.clear();
        for (_, call) in self.calls.drain() {
            // Fails only if the caller has gone.
            let _ = call.answer.send(Err(Error::Gone(ended.clone())));
        }
        self.events.wake();
    }

    /// Whether a call, a wait or the shutdown depends on further output.
    pub fn is_hurried(&self) -> bool {
        !self.calls.is_empty() || self.waiters > 0 || self.shutdown.is_some()
    }

    /// Refuses commands that the dialect does not have or that are certainly illegal in the current state.
    pub fn check_allowed(&self, command: &RpcCommand) -> Result<(), Error> {
        let (kind, state, dialect) = (command.kind(), self.state(), self.dialect);
        if !kind.is_in(dialect.base()) {
            return Err(Error::Foreign { command: kind, dialect: dialect.as_str() });
        }
        match self.session.permission(command) {
            Permission::Allowed(_) => Ok(()),
            Permission::Refused(reason) => Err(Error::Refused { command: kind, state, reason }),
        }
    }

    /// Handles a frame of the server. Returns the callback to run, if any.
    pub fn receive(&mut self, mut frame: Outbound, line: Vec<u8>) -> Option<CallbackTask> {
        if let Outbound::Response(RpcResponse::ErrorResponse(error)) = &mut frame
            && matches!(error.id, None | Some(RequestId::Null))
        {
            error.id = self.origin_of(error).map(|id| RequestId::from(id.as_str()));
        }
        let (before, moves) = (self.state().flow, self.expected.moves());
        let emission = Emission::Frame(frame);
        self.session.outbound_with_ids(&emission);
        let Emission::Frame(mut frame) = emission else { return None };
        let flow = self.state().flow;
        self.expected.note_frame(&frame, before, flow);
        if let Outbound::Response(response) = frame {
            let id = id_of(&response);
            let moves_when_sent = id.as_ref().and_then(|id| self.calls.get(id)?.moves_when_sent);
            // The run of a prompt that is acknowledged late may be over.
            let begins_run = moves_when_sent.is_some_and(|sent| before != FlowState::Idle || sent == moves);
            if begins_run && flow == FlowState::Starting {
                self.expected.expect_run();
            }
            frame = match id {
                Some(id) => self.complete_call(&id, response)?.into(),
                None => response.into(),
            };
        }
        if let Outbound::AgentSessionEvent(AgentSessionEvent::MessageEnd(end)) = &frame
            && let AgentMessage::Assistant(message) = &end.message
        {
            self.assistant_messages = (self.assistant_messages.0 + 1, Some(message.clone()));
        }
        if let Outbound::AgentSessionEvent(AgentSessionEvent::PromptResult(result)) = &frame
            && !result.agent_invoked
            && let Some(late) = result.id.as_ref().and_then(|id| self.late.remove(&id.to_string()))
        {
            // Fails only if the caller has gone.
            let _ = late.send(LateOutcome::Handled);
        }
        let task = self.callbacks.task_for(&frame);
        self.events.push(Some(frame), line);
        task
    }

    /// The outstanding call that an error without an id most likely answers.
    fn origin_of(&self, error: &RpcErrorResponse) -> Option<String> {
        let open = self.calls.values().map(|call| (call.number, call.kind));
        let number = self.dialect.origin_of_error(error, open)?;
        self.calls.iter().find(|(_, call)| call.number == number).map(|(id, _)| id.clone())
    }

    /// Completes an outstanding call; returns the response if there is none.
    fn complete_call(&mut self, id: &str, response: RpcResponse) -> Option<RpcResponse> {
        let Some(call) = self.calls.remove(id) else { return self.complete_late(id, response) };
        let outcome = match response {
            RpcResponse::Success(success) => Ok(success),
            RpcResponse::ErrorResponse(error) => Err(Error::Failed(error)),
        };
        match call.answer.send(outcome).err()? {
            Ok(success) => Some(RpcResponse::Success(success)),
            Err(Error::Failed(error)) => Some(RpcResponse::ErrorResponse(error)),
            Err(_) => None,
        }
    }

    fn complete_late(&mut self, id: &str, response: RpcResponse) -> Option<RpcResponse> {
        match (response, self.late.remove(id)) {
            (RpcResponse::ErrorResponse(error), Some(late)) => {
                match late.send(LateOutcome::Refused(error)).err()? {
                    LateOutcome::Refused(error) => Some(RpcResponse::ErrorResponse(error)),
                    LateOutcome::Handled => None,
                }
            }
            (response, _) => Some(response),
        }
    }

    /// Handles a line that is no valid frame of the dialect: fails the call that it responds to, else becomes an event. The
    /// state follows what can be read of it.
    pub fn receive_unreadable(&mut self, line: Vec<u8>, error: &ReadError) {
        let text = str::from_utf8(&line).unwrap_or_default();
        let before = self.state().flow;
        let call = Envelope::read(text).ok().and_then(|(envelope, kind)| {
            self.session.unreadable(envelope.unreadable(&kind, error));
            self.calls.remove(&envelope.response_id(&kind)?.to_string())
        });
        match call {
            Some(OutstandingCall { kind: command, answer, .. }) => {
                // Fails only if the caller has gone.
                let _ = answer.send(Err(Error::Unread { command, reason: error.to_string() }));
            }
            None => self.events.push(None, line),
        }
        self.expected.note_move(before, self.state().flow);
    }
}

fn id_of(response: &RpcResponse) -> Option<String> {
    let id = match response {
        RpcResponse::Success(success) => success.id(),
        RpcResponse::ErrorResponse(error) => error.id.as_ref(),
    };
    id.map(ToString::to_string)
}
