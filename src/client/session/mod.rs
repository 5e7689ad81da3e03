//! The state of a session, kept up by the frames of both sides.
//!
//! - `state`: what is known, and the frames that it is fed.
//! - `effects`: what frames make of the members.
//! - `kept`: the lists and the sum that have no value in [`MemberValue`](crate::protocol::MemberValue).

mod effects;
mod kept;
mod state;

pub use state::{Permission, SessionState};
