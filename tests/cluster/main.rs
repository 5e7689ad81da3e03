//! Sessions of several machines: real servers of NATS, and real nodes.

#[path = "../serve_support/mod.rs"]
mod serve_support;
#[path = "../toolchain_support/mod.rs"]
mod toolchain_support;

#[path = "../session_host/host_support.rs"]
#[allow(dead_code)]
mod host_support;
#[path = "../session_host/tcp_support.rs"]
#[allow(dead_code)]
mod tcp_support;

mod bounds;
mod checker;
mod faults;
mod log;
mod logins;
mod lost_owner;
mod nodes;
mod ownership;
mod pipe;
mod planted;
mod proxy;
mod questions;
mod retention;
mod servers;
mod usage;
