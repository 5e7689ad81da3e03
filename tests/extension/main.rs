//! Extensions and requests to the host: tools, commands, hooks and dialogs in virtual time; then the processes
//! themselves, and the real binary with them.
#![cfg(feature = "serve")]

mod asking_support;
mod extended_support;
mod extension_support;
#[path = "../serve_support/mod.rs"]
mod serve_support;

mod actions;
mod commands;
mod confirming;
mod dialogs;
mod documented;
mod finding;
mod hooks;
mod hooks_awaited;
mod hooks_calls;
mod hooks_compaction;
mod hooks_ending;
mod hooks_sessions;
mod host_tools;
mod hosted;
mod lives;
mod models;
mod nested_calls;
mod outside;
mod packages;
mod processes;
mod provider_hooks;
mod queries;
mod required;
mod serve;
mod serve_damage;
mod serve_models;
mod sessions;
mod tools;
mod tools_pi1;
mod unloaded;
mod virtual_models;
mod warm_cache;
