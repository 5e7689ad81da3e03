//! The clients of `sdk/`: generated files are current, they compile, and they pass the shared conversations.
#![cfg(feature = "serve")]

#[path = "../chromium_support/mod.rs"]
mod chromium_support;
#[path = "../toolchain_support/mod.rs"]
mod toolchain_support;
#[path = "../via_host_support/mod.rs"]
mod via_host_support;

mod copies;
mod kits;
mod methods;
mod npm_package;
mod packages;
mod python;
mod typescript;
