//! The RPC protocol of coding agents, as a schema, a state machine and a server.
//!
//! The [`guide`] has worked examples.
//!
//! - [`protocol`]: the frames, generated from `schema/`, and how bytes become frames.
//! - [`machine`]: the state machine of a conversation, and the legality of frames.
//! - [`engine`]: the decisions of the agent, without IO.
//! - [`session`]: sessions and their files.
//! - [`model`]: requests to model providers and their streams; the scripted model.
//! - [`config`]: the configuration of the user: settings, models, credentials.
//! - [`login`]: logins at providers: tokens are obtained, renewed and kept.
//! - [`secrets`]: known credentials, redacted in texts and withheld from child processes.
//! - [`tools`]: the built-in tools of the model, and shell commands.
//! - [`extension`]: processes that add commands, tools and hooks.
//! - [`packages`]: packages of pi's own extensions, skills and templates.
//! - [`prompt`]: the system prompt, skills, prompt templates and rules.
//! - [`server`]: runs the engine on pipes, processes and clocks.
//! - `acp_backend`: an agent of the Agent Client Protocol in place of models and tools.
//! - [`session_host`]: many sessions in one process, for clients that come and go.
//! - [`attach`]: a pipe to a session of a host.
//! - `acp` (a feature): the Agent Client Protocol, in front of any server.
//! - [`mock`]: serves the scripted model by the HTTP APIs of vendors.
//! - [`client`]: a client for any server: typed commands, events, dialogs, tools of the host.
//! - [`oracle`]: judges servers, hosts and recordings by the rules.
//! - [`inspect`]: the inspector: a page that shows a conversation.
//! - [`cli`]: the command line.
//! - [`export`]: exports the protocol as schemas, types and a reference page.
//!
//! Without the feature `serve`: [`protocol`], [`machine`], [`model`] and [`export`] only; with the feature `engine` also
//! [`engine`], [`session`] and [`prompt`].

#[cfg(feature = "acp")]
pub mod acp;
#[cfg(feature = "acp")]
pub mod acp_backend;
#[cfg(feature = "acp")]
mod acp_input;
#[cfg(feature = "serve")]
pub mod attach;
#[cfg(feature = "serve")]
pub mod cli;
#[cfg(feature = "serve")]
pub mod client;
#[cfg(feature = "cluster")]
pub mod cluster;
#[cfg(feature = "serve")]
pub mod config;
#[cfg(feature = "engine")]
pub mod confinement;
#[cfg(feature = "engine")]
pub mod engine;
pub mod export;
#[cfg(feature = "serve")]
pub mod extension;
#[cfg(feature = "engine")]
mod folder_walk;
#[cfg(feature = "serve")]
pub mod guide;
#[cfg(feature = "serve")]
mod harmless;
#[cfg(feature = "engine")]
mod html;
#[cfg(feature = "serve")]
pub mod inspect;
#[cfg(feature = "serve")]
mod line_reader;
#[cfg(feature = "serve")]
pub mod login;
pub mod machine;
#[cfg(feature = "serve")]
pub mod mock;
pub mod model;
#[cfg(feature = "serve")]
pub mod oracle;
#[cfg(feature = "serve")]
pub mod packages;
#[cfg(feature = "engine")]
mod private_files;
#[cfg(feature = "serve")]
mod process_tree;
#[cfg(feature = "serve")]
mod process_watcher;
#[cfg(feature = "engine")]
pub mod prompt;
pub use pi_rpc_protocol as protocol;
#[cfg(feature = "engine")]
mod regular_files;
#[cfg(feature = "serve")]
pub mod secrets;
#[cfg(feature = "serve")]
pub mod server;
#[cfg(feature = "engine")]
pub mod session;
#[cfg(feature = "serve")]
pub mod session_host;
#[cfg(feature = "serve")]
mod strangers;
#[cfg(feature = "serve")]
pub mod tools;
