//! Servers that are driven, tapped, spoilt and played: `conform`, `tap`, `replay` and `serve --hazard`.
#![cfg(feature = "serve")]

#[path = "../serve_support/mod.rs"]
mod serve_support;

mod acp_circle;
mod broken_servers;
mod ci_action;
mod hazards;
mod own_server;
mod progress;
mod random_conversations;
mod replay;
mod scenario_files;
mod standins;
mod tap;
