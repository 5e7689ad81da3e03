//! The clients of a session: those that are connected, and those that may come back.

use super::{
    journal::{Journal, JournalEntry},
    permission::{SessionOwner, permit},
    principal::Principal,
    session_handle::{Attach, Attached, ClientLine},
    watcher::{ClientId, WatcherMessage, WatcherQueue},
};
use pi_rpc_protocol::{DialogResolvedEvent, ReceivedControl, SessionEndedEvent};
use pi_rpc_server::TraceContext;
use std::{collections::HashMap, sync::Arc};

/// Clients that are remembered after they have left.
const MAX_ABSENT_CLIENTS: usize = 64;

struct Client {
    key: String,
    /// The number of its newest connection.
    connection: u64,
    /// Its queue, while it is connected.
    queue: Option<Arc<WatcherQueue>>,
    has_messages: bool,
    principal: Arc<Principal>,
    received: u64,
    trace_context: Option<TraceContext>,
}

/// The clients of a session.
pub struct SessionClients {
    clients: HashMap<ClientId, Client>,
    next_client: ClientId,
    next_connection: u64,
}

/// A client that was attached, and whether it needs a snapshot of the session.
pub struct AttachedClient {
    /// For the connection.
    pub attached: Attached,
    /// Whether frames that it has missed are no longer kept.
    pub needs_snapshot: bool,
}

impl SessionClients {
    /// The clients that a session goes on with: what names each, and the lines received from it.
    pub fn new(absent: Vec<(String, u64)>, owner: &Arc<Principal>) -> Self {
        let absent = absent.into_iter().map(|(key, received)| Client {
            key,
            connection: 0,
            queue: None,
            has_messages: false,
            principal: owner.clone(),
            received,
            trace_context: None,
        });
        let clients: HashMap<ClientId, Client> = (1..).zip(absent).collect();
        Self { next_client: clients.len() as ClientId, clients, next_connection: 0 }
    }

    /// Whether a client is connected.
    pub fn is_watched(&self) -> bool {
        self.queues().next().is_some()
    }

    /// The queue of a client that is connected.
    pub fn queue(&self, id: ClientId) -> Option<&Arc<WatcherQueue>> {
        self.clients.get(&id)?.queue.as_ref()
    }

    fn queues(&self) -> impl Iterator<Item = &Arc<WatcherQueue>> {
        self.clients.values().filter_map(|client| client.queue.as_ref())
    }

    /// Puts a frame into the queues of those that it is for.
    pub fn push(&self, entry: &Arc<JournalEntry>) {
        for (id, client) in &self.clients {
            if let Some(queue) = client.queue.as_ref().filter(|_| entry.to.is_none_or(|to| to == *id)) {
                queue.push(entry);
            }
        }
    }

    /// Tells the clients that a dialog is no longer open.
    pub fn report_resolved_dialog(&self, event: &DialogResolvedEvent) {
        for client in self.clients.values().filter(|client| client.has_messages) {
            let message = WatcherMessage::DialogResolved(event.clone());
            client.queue.iter().for_each(|queue| queue.push_message(message.clone()));
        }
    }

    /// Counts a line of a client. Returns the client's principal and the line, which is `None` at the end of its input; nothing, if
    /// the connection was replaced.
    pub fn take_line(&mut self, line: ClientLine) -> Option<(Arc<Principal>, Option<Vec<u8>>)> {
        let ClientLine { client, connection, line } = line;
        let client = self.clients.get_mut(&client).filter(|client| client.connection == connection)?;
        let principal = client.principal.clone();
        if line.is_some() {
            client.received += 1;
            if let Some(queue) = client.queue.as_ref().filter(|_| client.has_messages) {
                queue.push_message(WatcherMessage::Received(ReceivedControl { lines: client.received }));
            }
        }
        Some((principal, line))
    }

    /// The span that the commands of a client's connection are below.
    pub fn trace_context(&self, id: ClientId) -> Option<&TraceContext> {
        self.clients.get(&id)?.trace_context.as_ref()
    }

    /// Attaches a client that may touch the session of `owner`, and fills its queue with the frames that it has missed, as far as they
    /// are kept. `None`: to this client, there is no such session. Every client is attached through this check.
    pub fn admit(&mut self, attach: Attach, owner: &Principal, journal: &Journal) -> Option<AttachedClient> {
        let principal = attach.principal.clone();
        let permitted = permit(&principal, SessionOwner::Opener(&owner.name), attach).ok()?;
        Some(self.attach(permitted.into_inner(), journal))
    }

    fn attach(&mut self, attach: Attach, journal: &Journal) -> AttachedClient {
        let Attach { key, after, queue, principal, has_messages, trace_context } = attach;
        let known = self.clients.iter().find(|(_, client)| client.key == key).map(|(id, _)| *id);
        let id = known.unwrap_or_else(|| {
            self.next_client += 1;
            self.next_client
        });
        self.next_connection += 1;
        let connection = self.next_connection;
        let received = self.clients.get(&id).map_or(0, |client| client.received);
        if let Some(replaced) = self.queue(id) {
            replaced.close();
        }
        let (sequence, needs_snapshot) = match after {
            Some(after) if journal.replay(after, id, &queue) => (after, false),
            Some(_) => (journal.last(), true),
            None => {
                queue.restart(journal.encoder());
                (journal.last(), false)
            }
        };
        let queue = Some(queue);
        let client = Client { key, connection, queue, has_messages, principal, received, trace_context };
        self.clients.insert(id, client);
        let attached = Attached { client: id, connection, sequence, received_lines: received };
        AttachedClient { attached, needs_snapshot }
    }

    /// Detaches a client, which may come back, unless the connection was replaced.
    pub fn detach(&mut self, id: ClientId, connection: u64) {
        let Some(client) = self.clients.get_mut(&id).filter(|client| client.connection == connection) else {
            return;
        };
        if let Some(queue) = client.queue.take() {
            queue.close();
        }
        let mut absent: Vec<(u64, ClientId)> = self
            .clients
            .iter()
            .filter(|(_, client)| client.queue.is_none())
            .map(|(id, client)| (client.connection, *id))
            .collect();
        if absent.len() > MAX_ABSENT_CLIENTS {
            absent.sort_unstable();
            self.clients.remove(&absent[0].1);
        }
    }

    /// Closes the connections of clients that come back by themselves. Returns what names each, and the lines received from it.
    pub fn leave(self) -> Vec<(String, u64)> {
        self.queues().for_each(|queue| queue.close());
        self.clients.into_values().map(|client| (client.key, client.received)).collect()
    }

    /// Tells the clients that the session is over.
    pub fn end(self, ending: &SessionEndedEvent) {
        for queue in self.queues() {
            queue.push_message(WatcherMessage::Ended(ending.clone()));
            queue.close();
        }
    }
}
