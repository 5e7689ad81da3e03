//! The bucket of sessions: a record for each, written by its owner alone.

use super::{
    connection::{Connection, SESSIONS},
    decisions::{
        ownership::{Inheritance, take_over},
        way_in::ClientInput,
    },
    fenced::{AppendError, FencedSubject},
    input::{InputContent, InputMessage},
    lease::Lease,
    tail::{ReadAttempts, Stored, read_all},
};
use async_nats::jetstream::kv;
use indexmap::IndexMap;
use pi_rpc_host::{
    BudgetPlan, OpenRequest, Principal, Start, TokenLimits, ToolLimits, UsageBook, recorded_name,
};
use pi_rpc_protocol::{Dialect, Inbound, RequestId, ThinkingLevel, read_line};
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
    /// Whether a run is open.
    pub is_running: bool,
    /// The display name.
    pub title: Option<String>,
    /// How far its input was taken.
    pub taken: TakenInput,
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

/// The longest id of a command that is noted, in JSON: the session refuses longer ones, which have no effect.
const MAX_NOTED_ID: usize = 1024;

impl OutstandingCommand {
    /// The command in a message, if it will be responded to.
    pub fn read(message: &InputMessage, dialect: Dialect) -> Option<Self> {
        let InputContent::Line(_, line) = &message.content else { return None };
        let (id, command) = Self::command_in(line, dialect)?;
        Some(Self { client: message.client.clone(), id, command })
    }

    /// Id and type of the command in a line; `None`: it is none.
    pub fn command_in(line: &[u8], dialect: Dialect) -> Option<(Option<RequestId>, String)> {
        #[derive(Deserialize)]
        struct Command {
            id: Option<RequestId>,
            #[serde(rename = "type")]
            command: String,
        }
        let Ok(Some(Inbound::Command(_))) = read_line(line, dialect) else { return None };
        let Command { id, command } = serde_json::from_slice(line).ok()?;
        Some((id, command))
    }

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

/// The record of a session, as its owner holds it.
pub struct OwnedRecord {
    /// The record.
    pub record: SessionRecord,
    /// What its owner has to make good.
    pub(crate) inheritance: Inheritance,
    subject: FencedSubject,
}

impl OwnedRecord {
    /// Takes a session: from now on no other node can write its record. `revision` is that of the record which was read.
    ///
    /// # Errors
    ///
    /// Another node was faster, NATS refuses it, or the lease has ended.
    pub async fn take(
        connection: &Connection,
        session: &str,
        mut record: SessionRecord,
        revision: u64,
        lease: &Lease,
    ) -> Result<Self, AppendError> {
        let inheritance = take_over(&mut record, lease.id());
        let subject = format!("$KV.{SESSIONS}.{session}");
        let (context, stream) = (&connection.context, &connection.sessions.stream);
        let subject = FencedSubject::new(context, stream, subject, revision, lease.clone());
        let mut owned = Self { record, subject, inheritance };
        owned.save().await?;
        Ok(owned)
    }

    /// Writes the record.
    ///
    /// # Errors
    ///
    /// Another node has taken the session, NATS refuses it, or the lease has ended.
    ///
    /// What would make it longer than one message is left out: the newest commands that are outstanding, then the clients that
    /// have not written for longest.
    pub async fn save(&mut self) -> Result<(), AppendError> {
        let value = loop {
            let value =
                serde_json::to_vec(&self.record).map_err(|error| AppendError::Refused(error.to_string()))?;
            let taken = &mut self.record.taken;
            if value.len() <= self.subject.max_whole() {
                break value;
            }
            if !taken.outstanding.is_empty() {
                taken.outstanding.truncate(taken.outstanding.len() / 2);
            } else if !taken.lines.is_empty() {
                taken.lines.drain(..taken.lines.len().div_ceil(2));
            } else {
                break value;
            }
        };
        let saved = self.subject.append_whole(value.into()).await;
        saved.map(drop).map_err(|error| match error {
            AppendError::Refused(reason) => AppendError::Refused(format!("the session's record: {reason}")),
            error => error,
        })
    }
}

impl SessionRecord {
    /// Sets the display name, cut to what lists show.
    pub fn set_title(&mut self, name: Option<&str>) {
        self.title = name.map(recorded_name);
    }
}

/// The record of a session with its revision.
///
/// # Errors
///
/// NATS does not answer in time, or the record cannot be read by this version.
pub async fn find(connection: &Connection, session: &str) -> Result<Option<(SessionRecord, u64)>, String> {
    let attempts = ReadAttempts::start();
    let entry = loop {
        match connection.sessions.entry(session).await {
            Ok(entry) => break entry,
            Err(error) => attempts.wait(error.to_string()).await?,
        }
    };
    let Some(entry) = entry.filter(|entry| entry.operation == kv::Operation::Put) else { return Ok(None) };
    let record = serde_json::from_slice(&entry.value).map_err(|error| format!("{session}: {error}"))?;
    Ok(Some((record, entry.revision)))
}

/// All sessions with their records.
///
/// # Errors
///
/// NATS does not answer in time.
pub async fn list(connection: &Connection) -> Result<Vec<(String, SessionRecord)>, String> {
    let prefix = format!("$KV.{SESSIONS}.");
    let mut found = Vec::new();
    let take = |stored: Stored| {
        let Some(session) = stored.subject.strip_prefix(&prefix) else { return };
        match serde_json::from_slice(&stored.payload) {
            Ok(record) => found.push((session.to_owned(), record)),
            // Bytes that are left where a record was deleted, or one that only a later version can read, which is left to it.
            Err(error) if !stored.payload.is_empty() => {
                tracing::warn!("session {session}: its record cannot be read: {error}");
            }
            Err(_) => {}
        }
    };
    read_all(&connection.sessions.stream, &format!("{prefix}>"), take).await?;
    Ok(found)
}
