//! The program of the Node host, as the binary carries it: `FILES`, their names and texts, and `HASH`, the
//! beginning of the hash of all of them.

include!(concat!(env!("OUT_DIR"), "/node_host.rs"));
