//! An agent of the Agent Client Protocol (ACP) in place of models and tools: `pi-rpc serve --backend acp -- AGENT`.
//!
//! The engine speaks to the host, and takes the agent for a model with tools of its own ([`server::Agent`]): the text and
//! thinking of a prompt turn are the model's answer; a tool call ends the answer and runs until the agent ends it; the next
//! answer goes on with the same prompt turn. Which of ACP's methods and updates become what, and which are lost, is the
//! key `backend` of `schema/acp.json`.
//!
//! ```text
//! engine ─→ server::AgentRequest ─→ task ─→ session/prompt, session/cancel ─→ agent
//! engine ←─ StreamEvent, ToolState ←─ turn ←─ session/update ←────────────────┘
//! ```
//!
//! - `connection`: the process of the agent, and the requests that it makes of its client.
//! - `task`: serves the server's requests, one prompt turn at a time.
//! - `turn`: puts the updates of a turn into answers and tool calls; no IO.
//! - `sessions`: which session of the agent belongs to which of ours, and the messages that it has.
//! - `call`, `choices`, `permission`, `prompt`: conversions.
//! - `files`, `terminals`: what agents may have their client do.
//!
//! [`server::Agent`]: pi_rpc_server::Agent

mod call;
mod choices;
mod connection;
mod files;
mod permission;
mod prompt;
mod sessions;
mod task;
mod terminals;
mod turn;

use connection::Connection;
use pi_rpc_engine::{Input, ModelChoice};
use pi_rpc_protocol::ThinkingLevel;
use pi_rpc_server::{Agent, AgentLink};
use pi_rpc_tools::ShellOptions;
use sessions::{OpenSession, Sessions};
use std::{ffi::OsString, path::PathBuf};
use task::Task;
use tokio::sync::mpsc;

/// The agent to start, and where it works.
pub struct AcpOptions {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The working directory, absolute.
    pub directory: PathBuf,
    /// How the commands of its terminals run.
    pub shell: ShellOptions,
    /// The longest line that is read of it, in bytes.
    pub max_line: usize,
}

/// An agent that runs and has a session.
pub struct AcpAgent {
    options: AcpOptions,
    connection: Connection,
    sessions: Sessions,
    models: Vec<ModelChoice>,
    model: usize,
    level: Option<ThinkingLevel>,
}

impl AcpAgent {
    /// Starts the agent and opens a session, which names its models.
    ///
    /// # Errors
    ///
    /// The agent cannot be started, does not speak the protocol, or refuses a session.
    pub async fn start(options: AcpOptions) -> Result<Self, String> {
        let mut connection = Connection::open(&options).await?;
        let opened = OpenSession::begin(&mut connection, &options.directory).await;
        let session = match opened {
            Ok(session) => session,
            Err(reason) => {
                connection.end().await;
                return Err(reason);
            }
        };
        let (models, model) = choices::models(&connection, &session.settings);
        let level = choices::current_level(&session.settings);
        Ok(Self { options, connection, sessions: Sessions::new(session), models, model, level })
    }

    /// The models that the agent offers, or one that stands for its own choice; and the place of the current one.
    pub fn models(&self) -> (&[ModelChoice], usize) {
        (&self.models, self.model)
    }

    /// The thinking level that the agent begins with.
    pub const fn level(&self) -> Option<ThinkingLevel> {
        self.level
    }
}

impl Agent for AcpAgent {
    fn start(self: Box<Self>, inputs: mpsc::Sender<Input>) -> AgentLink {
        let (sender, requests) = mpsc::unbounded_channel();
        let task = Task::new(self.options, self.connection, self.sessions, inputs, requests);
        AgentLink::new(sender, tokio::spawn(task.run()))
    }
}
