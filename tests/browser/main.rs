//! Pages in Chromium: nothing overflows, contrast is sufficient, and no script runs.
#![cfg(feature = "serve")]

#[path = "../chromium_support/mod.rs"]
mod chromium_support;
#[path = "../../crates/page/tests/page/page_support/mod.rs"]
mod page_support;
#[path = "../report_support/mod.rs"]
mod report_support;
#[path = "../toolchain_support/mod.rs"]
mod toolchain_support;

mod axe;
mod gallery;
mod inspector;
mod pages;
mod reference;
mod report;
mod session;
