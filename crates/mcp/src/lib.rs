//! Servers of the Model Context Protocol (MCP), and their tools.
//!
//! For sessions with servers of `mcp.json`: [`McpBridge`] connects them when the session begins and offers their tools, as an
//! extension that is built in. For sessions whose client names servers (feature `acp`): `McpTools`.
//!
//! Tools and resources are used, prompts are not; requests of a server for the user's input or for a model are refused. This crate offers
//! no MCP server and reads no configuration. The processes of servers get no variables that the session withholds, but those that the
//! entry gives them.
//!
//! Whatever a server does, the session goes on: a message has at most [`MAX_MESSAGE`] bytes, a server at most [`MAX_TOOLS`] tools,
//! and every wait ends.
//!
//! - [`McpBridge`]: from the entries of `mcp.json` to tools of a session. `server`: one server with its state.
//! - `client`: requests and answers; `stdio`, `http`: the transports.
//! - `confinement`: servers that a token keeps out. `naming`, `tool`, `content`: names, definitions and results, as the model gets them.
//! - `search`: the ranking of `tool_search`. `oauth`: logins at servers by HTTP. `log`: what servers log. `script_output`: what a script
//!   of `codemode` has put out; `script_models`: the models that it runs. `schema_cost`: what checking by a schema may cost.
//!
//! ```text
//! server process ── stdio ─┐
//!                          ├─ client ── server ── bridge ══ frames of an extension ══ engine
//! server by HTTP ── http ──┘
//! ```
//!
//! ```
//! use pi_rpc_config::mcp::McpExposure;
//! use pi_rpc_mcp::{MAX_TOOLS, exposure_name, tool_prefix};
//!
//! // As the model, `--tools` and the configuration name them.
//! assert_eq!(tool_prefix("issue-tracker") + "search", "mcp__issue_tracker__search");
//! assert_eq!(exposure_name(McpExposure::Deferred), "deferred");
//! assert_eq!(MAX_TOOLS, 1000);
//! ```

mod bridge;
mod client;
#[cfg(feature = "acp")]
mod client_servers;
mod confinement;
mod content;
mod event_stream;
mod http;
mod log;
mod naming;
mod oauth;
mod schema_cost;
mod script_models;
mod script_output;
mod search;
mod server;
mod status;
mod stdio;
mod tool;

pub use bridge::{BRIDGE_TOOLS, FileCheck, LOG, McpBridge, SCRIPT_TOOL, SEARCH_TOOL};
#[cfg(feature = "acp")]
pub use client_servers::McpTools;
pub use confinement::confine;
pub use naming::tool_prefix;
pub use script_models::ScriptModels;
pub use server::{ConnectError, ConnectedServer, LoginOutcome, Surroundings, connect, log_in, log_out};
pub use status::{deferred_notice, exposure_name, servers_section, unreachable_notice};

/// The longest message of a server in bytes: 8 MiB.
pub const MAX_MESSAGE: usize = 8 * 1024 * 1024;

/// The most tools of a server; the rest is left out.
pub const MAX_TOOLS: usize = 1000;
