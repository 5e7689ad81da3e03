//! Recorded conversations of the original agents, repeated with this server, which must send the recorded frames.
#![cfg(feature = "serve")]

#[path = "../serve_support/mod.rs"]
mod serve_support;
mod trace_support;

mod compared;
