//! Feeds an owned session with the lines of its clients, each noted in the record before the session gets it.

use super::{OwnerState, ends, give_up};
use crate::{
    cluster::{
        input::{ALL_CLIENTS, InputContent, InputMessage},
        lease::Lease,
        records::{OutstandingCommand, OwnedRecord},
        tail::{Stored, Tail},
    },
    protocol::{Dialect, Inbound, RequestId, SessionStatus, read_line},
    session_host::{Attach, ClientId, ClientLine, SessionHandle, SessionRequest, WatcherQueue},
};
use futures_util::FutureExt as _;
use serde::Deserialize;
use std::sync::{Arc, atomic::Ordering};
use tokio::sync::oneshot;

/// Messages that are taken at once.
const MAX_TAKEN: usize = 64;

/// Clients whose lines are counted.
const MAX_CLIENTS: usize = 64;

/// The task that takes the input of a session.
pub struct InputTask {
    /// What the tasks of the owner share.
    pub shared: Arc<OwnerState>,
    /// The session.
    pub handle: SessionHandle,
    /// The record of the session.
    pub record: OwnedRecord,
    /// The lease of the node.
    pub lease: Lease,
    /// Whether the owner before did not live to end a run.
    pub is_cut: bool,
}

impl InputTask {
    /// Takes input until the session ends. Returns the record if it is still this node's.
    pub async fn run(mut self, mut tail: Tail) -> Option<OwnedRecord> {
        let mut ended = self.handle.ended.clone();
        let mut info = self.handle.info.clone();
        let mut lease = self.lease.clone();
        if self.is_cut {
            // Clients have frames of a run that has no end.
            self.deliver(InputMessage { client: ALL_CLIENTS.to_owned(), content: InputContent::Snapshot })
                .await;
        }
        loop {
            let first = tokio::select! {
                () = ends(&mut ended) => break,
                () = lease.lost() => {
                    self.give_up().await;
                    return None;
                }
                Ok(()) = info.changed() => None,
                first = tail.next() => Some(first),
            };
            let mut taken = Vec::from_iter(first);
            while !taken.is_empty()
                && taken.len() < MAX_TAKEN
                && let Some(next) = tail.next().now_or_never()
            {
                taken.push(next);
            }
            let is_same = self.note_info();
            if taken.is_empty() && is_same {
                continue;
            }
            let messages = self.take(taken);
            if let Err(error) = self.record.save().await {
                tracing::warn!("session {}: {error}", self.shared.session);
                self.give_up().await;
                return None;
            }
            for message in messages {
                self.deliver(message).await;
            }
        }
        if !self.shared.is_given_up.load(Ordering::Relaxed) {
            self.record.record.is_closed = true;
        }
        Some(self.record)
    }

    async fn give_up(&self) {
        give_up(&self.shared, &self.handle).await;
        ends(&mut self.handle.ended.clone()).await;
    }

    /// Notes what the session is doing in the record. `true`: nothing has changed.
    fn note_info(&mut self) -> bool {
        let info = self.handle.info.borrow();
        let is_running = info.status == SessionStatus::Running;
        let record = &mut self.record.record;
        let is_same = record.is_running == is_running && record.title == info.name;
        (record.is_running, record.title) = (is_running, info.name.clone());
        is_same
    }

    /// Notes messages as taken in the record. Returns those that are to be delivered.
    fn take(&mut self, stored: Vec<Stored>) -> Vec<InputMessage> {
        let taken = &mut self.record.record.taken;
        let mut messages = Vec::new();
        let mut outstanding = self.shared.outstanding();
        for Stored { sequence, headers, payload, .. } in stored {
            taken.position = sequence;
            let Some(message) = InputMessage::decode(&headers, payload) else { continue };
            if let InputContent::Line(line, _) | InputContent::End(line) = message.content {
                if taken.lines.get(&message.client).is_some_and(|known| *known >= line) {
                    continue;
                }
                taken.lines.shift_remove(&message.client);
                taken.lines.insert(message.client.clone(), line);
                if taken.lines.len() > MAX_CLIENTS {
                    taken.lines.shift_remove_index(0);
                }
            }
            outstanding.extend(command(&message, self.handle.dialect));
            messages.push(message);
        }
        taken.outstanding.clone_from(&outstanding);
        taken.frame = self.shared.published.load(Ordering::Relaxed);
        messages
    }

    async fn deliver(&self, message: InputMessage) {
        let Some((client, connection)) = self.client(&message.client).await else { return };
        let line = match message.content {
            InputContent::Line(_, line) => Some(line.to_vec()),
            InputContent::End(_) => None,
            InputContent::Snapshot => {
                let _ = self.handle.requests.send(SessionRequest::Snapshot(client)).await;
                return;
            }
            InputContent::Close => {
                let _ = self.handle.requests.send(SessionRequest::Close).await;
                return;
            }
        };
        // A session that has ended takes no lines.
        let _ = self.handle.lines.send(ClientLine { client, connection, line }).await;
    }

    /// The client with this name, which is attached when it comes first.
    async fn client(&self, name: &str) -> Option<(ClientId, u64)> {
        if let Some(known) = self.shared.clients().get(name) {
            return Some(*known);
        }
        let queue = Arc::new(WatcherQueue::new(self.handle.dialect, usize::MAX, Arc::default(), None));
        let principal = self.handle.owner.clone();
        let attach = Attach { key: name.to_owned(), after: None, queue, has_messages: false, principal };
        let (reply, attached) = oneshot::channel();
        self.handle.requests.send(SessionRequest::Attach(attach, reply)).await.ok()?;
        let attached = attached.await.ok()?;
        let known = (attached.client, attached.connection);
        self.shared.clients().insert(name.to_owned(), known);
        Some(known)
    }
}

/// The command in a message, if it will be responded to.
fn command(message: &InputMessage, dialect: Dialect) -> Option<OutstandingCommand> {
    #[derive(Deserialize)]
    struct Command {
        id: Option<RequestId>,
        #[serde(rename = "type")]
        command: String,
    }
    let InputContent::Line(_, line) = &message.content else { return None };
    let Ok(Some(Inbound::Command(_))) = read_line(line, dialect) else { return None };
    let Command { id, command } = serde_json::from_slice(line).ok()?;
    Some(OutstandingCommand { client: message.client.clone(), id, command })
}
