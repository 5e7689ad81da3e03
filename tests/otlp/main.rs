//! Traces of the real binary, as a collector gets them. The spans of single events are tested in `crates/traces`.

#[path = "../serve_support/mod.rs"]
mod serve_support;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../session_host/tcp_support.rs"]
mod tcp_support;

mod clients;
mod collector;
mod collectors;
mod runs;
