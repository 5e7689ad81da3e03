//! Pages as Chromium shows them: nothing sticks out, nothing is too pale, nothing runs.
#![cfg(feature = "serve")]

#[path = "../page/page_support/mod.rs"]
mod page_support;
#[path = "../toolchain_support/mod.rs"]
mod toolchain_support;

mod chromium;
mod pages;
mod reference;
