//! Recorded conversations of the original agents, repeated with our server: each dialect sends what was recorded.
#![cfg(feature = "serve")]

#[path = "../serve_support/mod.rs"]
mod serve_support;
mod trace_support;

mod compared;
