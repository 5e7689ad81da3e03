//! Sessions that servers keep in files: what they start with, what they go on with, and what is left when a disk, a file
//! or the server itself fails.
//!
//! Apart from the tests of `session`: a process that is started here holds for a moment what this one has locked.
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
