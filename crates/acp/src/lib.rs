//! The Agent Client Protocol (ACP), on both sides: an agent in front of any server of this protocol, and a client that drives an
//! ACP agent.
//!
//! [`serve`] lets an editor that speaks ACP use a server of this protocol: sessions of this engine in the same process
//! ([`EngineSessions`]), or a program such as `pi --mode rpc` ([`AgentProcess`]). [`backend`] is the other direction: an ACP
//! agent answers in place of models and tools.
//!
//! This crate decides nothing about either protocol and calls no model. Which frame becomes which method or update of ACP, and
//! what is lost on the way, is data: `schema/acp.json`, read as [`mapping()`].
//!
//! - [`Source`]: where the server of an ACP session comes from. Each ACP session has a server of its own.
//! - [`Recorder`]: records the conversation with each of these servers.
//! - [`ClientOutput`]: the output to the ACP client, with back-pressure.
//! - [`Mapping`], [`FrameMapping`], [`Fate`]: the mapping between the protocols.
//!
//! ```text
//! ACP client ⇄ serve: requests ─→ BridgedSession ─→ client::Client ⇄ session in this process, or a child
//!                     updates  ←─ Translator     ←─ client::Events
//! ```
//!
//! `session` drives a server: prompts, settings, the replay of a session that is loaded. `translator` and `tool_calls` make
//! updates of frames, `prompt` commands of content; they do no IO.
//!
//! ```
//! use pi_rpc_acp::{AgentProcess, Source, serve};
//! use pi_rpc_protocol::Dialect;
//! use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex, split};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The program is started once the client opens a session.
//! let command = ["pi", "--mode", "rpc"].map(Into::into).to_vec();
//! let source = Source::Agent(AgentProcess::new(command, Some(Dialect::Pi)));
//! let (editor, agent) = duplex(64 * 1024);
//! let (input, output) = split(agent);
//! tokio::spawn(serve(source, None, 1 << 20, input, output, std::future::pending()));
//! let mut editor = BufReader::new(editor);
//! editor.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\n").await?;
//! let mut response = String::new();
//! editor.read_line(&mut response).await?;
//! assert!(response.contains(r#""loadSession":true"#), "{response}");
//! # Ok(())
//! # }
//! ```

mod agent;
mod agent_process;
pub mod backend;
mod client_environment;
mod client_output;
mod dialogs;
mod engine_session;
mod input;
mod mapping;
mod open_prompt;
mod prompt;
mod prompt_context;
mod recorder;
mod session;
mod session_id;
mod session_options;
mod slash_commands;
mod source;
mod steering;
mod tool_calls;
mod translator;

pub use agent::serve;
pub use agent_process::AgentProcess;
pub use client_output::{ClientOutput, PendingUpdates};
pub use engine_session::EngineSessions;
pub use mapping::{Fate, FrameMapping, MAPPING, Mapping, mapping};
pub use recorder::Recorder;
pub use source::Source;
