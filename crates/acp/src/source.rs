//! Where the servers of ACP sessions come from.

use super::{
    AgentProcess, EngineSessions, client_environment::ClientEnvironment, prompt_context::PromptContext,
    session_id::check_id,
};
use pi_rpc_client::{Client, ConnectionOptions, DialogHandler, Events, LineObserver};
use pi_rpc_files::secrets::ChildEnvironment;
use pi_rpc_host::Start;
use pi_rpc_protocol::{CloneCommand, Dialect, GetStateCommand, RpcCommandKind, SwitchSessionCommand};
use pi_rpc_session_store::find_by_id;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Starts a server for each ACP session.
pub enum Source {
    /// Sessions of this engine.
    Engine(EngineSessions),
    /// Processes.
    Agent(AgentProcess),
}

/// A session that is to be opened.
pub struct SessionRequest {
    /// Where it begins.
    pub begin: SessionOrigin,
    /// Its working directory.
    pub directory: PathBuf,
    /// What its tools do in the client and in MCP servers.
    pub environment: Arc<ClientEnvironment>,
    /// Responds to dialogs.
    pub on_dialog: DialogHandler,
    /// Sees each line.
    pub observer: Option<LineObserver>,
    /// The trace context of its prompts.
    pub prompt_context: PromptContext,
}

/// Where a session begins. Names are ids of ACP sessions.
#[derive(Clone, Debug)]
pub enum SessionOrigin {
    /// Empty.
    New,
    /// With the messages of this session, which goes on.
    Existing(String),
    /// With a copy of the messages of this session.
    CopyOf(String),
}

impl Source {
    /// The dialect of the servers. Starts a process to find it, if it must.
    ///
    /// # Errors
    ///
    /// The process cannot be started, or ends.
    pub async fn dialect(&self) -> Result<Dialect, String> {
        match self {
            Self::Engine(engine) => Ok(engine.dialect),
            Self::Agent(agent) => agent.dialect().await,
        }
    }

    /// Whether sessions can be found without knowing their ids.
    pub const fn lists_sessions(&self) -> bool {
        matches!(self, Self::Engine(_))
    }

    /// Whether tools of MCP servers can be offered.
    pub fn takes_tools(&self, dialect: Dialect) -> bool {
        matches!(self, Self::Engine(_)) || RpcCommandKind::SetHostTools.is_in(dialect.base())
    }

    /// Whether a session can be copied.
    pub fn copies_sessions(&self, dialect: Dialect) -> bool {
        matches!(self, Self::Engine(_)) || RpcCommandKind::Clone.is_in(dialect.base())
    }

    /// The environment of MCP servers that a client hands over.
    pub fn mcp_environment(&self) -> ChildEnvironment {
        match self {
            Self::Engine(engine) => engine.secrets.child_environment(),
            // The configuration is that of the processes.
            Self::Agent(_) => ChildEnvironment::default(),
        }
    }

    /// Starts the server of a session. Returns the name of the session, by which it is found again, if it can be.
    ///
    /// # Errors
    ///
    /// The server cannot be started, or has no such session.
    pub async fn open(&self, opening: SessionRequest) -> Result<(Client, Events, String), OpenError> {
        let dialect = self.dialect().await?;
        let SessionRequest { begin, directory, environment, on_dialog, observer, prompt_context } = opening;
        let connection = ConnectionOptions { on_dialog, observer, ..ConnectionOptions::new(dialect) };
        match self {
            Self::Engine(engine) => {
                let start = match begin {
                    SessionOrigin::New => Start::New,
                    SessionOrigin::Existing(id) => Start::Named(known(engine, id, &directory)?),
                    SessionOrigin::CopyOf(id) => Start::Fork(known(engine, id, &directory)?),
                };
                Ok(engine.open(start, directory, environment, prompt_context, connection).await?)
            }
            Self::Agent(agent) => {
                let (client, events) = agent.start(directory, connection).await?;
                begin_in(&client, begin).await?;
                let tools = environment.host_tools();
                if !tools.is_empty() {
                    client.set_host_tools(tools).await.map_err(|error| format!("mcpServers: {error}"))?;
                }
                let state =
                    client.call(GetStateCommand::default()).await.map_err(|error| error.to_string())?;
                check_id(&state.session_id)?;
                Ok((client, events, state.session_id))
            }
        }
    }
}

/// Why a session cannot be opened.
pub enum OpenError {
    /// No stored session has the id; the text says so.
    NoSession(String),
    /// Its server cannot be started, or refuses.
    Failed(String),
}

impl From<String> for OpenError {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

/// The id, if a stored session has it. The engine would take the beginning of an id as well.
fn known(engine: &EngineSessions, id: String, directory: &Path) -> Result<String, OpenError> {
    let is_in = |folders: Vec<PathBuf>| folders.iter().any(|folder| find_by_id(&id, folder).is_some());
    match is_in((engine.folders)(Some(directory))) || is_in((engine.folders)(None)) {
        true => Ok(id),
        false => Err(OpenError::NoSession(no_session(&id))),
    }
}

fn no_session(id: &str) -> String {
    format!("sessionId: no stored session has the id {id:?}")
}

/// Switches a server that has started to the session, whose file lies beside the one that the server would write.
async fn begin_in(client: &Client, begin: SessionOrigin) -> Result<(), OpenError> {
    let (id, is_copy) = match begin {
        SessionOrigin::New => return Ok(()),
        SessionOrigin::Existing(id) => (id, false),
        SessionOrigin::CopyOf(id) => (id, true),
    };
    let failed = |error: pi_rpc_client::Error| error.to_string();
    let own = client.call(GetStateCommand::default()).await.map_err(failed)?.session_file;
    let folder = own.as_deref().and_then(|file| Path::new(file).parent()).map(Path::to_owned);
    let folder = folder.ok_or_else(|| format!("{}: the agent keeps no sessions", no_session(&id)))?;
    let wanted = id.clone();
    let found = tokio::task::spawn_blocking(move || find_by_id(&wanted, &folder)).await;
    let found =
        found.map_err(|panic| panic.to_string())?.ok_or_else(|| OpenError::NoSession(no_session(&id)))?;
    let session_path = found.to_string_lossy().into_owned();
    client.call(SwitchSessionCommand { id: None, session_path }).await.map_err(failed)?;
    if is_copy {
        client.call(CloneCommand { id: None }).await.map_err(failed)?;
    }
    Ok(())
}
