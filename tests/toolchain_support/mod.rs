//! Toolchains of other languages: Node.js with packages, Python with packages, Go, published programs.
//!
//! Everything is installed once, below `target/`, from lock files with exact versions. A test whose toolchain is
//! missing is skipped with a note; an environment variable set to 1 makes that a failure.
#![allow(dead_code, unused_imports)] // each test binary uses its part

mod go;
mod home;
mod node;
mod pace;
mod python;
mod run;

pub use go::{Go, go};
pub use home::installed;
pub use node::{locked, node, packages};
pub use pace::{slowness, stretched};
pub use python::{clock_library, environment, nats_server, python};
pub use run::{had, progress, run};
