//! The state of the model: hosts, clients and NATS.

use super::nats::{Command, Message, Nats, Record};
use crate::session_record::ClientInput;
use pi_rpc_host::attach::SentLines;

/// What a step of a host's connection has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WayState {
    /// It was made when `known` was received, up to `position`; it will be announced with this number.
    New {
        attachment: u64,
        known: ClientInput,
        position: usize,
    },
    Entered {
        attachment: u64,
        before: u64,
    },
}

/// A connection of a client at a host, which may be closed and still have lines.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Way {
    pub is_connected: bool,
    /// What the client was told to be received.
    pub told: u64,
    /// Lines that were published or given up.
    pub written: u64,
    pub state: WayState,
    /// Commands that are to be published.
    pub queue: Vec<u8>,
}

/// How far an owner is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OwnerStep {
    Record,
    Entries,
    Output,
    Runs,
}

/// An owner, or a host that wants to be one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    pub step: OwnerStep,
    pub record: Record,
    pub revision: u8,
    /// The last entry, and the last message of the output, that it knows.
    pub entries: usize,
    pub output: usize,
    /// Commands that the session has, and those that it has executed without an answer.
    pub queue: Vec<Command>,
    pub executed: Vec<Command>,
    /// Whether clients were told of the open question; `None`: none is open.
    pub question: Option<bool>,
    /// Whether the owner before has left work that is cut.
    pub is_cut: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    pub is_up: bool,
    /// Counts its starts: each has a lease of its own.
    pub start: u8,
    pub owner: Option<Owner>,
    pub ways: Vec<Option<Way>>,
    /// Lines that were received here from each client: what the old decisions went by.
    pub memory: Vec<u64>,
}

impl Host {
    pub fn lease(&self, index: usize) -> String {
        format!("{index}.{}", self.start)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    /// The host that it is connected to.
    pub at: Option<usize>,
    pub sent: SentLines<u8>,
    pub written: u8,
    /// Commands whose failure it was told by its host.
    pub refused: Vec<u8>,
}

/// How much of each may still happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Connections that a client changes without need.
    pub moves: u8,
    /// Ends of hosts.
    pub crashes: u8,
    /// Leases that end while their hosts go on.
    pub expiries: u8,
    /// Messages that arrive later, and again.
    pub delays: u8,
    /// Lines that a host gives up.
    pub refusals: u8,
    /// Sessions that a host has taken and cannot open.
    pub failures: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub nats: Nats,
    pub hosts: Vec<Host>,
    pub clients: Vec<Client>,
    /// Messages that are on their way.
    pub late: Vec<Message>,
    pub budget: Budget,
}
