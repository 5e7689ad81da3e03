//! The real binary from the side of a host: lines in and lines out. One file per behaviour.
#![cfg(feature = "serve")]

#[path = "../commands_support/mod.rs"]
mod commands_support;
#[path = "../serve_support/mod.rs"]
mod serve_support;
#[path = "../surroundings_support/mod.rs"]
mod surroundings_support;

mod acp_backend;
mod aws;
mod bash;
mod call_arguments;
#[cfg(feature = "codemode")]
mod codemode;
mod commands;
mod confirm_tools;
mod demo;
mod host_tools;
mod hostile;
mod large_frames;
mod limits;
mod logins;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "mcp")]
mod mcp_cancelled;
#[cfg(feature = "mcp")]
mod mcp_conversations;
#[cfg(feature = "mcp")]
mod mcp_hostile;
#[cfg(feature = "mcp")]
mod mcp_logins;
#[cfg(feature = "mcp")]
mod mcp_registered;
#[cfg(feature = "mcp")]
mod mcp_servers;
mod mock_llm;
mod mock_mcp;
mod narrowing;
mod no_model;
mod permissions;
mod pi1;
mod print;
mod provider_retries;
mod providers;
mod repl;
mod rules;
mod runs;
#[cfg(all(feature = "codemode", feature = "mcp"))]
mod script_models;
mod settings;
mod signals;
mod slow_reader;
mod surroundings;
mod terminal;
mod thirty_turns;
mod todos;
mod tool_selection;
#[cfg(not(feature = "otlp"))]
mod traces;
mod vendor_pairs;
mod vertex;
