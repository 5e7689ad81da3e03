//! Sessions in files: starting with them, resuming them, and what is left when a disk, a file
//! or the server itself fails.
//!
//! Separate from the tests of `session`, as a process that is started here briefly inherits locks of this one.
#![cfg(feature = "serve")]

mod kept_support;
#[path = "../serve_support/mod.rs"]
mod serve_support;
#[path = "../session_support/mod.rs"]
mod session_support;

mod damage;
mod kill;
mod limits;
mod resuming;
mod starting;
