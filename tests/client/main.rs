//! The client for Rust: typed commands, events and dialogs, and the conversations that it shares with the SDKs.
#![cfg(feature = "serve")]

mod sdk_support;
#[path = "../via_host_support/mod.rs"]
mod via_host_support;

mod rust;
mod rust_client;
mod rust_settling;
mod rust_testing;
mod session_state;
