//! The task of a session whose server is another's program: passes the lines of all clients to it, and its frames to the
//! journal, through a front where it speaks another dialect than they.

use super::{
    command_check::{CommandCheck, command_of, is_overspent, refused},
    file_owners::FileAccess,
    host_error::HostError,
    journal::Journal,
    metrics::METRICS,
    other_server::{OtherServer, OtherSessionOptions},
    partial_answer::PartialAnswer,
    principal::{Principal, SessionPlace},
    request_ids::RequestIds,
    server_process::{EXIT_TIMEOUT, PipeEvent, ServerProcess},
    session_clients::{AttachedClient, SessionClients},
    session_handle::{
        ClientLine, Resumption, SessionEnd, SessionHandle, SessionInfo, SessionLimits, SessionRequest,
        TaskChannels,
    },
    watcher::{ClientId, WatcherMessage},
};
use pi_rpc_engine::Input;
use pi_rpc_front::{Front, Output, is_same_wire};
use pi_rpc_machine::Machine;
use pi_rpc_protocol::{
    AbortCommand, Dialect, DialogResolvedEvent, Emission, Encoder, FRAME_LIMIT, FlowState,
    GetMessagesCommand, GetStateCommand, Inbound, LineError, Outbound, RequestId, RpcCommand, RpcCommandKind,
    RpcErrorResponse, RpcExtensionUIRequest, RpcResponse, RpcSuccess, SessionEndedEvent,
    SessionSnapshotEvent, SessionState, SessionStatus, read_versioned,
};
use pi_rpc_server::{line_to_input, wall_ms};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::sleep_until,
};
use tracing::Instrument as _;

/// Commands that the server may leave without an answer.
const MAX_OUTSTANDING: usize = 4096;

/// The client of commands that the host itself gives.
const NO_CLIENT: ClientId = 0;

/// How long the server usually has to tell its state at the start.
pub const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The most dialogs that are open, as many as the machine follows.
const MAX_DIALOGS: usize = 4096;

struct OtherSession {
    id: String,
    owner: Arc<Principal>,
    files: FileAccess,
    directory: PathBuf,
    dialect: Dialect,
    limits: SessionLimits,
    server: ServerProcess,
    /// `None`: both sides speak the same.
    front: Option<Front>,
    /// The session as its clients see it.
    machine: Machine,
    journal: Journal,
    ids: RequestIds,
    clients: SessionClients,
    /// The open dialogs, with the bytes of each.
    dialogs: Vec<(RpcExtensionUIRequest, usize)>,
    partial: PartialAnswer,
    /// The last known state.
    state: Option<SessionState>,
    /// Who waits for the state.
    asked: Vec<oneshot::Sender<SessionState>>,
    /// Whether the server is asked for its state; only once at a time.
    asks_state: bool,
    /// Whether it is to be asked again, as the state may have changed meanwhile.
    asks_again: bool,
    /// Whether a client has ended the input: the server takes no more commands.
    has_ended_input: bool,
    /// Clients that wait for a snapshot.
    lagging: Vec<ClientId>,
    has_spent: bool,
    is_stopping: bool,
}

/// Starts a session, a new one or one that goes on. It has ended once `ended` of the handle has a value. `files`: those of its
/// owner. The server has `start_timeout` to tell its state.
///
/// # Errors
///
/// The server cannot be started.
pub fn start(
    start_timeout: Duration,
    id: String,
    server: &OtherServer,
    options: OtherSessionOptions,
    limits: SessionLimits,
    (owner, files): (Arc<Principal>, FileAccess),
    resumption: Resumption,
) -> Result<SessionHandle, HostError> {
    let process = ServerProcess::start(server, &options)?;
    let OtherSessionOptions { dialect, directory, .. } = options;
    let front = (!is_same_wire(server.speaks.dialect, dialect)).then(|| Front::new(server.speaks, dialect));
    let session = Box::new(OtherSession {
        id: id.clone(),
        clients: SessionClients::new(resumption.clients, &owner),
        owner: owner.clone(),
        files,
        directory,
        dialect,
        limits,
        server: process,
        front,
        machine: Machine::new(dialect, false),
        journal: Journal::new(dialect, resumption.sequence, limits.kept_output),
        ids: RequestIds::default(),
        dialogs: Vec::new(),
        partial: PartialAnswer::default(),
        state: None,
        asked: Vec::new(),
        asks_state: false,
        asks_again: false,
        has_ended_input: false,
        lagging: Vec::new(),
        has_spent: false,
        is_stopping: false,
    });
    let (handle, channels) = SessionHandle::new(id, owner, dialect, limits.max_frame, session.info());
    // A span of the highest level is there whatever is logged.
    let span = tracing::error_span!("session", id = %handle.id);
    let work = async move {
        let TaskChannels { lines, requests, info, serves, ended } = channels;
        let ending = session.run(start_timeout, lines, requests, (&info, &serves)).await;
        ended.send_replace(Some(ending));
    };
    tokio::spawn(work.instrument(span));
    Ok(handle)
}

impl OtherSession {
    async fn run(
        mut self: Box<Self>,
        start_timeout: Duration,
        mut lines: mpsc::Receiver<ClientLine>,
        mut requests: mpsc::Receiver<SessionRequest>,
        (info, serves): (&watch::Sender<SessionInfo>, &watch::Sender<bool>),
    ) -> SessionEnd {
        let mut first = Output::default();
        self.front.iter_mut().for_each(|front| front.start(&mut first));
        self.take(&first);
        self.ask_state();
        let start_limit = tokio::time::Instant::now() + start_timeout;
        // Until when the server may read what clients have sent, and exit, before it is ended.
        let mut read_limit = None;
        let mut is_resumable = false;
        let mut has_ended = false;
        while !has_ended && (!self.is_stopping || read_limit.is_some()) {
            let reads = self.state.is_some() && self.server.has_room() && !self.is_stopping;
            let limit = read_limit.or(Some(start_limit).filter(|_| self.state.is_none()));
            let late = async {
                match limit {
                    Some(limit) => sleep_until(limit).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(request) = requests.recv() => match request {
                    SessionRequest::WriteOut => {
                        let path = self.info().path;
                        (self.is_stopping, is_resumable) = (true, path.is_some_and(|path| path.is_file()));
                        read_limit = Some(tokio::time::Instant::now() + EXIT_TIMEOUT);
                        // What is in the pipe is read by then: no signal comes before it.
                        self.server.close_input();
                    }
                    SessionRequest::Close => (self.is_stopping, is_resumable, read_limit) = (true, false, None),
                    request => self.answer(request, &mut lines),
                },
                event = self.server.next() => match event {
                    PipeEvent::Line(line) => self.receive_of_server(&line),
                    PipeEvent::Progress => {}
                    PipeEvent::Ended => has_ended = true,
                },
                Some(line) = lines.recv(), if reads => self.receive(line),
                () = late => match read_limit.take() {
                    Some(_) => tracing::warn!("the server has not ended at the end of its input"),
                    None => self.server.fail(format!(
                        "the server has not told its state within {} seconds",
                        start_timeout.as_secs_f32()
                    )),
                },
            }
            self.abort_if_overspent();
            if self.state.is_some() {
                serves.send_if_modified(|serves| !std::mem::replace(serves, true));
            }
            let now = self.info();
            info.send_if_modified(|known| std::mem::replace(known, now.clone()) != now);
        }
        let Self { id, server, clients, journal, is_stopping, .. } = *self;
        let error = match has_ended {
            true => server.end().await.filter(|_| !is_stopping),
            false => {
                server.stop().await;
                None
            }
        };
        if is_resumable {
            return SessionEnd::WrittenOut(Resumption {
                sequence: journal.last(),
                clients: clients.leave(),
                waiting: None,
            });
        }
        let ending = SessionEndedEvent { session_id: id, exit_status: u64::from(error.is_some()), error };
        clients.end(&ending);
        SessionEnd::Over(ending)
    }

    /// Takes a line of the server.
    fn receive_of_server(&mut self, line: &[u8]) {
        let mut output = Output::default();
        match &mut self.front {
            Some(front) => front.server_line(line, &mut output),
            None => {
                output.to_client.extend_from_slice(line);
                output.to_client.push(b'\n');
            }
        }
        self.take(&output);
    }

    /// Passes on what the front writes to both sides.
    fn take(&mut self, output: &Output) {
        self.server.write(&output.to_server);
        if output.closes_input {
            self.server.close_input();
        }
        output.notices.iter().for_each(|notice| tracing::warn!("front: {notice}"));
        for line in output.to_client.split_inclusive(|byte| *byte == b'\n') {
            self.emit(line);
        }
    }

    /// Distributes a line in the dialect of the clients.
    fn emit(&mut self, line: &[u8]) {
        let content = line.strip_suffix(b"\n").unwrap_or(line);
        let read = read_versioned::<Outbound>(content, self.dialect.into(), true);
        let Some(frame) = read.map_or_else(|_| unreadable_response(content), |read| Some(read.frame)) else {
            // Clients skip what they do not know.
            return self.clients.push(&self.journal.push_line(line.to_vec(), None));
        };
        let emission = Emission::Frame(frame);
        METRICS.violations(self.machine.outbound(&emission).len() as u64);
        if let Some(dollars) = METRICS.observe(&emission) {
            self.owner.spend(dollars, wall_ms());
            self.has_spent = true;
        }
        let Emission::Frame(frame) = &emission else { return };
        let mut line = line.to_vec();
        let mut to = None;
        if let Outbound::Response(response) = frame {
            // Members in an order that their ids are found in.
            line.clear();
            Encoder::encode_frame(frame, &mut line);
            to = self.ids.restore(frame, &mut line);
            if to == Some(NO_CLIENT) {
                return self.answered(response.clone());
            }
            if let RpcResponse::Success(success) = response
                && (success.command().replaces_session()
                    || success.command() == RpcCommandKind::SetSessionName)
            {
                self.asks_again = self.asks_state;
                self.ask_state();
            }
        }
        if let Outbound::ExtensionUIRequest(request) = frame
            && request.kind().is_dialog()
        {
            self.dialogs.push((request.clone(), line.len()));
            let bytes: usize = self.dialogs.iter().map(|(_, bytes)| bytes).sum();
            if self.dialogs.len() > MAX_DIALOGS || bytes > FRAME_LIMIT {
                self.server.fail(format!(
                    "the server has more open dialogs than {MAX_DIALOGS}, or than {FRAME_LIMIT} bytes"
                ));
            }
        }
        self.partial.follow(frame);
        if self.partial.is_too_long() {
            self.server.fail(format!("the server streams a message of more than {FRAME_LIMIT} bytes"));
        }
        self.clients.push(&self.journal.push(emission, line, to));
        if self.machine.state().dialogs == 0 {
            // They have closed by themselves.
            for (dialog, _) in std::mem::take(&mut self.dialogs) {
                self.report_resolved_dialog(dialog.id());
            }
        }
    }

    /// Takes the response to a command of the host's own.
    fn answered(&mut self, response: RpcResponse) {
        match response {
            RpcResponse::Success(RpcSuccess::GetState(it)) => {
                let state = it.data;
                self.claim(&state);
                self.asked.drain(..).for_each(|reply| drop(reply.send(state.clone())));
                self.state = Some(state);
                self.asks_state = false;
                if std::mem::take(&mut self.asks_again) {
                    self.ask_state();
                }
            }
            RpcResponse::Success(RpcSuccess::GetMessages(it)) => {
                let Some(state) = self.state.clone() else { return };
                let snapshot = SessionSnapshotEvent {
                    session_id: self.id.clone(),
                    sequence: self.journal.last(),
                    state,
                    messages: it.data.messages,
                    partial: self.partial.message().cloned(),
                    dialogs: self.dialogs.iter().map(|(dialog, _)| dialog.clone()).collect(),
                };
                for client in std::mem::take(&mut self.lagging) {
                    let Some(queue) = self.clients.queue(client) else { continue };
                    queue.restart(self.journal.encoder());
                    queue.push_message(WatcherMessage::Snapshot(Box::new(snapshot.clone())));
                }
            }
            RpcResponse::Success(_) => {}
            RpcResponse::ErrorResponse(error) => {
                tracing::error!("the server refuses {}: {}", error.command, error.error);
                if error.command == RpcCommandKind::GetState.as_str() {
                    if self.state.is_none() {
                        self.server.fail(format!("the server does not tell its state: {}", error.error));
                    }
                    // Who asks without an answer asks again.
                    (self.asks_state, self.asks_again) = (false, false);
                    self.asked.clear();
                }
                // A client that cannot have the state comes back, and asks again.
                for client in std::mem::take(&mut self.lagging) {
                    self.clients.queue(client).into_iter().for_each(|queue| queue.close());
                }
            }
        }
    }

    /// Notes whose the file is that the session writes now. One of another owner ends the session.
    fn claim(&mut self, state: &SessionState) {
        let known = self.state.as_ref().and_then(|state| state.session_file.as_ref());
        let Some(file) = state.session_file.as_ref().filter(|file| known != Some(*file)) else { return };
        if let Err(error) = self.files.claim_new(Path::new(file)) {
            self.server.fail(format!("the file of the session: {}", error.text()));
        }
    }

    /// Takes a line of a client.
    fn receive(&mut self, line: ClientLine) {
        let client = line.client;
        let Some((principal, line)) = self.clients.take_line(line) else { return };
        let Some(line) = line else {
            let mut output = Output::default();
            match &mut self.front {
                Some(front) => front.end_of_input(&mut output),
                None => output.closes_input = true,
            }
            self.machine.end_of_input();
            self.has_ended_input = true;
            return self.take(&output);
        };
        let input = match line.len() > self.limits.max_frame {
            true => Some(Input::too_long(line.len(), self.limits.max_frame)),
            false => line_to_input(&line, self.dialect),
        };
        let Some(mut input) = input else { return };
        if let Some(refusal) = self.refusal(&input, &principal) {
            input = Input::BadLine(refusal);
        }
        self.name_permitted_path(&mut input);
        if self.ids.outstanding() >= MAX_OUTSTANDING {
            return self.server.fail(format!("it has not answered {MAX_OUTSTANDING} commands"));
        }
        self.ids.assign(&mut input, client);
        match input {
            Input::Frame(frame) => self.pass_to_server(&frame),
            Input::BadLine(error) => {
                self.machine.invalid_line(&error);
                if error.is_answered() {
                    let mut line = Vec::new();
                    Encoder::encode_frame(
                        &Outbound::Response(error.response(self.dialect).into()),
                        &mut line,
                    );
                    self.emit(&line);
                }
            }
            _ => {}
        }
    }

    /// Names the very file that was checked: the server may read `~` and addresses in a path.
    fn name_permitted_path(&self, input: &mut Input) {
        if let Input::Frame(frame) = input
            && let Inbound::Command(RpcCommand::SwitchSession(it)) = &mut **frame
        {
            it.session_path = self.directory.join(&it.session_path).to_string_lossy().into_owned();
        }
    }

    /// Asks the server for its state, unless it is asked already.
    fn ask_state(&mut self) {
        if !std::mem::replace(&mut self.asks_state, true) {
            self.give(GetStateCommand::default().into());
        }
    }

    /// Gives a command of the host's own.
    fn give(&mut self, command: RpcCommand) {
        let mut input = Input::Frame(Box::new(Inbound::Command(command)));
        self.ids.assign(&mut input, NO_CLIENT);
        if let Input::Frame(frame) = input {
            self.pass_to_server(&frame);
        }
    }

    fn pass_to_server(&mut self, frame: &Inbound) {
        self.machine.inbound(frame);
        if let Inbound::ExtensionUIResponse(response) = frame
            && let Some(at) = self.dialogs.iter().position(|(dialog, _)| dialog.id() == response.id())
        {
            self.dialogs.remove(at);
            self.report_resolved_dialog(response.id());
        }
        let Ok(mut line) = serde_json::to_vec(frame) else { return };
        let mut output = Output::default();
        match &mut self.front {
            Some(front) => front.client_line(&line, &mut output),
            None => {
                line.push(b'\n');
                output.to_server = line;
            }
        }
        self.take(&output);
    }

    fn report_resolved_dialog(&self, id: &str) {
        let event = DialogResolvedEvent { session_id: self.id.clone(), id: id.to_owned() };
        self.clients.report_resolved_dialog(&event);
    }

    /// Why a client may not give a command.
    fn refusal(&self, input: &Input, principal: &Principal) -> Option<LineError> {
        let command = command_of(input)?;
        if self.has_ended_input || !self.server.takes_input() {
            return Some(refused(command, format!("{}: the session is ending", command.kind())));
        }
        let place = || {
            let file = self.state.as_ref().and_then(|state| state.session_file.as_ref()).map(PathBuf::from);
            SessionPlace { directory: self.directory.clone(), file }
        };
        // Sessions of another's server are of one process.
        let check = CommandCheck { principal, owner: &self.owner, admitted: None };
        check.refusal(input, place, |command| {
            principal.limits.check_other_server()?;
            if let RpcCommand::SwitchSession(it) = command {
                // The program does not check whose session the file is.
                let path = self.directory.join(&it.session_path);
                self.files.permit(&path)?;
                self.files.refuse_noted(&path)?;
                self.files.claim(&path)?;
            }
            Ok(())
        })
    }

    /// Aborts a run whose last answer has used up what its owner may spend.
    fn abort_if_overspent(&mut self) {
        let runs = self.machine.flow() != FlowState::Idle;
        if is_overspent(&mut self.has_spent, runs, &self.owner, &self.id) {
            self.give(AbortCommand { id: None }.into());
        }
    }

    /// Answers a connection.
    fn answer(&mut self, request: SessionRequest, lines: &mut mpsc::Receiver<ClientLine>) {
        match request {
            SessionRequest::Attach(attach, reply) => {
                // Lines that the client's last connection has passed on count as received.
                while let Ok(line) = lines.try_recv() {
                    self.receive(line);
                }
                let admitted = self.clients.admit(attach, &self.owner, &self.journal);
                let Some(AttachedClient { attached, needs_snapshot }) = admitted else { return };
                if needs_snapshot {
                    self.send_snapshot(attached.client);
                }
                // A connection that is gone does not receive the reply; its Detach follows.
                let _ = reply.send(attached);
            }
            SessionRequest::Detach { client, connection } => self.clients.detach(client, connection),
            SessionRequest::Snapshot(client) => self.send_snapshot(client),
            SessionRequest::State(reply) => {
                self.asked.retain(|reply| !reply.is_closed());
                self.asked.push(reply);
                self.ask_state();
            }
            SessionRequest::Close | SessionRequest::WriteOut => self.is_stopping = true,
        }
    }

    /// Asks the server for what a snapshot has.
    fn send_snapshot(&mut self, client: ClientId) {
        self.ask_state();
        // One list of messages serves all that wait for it.
        if self.lagging.is_empty() {
            self.give(GetMessagesCommand::default().into());
        }
        if !self.lagging.contains(&client) {
            self.lagging.push(client);
        }
    }

    fn info(&self) -> SessionInfo {
        let state = self.state.as_ref();
        SessionInfo {
            durable_id: state.map_or_else(|| self.id.clone(), |state| state.session_id.clone()),
            path: state.and_then(|state| state.session_file.as_ref()).map(PathBuf::from),
            directory: self.directory.clone(),
            name: state.and_then(|state| state.session_name.clone()),
            status: self.status(),
            only_waits: false,
            waiting: None,
            lines: 0,
        }
    }

    fn status(&self) -> SessionStatus {
        let state = self.machine.state();
        match (self.is_stopping, state.flow == FlowState::Idle && state.shell == 0) {
            (true, _) => SessionStatus::Closing,
            (false, true) => SessionStatus::Idle,
            (false, false) => SessionStatus::Running,
        }
    }
}

/// What answers a client in place of a response whose shape is wrong; `None`: the line is no response to it.
fn unreadable_response(line: &[u8]) -> Option<Outbound> {
    let frame: Value = serde_json::from_slice(line).ok()?;
    let id = frame["id"].as_str().filter(|id| frame["type"] == "response" && RequestIds::is_ours(id))?;
    let response = RpcErrorResponse {
        id: Some(RequestId::String(id.to_owned())),
        command: frame["command"].as_str().unwrap_or_default().to_owned(),
        error: "the response of the server cannot be read".to_owned(),
        code: None,
    };
    Some(Outbound::Response(response.into()))
}

#[cfg(test)]
mod programs;
