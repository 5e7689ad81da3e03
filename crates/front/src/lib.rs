//! Translates between a client and a server that speak different dialects.
//!
//! A frame of the server is read in the server's dialect, taken into the account of the session, and written in the client's
//! dialect; a command takes the same way back. Nothing is written by hand for a pair of dialects: which members, values and
//! branches a dialect has is the schema's, names that differ are in the dialect records, states and what is refused in them
//! are those of the machine, and the few bridges that none of these says are `schema/front.json`.
//!
//! The crate does no IO and knows no time: lines come in, lines for both sides come out.
//!
//! - [`Front`]: a client and a server, with the state of both. [`Output`]: what is to be written to whom.
//! - [`Detection`], [`ClientDetection`]: find out what the server and the client speak.
//! - [`losses()`]: what becomes of each member of each frame, for every pair.
//!
//! ```
//! use pi_rpc_front::{Front, Output};
//! use pi_rpc_protocol::Dialect;
//!
//! // A client of 2026's first months, and the pi that is installed today.
//! let mut front = Front::new(Dialect::Pi1.into(), Dialect::Pi);
//! let mut output = Output::default();
//! front.server_line(br#"{"type":"agent_start"}"#, &mut output);
//! assert_eq!(output.to_client, b"{\"type\":\"agent_start\"}\n");
//! // Commands that are the same pass.
//! front.client_line(br#"{"id":"1","type":"abort"}"#, &mut output);
//! assert_eq!(output.to_server, b"{\"id\":\"1\",\"type\":\"abort\"}\n");
//! ```

mod account;
mod announcements;
mod bridges;
mod carry;
mod client_detection;
mod commands;
mod detection;
mod ends;
mod errors;
mod events;
mod front;
mod host_tools;
mod kept_json;
mod listed_commands;
mod losses;
mod names;
mod plan;
mod queues;
mod responses;
mod schema;
mod tool_order;
mod totals;

pub use bridges::BRIDGES;
pub use client_detection::ClientDetection;
pub use detection::Detection;
pub use front::{Front, Output, is_same_wire};
pub use host_tools::EXTENSION as HOST_TOOLS_EXTENSION;
pub use losses::{Fate, FrameLosses, MemberFate, Way, counts, losses};
