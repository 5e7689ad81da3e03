//! The bucket of sessions: a record for each, written by its owner alone.

use super::{
    connection::{Connection, SESSIONS},
    decisions::ownership::{Inheritance, take_over},
    fenced::{AppendError, FencedSubject},
    input::{InputContent, InputMessage},
    lease::Lease,
    session_record::{OutstandingCommand, SessionRecord},
    tail::{ReadAttempts, Stored, read_all},
};
use async_nats::jetstream::kv;
use pi_rpc_protocol::{Dialect, Inbound, RequestId, read_line};
use serde::Deserialize;

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
        let subject = Self::subject(connection, session, revision, lease);
        let mut owned = Self { record, subject, inheritance };
        owned.save().await?;
        Ok(owned)
    }

    /// Notes that a closed session is being removed, whose record was read with this revision.
    ///
    /// # Errors
    ///
    /// A node has taken the session meanwhile, NATS refuses it, or the lease has ended.
    pub(crate) async fn mark_removed(
        connection: &Connection,
        session: &str,
        mut record: SessionRecord,
        revision: u64,
        lease: &Lease,
    ) -> Result<(), AppendError> {
        record.is_removed = true;
        let subject = Self::subject(connection, session, revision, lease);
        Self { record, subject, inheritance: Inheritance::default() }.save().await
    }

    fn subject(connection: &Connection, session: &str, revision: u64, lease: &Lease) -> FencedSubject {
        let subject = format!("$KV.{SESSIONS}.{session}");
        let (context, stream) = (&connection.context, &connection.sessions.stream);
        FencedSubject::new(context, stream, subject, revision, lease.clone())
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
    let record: SessionRecord =
        serde_json::from_slice(&entry.value).map_err(|error| format!("{session}: {error}"))?;
    Ok(Some((record, entry.revision)).filter(|(record, _)| !record.is_removed))
}

/// The record of a session, as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRecord {
    /// The session.
    pub session: String,
    /// The record.
    pub record: SessionRecord,
    /// Its revision.
    pub revision: u64,
}

/// All sessions with their records.
///
/// # Errors
///
/// NATS does not answer in time.
pub async fn list(connection: &Connection) -> Result<Vec<(String, SessionRecord)>, String> {
    let records = list_all(connection).await?.into_iter().filter(|stored| !stored.record.is_removed);
    Ok(records.map(|stored| (stored.session, stored.record)).collect())
}

/// All records, those of sessions that are being removed, too.
///
/// # Errors
///
/// NATS does not answer in time.
pub async fn list_all(connection: &Connection) -> Result<Vec<StoredRecord>, String> {
    let prefix = format!("$KV.{SESSIONS}.");
    let mut found = Vec::new();
    let take = |stored: Stored| {
        let Some(session) = stored.subject.strip_prefix(&prefix) else { return };
        match serde_json::from_slice(&stored.payload) {
            Ok(record) => {
                found.push(StoredRecord { session: session.to_owned(), record, revision: stored.sequence });
            }
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
