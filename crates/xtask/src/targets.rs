//! Test targets that plain `cargo test` leaves out.

/// What decides a change: some ten minutes.
pub const DECIDING: [&str; 5] = ["browser", "cluster", "extension_languages", "sdk", "statecharts"];

/// What runs weekly, and on demand: real agents, strangers' extensions and clients, other generators, counted instructions.
pub const WEEKLY: [&str; 8] = [
    "as_pi",
    "conform_peers",
    "counts",
    "front_pairs",
    "generators",
    "mcp_peers",
    "pi_extensions",
    "vendor_clients",
];
