//! MCP servers of strangers under pi 1.6.0 and under this program: the same tools, the same results, the same frames.
#![cfg(all(feature = "serve", feature = "mcp"))]

#[path = "../peer_support/mod.rs"]
mod peer_support;
#[path = "../serve_support/mod.rs"]
mod serve_support;
#[path = "../toolchain_support/mod.rs"]
mod toolchain_support;

mod comparison;
mod conversations;
#[cfg(feature = "codemode")]
mod figures;
mod http_servers;
mod stdio_servers;
