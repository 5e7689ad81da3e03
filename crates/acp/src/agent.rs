//! The agent's side of an ACP connection: serves the requests of a client.

use super::{
    client_environment::ClientEnvironment,
    client_output::{ClientOutput, PendingUpdates},
    dialogs::DialogContext,
    prompt_context::PromptContext,
    recorder::Recorder,
    session::{BridgedSession, PumpHandle, invalid, not_found},
    session_id::checked,
    source::{OpenError, SessionOrigin, SessionRequest, Source},
    steering::{IdleBehavior, SteeringOutcome, SteeringRequest, SteeringResponse, capability},
    translator::Translator,
};
use crate::input::{BadLine, lines};
use agent_client_protocol::{
    Agent, ByteStreams, Client as AcpClient, ConnectTo, Error as AcpError, JsonRpcResponse,
    on_receive_notification, on_receive_request,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo, Responder,
        schema::{
            AgentCapabilities, AuthMethod, AuthMethodAgent, AuthenticateRequest, AuthenticateResponse,
            CancelNotification, ClientCapabilities, CloseSessionRequest, CloseSessionResponse,
            DeleteSessionRequest, DeleteSessionResponse, ForkSessionRequest, ForkSessionResponse,
            Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest, ListSessionsResponse,
            LoadSessionRequest, LoadSessionResponse, McpCapabilities, McpServer, NewSessionRequest,
            NewSessionResponse, PromptCapabilities, PromptRequest, ResumeSessionRequest,
            ResumeSessionResponse, SessionCapabilities, SessionCloseCapabilities, SessionConfigOptionValue,
            SessionDeleteCapabilities, SessionForkCapabilities, SessionId, SessionInfo,
            SessionListCapabilities, SessionResumeCapabilities, SetSessionConfigOptionRequest,
            SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse,
        },
    },
};
use futures_util::StreamExt as _;
use pi_rpc_mcp::McpTools;
use pi_rpc_protocol::{Dialect, StreamingBehavior};
use pi_rpc_session::iso;
use pi_rpc_session_store::catalog::{self, StoredFileQuery};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
};
use tokio_util::{
    compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _},
    io::StreamReader,
};

/// Everything that the requests of one connection share.
struct Bridge {
    source: Source,
    recorder: Option<Recorder>,
    client: Mutex<ClientCapabilities>,
    sessions: Mutex<HashMap<SessionId, Arc<BridgedSession>>>,
    pending: PendingUpdates,
}

/// The only way to authenticate: credentials that are there already.
const STORED_CREDENTIALS: &str = "stored-credentials";

/// Sessions of one page of a list.
const PAGE: usize = 50;

/// Serves a client until it is gone or `stop` resolves; then the sessions are closed. Lines of more than `max_line` bytes are
/// answered with an error.
///
/// # Errors
///
/// The connection fails. A client that leaves in the middle of a run is no failure.
pub async fn serve(
    source: Source,
    recorder: Option<Recorder>,
    max_line: usize,
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), String> {
    let (output, pending) = ClientOutput::new(output);
    let bridge = Arc::new(Bridge {
        source,
        recorder,
        client: Mutex::default(),
        sessions: Mutex::default(),
        pending: pending.clone(),
    });
    let input = StreamReader::new(lines(input, max_line, BadLine::Answered).take_until(stop));
    let served = connect(&bridge, ByteStreams::new(output.compat_write(), input.compat())).await;
    bridge.close_all().await;
    served.or_else(|error| if pending.client_is_gone() { Ok(()) } else { Err(error.to_string()) })
}

/// A handler that answers by calling a method of the bridge, beside the dispatch of messages.
macro_rules! answer {
    ($bridge:ident, $request:ty, $method:ident) => {{
        let bridge = $bridge.clone();
        async move |request: $request, responder: Responder<_>, connection: ConnectionTo<AcpClient>| {
            let bridge = bridge.clone();
            spawn(responder, async move { bridge.$method(request, connection).await });
            Ok(())
        }
    }};
}

async fn connect(bridge: &Arc<Bridge>, transport: impl ConnectTo<Agent> + 'static) -> Result<(), AcpError> {
    Agent
        .v1()
        .name("pi-rpc")
        .on_receive_request(answer!(bridge, InitializeRequest, initialize), on_receive_request!())
        .on_receive_request(answer!(bridge, AuthenticateRequest, authenticate), on_receive_request!())
        .on_receive_request(answer!(bridge, NewSessionRequest, new_session), on_receive_request!())
        .on_receive_request(
            {
                let bridge = bridge.clone();
                async move |request: LoadSessionRequest, responder, connection| {
                    let bridge = bridge.clone();
                    spawn(responder, async move { bridge.load_session(request, connection).await });
                    Ok(())
                }
            },
            on_receive_request!(),
        )
        .on_receive_request(answer!(bridge, ResumeSessionRequest, resume_session), on_receive_request!())
        .on_receive_request(answer!(bridge, ForkSessionRequest, fork_session), on_receive_request!())
        .on_receive_request(answer!(bridge, ListSessionsRequest, list_sessions), on_receive_request!())
        .on_receive_request(answer!(bridge, DeleteSessionRequest, delete_session), on_receive_request!())
        .on_receive_request(answer!(bridge, CloseSessionRequest, close_session), on_receive_request!())
        .on_receive_request(answer!(bridge, SetSessionModeRequest, set_mode), on_receive_request!())
        .on_receive_request(
            answer!(bridge, SetSessionConfigOptionRequest, set_config_option),
            on_receive_request!(),
        )
        .on_receive_request(answer!(bridge, SteeringRequest, steer), on_receive_request!())
        .on_receive_request(
            {
                let bridge = bridge.clone();
                async move |request: PromptRequest, responder: Responder<_>, _| {
                    // A cancellation that follows at once finds the prompt open.
                    let begun = bridge.session(&request.session_id);
                    let begun =
                        begun.and_then(|session| session.begin_prompt().map(|token| (session, token)));
                    let cancellation = responder.cancellation();
                    spawn(responder, async move {
                        let (session, token) = begun?;
                        session.prompt_context.note(request.meta.as_ref());
                        let prompt = session.prompt(request.prompt, token.clone());
                        tokio::pin!(prompt);
                        tokio::select! {
                            response = &mut prompt => return response,
                            () = cancellation.cancelled() => token.cancel(),
                        }
                        prompt.await
                    });
                    Ok(())
                }
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            {
                let bridge = bridge.clone();
                async move |cancel: CancelNotification, _| {
                    if let Ok(session) = bridge.session(&cancel.session_id) {
                        session.cancel();
                    }
                    Ok(())
                }
            },
            on_receive_notification!(),
        )
        .connect_to(transport)
        .await
}

/// Answers a request with what `work` returns, beside other requests.
fn spawn<T: JsonRpcResponse>(
    responder: Responder<T>,
    work: impl Future<Output = Result<T, AcpError>> + Send + 'static,
) {
    tokio::spawn(async move {
        let result = work.await;
        // Fails once the client has gone.
        let _ = responder.respond_with_result(result);
    });
}

impl Bridge {
    async fn initialize(
        &self,
        request: InitializeRequest,
        _: ConnectionTo<AcpClient>,
    ) -> Result<InitializeResponse, AcpError> {
        *self.client() = request.client_capabilities;
        let dialect = self.dialect().await?;
        let sessions = SessionCapabilities::new()
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new());
        let sessions = match self.source.copies_sessions(dialect) {
            true => sessions.fork(SessionForkCapabilities::new()),
            false => sessions,
        };
        let sessions = match self.source.lists_sessions() {
            true => sessions.list(SessionListCapabilities::new()).delete(SessionDeleteCapabilities::new()),
            false => sessions,
        };
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .mcp_capabilities(McpCapabilities::new().http(self.source.takes_tools(dialect)))
            .session_capabilities(sessions);
        let stored = AuthMethodAgent::new(STORED_CREDENTIALS, "Stored credentials").description(
            "Keys and logins of the agent's own files; make them with pi-rpc login in a terminal".to_owned(),
        );
        Ok(InitializeResponse::new(ProtocolVersion::V1)
            .meta(capability())
            .agent_capabilities(capabilities)
            .auth_methods(vec![AuthMethod::Agent(stored)])
            .agent_info(Implementation::new("pi-rpc", env!("CARGO_PKG_VERSION")).title("pi-rpc".to_owned())))
    }

    async fn authenticate(
        &self,
        request: AuthenticateRequest,
        _: ConnectionTo<AcpClient>,
    ) -> Result<AuthenticateResponse, AcpError> {
        match &*request.method_id.0 {
            STORED_CREDENTIALS => Ok(AuthenticateResponse::new()),
            other => Err(invalid(format!("methodId: expected {STORED_CREDENTIALS}, got {other:?}"))),
        }
    }

    async fn new_session(
        &self,
        request: NewSessionRequest,
        connection: ConnectionTo<AcpClient>,
    ) -> Result<NewSessionResponse, AcpError> {
        let place = Place { directory: request.cwd, servers: request.mcp_servers };
        let session = self.open(SessionOrigin::New, place, &connection).await?;
        let choices = session.choices().await?;
        later(&session);
        Ok(NewSessionResponse::new(session.id.clone())
            .modes(choices.modes())
            .config_options(choices.options()))
    }

    async fn load_session(
        &self,
        request: LoadSessionRequest,
        connection: ConnectionTo<AcpClient>,
    ) -> Result<LoadSessionResponse, AcpError> {
        let place = Place { directory: request.cwd, servers: request.mcp_servers };
        let session = self.open(existing(&request.session_id)?, place, &connection).await?;
        session.replay().await?;
        let choices = session.choices().await?;
        later(&session);
        Ok(LoadSessionResponse::new().modes(choices.modes()).config_options(choices.options()))
    }

    async fn resume_session(
        &self,
        request: ResumeSessionRequest,
        connection: ConnectionTo<AcpClient>,
    ) -> Result<ResumeSessionResponse, AcpError> {
        let place = Place { directory: request.cwd, servers: request.mcp_servers };
        let session = self.open(existing(&request.session_id)?, place, &connection).await?;
        let choices = session.choices().await?;
        later(&session);
        Ok(ResumeSessionResponse::new().modes(choices.modes()).config_options(choices.options()))
    }

    async fn fork_session(
        &self,
        request: ForkSessionRequest,
        connection: ConnectionTo<AcpClient>,
    ) -> Result<ForkSessionResponse, AcpError> {
        let dialect = self.dialect().await?;
        if !self.source.copies_sessions(dialect) {
            let reason = format!("session/fork: {dialect} has no command that copies a session");
            return Err(AcpError::method_not_found().data(reason));
        }
        let place = Place { directory: request.cwd, servers: request.mcp_servers };
        let begin = SessionOrigin::CopyOf(checked(&request.session_id)?.0.to_string());
        let session = self.open(begin, place, &connection).await?;
        let choices = session.choices().await?;
        later(&session);
        Ok(ForkSessionResponse::new(session.id.clone())
            .modes(choices.modes())
            .config_options(choices.options()))
    }

    async fn list_sessions(
        &self,
        request: ListSessionsRequest,
        _: ConnectionTo<AcpClient>,
    ) -> Result<ListSessionsResponse, AcpError> {
        let folders = self.folders("session/list", request.cwd.as_deref())?;
        let query = StoredFileQuery {
            after: request.cursor.map(PathBuf::from),
            limit: PAGE,
            ..StoredFileQuery::default()
        };
        let listed = tokio::task::spawn_blocking(move || {
            let directory = request.cwd;
            catalog::list(&folders, &query, |file| {
                directory.as_ref().is_none_or(|directory| Path::new(&file.directory) == directory)
            })
        });
        let (files, has_more) = listed.await.map_err(AcpError::into_internal_error)?;
        let next = files.last().filter(|_| has_more).map(|file| file.path.to_string_lossy().into_owned());
        let sessions = files.into_iter().map(|file| {
            SessionInfo::new(file.id, file.directory)
                .title(file.name.or(file.title))
                .updated_at(iso(file.last_activity))
        });
        Ok(ListSessionsResponse::new(sessions.collect()).next_cursor(next))
    }

    async fn delete_session(
        &self,
        request: DeleteSessionRequest,
        _: ConnectionTo<AcpClient>,
    ) -> Result<DeleteSessionResponse, AcpError> {
        let folders = self.folders("session/delete", None)?;
        let open = self.sessions().remove(checked(&request.session_id)?);
        if let Some(session) = open {
            session.close().await;
        }
        let id = request.session_id.0.to_string();
        let archived = tokio::task::spawn_blocking(move || {
            let query = StoredFileQuery { limit: 1, ..StoredFileQuery::default() };
            let (found, _) = catalog::list(&folders, &query, |file| file.id == id);
            // A session that is not there needs no deletion.
            let Some(file) = found.into_iter().next() else { return Ok(()) };
            catalog::archive(&folders, &file.path, true, &mut fastrand::Rng::new())
                .map(drop)
                .map_err(|error| error.to_string())
        });
        let archived = archived.await.map_err(AcpError::into_internal_error)?;
        archived.map_err(|reason| AcpError::internal_error().data(reason))?;
        Ok(DeleteSessionResponse::new())
    }

    async fn close_session(
        &self,
        request: CloseSessionRequest,
        _: ConnectionTo<AcpClient>,
    ) -> Result<CloseSessionResponse, AcpError> {
        let session = self.session(&request.session_id)?;
        self.sessions().remove(&request.session_id);
        session.close().await;
        Ok(CloseSessionResponse::new())
    }

    async fn steer(
        &self,
        request: SteeringRequest,
        _: ConnectionTo<AcpClient>,
    ) -> Result<SteeringResponse, AcpError> {
        let session = self.session(&request.session_id)?;
        let options = request.meta.steering;
        let behavior = options.streaming_behavior.unwrap_or(StreamingBehavior::Steer);
        if session.steer(request.prompt.clone(), behavior).await? {
            return Ok(SteeringResponse::new(SteeringOutcome::Injected));
        }
        if options.idle_behavior == IdleBehavior::PromptRequired {
            return Ok(SteeringResponse::new(SteeringOutcome::PromptRequired));
        }
        let cancel = session.begin_prompt()?;
        tokio::spawn(async move {
            // The client asked for no response; a failed run shows in the updates.
            if let Err(error) = session.prompt(request.prompt, cancel).await {
                tracing::warn!("a run that _session/steering began has failed: {error}");
            }
        });
        Ok(SteeringResponse::new(SteeringOutcome::StartedNewTurn))
    }

    async fn set_mode(
        &self,
        request: SetSessionModeRequest,
        _: ConnectionTo<AcpClient>,
    ) -> Result<SetSessionModeResponse, AcpError> {
        self.session(&request.session_id)?.set_mode(&request.mode_id.0).await?;
        Ok(SetSessionModeResponse::new())
    }

    async fn set_config_option(
        &self,
        request: SetSessionConfigOptionRequest,
        _: ConnectionTo<AcpClient>,
    ) -> Result<SetSessionConfigOptionResponse, AcpError> {
        let session = self.session(&request.session_id)?;
        let SessionConfigOptionValue::ValueId { value } = request.value else {
            return Err(invalid("value: expected the id of a value, got a boolean".to_owned()));
        };
        let choices = session.set_option(&request.config_id.0, &value.0).await?;
        Ok(SetSessionConfigOptionResponse::new(choices.options()))
    }

    /// Opens a session and its server.
    async fn open(
        &self,
        begin: SessionOrigin,
        place: Place,
        connection: &ConnectionTo<AcpClient>,
    ) -> Result<Arc<BridgedSession>, AcpError> {
        let Place { directory, servers } = place;
        if !directory.is_absolute() {
            return Err(invalid(format!("cwd: expected an absolute path, got {}", directory.display())));
        }
        let dialect = self.dialect().await?;
        if !servers.is_empty() && !self.source.takes_tools(dialect) {
            let reason = "has no command by which a host offers tools";
            return Err(invalid(format!("mcpServers: {dialect} {reason}")));
        }
        let environment = self.source.mcp_environment();
        let tools = McpTools::connect(servers, &directory, &environment).await.map_err(invalid)?;
        if let SessionOrigin::Existing(id) = &begin {
            // A client may load a session again, to see it from its beginning.
            let open = self.sessions().remove(&SessionId::new(id.as_str()));
            if let Some(session) = open {
                session.close().await;
            }
        }
        let existing_id = match &begin {
            SessionOrigin::Existing(id) => Some(SessionId::new(id.as_str())),
            _ => None,
        };
        let client = self.client().clone();
        let (known, session) = watch::channel(None);
        let prompt_context = PromptContext::default();
        let opening = SessionRequest {
            begin,
            directory: directory.clone(),
            environment: ClientEnvironment::new(connection.clone(), session.clone(), &client, tools),
            on_dialog: DialogContext::new(connection.clone(), session, &client).handler(),
            observer: self.observer(dialect)?,
            prompt_context: prompt_context.clone(),
        };
        let opened = self.source.open(opening).await;
        let (server, events, id) = opened.map_err(|error| match error {
            OpenError::NoSession(reason) => not_found(reason),
            OpenError::Failed(reason) => AcpError::internal_error().data(reason),
        })?;
        let id = existing_id.unwrap_or_else(|| SessionId::new(id));
        let translator = Translator::new(directory, &client);
        let pump =
            PumpHandle::start(id.clone(), connection.clone(), events, translator, self.pending.clone());
        let session = Arc::new(BridgedSession::new(id.clone(), server, pump, known, prompt_context));
        self.sessions().insert(id, session.clone());
        Ok(session)
    }

    fn observer(&self, dialect: Dialect) -> Result<Option<pi_rpc_client::LineObserver>, AcpError> {
        let observer = self.recorder.as_ref().map(|recorder| recorder.observer(dialect)).transpose();
        observer.map_err(|reason| AcpError::internal_error().data(reason))
    }

    async fn dialect(&self) -> Result<Dialect, AcpError> {
        self.source.dialect().await.map_err(|reason| AcpError::internal_error().data(reason))
    }

    /// The folders of session files.
    fn folders(&self, method: &str, directory: Option<&Path>) -> Result<Vec<PathBuf>, AcpError> {
        match &self.source {
            Source::Engine(engine) => Ok((engine.folders)(directory)),
            Source::Agent(_) => {
                let reason = format!("{method}: no command of the agent lists its sessions");
                Err(AcpError::method_not_found().data(reason))
            }
        }
    }

    fn session(&self, id: &SessionId) -> Result<Arc<BridgedSession>, AcpError> {
        let session = self.sessions().get(checked(id)?).cloned();
        let reason = || format!("sessionId: no session {:?} is open", &*id.0);
        session.ok_or_else(|| not_found(reason()))
    }

    async fn close_all(&self) {
        let sessions: Vec<_> = self.sessions().drain().map(|(_, session)| session).collect();
        futures_util::future::join_all(sessions.iter().map(|session| session.close())).await;
    }

    fn client(&self) -> MutexGuard<'_, ClientCapabilities> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<BridgedSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a session works, and the MCP servers that its client hands over.
struct Place {
    directory: PathBuf,
    servers: Vec<McpServer>,
}

fn existing(id: &SessionId) -> Result<SessionOrigin, AcpError> {
    Ok(SessionOrigin::Existing(checked(id)?.0.to_string()))
}

/// Begins to serve the client of a session behind the response that names it.
fn later(session: &Arc<BridgedSession>) {
    tokio::spawn(session.clone().begin());
}
