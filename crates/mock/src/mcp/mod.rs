//! The scripted MCP server, over stdio and streamable HTTP, to test clients of the Model Context Protocol.
//!
//! A [`McpScript`] has the tools, resources and prompts, and what happens at each request: a wait, progress, a failure, silence,
//! output without end. [`serve_stdio`] serves one client on two pipes, [`McpMock`] any number over HTTP.
//!
//! - `script`: the file. `conversation`: what becomes of a message, over any transport. `stdio`, `http`: the transports.
//!
//! ```
//! use pi_rpc_mock::mcp::{McpScript, serve_stdio};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let script = McpScript::from_json(r#"{"tools": [{"name": "add", "calls": [[{"text": "4"}]]}]}"#)?;
//! let params = r#"{"protocolVersion": "2025-11-25", "capabilities": {}}"#;
//! let input = format!(r#"{{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {params}}}"#) + "\n";
//! let mut output = Vec::new();
//! serve_stdio(script, input.as_bytes(), &mut output, None).await;
//! assert!(String::from_utf8(output)?.contains(r#""protocolVersion":"2025-11-25""#));
//! # Ok(())
//! # }
//! ```

mod conversation;
mod http;
mod oauth;
mod script;
mod stdio;

pub use http::McpMock;
pub use script::{
    Filler, HttpAnswer, McpScript, McpStep, OAuthScript, Request, RpcFailure, ScriptedPrompt,
    ScriptedResource, ScriptedTool, mcp_script_schema,
};
pub use stdio::serve_stdio;
