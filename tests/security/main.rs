//! Security: each test is a line of the table in `docs/explanation/security.md`.
#![cfg(feature = "serve")]

mod source_files;

mod approval;
mod children;
mod environment;
mod escapes;
#[path = "../extension/extended_support/mod.rs"]
mod extended_support;
mod files;
mod google_account;
mod hostile;
mod hostile_files;
mod keys;
mod links;
mod logins;
mod paths;
mod readers;
#[path = "../serve_support/mod.rs"]
mod serve_support;
