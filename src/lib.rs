//! The RPC protocol of coding agents, as a schema, a state machine and a server.
//!
//! - [`protocol`]: the frames, generated from `schema/`, and how bytes become frames.
//! - [`machine`]: which state, what is legal in it.
//! - [`engine`]: the agent's decisions, without IO.
//! - [`session`]: the conversation so far.
//! - [`model`]: what models are asked and answer; the scripted model.
//! - [`config`]: what the user has configured: settings, models, keys.
//! - [`secrets`]: keys that are known, masked in what is told and withheld from children.
//! - [`tools`]: what the model may call.
//! - [`extension`]: processes that add commands, tools and hooks.
//! - [`packages`]: pi's own extensions, and packages of them.
//! - [`prompt`]: what models are told before the conversation.
//! - [`server`]: pipes, processes and clocks.
//! - [`mock`]: the scripted model behind the HTTP APIs of real vendors.
//! - [`client`]: a server as its host sees it: typed calls, events, dialogs, tools.
//! - [`oracle`]: judges any server, any host, any recording.
//! - [`cli`]: the command line.
//! - [`export`]: the protocol for other tools, and as a page for people.
//!
//! Without the feature `serve`: [`protocol`], [`machine`], [`model`] and [`export`] only; with the feature `engine` also
//! [`engine`], [`session`] and [`prompt`].

#[cfg(feature = "serve")]
pub mod cli;
#[cfg(feature = "serve")]
pub mod client;
#[cfg(feature = "serve")]
pub mod config;
#[cfg(feature = "engine")]
pub mod engine;
pub mod export;
#[cfg(feature = "serve")]
pub mod extension;
#[cfg(feature = "engine")]
mod folder_walk;
#[cfg(feature = "serve")]
mod harmless;
#[cfg(feature = "engine")]
mod html;
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
pub mod tools;
