//! Extensions: executables that add commands, tools and hooks to the server, and speak a small protocol of their own
//! (`extension` of the schema) over stdin and stdout.
//!
//! For hosts of an engine that want extensions, too: [`find`](find()) finds the executables, [`Extensions`] runs them and passes
//! their frames on as inputs of the engine.
//!
//! This crate decides nothing about hooks, tools or commands: the engine does. It never runs code of an extension in its own process; what is built
//! into this program ([`BuiltIn`]) speaks the same frames there.
//! What a project without an approval brings along is listed apart ([`FoundExtensions::withheld`]) and not started.
//!
//! - [`find`](find()), [`SearchPlaces`], [`FoundExtensions`]: finds the executables.
//! - [`Extensions`], [`ExtensionInputs`], [`ExtensionEnvironment`]: the running extensions.
//! - [`BuiltIn`], [`BuiltInSession`]: a part of this program in place of a process.
//! - [`NodeHost`]: what runs pi's own extensions, all of them in one process, which speaks the same protocol; `embedded`,
//!   `unpack`: the program that it runs.
//! - [`ask_project_trust`]: asks extensions of the user whether a project is trusted.
//! - `strip_types`, with the feature `strip-types`: removes types from TypeScript, for a Node that cannot.
//! - [`named_commands`](named_commands()): the slash commands of an extension that could not be loaded.
//! - `process`: one process, from its start to its end; `spawn`: starts it, or says why not.
//! - `stdout`, `frame_queue`, `stderr`: its pipes; `pipe`: reads the output of a process until its exit.
//!
//! ```text
//!                      ┌─ frame_queue ─→ stdin
//! loop ─→ host ─→ process                 the process, in a group of its own
//!  ↑                   ├─ stdout ←────── stdout
//!  └─ ExtensionInputs ←┘  stderr ←────── stderr ─→ our log
//! ```
//!
//! Whatever an extension does, the server goes on:
//!
//! - **Nothing grows without bound.** A line is at most as long as [`MAX_FRAME`] or what was set instead; frames that
//!   are read and not handled are at most one such line and a few small ones; an extension with more than
//!   [`MAX_PENDING`] pending bytes is ended.
//! - **It never blocks the loop.** Sending to it does not block. It is read only as fast as the loop handles its frames,
//!   and not at all while the host does not read.
//! - **Its end is reported once**, after everything that it wrote, with the reason.
//! - **Nothing of it stays.** With the process everything is ended that is left in its group.
//!
//! ```
//! use pi_rpc_engine::Input;
//! use pi_rpc_extension::{ExtensionEnvironment, Extensions, MAX_FRAME, MAX_PENDING};
//! use pi_rpc_protocol::{Dialect, FromExtension};
//! use std::{fs, os::unix::fs::PermissionsExt as _};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("hello");
//! fs::write(&path, "#!/bin/sh\necho '{\"type\":\"register\",\"commands\":[{\"name\":\"hello\"}]}'\ncat\n")?;
//! fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
//! let (_gate, gate) = tokio::sync::watch::channel(true);
//! let (mut extensions, mut inputs) = Extensions::new(ExtensionEnvironment {
//!     paths: vec![path.display().to_string()], node: None, directory: folder.path().to_owned(), dialect: Dialect::Pi,
//!     max_frame: MAX_FRAME, max_pending: MAX_PENDING, gate, processes: Default::default(), secrets: Default::default(),
//!     built_in: None,
//! });
//! extensions.start(1, 0);
//! let Some(Input::Extension { from: 1, frame }) = inputs.next().await else { panic!() };
//! let FromExtension::Register(register) = *frame else { panic!() };
//! assert_eq!(register.commands.unwrap()[0].name, "hello");
//! extensions.close().await;
//! # Ok(())
//! # }
//! ```

mod built_in;
mod embedded;
mod find;
mod frame_queue;
mod host;
mod named_commands;
mod node;
mod pipe;
mod process;
mod project_trust;
mod spawn;
mod stderr;
mod stdout;
#[cfg(feature = "strip-types")]
mod strip_types;
mod unpack;

pub use built_in::{BuiltIn, BuiltInOutput, BuiltInSession};
pub use find::{FoundExtensions, Position, SearchPlaces, find};
pub use host::{ExtensionEnvironment, ExtensionInputs, Extensions};
pub use named_commands::named_commands;
pub use node::NodeHost;
pub use project_trust::{TrustAnswer, TrustQuestion, ask_project_trust, may_decide_trust};
pub use spawn::{SCRIPTS, is_pi_extension};
#[cfg(feature = "strip-types")]
pub use strip_types::{Stripped, SyntaxError, strip_types};

/// The default of the longest line that an extension may write, in bytes: 8 MiB.
pub const MAX_FRAME: u64 = 8 * 1024 * 1024;

/// Maximum of pending bytes for an extension: 64 MiB. Events of a run with large images repeat them several times.
pub const MAX_PENDING: usize = 64 * 1024 * 1024;
