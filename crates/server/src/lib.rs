//! The server: performs the requests of the engine on real pipes, processes and clocks.
//!
//! For programs that serve an agent: [`serve()`] does it on stdin and stdout, a [`Runner`] without them, for a host that has
//! other connections.
//!
//! The server decides nothing about the protocol: the [engine](pi_rpc_engine) does. It owns what the engine has not: stdin and
//! stdout, model calls, tools, processes of extensions, the session's file, time and signals. It reads no settings: a
//! [`SessionOptions`] comes complete. Logs go to stderr; stdout has frames only.
//!
//! - [`serve()`], [`Options`]: one session on stdin and stdout. [`PrintMode`]: prints a run instead.
//! - [`Runner`], [`SessionOptions`]: a session at work, without input and output of its own.
//! - [`ModelLibrary`]: the models, each with its backend: a script or a provider.
//! - [`ToolEnvironment`], [`LoginAccess`], [`Files`], [`FileGuard`]: what the session may use, and where it is written.
//! - [`Agent`]: an agent that answers in place of models and tools.
//! - [`Observer`]: sees what passes between the engine and the world, for traces.
//! - [`Hazards`]: make the output inconvenient to test a host, while every frame stays legal.
//!
//! ```text
//! stdin ─→ FrameReader ──────────────────┐
//!                                        ├─→ serve: engine ─→ Outbox ─→ BatchWriter ─→ Sink: stdout
//! models, tools, shells ─→ inputs ───────┤      │
//! extensions ─→ their frames ────────────┘      │
//!          ↑──── Tasks: start, write to, cancel
//! ```
//!
//! One loop, [`serve()`], owns the engine. It reads stdin when there is something to read and writes to stdout as far as there
//! is room, so it blocks on neither. All outbound frames go through one queue, the outbox, so none overtakes another. With a
//! host that reads slowly the outbox first pauses models and tools and coalesces deltas; if that is not enough, it stops the
//! reading of commands. Memory stays bounded by the outbox's high-water mark, one line of the longest kind and the
//! conversation itself, and a slow reader gets fewer, larger frames with the same content.
//!
//! The session's file has a thread of its own (`disk`): a file system that hangs stops neither commands nor signals.
//!
//! ```
//! use pi_rpc_engine::Input;
//! use pi_rpc_protocol::{Dialect, Encoder, read};
//! use pi_rpc_server::Runner;
//! # use pi_rpc_server::{LoginAccess, ModelLibrary, SessionOptions, ToolEnvironment};
//! # fn options(dialect: Dialect) -> Result<SessionOptions, Box<dyn std::error::Error>> {
//! #     let directory = std::env::temp_dir();
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
//! // `options(dialect)` makes a `SessionOptions` with the scripted model, in memory.
//! let dialect = Dialect::Pi;
//! let (_gate, gate) = tokio::sync::watch::channel(true);
//! let mut runner = Runner::new(options(dialect)?, gate);
//! let (mut encoder, mut written) = (Encoder::new(dialect), Vec::new());
//! let mut write = |emission| encoder.encode(&emission, &mut written);
//! runner.execute(&mut write);
//! let prompt = read(br#"{"id":"1","type":"prompt","message":"Say hello"}"#, dialect)?;
//! runner.handle(Input::Frame(Box::new(prompt)), &mut write);
//! let mut exit = runner.handle(Input::EndOfInput, &mut write);
//! while exit.is_none() {
//!     let input = runner.next().await;
//!     exit = runner.handle(input, &mut write);
//! }
//! runner.end().await;
//! assert!(String::from_utf8(written)?.contains(r#"{"type":"agent_end","#));
//! # Ok(())
//! # }
//! ```

mod agent;
mod batch_writer;
mod disk;
mod extension_models;
mod frame_limit;
mod hazard;
mod logins;
mod models;
mod observer;
mod outbox;
mod page_file;
mod permissions;
mod print_mode;
mod provider_call;
mod provider_hooks;
mod queries;
mod runner;
mod script_context;
mod sent_images;
mod serve;
mod sink;
mod startup;
mod stdin;
mod tasks;

pub use agent::{Agent, AgentAnswer, AgentLink, AgentRequest, AgentTool, ToolState};
pub use disk::{FileGuard, Files};
pub use hazard::{Hazard, Hazards, Occurrences, WriteStep};
pub use logins::LoginAccess;
pub use models::{ModelLibrary, ScriptFileError, admits_model, scripted_name};
pub use observer::{Observer, TraceContext};
pub use outbox::MAX_PENDING_BYTES;
pub use page_file::write_page;
pub use permissions::{PermissionFile, StoredPermission};
pub use print_mode::{PrintFormat, PrintMode, PrintResult};
pub use runner::{ExitReason, Runner, SessionOptions, seed, until, wall_ms};
pub use serve::{Options, ServeError, Signals, serve, signal_status};
pub use sink::Sink;
pub use startup::{StartEnd, start};
pub use stdin::{Stdin, line_to_input};
pub use tasks::ToolEnvironment;
