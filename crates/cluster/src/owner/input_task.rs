//! Feeds an owned session with the lines of its clients, each noted in the record before the session gets it.

use super::{KnownClient, OwnerState, ends, give_up};
use crate::{
    connection::Connection,
    decisions::{questions, way_in::MAX_CLIENTS},
    input::{InputContent, InputMessage, has_parts, join_parts},
    lease::Lease,
    records::OwnedRecord,
    session_record::OutstandingCommand,
    tail::{Stored, Tail},
};
use futures_util::FutureExt as _;
use pi_rpc_host::{
    Attach, ClientLine, Principal, SessionHandle, SessionRequest, UsageBook, WaitingRun, WatcherQueue,
};
use pi_rpc_protocol::SessionStatus;
use std::sync::{Arc, atomic::Ordering};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// Messages that are taken at once.
const MAX_TAKEN: usize = 64;

/// Commands without a response that are noted in the record. Those beyond it get no `node_lost`.
const MAX_OUTSTANDING: usize = 256;

/// The longest run that waits for a permission, in JSON, that is noted in the record. A longer one ends with its owner.
const MAX_WAITING_RUN: usize = 16 * 1024;

/// The task that takes the input of a session.
pub struct InputTask {
    /// What the tasks of the owner share.
    pub shared: Arc<OwnerState>,
    /// The connection to NATS.
    pub connection: Connection,
    /// The session.
    pub handle: SessionHandle,
    /// The record of the session.
    pub record: OwnedRecord,
    /// The lease of the node.
    pub lease: Lease,
    /// What principals have used on this node.
    pub usage: UsageBook,
    /// Lines that the session was given.
    pub delivered: u64,
}

impl InputTask {
    /// Takes input until the session ends. Returns the record if it is still this node's.
    pub async fn run(mut self, mut tail: Tail) -> Option<OwnedRecord> {
        let mut ended = self.handle.ended.clone();
        let mut info = self.handle.info.clone();
        let mut lease = self.lease.clone();
        // Whether input was taken that the session may not tell of, as a request for a snapshot.
        let mut is_unsettled = false;
        loop {
            let first = tokio::select! {
                () = ends(&mut ended) => break,
                () = lease.lost() => {
                    self.give_up().await;
                    return None;
                }
                Ok(()) = info.changed() => None,
                () = std::future::ready(()), if is_unsettled => None,
                first = tail.next() => Some(first),
            };
            let mut taken = Vec::from_iter(first);
            is_unsettled = !taken.is_empty();
            // One line in parts at a time, as it may be long.
            while taken.last().is_some_and(|last| !has_parts(last))
                && taken.len() < MAX_TAKEN
                && let Some(next) = tail.next().now_or_never()
            {
                taken.push(next);
            }
            let is_same = self.note_info() & self.note_waiting(!taken.is_empty());
            if taken.is_empty() && is_same {
                continue;
            }
            if let Some(last) = taken.last_mut()
                && let Err(error) = join_parts(&self.connection.input, last, self.handle.max_frame).await
            {
                tracing::warn!("session {}: {error}", self.shared.session);
                self.give_up().await;
                return None;
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
        // What it has left, if it was left to another node at this very moment.
        self.note_waiting(false);
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
        let record = &mut self.record.record;
        let is_running = match info.status {
            SessionStatus::Running => true,
            // What it was doing when it was told to end.
            SessionStatus::Closing => record.is_running,
            _ => false,
        };
        let before = (record.is_running, record.title.take());
        record.set_title(info.name.as_deref());
        record.is_running = is_running;
        before == (is_running, record.title.clone())
    }

    /// Notes the run that waits for a permission, or that none does, as before the lines that are `taken` now. `true`: nothing has
    /// changed.
    fn note_waiting(&mut self, taken: bool) -> bool {
        let info = self.handle.info.borrow();
        // What the session says is of before the lines that it has not taken yet.
        let is_current = questions::is_current(taken, info.lines, self.delivered);
        let fits = |waiting: &&WaitingRun| {
            serde_json::to_vec(waiting).is_ok_and(|text| text.len() <= MAX_WAITING_RUN)
        };
        let waiting = info.waiting.as_deref().filter(|_| is_current).filter(fits);
        if self.record.record.waiting.as_deref() == waiting {
            return true;
        }
        self.record.record.waiting = waiting.cloned().map(Box::new);
        false
    }

    /// Notes messages as taken in the record. Returns those that are to be delivered.
    fn take(&mut self, stored: Vec<Stored>) -> Vec<InputMessage> {
        let taken = &mut self.record.record.taken;
        let mut messages = Vec::new();
        let mut outstanding = self.shared.outstanding();
        for Stored { sequence, headers, payload, .. } in stored {
            taken.position = sequence;
            let Some(message) = InputMessage::decode(&headers, payload) else { continue };
            let counts = message.numbered().is_none_or(|it| taken.admit(&message.client, it, MAX_CLIENTS));
            if !counts || matches!(message.content, InputContent::Attach(_)) {
                continue;
            }
            outstanding.extend(OutstandingCommand::read(&message, self.handle.dialect));
            messages.push(message);
        }
        let noted = outstanding.iter().filter(|command| command.fits_record()).take(MAX_OUTSTANDING);
        taken.outstanding = noted.cloned().collect();
        taken.frame = self.shared.published.load(Ordering::Relaxed);
        messages
    }

    async fn deliver(&mut self, message: InputMessage) {
        let known = self.client(&message.client, message.principal.as_deref()).await;
        let Some(KnownClient { id: client, connection, .. }) = known else { return };
        let line = match message.content {
            InputContent::Line(_, line) => Some(line.to_vec()),
            InputContent::End(_) => None,
            InputContent::Attach(_) => return,
            InputContent::Snapshot => {
                let _ = self.handle.requests.send(SessionRequest::Snapshot(client)).await;
                return;
            }
            InputContent::Close => {
                let _ = self.handle.requests.send(SessionRequest::Close).await;
                return;
            }
        };
        self.delivered += 1;
        // A session that has ended takes no lines.
        let _ = self.handle.lines.send(ClientLine { client, connection, line }).await;
    }

    /// The client with this name, which is attached when it comes first, and again when it acts for another principal or its
    /// limits have changed.
    async fn client(&self, name: &str, principal: Option<&Principal>) -> Option<KnownClient> {
        let known = self.shared.clients().get(name).cloned();
        let is_same = |known: &KnownClient| match principal {
            Some(principal) => {
                (&known.principal.name, &known.principal.limits) == (&principal.name, &principal.limits)
            }
            None => true,
        };
        if let Some(known) = known.filter(is_same) {
            return Some(known);
        }
        let principal = match principal {
            Some(principal) => {
                let (name, limits) = (principal.name.clone(), principal.limits.clone());
                // Its connection ends at the node that has it.
                self.usage.principal(name, limits, CancellationToken::new())
            }
            // Nodes of earlier versions name none.
            None => self.handle.owner.clone(),
        };
        let queue = Arc::new(WatcherQueue::new(self.handle.dialect, usize::MAX, Arc::default(), None));
        let (key, kept) = (name.to_owned(), principal.clone());
        let (after, trace_context, has_messages) = (None, None, false);
        let attach = Attach { key, after, queue, has_messages, principal, trace_context };
        let (reply, attached) = oneshot::channel();
        self.handle.requests.send(SessionRequest::Attach(attach, reply)).await.ok()?;
        let attached = attached.await.ok()?;
        let known = KnownClient { id: attached.client, connection: attached.connection, principal: kept };
        self.shared.clients().insert(name.to_owned(), known.clone());
        Some(known)
    }
}
