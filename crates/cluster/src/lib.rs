//! Sessions of several machines, on NATS with JetStream.
//!
//! ```text
//! client ─→ node A: Replica ─→ stream pi-rpc-input ──→ node B: owner ─→ engine
//!                ↑                                        │       └─→ stream pi-rpc-entries
//!                └──────────── stream pi-rpc-output ←─────┘
//! ```
//!
//! Every session has one owner, a node that holds a lease (`lease`) and is named in the session's record (`records`). The owner
//! runs the engine; its entries, frames and record go to subjects of the session, each message behind the last one that the owner
//! knows (`fenced`): an owner that was replaced can write nothing. A node that ends is replaced by another, which reads the log
//! (`entries`), closes the run that was cut, and goes on.
//!
//! NATS takes messages up to a length that it announces (`max_payload`). What may be long goes in parts: entries, records of output
//! and snapshots by `fenced`, lines of clients by `publisher`. What has to be one message is bounded: the session's record
//! (`records`), heartbeats (`lease`).
//!
//! What JetStream has is not built again: order, copies, compare-and-set, deduplication, ages and sizes are its own.

mod connection;
mod cut_run;
mod entries;
mod fenced;
mod input;
mod lease;
mod node;
mod output;
mod owner;
mod publisher;
mod records;
mod replica;
mod tail;
mod urls;

pub use connection::{Connection, ConnectionError, NatsOptions};
pub use entries::{EntryFiles, EntryLog, LogContent};
pub use fenced::{AppendError, FencedSubject};
pub use lease::{Lease, NodeInfo};
pub use node::{Node, NodeOptions, NodeSessions};
pub use records::{OutstandingCommand, OwnedRecord, SessionRecord, SessionSpec, TakenInput, find, list};
pub use tail::{ReadEnd, Stored, read_all};

use pi_rpc_protocol::SessionStatus;

/// What a session is doing, by its record.
fn status(record: &SessionRecord) -> SessionStatus {
    match (record.owner.is_none(), record.is_running) {
        (true, _) => SessionStatus::Opening,
        (false, true) => SessionStatus::Running,
        (false, false) => SessionStatus::Idle,
    }
}
