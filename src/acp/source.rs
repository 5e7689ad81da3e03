//! Where the servers of ACP sessions come from.

use super::{AgentProcess, EngineSessions, client_environment::ClientEnvironment};
use crate::{
    client::{Client, ConnectionOptions, DialogHandler, Events, LineObserver},
    protocol::{CloneCommand, Dialect, GetStateCommand, RpcCommandKind, SwitchSessionCommand},
    secrets::ChildEnvironment,
    session_host::Start,
};
use std::{path::PathBuf, sync::Arc};

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
    pub async fn open(&self, opening: SessionRequest) -> Result<(Client, Events, String), String> {
        let dialect = self.dialect().await?;
        let SessionRequest { begin, directory, environment, on_dialog, observer } = opening;
        let connection = ConnectionOptions { on_dialog, observer, ..ConnectionOptions::new(dialect) };
        match self {
            Self::Engine(engine) => {
                let start = match begin {
                    SessionOrigin::New => Start::New,
                    SessionOrigin::Existing(id) => Start::Named(id),
                    SessionOrigin::CopyOf(id) => Start::Fork(id),
                };
                let (client, events) = engine.open(start, directory, environment, connection).await?;
                let state =
                    client.call(GetStateCommand::default()).await.map_err(|error| error.to_string())?;
                Ok((client, events, state.session_id))
            }
            Self::Agent(agent) => {
                let (client, events) = agent.start(directory, connection).await?;
                begin_in(&client, begin).await.map_err(|error| error.to_string())?;
                let tools = environment.host_tools();
                if !tools.is_empty() {
                    client.set_host_tools(tools).await.map_err(|error| format!("mcpServers: {error}"))?;
                }
                let state =
                    client.call(GetStateCommand::default()).await.map_err(|error| error.to_string())?;
                // A process finds its sessions by their files.
                Ok((client, events, state.session_file.unwrap_or(state.session_id)))
            }
        }
    }
}

/// Switches a server that has started to the session.
async fn begin_in(client: &Client, begin: SessionOrigin) -> Result<(), crate::client::Error> {
    let (session_path, is_copy) = match begin {
        SessionOrigin::New => return Ok(()),
        SessionOrigin::Existing(path) => (path, false),
        SessionOrigin::CopyOf(path) => (path, true),
    };
    client.call(SwitchSessionCommand { id: None, session_path }).await?;
    if is_copy {
        client.call(CloneCommand { id: None }).await?;
    }
    Ok(())
}
