//! The process of the agent and the JSON-RPC connection with it.
//!
//! What the agent sends is queued; while the queue is full, the agent is not read. Requests for files and for terminals that
//! are open are served beside it, so that an agent which waits for one is not held up by a slow host.

use super::{AcpOptions, files, terminals::Terminals};
use crate::input::{BadLine, lines};
use agent_client_protocol::{
    Agent, ByteStreams, Client, JsonRpcRequest,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo, Responder,
        schema::{
            AgentCapabilities, ClientCapabilities, CreateTerminalRequest, CreateTerminalResponse,
            FileSystemCapabilities, Implementation, InitializeRequest, InitializeResponse,
            KillTerminalRequest, PromptResponse, ReadTextFileRequest, ReleaseTerminalRequest,
            RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
            SessionNotification, SessionUpdate, TerminalOutputRequest, WaitForTerminalExitRequest,
            WriteTextFileRequest,
        },
    },
};
use pi_rpc_files::harmless::harmless;
use pi_rpc_processes::{Group, Processes};
use std::{
    collections::VecDeque,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    process::{Child, ChildStderr, Command},
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::{
    compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _},
    io::StreamReader,
};

/// Events of the agent that are queued; while so many wait, it is not read.
const QUEUED_EVENTS: usize = 64;

/// How long the agent may take for a request other than a prompt: it may log in, or read a long session.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

/// How long an agent may take to end once its input is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// Bytes of the last line on the agent's stderr that its end is reported with.
const SHOWN_STDERR: u64 = 500;

/// An event of the agent.
pub enum AgentEvent {
    /// A notification about a session.
    Update(Box<SessionNotification>),
    /// A request for the user's permission.
    Permission(Box<RequestPermissionRequest>, Responder<RequestPermissionResponse>),
    /// A request to run a command.
    Terminal(Box<CreateTerminalRequest>, Responder<CreateTerminalResponse>),
    /// The prompt turn is over.
    PromptEnded(Result<PromptResponse, agent_client_protocol::Error>),
    /// The connection is closed, with the reason where the agent has broken the protocol. Nothing follows.
    Closed(Option<String>),
}

/// A connected agent.
pub struct Connection {
    /// Sends to the agent.
    pub sender: ConnectionTo<Agent>,
    /// The agent's events, in order.
    pub events: mpsc::Receiver<AgentEvent>,
    /// A sender of [`events`](Self::events).
    pub own_events: mpsc::Sender<AgentEvent>,
    /// Updates of settings and commands that came while a response was awaited.
    pub kept: VecDeque<AgentEvent>,
    /// The agent's capabilities.
    pub capabilities: AgentCapabilities,
    /// The agent's name.
    pub name: String,
    /// Terminals that the agent has opened.
    pub terminals: Terminals,
    process: AgentProcess,
}

struct AgentProcess {
    child: Child,
    group: Group,
    last_line: Arc<Mutex<String>>,
    /// Logs stderr; `None` once it was waited for.
    stderr: Option<JoinHandle<()>>,
    driver: JoinHandle<()>,
}

impl Connection {
    /// Starts the agent and initializes the connection.
    pub async fn open(options: &AcpOptions) -> Result<Self, String> {
        let program = options.program.to_string_lossy().into_owned();
        let mut command = Command::new(&options.program);
        command.args(&options.arguments).current_dir(&options.directory);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let processes = Processes::new();
        let (mut child, group) = processes
            .spawn(&mut command)
            .map_err(|error| format!("The agent {program} cannot be started: {error}"))?;
        let pipes = child.stdin.take().zip(child.stdout.take()).zip(child.stderr.take());
        let Some(((stdin, stdout), stderr)) = pipes else {
            return Err(format!("The agent {program} cannot be started: it has no pipes"));
        };
        let last_line = Arc::new(Mutex::new(String::new()));
        let stderr = Some(tokio::spawn(follow_stderr(stderr, last_line.clone())));
        let terminals = Terminals::new(options.directory.clone(), options.shell.clone(), processes);
        let (own_events, events) = mpsc::channel(QUEUED_EVENTS);
        let (ready, connected) = oneshot::channel();
        let stdout = StreamReader::new(lines(stdout, options.max_line, BadLine::EndsConnection));
        let transport = ByteStreams::new(stdin.compat_write(), stdout.compat());
        let driver = tokio::spawn(drive(transport, own_events.clone(), terminals.clone(), ready));
        let mut process = AgentProcess { child, group, last_line, stderr, driver };
        let Ok(sender) = connected.await else { return Err(process.ending(&program).await) };
        let (capabilities, kept) = (AgentCapabilities::default(), VecDeque::new());
        let mut connection =
            Self { sender, events, own_events, kept, capabilities, name: program, terminals, process };
        match connection.initialize().await {
            Ok(()) => Ok(connection),
            Err(reason) => {
                connection.end().await;
                Err(reason)
            }
        }
    }

    async fn initialize(&mut self) -> Result<(), String> {
        let files = FileSystemCapabilities::new().read_text_file(true).write_text_file(true);
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new().fs(files).terminal(true))
            .client_info(Implementation::new("pi-rpc", env!("CARGO_PKG_VERSION")));
        let InitializeResponse { protocol_version, agent_capabilities, agent_info, .. } =
            self.request("initialize", request).await?;
        if protocol_version != ProtocolVersion::V1 {
            return Err(format!(
                "The agent {} speaks version {protocol_version} of ACP; expected version 1",
                self.name
            ));
        }
        self.capabilities = agent_capabilities;
        if let Some(info) = agent_info {
            self.name = info.title.unwrap_or(info.name);
        }
        Ok(())
    }

    /// Sends a request while no prompt turn is open, and waits for the response. Messages that come meanwhile are dropped:
    /// they replay a session that is loaded.
    pub async fn request<Request: JsonRpcRequest>(
        &mut self,
        method: &str,
        request: Request,
    ) -> Result<Request::Response, String> {
        let response = self.sender.send_request(request).block_task();
        let (events, kept, terminals) = (&mut self.events, &mut self.kept, &self.terminals);
        let drained = async {
            tokio::pin!(response);
            loop {
                tokio::select! {
                    biased;
                    response = &mut response => return Ok(response),
                    event = events.recv() => match event {
                        Some(AgentEvent::Permission(_, responder)) => {
                            // Fails only once the connection is closed.
                            let outcome = RequestPermissionOutcome::Cancelled;
                            let _ = responder.respond(RequestPermissionResponse::new(outcome));
                        }
                        Some(AgentEvent::Terminal(request, responder)) => {
                            let _ = responder.respond_with_result(terminals.create(*request));
                        }
                        Some(AgentEvent::Update(update)) if is_of_settings(&update.update) => {
                            kept.push_back(AgentEvent::Update(update));
                        }
                        Some(AgentEvent::Update(_) | AgentEvent::PromptEnded(_)) => {}
                        Some(AgentEvent::Closed(reason)) => return Err(reason),
                        None => return Err(None),
                    },
                }
            }
        };
        match timeout(REQUEST_TIMEOUT, drained).await {
            Ok(Ok(Ok(response))) => Ok(response),
            Ok(Ok(Err(error))) if !self.is_open() => {
                tracing::debug!("{method}: {error}");
                let reason = self.closing_reason().await;
                Err(self.ending(reason).await)
            }
            Ok(Ok(Err(error))) => Err(format!("{method} was refused by the agent: {}", error_text(&error))),
            Ok(Err(reason)) => Err(self.ending(reason).await),
            Err(_) => {
                let seconds = REQUEST_TIMEOUT.as_secs();
                Err(format!("The agent {} has not answered {method} for {seconds} seconds", self.name))
            }
        }
    }

    /// Whether the agent can still be reached.
    pub fn is_open(&self) -> bool {
        !self.sender.is_incoming_closed() && self.sender.termination().is_none()
    }

    /// Says how the agent has ended, with the reason for which the connection was closed.
    pub async fn ending(&mut self, reason: Option<String>) -> String {
        let ending = self.process.ending(&self.name).await;
        match reason {
            Some(reason) => format!("{ending} ({reason})"),
            None => ending,
        }
    }

    /// The reason for which a connection that is closed was closed.
    async fn closing_reason(&mut self) -> Option<String> {
        let closed = async {
            loop {
                match self.events.recv().await {
                    Some(AgentEvent::Closed(reason)) => return reason,
                    Some(_) => {}
                    None => return None,
                }
            }
        };
        timeout(EXIT_TIMEOUT, closed).await.ok().flatten()
    }

    /// Ends the agent: closes its input, then its process group.
    pub async fn end(self) {
        let Self { sender, events, process: mut ended, terminals, .. } = self;
        terminals.release_all();
        drop((sender, events));
        ended.driver.abort();
        // The pipes are closed once the driver is gone.
        let _ = (&mut ended.driver).await;
        let _ = timeout(EXIT_TIMEOUT, ended.child.wait()).await;
        ended.group.end().await;
        if let Some(stderr) = ended.stderr {
            stderr.abort();
        }
    }
}

impl AgentProcess {
    /// Says how the process has ended, or ends it if it has only closed its output.
    async fn ending(&mut self, name: &str) -> String {
        let status = match timeout(EXIT_TIMEOUT, self.child.wait()).await {
            Ok(Ok(status)) => status.to_string(),
            _ => {
                self.group.end().await;
                "it has closed its output".to_owned()
            }
        };
        // The rest of stderr is there once the process is gone.
        if let Some(stderr) = self.stderr.take() {
            let _ = timeout(EXIT_TIMEOUT, stderr).await;
        }
        let last = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
        match last.is_empty() {
            true => format!("The agent {name} has ended: {status}"),
            false => format!("The agent {name} has ended: {status}; its last words: {last}"),
        }
    }
}

/// Whether an update is about what the session offers, and not about its messages.
fn is_of_settings(update: &SessionUpdate) -> bool {
    matches!(
        update,
        SessionUpdate::AvailableCommandsUpdate(_)
            | SessionUpdate::CurrentModeUpdate(_)
            | SessionUpdate::ConfigOptionUpdate(_)
    )
}

/// An error of the agent, for people.
pub fn error_text(error: &agent_client_protocol::Error) -> String {
    match &error.data {
        Some(data) => format!("{} ({data})", error.message),
        None => error.message.clone(),
    }
}

/// Drives the connection until it is closed.
async fn drive(
    transport: impl agent_client_protocol::ConnectTo<Client> + 'static,
    events: mpsc::Sender<AgentEvent>,
    terminals: Terminals,
    ready: oneshot::Sender<ConnectionTo<Agent>>,
) {
    let (updates, permissions, commands, closed) = (events.clone(), events.clone(), events.clone(), events);
    let [output, wait, kill, release] = std::array::from_fn(|_| terminals.clone());
    // A send to the queue fails only once the task of the agent has ended.
    let driven = Client
        .v1()
        .name("pi-rpc")
        .on_receive_notification(
            async move |update: SessionNotification, _| {
                let _ = updates.send(AgentEvent::Update(Box::new(update))).await;
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _| {
                let _ = permissions.send(AgentEvent::Permission(Box::new(request), responder)).await;
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ReadTextFileRequest, responder, connection: ConnectionTo<Agent>| {
                connection.spawn(async move { responder.respond_with_result(files::read(request).await) })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: WriteTextFileRequest, responder, connection: ConnectionTo<Agent>| {
                connection.spawn(async move { responder.respond_with_result(files::write(request).await) })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: CreateTerminalRequest, responder, _| {
                let _ = commands.send(AgentEvent::Terminal(Box::new(request), responder)).await;
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: TerminalOutputRequest, responder, _| {
                responder.respond_with_result(output.output(&request))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: WaitForTerminalExitRequest, responder, connection: ConnectionTo<Agent>| {
                let exit = wait.exit(&request);
                connection.spawn(async move { responder.respond_with_result(exit.await) })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: KillTerminalRequest, responder, _| {
                responder.respond_with_result(kill.kill(&request))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ReleaseTerminalRequest, responder, _| {
                responder.respond_with_result(release.release(&request))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(transport, async move |connection: ConnectionTo<Agent>| {
            let _ = ready.send(connection.clone());
            connection.incoming_closed().await;
            Ok(())
        })
        .await;
    let _ = closed.send(AgentEvent::Closed(driven.err().map(|error| error_text(&error)))).await;
}

/// Logs the lines of the agent's stderr and keeps the last one.
async fn follow_stderr(stderr: ChildStderr, last_line: Arc<Mutex<String>>) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut stderr).take(SHOWN_STDERR).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = harmless(String::from_utf8_lossy(&line).trim_end());
        if !text.trim().is_empty() {
            tracing::info!("the agent: {text}");
            *last_line.lock().unwrap_or_else(PoisonError::into_inner) = text;
        }
    }
}
