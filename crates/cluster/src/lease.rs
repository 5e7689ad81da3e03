//! The lease of a node: as long as its heartbeats go through NATS, it owns the sessions that name it.
//!
//! Heartbeats are plain messages, not keys with an age: the leader of a stream that was lost is replaced only after 4 to 9 seconds, and
//! no key can be renewed meanwhile. Nothing depends on who is right about a lease: what an owner writes is fenced.

use super::{
    connection::Connection,
    decisions::{
        membership::{Members, NodeInfo},
        ownership,
    },
    session_record::SessionRecord,
};
use bytes::Bytes;
use futures_util::StreamExt as _;
use pi_rpc_host::HostLoad;
use serde::{Deserialize, Serialize};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior},
};

/// Heartbeats in a lease.
const HEARTBEATS: u32 = 10;

/// The subject of heartbeats, up to the id of the node.
const SUBJECT: &str = "pi-rpc.alive";

/// A heartbeat.
#[derive(Serialize, Deserialize)]
struct Heartbeat {
    info: NodeInfo,
    /// Whether the node gives its sessions up with this heartbeat.
    leaves: bool,
    /// What the node is doing; nodes of earlier versions do not say so.
    #[serde(default)]
    load: Option<HostLoad>,
}

/// The lease of this process under one node id, and what it knows of other nodes.
#[derive(Clone)]
pub struct Lease {
    id: String,
    is_held: watch::Receiver<bool>,
    members: Arc<SharedMembers>,
    /// The task sends the last heartbeat once all handles are gone.
    _handle: Arc<watch::Sender<()>>,
}

/// The nodes that this one has seen.
struct SharedMembers {
    /// When this node began to listen.
    since: Instant,
    members: Mutex<Members>,
}

impl SharedMembers {
    fn lock(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.since.elapsed()
    }

    /// Notes a heartbeat.
    fn note(&self, subject: &str, payload: &[u8]) {
        let id = subject.strip_prefix(SUBJECT).and_then(|id| id.strip_prefix('.'));
        let (Some(id), Ok(Heartbeat { info, leaves, load })) = (id, serde_json::from_slice(payload)) else {
            return;
        };
        let mut members = self.lock();
        members.note(id.to_owned(), info, leaves, self.now());
        load.into_iter().for_each(|load| members.note_load(id, load));
    }
}

impl Lease {
    /// Takes a lease under a new node id, and keeps it until NATS cannot be reached or all handles are dropped. Heartbeats say what
    /// the node is doing (`load`).
    ///
    /// # Errors
    ///
    /// A name is too long, or NATS does not pass heartbeats on.
    pub async fn take(
        connection: &Connection,
        info: &NodeInfo,
        load: impl Fn() -> HostLoad + Send + Sync + 'static,
    ) -> Result<Self, String> {
        info.check()?;
        let id = format!("{}-{:08x}", key_part(&info.name), pi_rpc_server::seed() as u32);
        let client = &connection.client;
        let mut subscription =
            client.subscribe(format!("{SUBJECT}.*")).await.map_err(|error| error.to_string())?;
        let own_info = info.clone();
        let heartbeat = move |leaves| {
            let heartbeat = Heartbeat { info: own_info.clone(), leaves, load: Some(load()) };
            // Such a value always serializes.
            Bytes::from(serde_json::to_vec(&heartbeat).unwrap_or_default())
        };
        let (held, mut is_held) = watch::channel(false);
        let (handle, mut dropped) = watch::channel(());
        let members = Arc::new(SharedMembers {
            since: Instant::now(),
            members: Mutex::new(Members::new(info.lease())),
        });
        let (interval, own_lease) = (info.lease() / HEARTBEATS, info.own_lease());
        let (client, subject, known) = (client.clone(), format!("{SUBJECT}.{id}"), members.clone());
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(interval);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut due = Instant::now() + own_lease;
            loop {
                tokio::select! {
                    biased;
                    () = tokio::time::sleep_until(due) => break,
                    message = subscription.next() => {
                        let Some(message) = message else { break };
                        if message.subject.as_str() == subject {
                            due = Instant::now() + own_lease;
                            held.send_if_modified(|held| !std::mem::replace(held, true));
                        }
                        known.note(message.subject.as_str(), &message.payload);
                    }
                    _ = ticks.tick() => {
                        // A heartbeat that is not sent is not seen, either.
                        let _ = client.publish(subject.clone(), heartbeat(false)).await;
                    }
                    _ = dropped.changed() => {
                        let _ = client.publish(subject.clone(), heartbeat(true)).await;
                        let _ = client.flush().await;
                        break;
                    }
                }
            }
            held.send_replace(false);
        });
        let taken = is_held.wait_for(|held| *held).await.is_ok();
        let lease = Self { id, is_held, members, _handle: Arc::new(handle) };
        if taken { Ok(lease) } else { Err("NATS does not pass heartbeats on".to_owned()) }
    }

    /// The id of the node.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether the node still owns its sessions.
    pub fn is_held(&self) -> bool {
        *self.is_held.borrow()
    }

    /// Waits until the lease has ended.
    pub async fn lost(&mut self) {
        // A task that is gone sends no heartbeats.
        let _ = self.is_held.wait_for(|held| !held).await;
    }

    /// Whether a node may own sessions. All do that this one has not listened for long enough for.
    pub fn is_alive(&self, node: &str) -> bool {
        self.members.lock().is_alive(node, self.members.now())
    }

    /// Whether nobody runs a session that is to run. `is_here`: this node runs it or is taking it.
    pub fn is_orphan(&self, record: &SessionRecord, is_here: bool) -> bool {
        ownership::is_orphan(record, &self.id, is_here, &self.members.lock(), self.members.now())
    }

    /// What a node is doing, as it has said last.
    pub fn load(&self, node: &str) -> Option<HostLoad> {
        self.members.lock().load(node)
    }

    /// Ids of the nodes that hold a lease, with what they say of themselves.
    pub fn nodes(&self) -> Vec<(String, NodeInfo)> {
        self.members.lock().alive(self.members.now())
    }
}

/// A name without characters that subjects cannot have.
fn key_part(name: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' };
    name.chars().map(letter).collect()
}
