//! The state of a session, kept up by the frames of both sides.
//!
//! - `state`: what is known, and how it is read.
//! - `frames`: what frames tell and which command a response answers.
//! - `effects`: what frames make of the members, as the schema says.
//! - `members`: how members change, and when what is told of one can be believed.
//! - `lists`: the lists and the sum that have no [`MemberValue`](crate::protocol::MemberValue).

mod effects;
mod frames;
mod lists;
mod members;
mod state;

pub use state::{Agreement, Permission, SessionState};
