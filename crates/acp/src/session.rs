//! [`BridgedSession`]: one ACP session and the server behind it.

use super::{
    client_output::PendingUpdates,
    mapping::mapping,
    open_prompt::OpenPrompt,
    prompt::prompt_command,
    prompt_context::PromptContext,
    session_options::{Choices, set_level, set_option},
    slash_commands::{available, commands_update, listed},
    translator::Translator,
};
use agent_client_protocol::{
    Client as AcpClient, Error as AcpError,
    v1::{
        ConnectionTo,
        schema::{
            AvailableCommand, ConfigOptionUpdate, ContentBlock, Cost, NoticeSeverity, PromptResponse,
            SessionConfigOption, SessionId, SessionInfoUpdate, SessionNotification, SessionUpdate,
            StopReason as AcpStopReason, TerminalId, ToolCallUpdate, ToolCallUpdateFields, UsageUpdate,
        },
    },
};
use futures_util::FutureExt as _;
use pi_rpc_client::{Client, Error, Events, RunResult};
use pi_rpc_protocol::{
    AbortCommand, AbortRetryCommand, Base, CompactCommand, ErrorText, FlowState, GetAvailableCommandsCommand,
    GetCommandsCommand, GetMessagesCommand, GetSessionStatsCommand, RpcCommandKind, SetSessionNameCommand,
    StopReason, placeholder_values,
};
use std::{
    collections::HashSet,
    mem::discriminant,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// A session of an ACP client, with its server.
pub struct BridgedSession {
    /// Its id.
    pub id: SessionId,
    pub(super) client: Client,
    pump: PumpHandle,
    /// The prompt that is open.
    pub(super) prompt: watch::Sender<Option<OpenPrompt>>,
    /// Names of slash commands that the server carries out itself.
    server_commands: Mutex<HashSet<String>>,
    /// The options that the client has.
    options: Mutex<Vec<SessionConfigOption>>,
    /// Lets dialogs and tools begin.
    known: KnownSession,
    /// The trace context of its prompts.
    pub(super) prompt_context: PromptContext,
}

/// The session of dialogs and tools, once the client knows it.
type KnownSession = watch::Sender<Option<(SessionId, PumpHandle)>>;

/// Requests to the task that sends updates.
enum PumpRequest {
    /// Sends everything that the server has written so far.
    Flush(oneshot::Sender<()>),
    /// Sends these updates.
    Send(Vec<SessionUpdate>),
    /// Sends the updates that show the messages.
    Replay(Vec<pi_rpc_protocol::AgentMessage>, oneshot::Sender<()>),
    /// Sends a notice, if the client shows any.
    Notice(NoticeSeverity, String),
    /// Shows a terminal in the tool call with this id.
    Terminal(String, TerminalId),
    /// The tool call that was begun last and has not ended.
    LastCall(oneshot::Sender<Option<String>>),
}

/// Requests of a session to the task that sends its updates.
#[derive(Clone)]
pub struct PumpHandle {
    requests: mpsc::Sender<PumpRequest>,
    /// Changes when the client does not have the options in effect.
    stale_options: watch::Receiver<()>,
    /// Changes when the open dialogs are cancelled.
    dialogs: watch::Sender<()>,
}

impl PumpHandle {
    /// Starts the task, which ends with the server. From the first request on, when the client knows the session, it follows
    /// `events` by `translator` and sends updates of session `id`.
    pub fn start(
        id: SessionId,
        connection: ConnectionTo<AcpClient>,
        events: Events,
        translator: Translator,
        pending: PendingUpdates,
    ) -> Self {
        let (requests, received) = mpsc::channel(4);
        let (sender, stale_options) = watch::channel(());
        let pump = Pump {
            id,
            connection,
            events,
            translator,
            pending,
            stale_options: sender,
            last_sent: Vec::new(),
        };
        tokio::spawn(pump.run(received));
        Self { requests, stale_options, dialogs: watch::Sender::new(()) }
    }

    /// Cancels the dialogs that are open.
    fn cancel_dialogs(&self) {
        self.dialogs.send_replace(());
    }

    /// Resolves once the dialogs that are open now are cancelled.
    pub async fn dialogs_cancelled(&self) {
        // The sender lives as long as this handle.
        let _ = self.dialogs.subscribe().changed().await;
    }

    /// Waits until everything that the server has written so far is sent.
    pub async fn flush(&self) {
        self.request(PumpRequest::Flush).await;
    }

    /// Sends updates of the bridge itself.
    pub async fn send(&self, updates: Vec<SessionUpdate>) {
        // A task that has ended has no client to send to.
        let _ = self.requests.send(PumpRequest::Send(updates)).await;
    }

    /// Shows a notice, if the client can.
    pub async fn notice(&self, severity: NoticeSeverity, text: String) {
        let _ = self.requests.send(PumpRequest::Notice(severity, text)).await;
    }

    /// Shows a terminal in the tool call with this id.
    pub async fn show_terminal(&self, call: String, terminal: TerminalId) {
        let _ = self.requests.send(PumpRequest::Terminal(call, terminal)).await;
    }

    /// The tool call that was begun last and has not ended.
    pub async fn last_call(&self) -> Option<ToolCallUpdate> {
        let id = self.request(PumpRequest::LastCall).await??;
        Some(ToolCallUpdate::new(id, ToolCallUpdateFields::new()))
    }

    async fn request<T>(&self, make: impl FnOnce(oneshot::Sender<T>) -> PumpRequest) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(make(reply)).await.ok()?;
        answer.await.ok()
    }
}

/// The task that sends the updates of a session.
struct Pump {
    id: SessionId,
    connection: ConnectionTo<AcpClient>,
    events: Events,
    translator: Translator,
    pending: PendingUpdates,
    stale_options: watch::Sender<()>,
    /// The last update of each kind that states a value of the session.
    last_sent: Vec<SessionUpdate>,
}

impl Pump {
    async fn run(mut self, mut requests: mpsc::Receiver<PumpRequest>) {
        let Some(first) = requests.recv().await else { return };
        self.serve(first).await;
        let mut is_over = false;
        loop {
            tokio::select! {
                biased;
                event = self.events.next(), if !is_over => match event {
                    Some(event) => self.show(event).await,
                    None => is_over = true,
                },
                request = requests.recv() => match request {
                    Some(request) => self.serve(request).await,
                    None => return,
                },
            }
        }
    }

    async fn serve(&mut self, request: PumpRequest) {
        while let Some(Some(event)) = self.events.next().now_or_never() {
            self.show(event).await;
        }
        match request {
            // Who has asked may be gone.
            PumpRequest::Flush(done) => drop(done.send(())),
            PumpRequest::Send(updates) => self.send(updates).await,
            PumpRequest::Replay(messages, done) => {
                let updates = self.translator.replay(&messages);
                self.send(updates).await;
                let _ = done.send(());
            }
            PumpRequest::Notice(severity, text) => {
                let notice = self.translator.notice(severity, text);
                self.send(notice.into_iter().collect()).await;
            }
            PumpRequest::Terminal(call, terminal) => {
                let update = self.translator.show_terminal(call, terminal);
                self.send(update.into_iter().collect()).await;
            }
            PumpRequest::LastCall(reply) => drop(reply.send(self.translator.last_call().map(str::to_owned))),
        }
    }

    async fn show(&mut self, event: pi_rpc_client::Event) {
        match &event.frame {
            Some(frame) => {
                let updates = self.translator.updates(frame);
                self.send(updates).await;
                if self.translator.take_stale_options() {
                    self.stale_options.send_replace(());
                }
            }
            None => tracing::warn!("the server has written no frame: {:.200}", event.text()),
        }
    }

    /// Whether an update differs from the last one of its kind. A change comes twice: as the server's event, and in the answer to the
    /// request that made it.
    fn is_new(&mut self, update: &SessionUpdate) -> bool {
        let has_one_value = matches!(
            update,
            SessionUpdate::AvailableCommandsUpdate(_)
                | SessionUpdate::CurrentModeUpdate(_)
                | SessionUpdate::SessionInfoUpdate(_)
                | SessionUpdate::UsageUpdate(_)
        );
        if !has_one_value {
            return true;
        }
        match self.last_sent.iter_mut().find(|sent| discriminant(*sent) == discriminant(update)) {
            Some(sent) if sent == update => return false,
            Some(sent) => *sent = update.clone(),
            None => self.last_sent.push(update.clone()),
        }
        true
    }

    /// Sends updates as fast as the client reads; meanwhile the server's frames wait.
    async fn send(&mut self, updates: Vec<SessionUpdate>) {
        for update in updates {
            if !self.is_new(&update) {
                continue;
            }
            self.pending.queue().await;
            // Fails once the client has gone; the session ends then.
            let _ = self.connection.send_notification(SessionNotification::new(self.id.clone(), update));
        }
    }
}

impl BridgedSession {
    /// A session whose updates `pump` sends, and which `known` makes known to its dialogs and tools.
    pub fn new(
        id: SessionId,
        client: Client,
        pump: PumpHandle,
        known: KnownSession,
        prompt_context: PromptContext,
    ) -> Self {
        Self {
            id,
            client,
            pump,
            prompt: watch::Sender::default(),
            server_commands: Mutex::default(),
            options: Mutex::default(),
            known,
            prompt_context,
        }
    }

    /// Begins to serve a client that knows the session: dialogs, tools, and what it shows beside the conversation.
    pub async fn begin(self: Arc<Self>) {
        self.known.send_replace(Some((self.id.clone(), self.pump.clone())));
        self.send_overview().await;
        let (mut stale_options, session) = (self.pump.stale_options.clone(), Arc::downgrade(&self));
        drop(self);
        while stale_options.changed().await.is_ok() {
            let Some(session) = session.upgrade() else { return };
            session.send_options().await;
        }
    }

    /// What may be chosen.
    ///
    /// # Errors
    ///
    /// The server does not answer.
    pub async fn choices(&self) -> Result<Choices, AcpError> {
        let choices = Choices::read(&self.client).await.map_err(|error| failed(&error))?;
        *self.options.lock().unwrap_or_else(PoisonError::into_inner) = choices.options();
        Ok(choices)
    }

    /// Sends the messages of the session as updates.
    ///
    /// # Errors
    ///
    /// The server does not answer.
    pub async fn replay(&self) -> Result<(), AcpError> {
        let messages =
            self.client.call(GetMessagesCommand::default()).await.map_err(|error| failed(&error))?;
        self.pump.request(|done| PumpRequest::Replay(messages.messages, done)).await;
        Ok(())
    }

    /// Sends what a client shows beside the conversation: name, commands, room in the context.
    async fn send_overview(&self) {
        let mut updates = vec![self.commands().await];
        if let Ok(state) = self.client.call(pi_rpc_protocol::GetStateCommand::default()).await
            && let Some(name) = state.session_name
        {
            updates.push(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(name)));
        }
        updates.extend(self.usage().await);
        self.pump.send(updates).await;
    }

    /// The commands of the server, and those of the bridge.
    async fn commands(&self) -> SessionUpdate {
        let dialect = self.client.session(|session| session.dialect()).base();
        let listed: Vec<AvailableCommand> = if RpcCommandKind::GetAvailableCommands.is_in(dialect) {
            let list = self.client.call(GetAvailableCommandsCommand::default()).await;
            list.map(|list| list.commands.iter().map(available).collect()).unwrap_or_default()
        } else if RpcCommandKind::GetCommands.is_in(dialect) {
            let list = self.client.call(GetCommandsCommand::default()).await;
            list.map(|list| list.commands.iter().map(listed).collect()).unwrap_or_default()
        } else {
            Vec::new()
        };
        let names = listed.iter().map(|command| command.name.clone()).collect();
        *self.server_commands.lock().unwrap_or_else(PoisonError::into_inner) = names;
        commands_update(listed)
    }

    /// The room that the conversation takes, if the server knows.
    async fn usage(&self) -> Option<SessionUpdate> {
        let stats = self.client.call(GetSessionStatsCommand::default()).await.ok()?;
        let context = stats.context_usage?;
        let used = u64::try_from(context.tokens?).ok()?;
        let cost = stats.cost.as_f64().map(|cost| Cost::new(cost, "USD"));
        Some(SessionUpdate::UsageUpdate(UsageUpdate::new(used, context.context_window).cost(cost)))
    }

    /// Sets the thinking level by the id of its mode.
    ///
    /// # Errors
    ///
    /// There is no such mode, or the server refuses it.
    pub async fn set_mode(&self, mode: &str) -> Result<(), AcpError> {
        set_level(&self.client, "modeId", mode).await.map_err(invalid)?;
        self.send_options().await;
        Ok(())
    }

    /// Sets an option.
    ///
    /// # Errors
    ///
    /// There is no such option or value, or the server refuses it.
    pub async fn set_option(&self, option: &str, value: &str) -> Result<Choices, AcpError> {
        set_option(&self.client, option, value).await.map_err(invalid)?;
        self.pump.flush().await;
        self.choices().await
    }

    /// Sends the options, if the client has others.
    async fn send_options(&self) {
        self.pump.flush().await;
        let shown = self.options.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Ok(options) = self.choices().await.map(|choices| choices.options()) else { return };
        if options != shown {
            let update = ConfigOptionUpdate::new(options);
            self.pump.send(vec![SessionUpdate::ConfigOptionUpdate(update)]).await;
        }
    }

    /// Marks a prompt as open. The token cancels it.
    ///
    /// # Errors
    ///
    /// Another prompt is open.
    pub fn begin_prompt(&self) -> Result<CancellationToken, AcpError> {
        let token = CancellationToken::new();
        let begins = self.prompt.send_if_modified(|open| {
            let begins = open.is_none();
            open.get_or_insert_with(|| OpenPrompt::new(token.clone()));
            begins
        });
        match begins {
            true => Ok(token),
            false => {
                let text = "a prompt is open; cancel it, or wait for its end";
                Err(AcpError::invalid_request().data(text))
            }
        }
    }

    /// Cancels the open prompt, if there is one.
    pub fn cancel(&self) {
        if let Some(open) = &*self.prompt.borrow() {
            open.cancel.cancel();
        }
    }

    /// Gives the prompt to the server and waits for everything that it sets off.
    ///
    /// # Errors
    ///
    /// The content cannot be carried, the run has failed, or the server has ended.
    pub async fn prompt(
        &self,
        content: Vec<ContentBlock>,
        cancel: CancellationToken,
    ) -> Result<PromptResponse, AcpError> {
        let outcome = self.run(content, &cancel).await;
        self.end_prompt().await;
        outcome.map(PromptResponse::new)
    }

    /// Shows what the open prompt has led to, and closes it.
    pub(super) async fn end_prompt(&self) {
        self.pump.flush().await;
        self.pump.send(self.usage().await.into_iter().collect()).await;
        self.pump.flush().await;
        self.prompt.send_replace(None);
    }

    async fn run(
        &self,
        content: Vec<ContentBlock>,
        cancel: &CancellationToken,
    ) -> Result<AcpStopReason, AcpError> {
        let command = prompt_command(content).map_err(invalid)?;
        if cancel.is_cancelled() {
            return Ok(AcpStopReason::Cancelled);
        }
        let work = async {
            self.take_messages();
            let result = match self.slash_command(&command.message).await {
                Some(done) => done.map(|()| RunResult { message: None }),
                None => self.client.prompt_with(command).await,
            };
            self.await_messages(result).await
        };
        self.finish(work, cancel).await
    }

    /// Waits for the end of the open prompt's work, which is aborted once the token is cancelled.
    pub(super) async fn finish(
        &self,
        work: impl Future<Output = Result<RunResult, Error>>,
        cancel: &CancellationToken,
    ) -> Result<AcpStopReason, AcpError> {
        tokio::pin!(work);
        // What an abort follows is written before it.
        let result = tokio::select! {
            biased;
            result = &mut work => result,
            () = cancel.cancelled() => tokio::select! {
                biased;
                result = &mut work => result,
                () = self.stop() => work.await,
            },
        };
        match (result, cancel.is_cancelled()) {
            (Err(error @ Error::Gone(_)), _) => Err(failed(&error)),
            (_, true) => Ok(AcpStopReason::Cancelled),
            (Err(error), false) => Err(failed(&error)),
            (Ok(result), false) => stop_reason(&result),
        }
    }

    /// Carries out a slash command of the bridge; `None`: it is a prompt.
    async fn slash_command(&self, message: &str) -> Option<Result<(), Error>> {
        let (name, text) = message.strip_prefix('/')?.split_once(' ').unwrap_or((&message[1..], ""));
        if self.server_commands.lock().unwrap_or_else(PoisonError::into_inner).contains(name) {
            return None;
        }
        let command = &mapping().slash_commands.get(name)?.command;
        let text = text.trim().to_owned();
        match RpcCommandKind::parse(command)? {
            RpcCommandKind::Compact => {
                let custom_instructions = (!text.is_empty()).then_some(text);
                Some(self.client.call(CompactCommand { id: None, custom_instructions }).await.map(drop))
            }
            RpcCommandKind::SetSessionName => {
                let named = self.client.call(SetSessionNameCommand { id: None, name: text.clone() }).await;
                if named.is_ok() {
                    let update = SessionInfoUpdate::new().title(text);
                    self.pump.send(vec![SessionUpdate::SessionInfoUpdate(update)]).await;
                }
                Some(named.map(drop))
            }
            _ => None,
        }
    }

    /// Aborts what is active, and what begins in its place, until the prompt is over. The first abort comes in any case: the flow
    /// does not show every compaction. Dialogs are cancelled behind the abort: a command of an extension is no run, and ends with its
    /// dialog.
    async fn stop(&self) {
        let mut revisions = self.client.session_revisions();
        let mut aborted = None;
        loop {
            let flow = self.client.state().flow;
            if aborted.is_none() || (flow != FlowState::Idle && aborted != Some(flow)) {
                aborted = Some(flow);
                let client = self.client.unchecked();
                if flow == FlowState::Retrying {
                    // Refused where the retry has just begun.
                    let _ = client.call(AbortRetryCommand::default()).await;
                }
                let abort = client.call(AbortCommand::default());
                // The first poll writes the command.
                let (response, ()) = tokio::join!(abort, async { self.pump.cancel_dialogs() });
                if let Err(Error::Gone(_)) = response {
                    return;
                }
            }
            self.pump.cancel_dialogs();
            if revisions.changed().await.is_err() {
                return;
            }
        }
    }

    /// Ends the session: the server may finish and save.
    pub async fn close(&self) {
        let is_busy = self.prompt.borrow().is_some();
        self.cancel();
        if is_busy {
            // Else a server that finishes its run first is killed in the middle of it.
            let client = self.client.unchecked().with_timeout(ABORT_WITHIN);
            let _ = client.call(AbortCommand::default()).await;
        }
        self.client.close().await;
        self.pump.flush().await;
    }
}

/// The stop reason of a run, by its last message.
fn stop_reason(result: &RunResult) -> Result<AcpStopReason, AcpError> {
    let Some(message) = &result.message else { return Ok(AcpStopReason::EndTurn) };
    let reason = message.stop_reason;
    match mapping().stop_reasons.get(reason.as_str()) {
        Some(Some(reason)) => Ok(*reason),
        Some(None) if reason == StopReason::Error => {
            let text = message.error_message.clone().unwrap_or_else(|| "the model has failed".to_owned());
            if let Some(reason) = error_stop_reason(&text) {
                return Ok(reason);
            }
            Err(AcpError::new(INTERNAL_ERROR, text))
        }
        _ => Ok(AcpStopReason::EndTurn),
    }
}

/// The stop reason for an error that is no failure, as the end of a budget.
fn error_stop_reason(error: &str) -> Option<AcpStopReason> {
    let has_text = |text: &ErrorText| {
        Base::ALL.into_iter().any(|base| placeholder_values(text.template(base), error).is_some())
    };
    mapping().error_stop_reasons.iter().find_map(|(name, reason)| {
        ErrorText::ALL.iter().any(|text| text.as_str() == name && has_text(text)).then_some(*reason)
    })
}

/// How long a server may take to abort the run of a session that is closed.
const ABORT_WITHIN: Duration = Duration::from_secs(2);

/// The code of JSON-RPC for a failure of the server.
const INTERNAL_ERROR: i32 = -32603;

/// The error for a failure behind the bridge.
pub fn failed(error: &Error) -> AcpError {
    AcpError::new(INTERNAL_ERROR, error.to_string())
}

const RESOURCE_NOT_FOUND: i32 = -32002;

/// The error for a session that is not there. Source: the error codes of ACP.
pub fn not_found(reason: String) -> AcpError {
    AcpError::new(RESOURCE_NOT_FOUND, "Resource not found").data(reason)
}

/// The error for parameters that are wrong.
pub fn invalid(reason: String) -> AcpError {
    AcpError::invalid_params().data(reason)
}
