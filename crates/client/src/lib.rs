//! A client for any server of the protocol: typed commands, events, dialogs, tools of the host.
//!
//! For programs that drive a coding agent: start `pi --mode rpc`, `pi-rpc serve` or another server with [`Client::spawn`], or
//! connect to a server in the same process with [`Client::connect`].
//!
//! The client decides nothing for its user: dialogs without a handler are cancelled, and a command that has failed is not sent
//! again. It opens no file and no network connection. A command that the server would refuse in its present state is not sent,
//! unless checks are turned off ([`Client::unchecked`]).
//!
//! - [`Client`]: starts a server, and calls its commands. [`Options`], [`ConnectionOptions`]: dialect, timeouts and limits.
//! - [`Events`]: the stream of everything else that the server writes.
//! - [`SessionState`]: the state of the session, derived from the frames. [`Permission`]: whether a command may be sent now.
//! - [`DialogHandler`], [`HostTool`]: callbacks for the server's dialogs and for tools that the host lends.
//! - `testing` (a feature): servers for tests of clients, and the judgement of what both sides wrote.
//! - [`Process`]: the layer below, without the protocol: a process, lines to it, lines from it.
//!
//! A server in the same process has two channels of lines in place of pipes:
//!
//! ```
//! use pi_rpc_client::{Client, ConnectionOptions, LineChannels};
//! use pi_rpc_protocol::{AbortCommand, Dialect};
//! use serde_json::{Value, json};
//! use tokio::sync::mpsc;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), pi_rpc_client::Error> {
//! let (to_server, mut commands) = mpsc::channel::<Vec<u8>>(16);
//! let (frames, from_server) = mpsc::channel(16);
//! tokio::spawn(async move {
//!     while let Some(line) = commands.recv().await {
//!         let id = serde_json::from_slice::<Value>(&line).unwrap()["id"].clone();
//!         let response = json!({ "id": id, "type": "response", "command": "abort", "success": true });
//!         frames.send(response.to_string().into_bytes()).await.unwrap();
//!     }
//! });
//! let channels = LineChannels { to_server, from_server };
//! let (client, _events) = Client::connect(channels, ConnectionOptions::new(Dialect::Pi)).await?;
//! client.call(AbortCommand::default()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! A server that is a program:
//!
//! ```no_run
//! use pi_rpc_client::{Client, Options};
//! use pi_rpc_protocol::{Dialect, GetStateCommand};
//! use tokio::process::Command;
//!
//! # async fn talk() -> Result<(), pi_rpc_client::Error> {
//! let mut server = Command::new("pi-rpc");
//! server.args(["serve", "--no-session", "--model", "scripted/demo"]);
//! let (client, mut events) = Client::spawn(Options::new(server, Dialect::Pi)).await?;
//! tokio::spawn(async move {
//!     while let Some(event) = events.next().await {
//!         println!("{}", event.text());
//!     }
//! });
//! println!("{}", client.prompt("What is in this folder?").await?.text());
//! println!("{} messages", client.call(GetStateCommand::default()).await?.message_count);
//! client.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! [`Client::session`] reads the state of the session, which the client derives from the frames: model, modes, queues, messages
//! and dialogs, and whether a command may be sent now. [`Client::session_revisions`] notifies of changes. Members that are
//! still unknown become known with the response that carries them:
//!
//! ```no_run
//! use pi_rpc_client::{Client, Error, Permission};
//! use pi_rpc_protocol::{GetMessagesCommand, PromptCommand};
//!
//! # async fn talk(client: Client) -> Result<(), Error> {
//! client.call(GetMessagesCommand::default()).await?;
//! let message = "What is in this folder?".to_owned();
//! let prompt = PromptCommand { id: None, message, images: None, streaming_behavior: None, locale: None };
//! match client.session(|session| session.permission(&prompt.clone().into())) {
//!     Permission::Allowed(_) => println!("{}", client.prompt_with(prompt).await?.text()),
//!     Permission::Refused(reason) => println!("not now: {reason}"),
//! }
//! let mut revisions = client.session_revisions();
//! while revisions.changed().await.is_ok() {
//!     println!("{:?} messages", client.session(|session| session.messages().map(<[_]>::len)));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Client, callbacks and IO tasks share the hub: the session's state, which follows every frame of both sides, the outstanding
//! calls, and the events that have not been read.
//!
//! ```text
//! call, prompt, dialog responses ─→ Hub ─→ io_tasks::write ─→ stdin
//! calls, events, callbacks       ←─ Hub ←─ io_tasks::read  ←─ stdout
//! ```

mod callbacks;
mod error;
mod events;
mod exit;
mod expected_run;
mod handle;
mod hub;
mod inner;
mod io_tasks;
mod line_source;
mod options;
mod process;
mod session;
#[cfg(feature = "testing")]
pub mod testing;

pub use callbacks::{DialogHandler, DialogResponse, HostCall, HostTool};
pub use error::Error;
pub use events::{Event, Events};
pub use exit::ServerExit;
pub use handle::{AcceptedPrompt, Client, RunResult};
pub use options::{ConnectionOptions, LineChannels, LineObserver, LineOrigin, Options};
pub use process::{LONGEST, Process, ProcessEvent, ProcessEventKind, Signal, shell_status};
pub use session::{Agreement, Permission, SessionState};
