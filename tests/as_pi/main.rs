//! Beside real pi, installed or recorded: what both make of the same commands, files, hosts and conversations.
#![cfg(feature = "serve")]

#[path = "../commands_support/mod.rs"]
mod commands_support;
#[path = "../peer_support/mod.rs"]
mod peer_support;
#[path = "../serve_support/mod.rs"]
mod serve_support;
#[path = "../toolchain_support/mod.rs"]
mod toolchain_support;
mod trace_support;

mod commands;
mod rpc_client;
mod sessions;
mod trace_typescript;
mod traces;
