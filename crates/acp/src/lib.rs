//! `pi-rpc acp`: an agent of the Agent Client Protocol, in front of this engine or of any server of the protocol.
//!
//! ```text
//! ACP client ⇄ agent: requests ─→ BridgedSession ─→ client::Client ⇄ session in this process, or a child
//!                     updates  ←─ Translator     ←─ client::Events
//! ```
//!
//! Each ACP session has a server of its own (`source`): a session of this engine, or a process. `session` drives it: prompts,
//! settings, the replay of a session that is loaded. `translator` and `tool_calls` make updates of frames, `prompt` commands of
//! content; they do no IO. What becomes of each frame is data: `schema/acp.json`, read by `mapping`.

mod agent;
mod agent_process;
pub mod backend;
mod client_environment;
mod client_output;
mod dialogs;
mod engine_session;
mod input;
mod mapping;
mod prompt;
mod recorder;
mod session;
mod session_id;
mod session_options;
mod slash_commands;
mod source;
mod tool_calls;
mod translator;

pub use agent::serve;
pub use agent_process::AgentProcess;
pub use client_output::{ClientOutput, PendingUpdates};
pub use engine_session::EngineSessions;
pub use mapping::{Fate, FrameMapping, MAPPING, Mapping, mapping};
pub use recorder::Recorder;
pub use source::Source;
