//! Publishes what an owned session emits.

use super::{OwnerState, ends, give_up, response};
use crate::{
    decisions::ownership::unanswered,
    fenced::{AppendError, FencedSubject},
    output::{self, OutputContent, OutputItem},
    session_record::OutstandingCommand,
};
use pi_rpc_host::{ClientId, OutletItem, SessionEnd, SessionHandle, WatcherMessage};
use pi_rpc_protocol::SessionEndedEvent;
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::sync::{mpsc, watch};

/// Bytes of frames that are published at once.
const MAX_BATCH: usize = 256 * 1024;

/// Frames that wait to be published at which the session pauses.
const MAX_WAITING: usize = 4096;

/// How long to wait before output that NATS has refused is published again.
const REFUSED_DELAY: Duration = Duration::from_secs(1);

/// How often output that NATS refuses is published before it is left out: clients of a full NATS are not left waiting for longer.
const MAX_REFUSALS: usize = 8;

/// Writes the output.
pub struct Publisher {
    /// The subject of the output.
    pub output: FencedSubject,
    /// Counts the owners.
    pub epoch: u64,
    /// The number of the last frame.
    pub published: u64,
}

impl Publisher {
    /// Publishes items as one record.
    ///
    /// # Errors
    ///
    /// As [`FencedSubject::append`].
    pub async fn publish(&mut self, items: &[OutputItem]) -> Result<(), AppendError> {
        if items.is_empty() {
            return Ok(());
        }
        let mut batch = Vec::new();
        items.iter().for_each(|item| output::encode(item, &mut batch));
        let frames = frame_count(items);
        let headers = output::headers(self.published, self.published + frames, self.epoch);
        self.output.append(&headers, batch.into()).await?;
        self.published += frames;
        Ok(())
    }
}

/// The task that publishes the output of a session.
pub struct OutputTask {
    /// What the tasks of the owner share.
    pub shared: Arc<OwnerState>,
    /// The session.
    pub handle: SessionHandle,
    /// Writes the output.
    pub publisher: Publisher,
    /// Whether the session may emit more.
    pub gate: watch::Sender<bool>,
}

impl OutputTask {
    /// Publishes until the session has ended or was replaced. Returns its end, which is not published yet.
    pub async fn run(
        &mut self,
        mut emitted: mpsc::UnboundedReceiver<OutletItem>,
    ) -> Option<SessionEndedEvent> {
        while let Some(first) = emitted.recv().await {
            let mut bytes = weight(&first);
            let mut items = vec![self.item(first)];
            while bytes < MAX_BATCH
                && let Ok(next) = emitted.try_recv()
            {
                bytes += weight(&next);
                items.push(self.item(next));
            }
            self.gate.send_if_modified(|open| {
                let is_open = emitted.len() < MAX_WAITING;
                std::mem::replace(open, is_open) != is_open
            });
            if !self.publish(&items).await {
                give_up(&self.shared, &self.handle).await;
                return None;
            }
        }
        let is_given_up = self.shared.is_given_up.load(Ordering::Relaxed);
        let mut ended = self.handle.ended.clone();
        ends(&mut ended).await;
        match ended.borrow().clone() {
            Some(SessionEnd::Over(ended)) if !is_given_up => Some(ended),
            _ => None,
        }
    }

    /// Publishes the end of the session.
    pub async fn publish_end(&mut self, ended: SessionEndedEvent) {
        let content = OutputContent::Message(WatcherMessage::Ended(ended));
        self.publish(&[OutputItem { to: None, content }]).await;
    }

    /// Publishes items. What NATS refuses for long is left out: its numbers are missing, so that clients get a snapshot. `false`:
    /// the session is no longer this node's.
    async fn publish(&mut self, items: &[OutputItem]) -> bool {
        for attempt in 1.. {
            match self.publisher.publish(items).await {
                Ok(()) => break,
                Err(AppendError::Refused(reason)) if attempt >= MAX_REFUSALS => {
                    tracing::error!("session {}: output is left out: {reason}", self.shared.session);
                    self.publisher.published += frame_count(items);
                    break;
                }
                Err(AppendError::Refused(reason)) => {
                    tracing::error!("session {}: output waits: {reason}", self.shared.session);
                    tokio::time::sleep(REFUSED_DELAY).await;
                }
                Err(error) => {
                    tracing::warn!("session {}: {error}", self.shared.session);
                    return false;
                }
            }
        }
        self.shared.published.store(self.publisher.published, Ordering::Relaxed);
        let answered: Vec<OutstandingCommand> = items
            .iter()
            .filter_map(|item| match (&item.to, &item.content) {
                (Some(to), OutputContent::Frame(line)) => response(to, line),
                _ => None,
            })
            .collect();
        if !answered.is_empty() {
            let mut outstanding = self.shared.outstanding();
            *outstanding = unanswered(std::mem::take(&mut outstanding), &answered);
        }
        true
    }

    fn item(&self, item: OutletItem) -> OutputItem {
        let (to, content) = match item {
            OutletItem::Frame { line, to, .. } => (to, OutputContent::Frame(line)),
            OutletItem::Message(to, message) => (to, OutputContent::Message(message)),
        };
        let clients = self.shared.clients();
        let name =
            |to: ClientId| clients.iter().find(|(_, known)| known.id == to).map(|(name, _)| name.clone());
        // A client that is forgotten gets nothing, and no other gets it.
        OutputItem { to: to.map(|to| name(to).unwrap_or_default()), content }
    }
}

fn frame_count(items: &[OutputItem]) -> u64 {
    items.iter().filter(|item| matches!(item.content, OutputContent::Frame(_))).count() as u64
}

fn weight(item: &OutletItem) -> usize {
    match item {
        OutletItem::Frame { line, .. } => line.len(),
        OutletItem::Message(..) => MAX_BATCH / 8,
    }
}
