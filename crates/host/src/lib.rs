//! Many sessions in one process, for any number of clients that come and go.
//!
//! For services that serve agents over Unix sockets, WebSocket or TLS: [`SessionHost`] opens, finds, lists and closes sessions,
//! [`Listener`] lets clients in. [`start_session`] runs one session without a network, for a client in the same process.
//!
//! The host decides nothing about the protocol within a session: the [engine](pi_rpc_engine) does, and the
//! [server](pi_rpc_server) performs its requests. The host adds only the limits of a [`Principal`]. The wire of a session's own
//! connection is that of the dialect, byte for byte. Connections get a session only as a [`Permitted`], and nothing but
//! [`permit`] makes one.
//!
//! - [`SessionHost`], [`OpenRequest`], [`SharedSessions`]: the sessions of a process, and those that several processes share.
//! - [`SessionHandle`]: a running session, by which connections reach its task.
//! - [`Address`], [`Listener`], [`Server`], [`Access`]: where clients connect, and who is let in.
//! - [`Principal`], [`TokenLimits`], [`permit`]: who a connection acts for, and what it may do.
//! - [`Journal`], [`WatcherQueue`]: the numbered frames of a session, and the queue of each connection.
//! - [`attach`](mod@attach): the client's end: a pipe to a session of a host.
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
//! A shared connection carries the frames of many sessions, each with its `sessionId`. Source: the senpi reference, with
//! additions of this project that `schema/multi_session.json` marks as such.
//!
//! ```
//! use pi_rpc_host::{Principal, Resumption, SessionLimits, SessionSinks, Unattended, line_channels, start_session};
//! # use pi_rpc_server::{LoginAccess, ModelLibrary, SessionOptions, ToolEnvironment};
//! # fn options() -> Result<SessionOptions, Box<dyn std::error::Error>> {
//! #     let (dialect, directory) = (pi_rpc_protocol::Dialect::Pi, std::env::temp_dir());
//! #     Ok(SessionOptions {
//! #         dialect, library: ModelLibrary::scripted("demo")?, level: None, modes: pi_rpc_engine::Modes::of(dialect),
//! #         tools: Vec::new(), spare_tools: Vec::new(), tool_selection: Default::default(), system_prompt: "".into(),
//! #         extension_setup: Default::default(), node: None, built_in: None, chosen: true, name: None,
//! #         place: pi_rpc_engine::SessionStorage::in_memory("/work"), session: None, store: Default::default(), files: None,
//! #         file_guard: None, permissions: None, disk_timeout: None, limits: Default::default(), agent: None,
//! #         observer: None,
//! #         login_access: LoginAccess {
//! #             http: Default::default(), secrets: Default::default(), environment: Default::default(),
//! #             auth_file: directory.join("auth.json"), device_id: None,
//! #         },
//! #         tool_environment: ToolEnvironment {
//! #             directory, shell: None, prefix: None, programs: None, output_file_limit: None,
//! #             output_files: Default::default(), secrets: Default::default(), confinement: Default::default(),
//! #             scales_images: false, delegate: None,
//! #         },
//! #     })
//! # }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // `options()` makes a `SessionOptions` with the scripted model, in memory.
//! let limits = SessionLimits {
//!     max_frame: 1 << 20, kept_output: 1 << 20, kept_idle: std::time::Duration::from_secs(60), unattended: Unattended::default(),
//! };
//! let (resumption, sinks) = (Resumption::default(), SessionSinks::default());
//! let session = start_session("s1".to_owned(), options()?, limits, Principal::local(), resumption, sinks);
//! let (commands, mut frames) = line_channels(session);
//! commands.send(br#"{"id":"1","type":"get_state"}"#.to_vec()).await?;
//! let response = frames.recv().await.unwrap();
//! assert!(response.starts_with(br#"{"id":"1","type":"response","command":"get_state","success":true"#));
//! # Ok(())
//! # }
//! ```

mod access;
pub mod attach;
mod auth_command;
mod client_place;
mod command_check;
mod field_lengths;
mod file_owners;
mod file_watch;
mod host_error;
mod host_status;
mod journal;
mod limits;
mod line_channels;
mod listener;
mod metrics;
mod new_session;
mod notices;
mod open_request;
mod operator_routes;
mod other_server;
mod other_session;
mod outlet;
mod own_connection;
mod partial_answer;
mod passed_sockets;
mod permission;
mod principal;
mod records;
mod registry;
mod registry_entry;
mod reopening;
mod request_ids;
mod scoped_host;
mod server_process;
mod session_clients;
mod session_handle;
mod session_task;
mod shared_connection;
mod shared_sessions;
mod socket_file;
mod status_tables;
mod stored_commands;
mod tls;
mod token_file;
mod tool_spending;
mod transports;
mod unix_clients;
mod usage;
mod watcher;

pub use access::Access;
pub use auth_command::AuthCommand;
pub use field_lengths::recorded_name;
pub use file_owners::{FileAccess, FileOwners, RootHolders, SessionFolders};
pub use host_error::HostError;
pub use host_status::{HostLoad, HostRow, HostStatus, LimitsRow, SessionRow};
pub use journal::Journal;
pub use limits::{Roots, TokenLimits, real_path};
pub use line_channels::line_channels;
pub use listener::{Address, ListenError, Listener, Server, serve_stdio};
pub use notices::{NoticeKind, SessionNotice, count_notice, take_notices};
pub use open_request::{OpenRequest, Start, ToolLimits};
pub use other_server::{OtherServer, OtherSessionOptions};
pub use outlet::{Outlet, OutletItem};
pub use own_connection::CONTROL_PROTOCOL;
pub use passed_sockets::{PassedSocket, passed_sockets};
pub use permission::{Permitted, SessionOwner, permit};
pub use pi_rpc_engine::{BudgetPlan, WaitingRun};
pub use principal::Principal;
pub use records::{Records, StoredSession, WaitingRunFile};
pub use registry::{OpenSession, SessionHost, SessionSource};
pub use session_handle::{
    Attach, Attached, ClientLine, Resumption, SessionEnd, SessionHandle, SessionInfo, SessionLimits,
    SessionRequest, Unattended, UnattendedAction,
};
pub use session_task::{SessionSinks, start as start_session};
pub use shared_sessions::{RecordCounts, SharedSessions};
pub use socket_file::SocketFile;
pub use tls::Certificate;
pub use usage::{SharedUsage, UsageBook, UsageOutage};
pub use watcher::{ClientId, WatcherMessage, WatcherQueue};
