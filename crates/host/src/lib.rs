//! Many sessions in one process, for any number of clients that come and go.
//!
//! ```text
//! connections ─→ lines ─→ HostedSession: runner ─→ Journal ─→ WatcherQueue ─→ connections
//!                              ↑ one task each      numbers      one each
//! ```
//!
//! A session runs in a task of its own (`session_task`), whether somebody is connected or not. Every frame that it emits gets
//! a number in its `journal`, which keeps the newest ones; a connection that comes back gets what it missed. Each connection
//! reads from a queue of its own (`watcher`), so that a slow one holds up no other: its deltas are coalesced, and when it is
//! too far behind, a snapshot replaces what it has not read.
//!
//! The wire of a session's own connection is that of the dialect, byte for byte; a shared connection carries the frames of
//! many sessions, each with its `sessionId`. Source: the senpi reference, with additions of this
//! project that `schema/multi_session.json` marks as such.

mod access;
pub mod attach;
mod auth_command;
mod client_place;
mod field_lengths;
mod file_owners;
mod file_watch;
mod host_error;
mod journal;
mod limits;
mod line_channels;
mod listener;
mod metrics;
mod open_request;
mod outlet;
mod own_connection;
mod passed_sockets;
mod permission;
mod principal;
mod records;
mod registry;
mod reopening;
mod request_ids;
mod scoped_host;
mod session_task;
mod shared_connection;
mod socket_file;
mod stored_commands;
mod tls;
mod token_file;
mod transports;
mod unix_clients;
mod watcher;

pub use access::Access;
pub use auth_command::AuthCommand;
pub use field_lengths::recorded_name;
pub use file_owners::{FileAccess, FileOwners, RootHolders, SessionFolders};
pub use host_error::HostError;
pub use journal::Journal;
pub use limits::{Roots, TokenLimits, real_path};
pub use line_channels::line_channels;
pub use listener::{Address, ListenError, Listener, Server, serve_stdio};
pub use open_request::{OpenRequest, Start, ToolLimits};
pub use outlet::{Outlet, OutletItem};
pub use own_connection::CONTROL_PROTOCOL;
pub use passed_sockets::{PassedSocket, passed_sockets};
pub use permission::{Permitted, SessionOwner, permit};
pub use principal::{Principal, UsageBook};
pub use records::{Records, StoredSession};
pub use registry::{OpenSession, Pending, SessionHost, SessionSource, SharedSessions};
pub use session_task::{
    Attach, Attached, ClientLine, Resumption, SessionEnd, SessionHandle, SessionInfo, SessionLimits,
    SessionRequest, start as start_session,
};
pub use socket_file::SocketFile;
pub use tls::Certificate;
pub use watcher::{ClientId, WatcherMessage, WatcherQueue};
