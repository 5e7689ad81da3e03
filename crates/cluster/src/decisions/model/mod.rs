//! Explores what hosts, clients and NATS may do, in all orders within bounds, with the decisions of this crate.
//!
//! NATS is what it documents: a record that is written behind the revision which was read, streams that only grow, messages that arrive
//! late or twice. Hosts end at any moment and start again; a lease may end at any moment, whatever its owner does then: what is
//! right must not depend on time. `usage` has time: it counts what a name uses. `bounds` says how much of each there is, `faults` puts wrong decisions in the place of the right ones.

mod bounds;
mod faults;
mod nats;
mod owners;
mod steps;
mod usage;
mod world;
