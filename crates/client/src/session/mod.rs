//! The state of a session, derived from the frames of both sides.
//!
//! - `state`: [`SessionState`] and how it is read.
//! - `frames`: takes frames, and pairs responses with their commands.
//! - `effects`: applies the effects that the schema gives commands and events.
//! - `members`: changes of members, and whether a value in a response is still current.
//! - `lists`: messages, entries and usage, which have no [`MemberValue`](pi_rpc_protocol::MemberValue).

mod effects;
mod frames;
mod lists;
mod members;
mod state;

pub use state::{Agreement, Permission, SessionState};
