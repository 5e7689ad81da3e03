//! Extensions in Python, and in TypeScript under Node.js.
#![cfg(feature = "serve")]

#[path = "../documents_support/mod.rs"]
mod documents_support;
#[path = "../extension/extended_support/mod.rs"]
mod extended_support;
mod python_support;
#[path = "../serve_support/mod.rs"]
mod serve_support;
#[path = "../toolchain_support/mod.rs"]
mod toolchain_support;

mod examples;
mod front_host_tools;
mod node_host;
mod python;
mod python_frames;
