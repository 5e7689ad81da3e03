//! The clients of `sdk/`: each is generated as it is, compiles, and holds the shared conversations.
#![cfg(feature = "serve")]

mod sdk_support;
#[path = "../toolchain_support/mod.rs"]
mod toolchain_support;

mod python;
mod rust;
mod rust_client;
mod rust_settling;
mod typescript;
