//! [`Client`]: the handle of a running server.

use super::{
    ConnectionOptions, DialogHandler, DialogResponse, Error, Events, HostTool, LineChannels, Options,
    Process, ServerExit,
    callbacks::tools_by_name,
    hub::{Hub, PendingCall, ServerStatus, ShutdownMode},
    inner::{HubOptions, LateOutcome},
    io_tasks,
    session::SessionState,
};
use pi_rpc_machine::State;
use pi_rpc_protocol::{
    AbortCommand, AgentSessionEventKind, AssistantContent, AssistantMessage, Command, Dialect, DialectReady,
    FlowState, FollowUpCommand, GetStateCommand, NegotiateProtocolCommand, PromptCommand, PromptDisposition,
    PromptOutcome, QueueOutcome, RpcCommand, RpcCommandKind, RpcExtensionUIRequest, SetHostToolsCommand,
    SteerCommand,
};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{mpsc, watch},
    task::AbortHandle,
    time::{sleep, timeout, timeout_at},
};

/// Lines that are queued for the server before the next sender has to wait.
const WRITE_QUEUE: usize = 16;

/// Interval of `get_state` polls while the server is busy and its frames do not say when it is done.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Handle of a running server. Clones share it; dropping the last one kills the server's process group.
#[derive(Clone)]
pub struct Client {
    hub: Arc<Hub>,
    guard: Arc<ProcessGuard>,
    within: Option<Duration>,
    unchecked: bool,
}

/// The result of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The last message of the assistant; `None` if there was none, as with a command of an extension.
    pub message: Option<AssistantMessage>,
}

impl RunResult {
    /// The texts of the message, one after another.
    pub fn text(&self) -> String {
        let blocks = self.message.iter().flat_map(|message| &message.content);
        let texts = blocks.filter_map(|block| match block {
            AssistantContent::Text(block) => Some(block.text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

/// A prompt that the server has acknowledged.
pub struct AcceptedPrompt {
    client: Client,
    call: PendingCall,
    outcome: Option<PromptOutcome>,
    /// Messages of the assistant that had ended before.
    before: u64,
    names_command: bool,
}

impl AcceptedPrompt {
    /// Waits for the run of the prompt, or the one that it is queued in, and everything that follows by itself.
    ///
    /// # Errors
    ///
    /// The server refuses the prompt after all, or exits.
    pub async fn end(self) -> Result<RunResult, Error> {
        let Self { client, mut call, outcome, before, names_command } = self;
        let result = || RunResult { message: client.hub.last_message_after(before) };
        if outcome.as_ref().is_some_and(is_handled) {
            return Ok(result());
        }
        let ends = async {
            let reports_commands = AgentSessionEventKind::PromptResult.is_in(client.hub.dialect.base());
            if names_command && outcome.is_none() && reports_commands {
                client.wait_started().await?;
            }
            client.wait_idle().await
        };
        tokio::select! {
            biased;
            outcome = call.late_outcome() => if let LateOutcome::Refused(error) = outcome {
                return Err(Error::Failed(error));
            },
            idle = ends => idle?,
        }
        Ok(result())
    }
}

/// Kills the server with the last clone of the client.
struct ProcessGuard {
    hub: Arc<Hub>,
    reader: AbortHandle,
    process: u32,
}

impl Drop for ProcessGuard {
    fn drop(&mut self) {
        // The process goes with its reader, and its group with it.
        self.reader.abort();
        self.hub.shut_down(ShutdownMode::Killed);
        if self.hub.server_status.borrow().ended.is_none() {
            self.hub.finish(ServerExit::default());
        }
    }
}

impl Client {
    /// Starts a server; in dialects with a `ready` frame, waits for that. Needs a tokio runtime with IO and time.
    ///
    /// # Errors
    ///
    /// The server cannot be started, exits, or is not ready in time.
    pub async fn spawn(options: Options) -> Result<(Self, Events), Error> {
        let process = Process::spawn_with_limit(options.command, options.longest_line);
        let mut process = process.map_err(|error| Error::Start(Arc::new(error)))?;
        let id = process.id();
        let (sender, lines) = mpsc::channel(WRITE_QUEUE);
        let Options { unread, begin_within, on_dialog, observer, .. } = options;
        let hub_options = HubOptions { unread, begin_within, on_dialog, observer };
        let hub = Arc::new(Hub::new(options.dialect, sender, hub_options));
        if let Some(input) = process.take_input() {
            tokio::spawn(io_tasks::write(input, lines, Arc::clone(&hub)));
        }
        let reader =
            tokio::spawn(io_tasks::read(process, Arc::clone(&hub), options.end_within)).abort_handle();
        let guard = Arc::new(ProcessGuard { hub: Arc::clone(&hub), reader, process: id });
        let events = Events::new(Arc::clone(&hub));
        let client = Self { hub, guard, within: None, unchecked: false };
        client.begin(options.dialect, options.start_within, options.protocol_version).await?;
        Ok((client, events))
    }

    /// Connects to a server in this process; in dialects with a `ready` frame, waits for that. `options` are as for
    /// [`spawn`](Self::spawn), without the command. [`id`](Self::id) is 0, and dropping the last clone closes the server's input.
    /// Needs a tokio runtime with time.
    ///
    /// # Errors
    ///
    /// The server ends, or is not ready in time.
    pub async fn connect(
        channels: LineChannels,
        options: ConnectionOptions,
    ) -> Result<(Self, Events), Error> {
        let LineChannels { to_server, from_server } = channels;
        let ConnectionOptions {
            dialect,
            protocol_version,
            start_within,
            begin_within,
            unread,
            on_dialog,
            observer,
        } = options;
        let hub_options = HubOptions { unread, begin_within, on_dialog, observer };
        let hub = Arc::new(Hub::new(dialect, to_server, hub_options));
        let reader = tokio::spawn(io_tasks::read_channel(from_server, Arc::clone(&hub))).abort_handle();
        let guard = Arc::new(ProcessGuard { hub: Arc::clone(&hub), reader, process: 0 });
        let events = Events::new(Arc::clone(&hub));
        let client = Self { hub, guard, within: None, unchecked: false };
        client.begin(dialect, start_within, protocol_version).await?;
        Ok((client, events))
    }

    /// Waits for the `ready` frame, in dialects that have one, and selects a version of the protocol.
    async fn begin(&self, dialect: Dialect, within: Duration, highest: u64) -> Result<(), Error> {
        if dialect.record().ready == DialectReady::None {
            return Ok(());
        }
        let ready = self.wait_until(|server_status| server_status.has_written);
        timeout(within, ready).await.map_err(|_| Error::NotReady(within))??;
        self.negotiate(highest).await
    }

    /// Selects the highest version of the protocol that the server offers and the dialect has, up to `highest`.
    async fn negotiate(&self, highest: u64) -> Result<(), Error> {
        let offered = self.hub.server_status.borrow().offered_versions.clone();
        let known = self.hub.dialect.record().protocol_versions.chunks.unwrap_or_default();
        match offered.into_iter().filter(|version| *version <= highest.min(known)).max() {
            Some(protocol_version) => {
                self.call(NegotiateProtocolCommand { id: None, protocol_version }).await.map(drop)
            }
            None => Ok(()),
        }
    }

    /// A clone whose calls fail after `time`. Without it, calls wait as long as the server runs.
    pub fn with_timeout(&self, time: Duration) -> Self {
        Self { within: Some(time), ..self.clone() }
    }

    /// A clone that sends commands even if the client knows that the server will refuse them.
    pub fn unchecked(&self) -> Self {
        Self { unchecked: true, ..self.clone() }
    }

    /// Sends a command and waits for its response. The client sets the `id`. If the future is dropped, the response becomes an
    /// event.
    ///
    /// Servers leave out the id of a command whose handler fails (pi and xcsh source). Where commands overtake each other,
    /// such an error is taken to answer the newest open call that is not `bash`, `prompt` or `get_state`, or else the newest
    /// one; where they do not, the oldest. An error that names a command answers only calls of that command.
    ///
    /// # Errors
    ///
    /// The command is illegal in the current state, the server refuses it, or no response comes.
    pub async fn call<C: Command>(&self, command: C) -> Result<C::Success, Error> {
        let command: RpcCommand = command.into();
        let kind = command.kind();
        let response = async {
            let response = self.hub.call(command, self.unchecked).await?.answer().await?;
            let to = response.kind();
            C::success(response)
                .ok_or_else(|| Error::Unread { command: kind, reason: format!("it is one to `{to}`") })
        };
        self.with_deadline(kind, response).await
    }

    /// Sends a prompt, and waits for its run and everything that follows by itself: retries, compactions, queued messages.
    /// Returns the last message of the assistant; two prompts, the second of which is queued in the run of the first, return
    /// the same one. If an extension handles the prompt and the dialect reports that, no run is awaited.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call); also if the server refuses the prompt after its acknowledgement. A failed run is no error:
    /// its message has the stop reason.
    pub async fn prompt(&self, message: impl Into<String>) -> Result<RunResult, Error> {
        let message = message.into();
        self.prompt_with(PromptCommand {
            id: None,
            message,
            images: None,
            streaming_behavior: None,
            locale: None,
        })
        .await
    }

    /// [`prompt`](Self::prompt) with images or a streaming behaviour.
    ///
    /// # Errors
    ///
    /// As [`prompt`](Self::prompt).
    pub async fn prompt_with(&self, prompt: PromptCommand) -> Result<RunResult, Error> {
        self.send_prompt(prompt).await?.end().await
    }

    /// Sends a prompt, and waits for its acknowledgement alone; [`AcceptedPrompt::end`] waits for the run.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn send_prompt(&self, prompt: PromptCommand) -> Result<AcceptedPrompt, Error> {
        let before = self.hub.assistant_messages();
        let names_command = prompt.message.starts_with('/');
        let command = RpcCommand::from(prompt);
        let kind = command.kind();
        let sending = async {
            let mut call = self.hub.call(command, self.unchecked).await?;
            let response = call.answer().await?;
            Ok((call, PromptCommand::success(response).flatten()))
        };
        let (call, outcome) = self.with_deadline(kind, sending).await?;
        Ok(AcceptedPrompt { client: self.clone(), call, outcome, before, names_command })
    }

    /// Waits until an acknowledged prompt has led to a run, or that is no longer to be expected.
    async fn wait_started(&self) -> Result<(), Error> {
        let started = self.wait_until(|server_status| server_status.flow != FlowState::Starting);
        timeout(self.hub.begin_within, started).await.unwrap_or(Ok(()))
    }

    /// Queues a message for the run as soon as possible. Returns whether it is queued or an extension has handled it, in
    /// dialects that report that.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn steer(&self, message: impl Into<String>) -> Result<Option<QueueOutcome>, Error> {
        self.call(SteerCommand { id: None, message: message.into(), images: None }).await
    }

    /// Queues a message for the end of the run. Returns the same as [`steer`](Self::steer).
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn follow_up(&self, message: impl Into<String>) -> Result<Option<QueueOutcome>, Error> {
        self.call(FollowUpCommand { id: None, message: message.into(), images: None }).await
    }

    /// Aborts the run.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn abort(&self) -> Result<(), Error> {
        self.call(AbortCommand::default()).await
    }

    /// Waits until the server is idle: no run, retry or compaction is in progress or about to begin.
    ///
    /// Frames alone do not show that a retry or a compaction follows, so `get_state` is polled. The run of an acknowledged
    /// prompt is awaited (see [`Options::begin_within`]), and so is what a compaction was made for. A text that begins with
    /// `/` may be a command of an extension and need not start a run; there the state is only polled a second time.
    ///
    /// # Errors
    ///
    /// The server exits, or `get_state` fails.
    pub async fn wait_idle(&self) -> Result<(), Error> {
        let _reading = self.hub.keep_reading();
        let mut quiet = 0;
        loop {
            self.wait_until(|server_status| {
                matches!(server_status.flow, FlowState::Idle | FlowState::Starting)
            })
            .await?;
            if let Some((flow, due)) = self.hub.expected_move() {
                if let Ok(moved) =
                    timeout_at(due, self.wait_until(|server_status| server_status.flow != flow)).await
                {
                    moved?;
                }
                quiet = 0;
                continue;
            }
            let state = self.call(GetStateCommand::default()).await?;
            quiet = if state.is_streaming || state.is_compacting { 0 } else { quiet + 1 };
            let flow = self.hub.server_status.borrow().flow;
            match flow {
                _ if self.hub.expected_move().is_some() => {}
                FlowState::Idle if quiet >= 1 => return Ok(()),
                FlowState::Starting if quiet >= 2 => return Ok(()),
                _ if quiet == 0 => sleep(POLL_INTERVAL).await,
                _ => {}
            }
        }
    }

    /// Sets the handler of dialogs, in place of the previous one; without any, dialogs are cancelled. Handlers run
    /// concurrently; one whose dialog the server cancels is dropped.
    pub fn on_dialog<F, A>(&self, decide: F)
    where
        F: Fn(RpcExtensionUIRequest) -> A + Send + Sync + 'static,
        A: Future<Output = DialogResponse> + Send + 'static,
    {
        self.hub.with_callbacks(|callbacks| callbacks.set_dialog_handler(DialogHandler::new(decide)));
    }

    /// Offers tools of the host to the agent, in place of the previous ones. Returns the names that the server has accepted.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call); the previous tools then stay.
    pub async fn set_host_tools(&self, tools: Vec<HostTool>) -> Result<Vec<String>, Error> {
        // The server may call the tools before its response arrives.
        let before = self.hub.with_callbacks(|callbacks| callbacks.replace_tools(tools_by_name(&tools)));
        let tools = tools.into_iter().map(|tool| tool.definition).collect();
        let lent = self.call(SetHostToolsCommand { id: None, tools }).await;
        if lent.is_err() {
            self.hub.with_callbacks(|callbacks| callbacks.replace_tools(before));
        }
        lent.map(|lent| lent.tool_names)
    }

    /// The id of the server's process and process group.
    pub fn id(&self) -> u32 {
        self.guard.process
    }

    /// The state of the conversation, as far as frames show it.
    pub fn state(&self) -> State {
        self.hub.state()
    }

    /// Reads the state of the session, as far as frames show it. `read` runs at once and under a lock: the client handles no
    /// frame before it returns, and it must not call the client.
    ///
    /// ```no_run
    /// # use pi_rpc_client::Client;
    /// # fn show(client: &Client) {
    /// let model = client.session(|session| session.model().flatten().map(|model| model.name.clone()));
    /// # }
    /// ```
    pub fn session<T>(&self, read: impl FnOnce(&SessionState) -> T) -> T {
        self.hub.session(read)
    }

    /// Subscribes to the [revision](SessionState::revision) of the session's state. A slow reader misses revisions, but never
    /// the last one. Ends when the last clone of the client is dropped.
    pub fn session_revisions(&self) -> watch::Receiver<u64> {
        self.hub.revision.subscribe()
    }

    /// Closes the server's stdin and waits for its exit; after [`Options::end_within`] sends TERM, after another KILL.
    /// Outstanding calls fail then.
    pub async fn close(&self) -> ServerExit {
        self.shut_down(ShutdownMode::Graceful).await
    }

    /// Kills the server's process group and waits for the exit.
    pub async fn kill(&self) -> ServerExit {
        self.shut_down(ShutdownMode::Killed).await
    }

    async fn shut_down(&self, end: ShutdownMode) -> ServerExit {
        self.hub.shut_down(end);
        let mut server_status = self.hub.server_status.subscribe();
        let ended = server_status.wait_for(|server_status| server_status.ended.is_some()).await;
        ended.map_or_else(|_| None, |server_status| server_status.ended.clone()).unwrap_or_default()
    }

    /// Waits until the server's status matches; fails if the server exits first.
    async fn wait_until(&self, so: impl Fn(&ServerStatus) -> bool) -> Result<(), Error> {
        let _reading = self.hub.keep_reading();
        let mut server_status = self.hub.server_status.subscribe();
        let reached =
            server_status.wait_for(|server_status| server_status.ended.is_some() || so(server_status)).await;
        match reached.is_ok_and(|server_status| server_status.ended.is_none()) {
            true => Ok(()),
            false => Err(self.hub.exit_error()),
        }
    }

    async fn with_deadline<T>(
        &self,
        command: RpcCommandKind,
        response: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let Some(within) = self.within else { return response.await };
        timeout(within, response).await.unwrap_or(Err(Error::TimedOut { command, within }))
    }
}

/// Whether the response to a prompt shows that no run follows.
fn is_handled(outcome: &PromptOutcome) -> bool {
    outcome.disposition == Some(PromptDisposition::Handled) || outcome.agent_invoked == Some(false)
}
