//! Lines of clients that are not the engine's yet: those behind a line that is being counted wait, while lines of other clients
//! go on. The lines of one client keep their order.

use super::super::{
    host_error::HostError, principal::Principal, session_clients::SessionClients, session_handle::ClientLine,
    watcher::ClientId,
};
use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use pi_rpc_engine::Input;
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

/// Lines that wait, at which no more are read.
const MAX_LINES: usize = 1024;

/// A line of a client that is read, and not yet the engine's.
pub(super) struct ReadLine {
    pub(super) client: ClientId,
    pub(super) principal: Arc<Principal>,
    pub(super) line: Vec<u8>,
    pub(super) input: Input,
}

/// A line that nothing was done about, unless its client knows that it was received.
pub(super) struct WaitingLine {
    client: ClientId,
    bytes: u64,
    state: LineState,
}

/// A line as its client knows it: one that is not received is sent again to the session that goes on.
enum LineState {
    Sent(ClientLine),
    Received(Arc<Principal>, Option<Vec<u8>>),
    /// Of a connection that was replaced.
    Void,
}

impl LineState {
    fn receive(self, clients: &mut SessionClients) -> Self {
        match self {
            Self::Sent(line) => clients
                .take_line(line)
                .map_or(Self::Void, |(principal, line)| Self::Received(principal, line)),
            known => known,
        }
    }
}

/// A line that was received: its client, who that acts for, and the text; `None`: the client's input is over.
pub(super) type ReceivedLine = (ClientId, Arc<Principal>, Option<Vec<u8>>);

impl WaitingLine {
    /// Counts the line as received, unless it is already. `None`: its connection was replaced.
    pub(super) fn receive(self, clients: &mut SessionClients) -> Option<ReceivedLine> {
        match self.state.receive(clients) {
            LineState::Received(principal, line) => Some((self.client, principal, line)),
            LineState::Sent(_) | LineState::Void => None,
        }
    }
}

/// Lines that wait for their turn, and those that are being counted.
#[derive(Default)]
pub(super) struct WaitingLines {
    /// In the order of their arrival.
    lines: VecDeque<WaitingLine>,
    /// The lines behind the one that is being counted, of each client that has such a line.
    behind: HashMap<ClientId, VecDeque<WaitingLine>>,
    counted: FuturesUnordered<BoxFuture<'static, (ReadLine, Result<(), HostError>)>>,
    /// Lines in both of the former.
    count: usize,
    /// Bytes of the lines, also of those that are being counted.
    bytes: u64,
}

impl WaitingLines {
    /// Whether no line waits, or is being counted.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0 && self.behind.is_empty()
    }

    /// Whether a line may be added where `max_bytes` may be kept.
    pub(super) const fn has_room(&self, max_bytes: u64) -> bool {
        self.count < MAX_LINES && self.bytes <= max_bytes
    }

    /// Lines that are being counted.
    pub(super) fn counted(&self) -> usize {
        self.behind.len()
    }

    /// Whether there may be a line that [`next`](Self::next) returns.
    pub(super) fn may_have_next(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Adds a line behind the others.
    pub(super) fn push(&mut self, line: ClientLine) {
        let bytes = line.line.as_ref().map_or(0, |line| line.len() as u64);
        self.count += 1;
        self.bytes += bytes;
        self.lines.push_back(WaitingLine { client: line.client, bytes, state: LineState::Sent(line) });
    }

    /// The first line of a client that has no line that is being counted.
    pub(super) fn next(&mut self) -> Option<WaitingLine> {
        while let Some(line) = self.lines.pop_front() {
            match self.behind.get_mut(&line.client) {
                Some(behind) => behind.push_back(line),
                None => {
                    self.count -= 1;
                    self.bytes -= line.bytes;
                    return Some(line);
                }
            }
        }
        None
    }

    /// Counts all lines as received: their connections may be replaced from now on.
    pub(super) fn receive(&mut self, clients: &mut SessionClients) {
        // Those behind are older.
        for line in self.behind.values_mut().flatten().chain(&mut self.lines) {
            line.state = std::mem::replace(&mut line.state, LineState::Void).receive(clients);
        }
    }

    /// Lets the lines of a client wait until its command is counted.
    pub(super) fn hold(&mut self, read: ReadLine, admission: BoxFuture<'static, Result<(), HostError>>) {
        self.bytes += read.line.len() as u64;
        self.behind.insert(read.client, VecDeque::new());
        self.counted.push(Box::pin(async move { (read, admission.await) }));
    }

    /// A line whose command is counted, and what that has led to; `None`: there is no line that is being counted. Cancel-safe.
    pub(super) async fn admitted(&mut self) -> Option<(ReadLine, Result<(), HostError>)> {
        let (read, admitted) = self.counted.next().await?;
        self.bytes -= read.line.len() as u64;
        for line in self.behind.remove(&read.client).into_iter().flatten().rev() {
            self.lines.push_front(line);
        }
        Some((read, admitted))
    }
}
