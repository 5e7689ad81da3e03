//! A client for any server of the protocol: typed commands, events, dialogs, tools of the host.
//!
//! [`Client`] starts a server and calls its commands; [`Events`] is the stream of everything else that the server writes.
//! [`Process`] is the layer below, without the protocol: a process, lines to it, lines from it.
//!
//! ```no_run
//! use pi_rpc::{client::{Client, Options}, protocol::{Dialect, GetStateCommand}};
//! use tokio::process::Command;
//!
//! # async fn talk() -> Result<(), pi_rpc::client::Error> {
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
//! use pi_rpc::{client::{Client, Error, Permission}, protocol::{GetMessagesCommand, PromptCommand}};
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
mod error_origin;
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

pub use callbacks::{DialogHandler, DialogResponse, HostCall, HostTool};
pub use error::Error;
pub use events::{Event, Events};
pub use exit::ServerExit;
pub use handle::{Client, RunResult};
pub use options::{ConnectionOptions, LineChannels, LineObserver, LineOrigin, Options};
pub use process::{LONGEST, Process, ProcessEvent, ProcessEventKind, Signal, shell_status};
pub use session::{Agreement, Permission, SessionState};
