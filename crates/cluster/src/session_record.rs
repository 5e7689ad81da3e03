//! The record of a session: what a node must know to open it, who owns it, and what was taken of its input.

use indexmap::IndexMap;
use pi_rpc_host::{
    BudgetPlan, OpenRequest, Principal, Start, TokenLimits, ToolLimits, UsageBook, WaitingRun, recorded_name,
};
use pi_rpc_protocol::{RequestId, ThinkingLevel};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio_util::sync::CancellationToken;

/// What is needed to open a session on any node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionSpec {
    /// The name of who has opened it.
    pub owner: String,
    /// What that one may do.
    pub limits: TokenLimits,
    /// The dialect.
    pub dialect: String,
    /// The working directory.
    pub directory: PathBuf,
    /// The provider of the model.
    pub provider: Option<String>,
    /// The id of the model.
    pub model: Option<String>,
    /// The thinking level.
    pub level: Option<String>,
    /// The display name at the beginning.
    pub name: Option<String>,
    /// The only tools that the client wants.
    pub only_tools: Option<Vec<String>>,
    /// Whether built-in ones are offered only if they are among them.
    #[serde(default)]
    pub no_built_in_tools: bool,
    /// Tools that the client does without.
    pub without_tools: Vec<String>,
    /// Patterns of tools whose calls need consent.
    pub confirmed_tools: Vec<String>,
    /// Budgets that the client has set.
    #[serde(default)]
    pub budget: BudgetPlan,
}

/// A session of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionRecord {
    /// What is needed to open it.
    pub spec: SessionSpec,
    /// The label of the nodes that may own it; `None`: any.
    pub label: Option<String>,
    /// Whether it has no tools of its own, so that any node may own it, with or without its directory.
    pub runs_anywhere: bool,
    /// The node that owns it; `None`: a node is to take it.
    pub owner: Option<String>,
    /// Counts the owners.
    pub epoch: u64,
    /// Whether it is closed: no node takes it until a client opens it again.
    pub is_closed: bool,
    /// Whether it is being removed: no client can open it again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_removed: bool,
    /// Whether a run is open.
    pub is_running: bool,
    /// The display name.
    pub title: Option<String>,
    /// How far its input was taken.
    pub taken: TakenInput,
    /// Its run, while that waits for a permission: nothing of it begins before further input is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Box<WaitingRun>>,
}

/// The input that an owner has taken: it is never taken again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TakenInput {
    /// The stream sequence of the last message.
    pub position: u64,
    /// What was taken from each client, the one that has written last at the end.
    pub lines: IndexMap<String, ClientInput>,
    /// Commands without a response in the output up to `frame`, oldest first.
    pub outstanding: Vec<OutstandingCommand>,
    /// The number of the last frame in the output when this was written.
    pub frame: u64,
}

/// A command that was taken and not responded to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutstandingCommand {
    /// The client that wrote it.
    pub client: String,
    /// Its id.
    pub id: Option<RequestId>,
    /// Its type.
    pub command: String,
}

/// What was received from a client, by a prefix of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct ClientInput {
    /// Lines, by all connections.
    pub lines: u64,
    /// The number of the newest connection; 0: none is known.
    pub attachment: u64,
}

/// How the record has it: nodes of earlier versions have written the lines alone.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Lines(u64),
    Both(u64, u64),
}

impl From<Written> for ClientInput {
    fn from(written: Written) -> Self {
        match written {
            Written::Lines(lines) => Self { lines, attachment: 0 },
            Written::Both(lines, attachment) => Self { lines, attachment },
        }
    }
}

impl From<ClientInput> for Written {
    fn from(ClientInput { lines, attachment }: ClientInput) -> Self {
        match attachment {
            0 => Self::Lines(lines),
            _ => Self::Both(lines, attachment),
        }
    }
}

/// The longest id of a command that is noted, in JSON: the session refuses longer ones, which have no effect.
const MAX_NOTED_ID: usize = 1024;

impl OutstandingCommand {
    /// Whether the command is short enough for a record.
    pub fn fits_record(&self) -> bool {
        serde_json::to_vec(&self.id).is_ok_and(|id| id.len() <= MAX_NOTED_ID)
    }
}

impl SessionSpec {
    /// The specification of a session that a client opens.
    pub fn new(request: &OpenRequest, dialect: &str, directory: &Path) -> Self {
        let owner = request.owner.clone().unwrap_or_else(Principal::local);
        Self {
            owner: owner.name.clone(),
            limits: owner.limits.clone(),
            dialect: dialect.to_owned(),
            directory: directory.to_owned(),
            provider: request.provider.clone(),
            model: request.model.clone(),
            level: request.level.map(|level| level.as_str().to_owned()),
            name: request.name.clone(),
            only_tools: request.tool_limits.only.clone(),
            no_built_in_tools: request.tool_limits.no_built_in,
            without_tools: request.tool_limits.without.clone(),
            confirmed_tools: request.tool_limits.confirmed.clone(),
            budget: request.budget,
        }
    }

    /// Who has opened the session, with what that one has used on this node.
    pub fn principal(&self, usage: &UsageBook) -> Arc<Principal> {
        usage.principal(self.owner.clone(), self.limits.clone(), CancellationToken::new())
    }

    /// The request that opens the session again. Its entries come from the stream.
    pub fn request(&self, usage: &UsageBook) -> OpenRequest {
        OpenRequest {
            dialect: OpenRequest::dialect(Some(&self.dialect)).ok().flatten(),
            start: Start::InMemory,
            directory: Some(self.directory.clone()),
            provider: self.provider.clone(),
            model: self.model.clone(),
            level: self.level.as_deref().and_then(ThinkingLevel::parse),
            name: self.name.clone(),
            tool_limits: ToolLimits {
                only: self.only_tools.clone(),
                no_built_in: self.no_built_in_tools,
                without: self.without_tools.clone(),
                confirmed: self.confirmed_tools.clone(),
            },
            owner: Some(self.principal(usage)),
            budget: self.budget,
        }
    }
}

impl SessionRecord {
    /// Sets the display name, cut to what lists show.
    pub fn set_title(&mut self, name: Option<&str>) {
        self.title = name.map(recorded_name);
    }
}
