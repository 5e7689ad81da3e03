//! `pi-rpc host` and `pi-rpc attach`: many sessions in one process, for clients that come and go.

#[path = "../extension/extended_support/mod.rs"]
mod extended_support;
#[path = "../serve_support/mod.rs"]
mod serve_support;
#[path = "../via_host_support/mod.rs"]
mod via_host_support;

mod attach;
mod closing;
mod growth;
mod host_support;
mod killed;
mod limits;
#[cfg(feature = "mcp")]
mod mcp;
mod operating;
mod other_server;
mod ownership;
mod questions;
mod refusals;
mod shared;
mod status;
mod stored;
mod strangers;
mod tcp_support;
mod trust;
mod watching;
mod ways_in;
mod webhook;
