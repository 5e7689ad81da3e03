//! The clients of `sdk/`: each is generated as it is, compiles, and holds the shared conversations.
#![cfg(feature = "serve")]

#[path = "../toolchain_support/mod.rs"]
mod toolchain_support;

mod python;
mod typescript;
