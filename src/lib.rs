//! The RPC protocol of coding agents, as a schema, a state machine and a server.
//!
//! - [`protocol`]: the frames, generated from `schema/`, and how bytes become frames.

pub mod model;
pub mod protocol;
