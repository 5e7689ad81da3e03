//! The task of an agent: serves the server's requests, one prompt turn at a time.
//!
//! | Request | What the agent gets |
//! |---|---|
//! | an answer, no turn is open | `session/prompt` with the new messages |
//! | an answer, a turn is open | nothing: the turn goes on; with new messages (steering) `session/cancel`, then `session/prompt` |
//! | an answer that is cancelled, a call that is cancelled | `session/cancel`; what it still sends in that turn is dropped |
//! | a summary, an answer for an extension | nothing: refused |

mod events;

use super::{
    AcpOptions,
    call::{end, result},
    connection::{AgentEvent, Connection, error_text},
    prompt::content,
    sessions::{Delivery, Sessions},
    turn::Turn,
};
use agent_client_protocol::{
    Error,
    v1::{
        Responder,
        schema::{
            CancelNotification, CreateTerminalRequest, CreateTerminalResponse, PermissionOption,
            PromptRequest, RequestPermissionResponse, SessionId,
        },
    },
};
use pi_rpc_engine::{CallId, Input, Purpose};
use pi_rpc_model::types::StreamEvent;
use pi_rpc_protocol::AgentMessage;
use pi_rpc_server::{AgentAnswer, AgentRequest, AgentTool, ToolState};
use serde_json::Value;
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};

/// How long further calls may join the one that the agent has started: agents announce calls of one step in a row.
const JOIN_TIME: Duration = Duration::from_millis(25);

/// How long an agent may take to end a turn that was cancelled, before its process is ended.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// An agent at work.
pub struct Task {
    options: AcpOptions,
    /// `None`: the agent is gone; the next prompt starts it again.
    connection: Option<Connection>,
    sessions: Sessions,
    inputs: mpsc::Sender<Input>,
    requests: mpsc::UnboundedReceiver<AgentRequest>,
    turn: Option<OpenTurn>,
    /// An answer that waits until the turn that was cancelled is over.
    next: Option<AgentAnswer>,
    permissions: HashMap<CallId, PendingPermission>,
    /// Commands that wait until the host knows of the calls that they belong to.
    commands: Vec<PendingCommand>,
    /// Permissions requested so far, which number the dialogs.
    dialogs: CallId,
    /// Costs of the session that answers have reported.
    cost: f64,
}

/// A prompt turn that the agent has not ended.
struct OpenTurn {
    session: SessionId,
    /// The id of our session.
    session_id: String,
    turn: Turn,
    /// Takes the events of the open answer.
    events: Option<mpsc::Sender<StreamEvent>>,
    /// Take the states of the calls that run.
    tools: HashMap<String, watch::Sender<ToolState>>,
    /// Messages of the last prompt.
    sent: usize,
    /// The answer has ended with calls, and none of them has begun.
    has_new_calls: bool,
    /// When the calls of the open answer have waited for others long enough.
    join_due: Option<Instant>,
    /// Messages that steer, sent once the agent has ended what it was doing.
    steering: Option<Vec<Arc<AgentMessage>>>,
    /// The turn was cancelled, and must end by then.
    cancel_due: Option<Instant>,
}

struct PendingCommand {
    request: Box<CreateTerminalRequest>,
    responder: Responder<CreateTerminalResponse>,
}

struct PendingPermission {
    responder: Responder<RequestPermissionResponse>,
    options: Vec<PermissionOption>,
}

/// What the task waits for.
enum Wake {
    Request(Option<AgentRequest>),
    Event(Option<AgentEvent>),
    AnswerCancelled,
    CallsJoined,
    CancelOverdue,
}

impl Task {
    /// The task of an agent that is connected.
    pub fn new(
        options: AcpOptions,
        connection: Connection,
        sessions: Sessions,
        inputs: mpsc::Sender<Input>,
        requests: mpsc::UnboundedReceiver<AgentRequest>,
    ) -> Self {
        Self {
            options,
            connection: Some(connection),
            sessions,
            inputs,
            requests,
            turn: None,
            next: None,
            permissions: HashMap::new(),
            commands: Vec::new(),
            dialogs: 0,
            cost: 0.0,
        }
    }

    /// Serves requests until the session is over.
    pub async fn run(mut self) {
        loop {
            match self.wait().await {
                Wake::Request(None | Some(AgentRequest::End)) => break,
                Wake::Request(Some(AgentRequest::Answer(answer))) => self.answer(answer).await,
                Wake::Request(Some(AgentRequest::FollowTool(tool))) => self.follow_tool(tool),
                Wake::Request(Some(AgentRequest::CancelTool(id))) => {
                    if self.turn.as_ref().is_some_and(|turn| turn.tools.contains_key(&id)) {
                        self.cancel_turn().await;
                    }
                }
                Wake::Request(Some(AgentRequest::DialogClosed { request, response })) => {
                    self.close_dialog(request, response.as_ref());
                }
                Wake::Event(Some(event)) => self.on_event(event).await,
                Wake::Event(None) => self.on_closed(None).await,
                Wake::AnswerCancelled => self.cancel_turn().await,
                Wake::CallsJoined => {
                    if let Some(open) = &mut self.turn {
                        open.join_due = None;
                        open.turn.end_calls();
                    }
                    self.emit().await;
                }
                Wake::CancelOverdue => self.on_cancel_overdue().await,
            }
        }
        if self.turn.is_some() {
            self.cancel_turn().await;
        }
        if let Some(connection) = self.connection {
            connection.end().await;
        }
    }

    async fn wait(&mut self) -> Wake {
        let Self { requests, connection, turn, .. } = self;
        let (answer, join_due, cancel_due) = match turn {
            Some(open) => (open.events.clone(), open.join_due, open.cancel_due),
            None => (None, None, None),
        };
        tokio::select! {
            request = requests.recv() => Wake::Request(request),
            event = next_event(connection) => Wake::Event(event),
            () = closed(answer) => Wake::AnswerCancelled,
            () = due(join_due) => Wake::CallsJoined,
            () = due(cancel_due) => Wake::CancelOverdue,
        }
    }

    /// Serves a model call.
    async fn answer(&mut self, answer: AgentAnswer) {
        match answer.call.purpose {
            Purpose::Turn => {}
            Purpose::Summary => {
                return fail(
                    &answer,
                    "The agent keeps its own context: compact it by a command of the agent",
                )
                .await;
            }
            Purpose::Extension(_) | Purpose::Warming => {
                return fail(&answer, "The agent answers prompts of its session only").await;
            }
        }
        match &mut self.turn {
            // The turn that was cancelled is not over.
            Some(OpenTurn { cancel_due: Some(_), .. }) => self.next = Some(answer),
            Some(_) => self.continue_turn(answer).await,
            None => self.begin_turn(answer).await,
        }
    }

    /// Goes on with the open turn, or steers it.
    async fn continue_turn(&mut self, answer: AgentAnswer) {
        let unsent = match self.sessions.unsent(&answer.call) {
            Ok(unsent) => unsent,
            Err(reason) => return fail(&answer, &reason).await,
        };
        let Some(open) = &mut self.turn else { return };
        open.turn.begin_answer(&open.session.0);
        open.events = Some(answer.events);
        open.has_new_calls = false;
        open.tools.clear();
        if !unsent.is_empty() && open.steering.replace(unsent).is_none() {
            send_cancel(self.connection.as_ref(), &open.session);
        }
        self.start_commands();
        self.emit().await;
    }

    /// Sends a prompt; starts the agent if it is gone.
    async fn begin_turn(&mut self, answer: AgentAnswer) {
        let prepared = tokio::select! {
            prepared = self.prepare(&answer) => prepared,
            // An agent that is silent holds up neither an abort nor the end of the server.
            () = answer.events.closed() => return self.drop_connection().await,
        };
        let delivery = match prepared {
            Ok(delivery) => delivery,
            Err(reason) => {
                if self.connection.as_ref().is_some_and(|connection| !connection.is_open()) {
                    self.drop_connection().await;
                }
                return fail(&answer, &reason).await;
            }
        };
        let mut turn = Turn::new(self.cost);
        turn.begin_answer(&delivery.session.0);
        self.turn = Some(OpenTurn {
            session: delivery.session,
            session_id: answer.call.session_id.clone(),
            turn,
            events: Some(answer.events),
            tools: HashMap::new(),
            sent: 0,
            has_new_calls: false,
            join_due: None,
            steering: None,
            cancel_due: None,
        });
        if !self.send_prompt(&delivery.messages) {
            self.emit().await;
        }
    }

    async fn prepare(&mut self, answer: &AgentAnswer) -> Result<Delivery, String> {
        if self.connection.as_ref().is_some_and(|connection| !connection.is_open()) {
            self.drop_connection().await;
        }
        if self.connection.is_none() {
            self.connection = Some(Connection::open(&self.options).await?);
        }
        let Some(connection) = &mut self.connection else { return Err("The agent is gone".to_owned()) };
        self.sessions.prepare(connection, &self.options.directory, &answer.call).await
    }

    /// Sends a prompt for the open turn; `false`: its answer has failed, and nothing was sent.
    fn send_prompt(&mut self, messages: &[Arc<AgentMessage>]) -> bool {
        let (Some(open), Some(connection)) = (&mut self.turn, &self.connection) else { return false };
        let capabilities = &connection.capabilities.prompt_capabilities;
        let blocks = match content(messages.iter().map(AsRef::as_ref), capabilities) {
            Ok(blocks) => blocks,
            Err(reason) => {
                open.turn.fail(reason);
                return false;
            }
        };
        open.sent = messages.len();
        self.sessions.add_sent(&open.session_id, messages);
        let events = connection.own_events.clone();
        let request = PromptRequest::new(open.session.clone(), blocks);
        // The response is queued behind the updates that came before it.
        let sent = connection.sender.prepare_request(request).on_receiving_result(async move |ended| {
            // Fails only once the task has ended.
            let _ = events.send(AgentEvent::PromptEnded(ended)).await;
            Ok(())
        });
        if let Err(error) = sent {
            // The end of the connection is an event of its own.
            tracing::debug!("session/prompt: {}", error_text(&error));
        }
        true
    }

    /// Reports the states of a call from now on.
    fn follow_tool(&mut self, AgentTool { id, states }: AgentTool) {
        let Some(open) = &mut self.turn else { return };
        // A call that the turn does not have: its follower sees the closed channel.
        if open.turn.call(&id).is_some() {
            open.tools.insert(id.clone(), states);
            open.has_new_calls = false;
            self.report_call(&id);
            self.start_commands();
        }
    }

    /// Starts the commands that need not wait any more; those of a turn that was cancelled are refused.
    fn start_commands(&mut self) {
        let Some(connection) = &self.connection else { return };
        let turn = self.turn.as_ref();
        let is_cancelled = turn.is_some_and(|open| open.cancel_due.is_some());
        if !is_cancelled && turn.is_some_and(|open| open.has_new_calls || open.turn.has_calls()) {
            return;
        }
        for PendingCommand { request, responder } in self.commands.drain(..) {
            let created = match is_cancelled {
                true => Err(Error::internal_error().data(Value::from("the turn was cancelled"))),
                false => connection.terminals.create(*request),
            };
            // Fails only once the connection is closed.
            let _ = responder.respond_with_result(created);
        }
    }

    /// Reports the state of a call that runs.
    fn report_call(&mut self, id: &str) {
        let Some(open) = &mut self.turn else { return };
        let (Some(call), Some(announced)) = (open.turn.call(id), open.turn.arguments(id)) else { return };
        let Some(states) = open.tools.get(id) else { return };
        let terminals = self.connection.as_ref().map(|connection| connection.terminals.clone());
        let terminal = |id: &str| terminals.as_ref().and_then(|terminals| terminals.text(id));
        let end = end(call);
        // Fails only once the call was cancelled.
        let _ = states.send(ToolState { result: Some(result(call, announced, &terminal)), end });
        if end.is_some() {
            open.tools.remove(id);
        }
    }

    /// Sends the events of the answer that are ready. At the end of the turn it goes on with what steers, or is finished.
    async fn emit(&mut self) {
        loop {
            let Some(open) = &mut self.turn else { return };
            let end = open.turn.advance();
            let steering = end.as_ref().and_then(|_| open.steering.take());
            let mut is_over = open.turn.has_failed();
            match (end, steering) {
                (Some(_), Some(messages)) => {
                    if self.send_prompt(&messages) {
                        continue;
                    }
                    is_over = true;
                }
                (Some(end), None) => {
                    open.turn.finish(end);
                    is_over = true;
                }
                (None, _) => {}
            }
            let Some(open) = &mut self.turn else { return };
            let has_calls = open.turn.has_calls();
            for event in open.turn.take_events() {
                // Fails once the answer is cancelled, which the loop notices.
                if let Some(events) = &open.events {
                    let _ = events.send(event).await;
                }
            }
            match open.turn.has_answer() {
                true => {
                    if has_calls && open.join_due.is_none() {
                        open.join_due = Some(Instant::now() + JOIN_TIME);
                    }
                }
                false => (open.events, open.join_due, open.has_new_calls) = (None, None, has_calls),
            }
            if is_over {
                self.close_turn().await;
            }
            return;
        }
    }

    /// Cancels the open turn; what it still sends is dropped.
    async fn cancel_turn(&mut self) {
        let Some(open) = self.turn.as_mut().filter(|open| open.cancel_due.is_none()) else {
            // The answer that waited for the end of another turn was cancelled, too.
            self.next.take_if(|next| next.events.is_closed());
            return;
        };
        open.cancel_due = Some(Instant::now() + CANCEL_TIMEOUT);
        (open.events, open.join_due, open.steering) = (None, None, None);
        open.tools.clear();
        send_cancel(self.connection.as_ref(), &open.session);
        self.start_commands();
        self.withdraw_dialogs().await;
    }

    /// Forgets the turn, which is over, and begins the next one if an answer waits.
    async fn close_turn(&mut self) {
        if let Some(open) = self.turn.take() {
            self.cost = open.turn.cost();
        }
        self.start_commands();
        self.withdraw_dialogs().await;
        if let Some(next) = self.next.take().filter(|next| !next.events.is_closed()) {
            // The future would contain itself.
            Box::pin(self.begin_turn(next)).await;
        }
    }
}

/// The next event of the agent; never without one.
async fn next_event(connection: &mut Option<Connection>) -> Option<AgentEvent> {
    match connection {
        Some(connection) => match connection.kept.pop_front() {
            Some(event) => Some(event),
            None => connection.events.recv().await,
        },
        None => std::future::pending().await,
    }
}

/// Waits until the answer is cancelled; for ever without one.
async fn closed(answer: Option<mpsc::Sender<StreamEvent>>) {
    match answer {
        Some(events) => events.closed().await,
        None => std::future::pending().await,
    }
}

async fn due(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn send_cancel(connection: Option<&Connection>, session: &SessionId) {
    if let Some(connection) = connection {
        // Fails only once the connection is closed.
        let _ = connection.sender.send_notification(CancelNotification::new(session.clone()));
    }
}

async fn fail(answer: &AgentAnswer, reason: &str) {
    let event = StreamEvent::Fail { message: reason.to_owned(), retry_after: None };
    // Fails only when the call was cancelled.
    let _ = answer.events.send(event).await;
}
