//! What nodes decide, without NATS, clocks and sockets: they take what was read and the time as arguments, and say what to do.
//!
//! - [`way_in`]: which lines of a client count. Who publishes them and who takes them decide alike, from the same messages.
//! - [`membership`]: which nodes are alive, by their heartbeats.
//! - [`questions`]: when a run is noted that waits for a permission, and what its next owner does.
//! - [`retention`]: which closed sessions are removed.
//! - [`usage`]: what a token has used of its limits over all nodes, and whether a command is left; [`account`]: what a node adds to that.
//! - [`ownership`]: which sessions a node takes, what it changes in the record, and what the owner before has lost.
//!
//! Nothing here remembers what the record and the stream do not say: they are the truth, and a value here is what one of their
//! prefixes comes to. `model` explores all orders of messages, crashes and delays, within bounds, with these functions.

pub mod account;
pub mod membership;
pub mod ownership;
pub mod questions;
pub mod retention;
pub mod usage;
pub mod way_in;

#[cfg(test)]
mod model;
