//! What stands behind the hub's lock: frames of both sides are taken in one after another.

use super::{
    DialogHandler, Error, ServerExit,
    callbacks::{CallbackTask, Callbacks},
    error_origin::origin_of_error,
    events::EventQueue,
    expected_run::ExpectedRun,
    hub::ShutdownMode,
    session::{Permission, SessionState},
};
use crate::{
    machine::{Envelope, State},
    protocol::{
        AgentMessage, AgentSessionEvent, AssistantMessage, Dialect, Emission, FlowState, Inbound, Outbound,
        ReadError, RequestId, RpcCommand, RpcCommandKind, RpcErrorResponse, RpcResponse, RpcSuccess,
    },
};
use std::{collections::HashMap, time::Duration};
use tokio::sync::{mpsc, oneshot};

/// What answers a call.
pub(super) type Outcome = Result<RpcSuccess, Error>;

/// See the module.
pub(super) struct Inner {
    /// Lines to be written; `None` once the server is to be ended.
    pub input: Option<mpsc::Sender<Vec<u8>>>,
    pub events: EventQueue,
    pub callbacks: Callbacks,
    /// Those who wait for something other than an answer.
    pub waiters: usize,
    /// How many assistant messages have ended, and the last of them.
    pub assistant_messages: (u64, Option<AssistantMessage>),
    pub shutdown: Option<ShutdownMode>,
    pub expected: ExpectedRun,
    dialect: Dialect,
    pub session: SessionState,
    calls: HashMap<String, Call>,
    /// Calls that may still be refused, though they were acknowledged.
    late: HashMap<String, oneshot::Sender<RpcErrorResponse>>,
}

/// A command that waits for its answer.
struct Call {
    /// How many were sent before it.
    number: u64,
    kind: RpcCommandKind,
    /// How often the flow had moved when it was sent, if it is a prompt that begins a run for certain.
    moves_when_sent: Option<u64>,
    answer: oneshot::Sender<Outcome>,
}

/// What [`Options`](super::Options) say of what is kept and expected.
pub(super) struct HubOptions {
    pub unread: usize,
    pub begin_within: Duration,
    pub on_dialog: DialogHandler,
}

/// Where a call's answer comes, and the error that may follow an acknowledgement.
pub(super) type Receivers = (oneshot::Receiver<Outcome>, oneshot::Receiver<RpcErrorResponse>);

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
            session: SessionState::fresh(dialect),
            calls: HashMap::new(),
            late: HashMap::new(),
        }
    }

    pub fn state(&self) -> State {
        self.session.state()
    }

    /// A frame is about to be written.
    pub fn note_inbound(&mut self, frame: &Inbound) {
        self.session.inbound(frame);
    }

    /// Notes who waits for the answer to the call `id`.
    pub fn register_call(&mut self, number: u64, id: &str, command: &RpcCommand) -> Receivers {
        let (answer, late) = (oneshot::channel(), oneshot::channel());
        let begins = matches!(command, RpcCommand::Prompt(prompt) if !prompt.message.starts_with('/'));
        let moves_when_sent = begins.then(|| self.expected.moves());
        let call = Call { number, kind: command.kind(), moves_when_sent, answer: answer.0 };
        self.calls.insert(id.to_owned(), call);
        self.late.insert(id.to_owned(), late.0);
        (answer.1, late.1)
    }

    /// Nobody waits for it any more.
    pub fn forget_call(&mut self, id: &str) {
        self.calls.remove(id);
        self.late.remove(id);
    }

    /// No answer will come.
    pub fn fail_calls(&mut self, ended: &ServerExit) {
        self.input = None;
        self.late.clear();
        for (_, call) in self.calls.drain() {
            // Whoever does not wait any more need not know.
            let _ = call.answer.send(Err(Error::Gone(ended.clone())));
        }
        self.events.wake();
    }

    /// Whether somebody waits for what is behind the events.
    pub fn is_hurried(&self) -> bool {
        !self.calls.is_empty() || self.waiters > 0 || self.shutdown.is_some()
    }

    /// Refuses what the dialect does not have, and what is refused for certain in the state that frames have told of.
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

    /// The server has said a frame. Gives what a callback is to do about it.
    pub fn receive(&mut self, mut frame: Outbound, line: Vec<u8>) -> Option<CallbackTask> {
        if let Outbound::Response(RpcResponse::ErrorResponse(error)) = &mut frame
            && matches!(error.id, None | Some(RequestId::Null))
        {
            error.id = self.origin_of(error).map(|id| RequestId::from(id.as_str()));
        }
        let (before, moves) = (self.state().flow, self.expected.moves());
        let said = Emission::Frame(frame);
        self.session.outbound_with_ids(&said);
        let Emission::Frame(mut frame) = said else { return None };
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
        let task = self.callbacks.task_for(&frame);
        self.events.push(Some(frame), line);
        task
    }

    /// The call that an error without an id most likely answers.
    fn origin_of(&self, error: &RpcErrorResponse) -> Option<String> {
        let open = self.calls.values().map(|call| (call.number, call.kind));
        let number = origin_of_error(error, open, self.dialect)?;
        self.calls.iter().find(|(_, call)| call.number == number).map(|(id, _)| id.clone())
    }

    /// Gives the answer to whoever waits for it, or back if nobody does.
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
                late.send(error).err().map(RpcResponse::ErrorResponse)
            }
            (response, _) => Some(response),
        }
    }

    /// A line that is no frame of the dialect: an event all the same, unless it is the answer to a call. The flow goes on
    /// from what is known of it.
    pub fn receive_unreadable(&mut self, line: Vec<u8>, error: &ReadError) {
        let text = str::from_utf8(&line).unwrap_or_default();
        let before = self.state().flow;
        let call = Envelope::read(text).ok().and_then(|(envelope, kind)| {
            self.session.unreadable(envelope.unread(&kind, error));
            self.calls.remove(&envelope.answers(&kind)?.to_string())
        });
        match call {
            Some(Call { kind: command, answer, .. }) => {
                // Nobody may be there any more.
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
