//! The client as its user has it.

use super::{
    DialogHandler, DialogResponse, Error, Events, HostTool, Options, Process, ServerExit,
    callbacks::tools_by_name,
    hub::{Hub, ServerStatus, ShutdownMode},
    inner::HubOptions,
    io_tasks,
    session::SessionState,
};
use crate::{
    machine::State,
    protocol::{
        AbortCommand, AssistantContent, AssistantMessage, Command, DialectReady, FlowState, FollowUpCommand,
        GetStateCommand, PromptCommand, PromptDisposition, QueueOutcome, RpcCommand, RpcCommandKind,
        RpcExtensionUIRequest, SetHostToolsCommand, SteerCommand,
    },
};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{mpsc, watch},
    task::AbortHandle,
    time::{sleep, timeout, timeout_at},
};

/// Lines that wait to be written before whoever has the next one waits.
const WRITE_QUEUE: usize = 16;

/// How often a server is asked whether it is busy, where frames do not tell.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A server that runs. Copies speak to the same one; with the last of them the server's process group is killed.
#[derive(Clone)]
pub struct Client {
    hub: Arc<Hub>,
    guard: Arc<ProcessGuard>,
    within: Option<Duration>,
    unchecked: bool,
}

/// What a prompt came to.
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

/// Lives as long as somebody can speak to the server.
struct ProcessGuard {
    hub: Arc<Hub>,
    reader: AbortHandle,
    process: u32,
}

impl Drop for ProcessGuard {
    fn drop(&mut self) {
        // The process goes with its reader, and its group with it.
        self.reader.abort();
        if self.hub.server_status.borrow().ended.is_none() {
            self.hub.finish(ServerExit::default());
        }
    }
}

impl Client {
    /// Starts a server, and waits until it is ready, in dialects that say so. Needs a tokio runtime with IO and time.
    ///
    /// # Errors
    ///
    /// When it cannot be started, ends, or is not ready in time.
    pub async fn spawn(options: Options) -> Result<(Self, Events), Error> {
        let process = Process::spawn_with_limit(options.command, options.longest_line);
        let mut process = process.map_err(|error| Error::Start(Arc::new(error)))?;
        let id = process.id();
        let (sender, lines) = mpsc::channel(WRITE_QUEUE);
        let Options { unread, begin_within, on_dialog, .. } = options;
        let hub = Arc::new(Hub::new(options.dialect, sender, HubOptions { unread, begin_within, on_dialog }));
        if let Some(input) = process.take_input() {
            tokio::spawn(io_tasks::write(input, lines, Arc::clone(&hub)));
        }
        let reader =
            tokio::spawn(io_tasks::read(process, Arc::clone(&hub), options.end_within)).abort_handle();
        let guard = Arc::new(ProcessGuard { hub: Arc::clone(&hub), reader, process: id });
        let events = Events::new(Arc::clone(&hub));
        let client = Self { hub, guard, within: None, unchecked: false };
        if options.dialect.record().ready != DialectReady::None {
            let ready = client.wait_until(|server_status| server_status.has_written);
            let ready = timeout(options.start_within, ready).await;
            ready.map_err(|_| Error::NotReady(options.start_within))??;
        }
        Ok((client, events))
    }

    /// The same server, whose answers are waited for only so long. Without it they are waited for as long as it runs.
    pub fn with_timeout(&self, time: Duration) -> Self {
        Self { within: Some(time), ..self.clone() }
    }

    /// The same server, which is sent commands also where the client knows that they are refused.
    pub fn unchecked(&self) -> Self {
        Self { unchecked: true, ..self.clone() }
    }

    /// Calls a command, whose `id` is the client's to choose. Dropped while it waits, the answer becomes an event.
    ///
    /// Servers leave out the id of a command whose handler fails (pi and xcsh source). Where commands overtake each other,
    /// such an error is taken to answer the newest open call that is not `bash`, `prompt` or `get_state`, or else the newest
    /// one; where they do not, the oldest. An error that names a command answers only calls of that command.
    ///
    /// # Errors
    ///
    /// When the command is illegal here, the server refuses it, or no answer comes.
    pub async fn call<C: Command>(&self, command: C) -> Result<C::Success, Error> {
        let command: RpcCommand = command.into();
        let kind = command.kind();
        let calling = async {
            let response = self.hub.call(command, self.unchecked).await?.answer().await?;
            let to = response.kind();
            C::success(response)
                .ok_or_else(|| Error::Unread { command: kind, reason: format!("it is one to `{to}`") })
        };
        self.with_deadline(kind, calling).await
    }

    /// Prompts, and waits until the run is over, and everything that follows by itself: retries, compactions, messages
    /// that wait. Gives what the assistant said last: two prompts, the second of which waits for the run of the first, both
    /// give the last message of the whole. Where the server says that an extension took the prompt, no run is waited for.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call), also when the server refuses the prompt after it has acknowledged it. A run that fails is
    /// none: its message says so.
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

    /// [`prompt`](Self::prompt) with images, or with a way to wait for an open run.
    ///
    /// # Errors
    ///
    /// As [`prompt`](Self::prompt).
    pub async fn prompt_with(&self, prompt: PromptCommand) -> Result<RunResult, Error> {
        let before = self.hub.assistant_messages();
        let command = RpcCommand::from(prompt);
        let kind = command.kind();
        let asking = async {
            let mut asked = self.hub.call(command, self.unchecked).await?;
            let response = asked.answer().await?;
            Ok((asked, PromptCommand::success(response).flatten()))
        };
        let (mut asked, outcome) = self.with_deadline(kind, asking).await?;
        if outcome.is_some_and(|outcome| outcome.disposition == PromptDisposition::Handled) {
            return Ok(RunResult { message: self.hub.last_message_after(before) });
        }
        tokio::select! {
            biased;
            error = asked.late_error() => return Err(Error::Failed(error)),
            idle = self.wait_idle() => idle?,
        }
        Ok(RunResult { message: self.hub.last_message_after(before) })
    }

    /// Redirects the run as soon as possible. Gives what became of the message, in dialects that say so: it waits, or an
    /// extension took it.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn steer(&self, message: impl Into<String>) -> Result<Option<QueueOutcome>, Error> {
        self.call(SteerCommand { id: None, message: message.into(), images: None }).await
    }

    /// Says something when the run would end. Gives what became of it as [`steer`](Self::steer) does.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn follow_up(&self, message: impl Into<String>) -> Result<Option<QueueOutcome>, Error> {
        self.call(FollowUpCommand { id: None, message: message.into(), images: None }).await
    }

    /// Ends the run.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn abort(&self) -> Result<(), Error> {
        self.call(AbortCommand::default()).await
    }

    /// Waits until no run is open, no retry waited for and no compaction under way, and none of them is about to begin.
    ///
    /// What frames tell is not enough: a retry or a compaction may follow. So the server is asked. The run of a prompt that
    /// was acknowledged is waited for (see [`Options::begin_within`]), and what a compaction has made room for; a text that
    /// begins with `/` may be a command of an extension, so there the server is only asked a second time.
    ///
    /// # Errors
    ///
    /// When the server ends, or does not tell its state.
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

    /// Has dialogs answered by `decide`, in place of what answered them before. Without one they are cancelled. It runs
    /// beside everything else, and is dropped when the server calls the dialog off.
    pub fn on_dialog<F, A>(&self, decide: F)
    where
        F: Fn(RpcExtensionUIRequest) -> A + Send + Sync + 'static,
        A: Future<Output = DialogResponse> + Send + 'static,
    {
        self.hub.with_callbacks(|callbacks| callbacks.set_dialog_handler(DialogHandler::new(decide)));
    }

    /// Lends tools to the agent, in place of those before; gives the names of those that it has now.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call); then the tools stay as they were.
    pub async fn set_host_tools(&self, tools: Vec<HostTool>) -> Result<Vec<String>, Error> {
        // They may be called as soon as the server has them.
        let before = self.hub.with_callbacks(|callbacks| callbacks.replace_tools(tools_by_name(&tools)));
        let tools = tools.into_iter().map(|tool| tool.definition).collect();
        let lent = self.call(SetHostToolsCommand { id: None, tools }).await;
        if lent.is_err() {
            self.hub.with_callbacks(|callbacks| callbacks.replace_tools(before));
        }
        lent.map(|lent| lent.tool_names)
    }

    /// The id of the server's process, and of its group.
    pub fn id(&self) -> u32 {
        self.guard.process
    }

    /// Where the conversation stands, as far as frames tell.
    pub fn state(&self) -> State {
        self.hub.state()
    }

    /// Reads the state of the session, as far as frames tell it. `read` is called at once; the client takes no frame before
    /// it returns, and it must not use the client.
    ///
    /// ```no_run
    /// # use pi_rpc::client::Client;
    /// # fn show(client: &Client) {
    /// let model = client.session(|session| session.model().flatten().map(|model| model.name.clone()));
    /// # }
    /// ```
    pub fn session<T>(&self, read: impl FnOnce(&SessionState) -> T) -> T {
        self.hub.session(read)
    }

    /// Subscribes to the [revision](SessionState::revision) of the session's state, which changes with the state. A reader
    /// that is slow misses revisions, never the last one. Ends when the last copy of the client is dropped.
    pub fn session_revisions(&self) -> watch::Receiver<u64> {
        self.hub.revision.subscribe()
    }

    /// Ends the server's input and waits until it has ended; one that does not in time is sent TERM, and KILL. What still
    /// waits for an answer then fails.
    pub async fn close(&self) -> ServerExit {
        self.shut_down(ShutdownMode::Graceful).await
    }

    /// Kills the server and everything in its process group.
    pub async fn kill(&self) -> ServerExit {
        self.shut_down(ShutdownMode::Killed).await
    }

    async fn shut_down(&self, end: ShutdownMode) -> ServerExit {
        self.hub.shut_down(end);
        let mut server_status = self.hub.server_status.subscribe();
        let ended = server_status.wait_for(|server_status| server_status.ended.is_some()).await;
        ended.map_or_else(|_| None, |server_status| server_status.ended.clone()).unwrap_or_default()
    }

    /// Waits until the conversation stands so.
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
        calling: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let Some(within) = self.within else { return calling.await };
        timeout(within, calling).await.unwrap_or(Err(Error::TimedOut { command, within }))
    }
}
