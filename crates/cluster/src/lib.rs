//! Sessions of several machines, on NATS with JetStream.
//!
//! A [session host](pi_rpc_host) with a [`Node`] shares its sessions with the hosts of other machines: a client finds
//! its session at any of them, and when a machine is gone, another one takes its sessions over.
//!
//! This is the only crate that knows NATS. It decides nothing about the protocol and speaks to no client: the host does. Nothing
//! that JetStream has is built again: order, copies, compare-and-set, deduplication, ages and sizes are its own.
//!
//! - [`Connection`], [`NatsOptions`]: the connection to NATS, with the streams and buckets, which the first node creates.
//! - [`Node`], [`NodeSessions`]: owns sessions, takes those of nodes that are gone, and follows those that its clients watch.
//! - [`Lease`]: says that a node is alive and may write. [`FencedSubject`]: a subject that only its present owner can append to.
//! - [`SessionRecord`], [`OwnedRecord`]: who owns a session, and how far its input was taken. [`find`] and [`list`] read them.
//! - [`diagnose`]: looks at NATS as a host would use it.
//! - [`EntryLog`], [`EntryFiles`]: the entries of sessions in place of session files.
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
//! NATS takes messages up to a length that it announces (`max_payload`). What may be long goes in parts: entries, records of
//! output and snapshots by `fenced`, lines of clients by `publisher`. What has to be one message is bounded: the session's record
//! (`records`), heartbeats (`lease`).
//!
//! The example needs a NATS server with JetStream:
//!
//! ```no_run
//! use pi_rpc_cluster::{Connection, NatsOptions, list};
//!
//! # async fn show() -> Result<(), Box<dyn std::error::Error>> {
//! let options = NatsOptions { urls: "nats://127.0.0.1:4222".to_owned(), replicas: 1, ..NatsOptions::default() };
//! let connection = Connection::open(&options, "inventory").await?;
//! for (id, record) in list(&connection).await? {
//!     println!("{id}: {:?} in {}", record.title, record.spec.directory.display());
//! }
//! # Ok(())
//! # }
//! ```

mod connection;
mod cut_run;
mod decisions;
mod diagnosis;
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
mod retention;
mod session_record;
mod shared_usage;
mod tail;
mod urls;

pub use connection::{Connection, ConnectionError, NatsOptions};
pub use decisions::membership::NodeInfo;
pub use diagnosis::{Condition, Diagnosis, diagnose};
pub use entries::{EntryFiles, EntryLog, LogContent};
pub use fenced::{AppendError, FencedSubject};
pub use lease::Lease;
pub use node::{Node, NodeOptions, NodeSessions};
pub use records::{OwnedRecord, find, list};
pub use session_record::{OutstandingCommand, SessionRecord, SessionSpec, TakenInput};
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
