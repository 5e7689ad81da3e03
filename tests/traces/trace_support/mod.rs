//! Conversations of the originals and of this server in one comparable form.
//!
//! A conversation, recorded or had, is a list of [`Record`]s; its [`Skeleton`] holds the shapes that are compared.
//! [`SCENARIOS`] has the conversations with our server; [`Differences`] are those that are wanted.
#![allow(dead_code, unused_imports)] // each test binary uses its part

mod differences;
mod host;
mod models;
mod recording;
mod scenarios;
mod shape;
mod skeleton;
mod stored;

pub use differences::Differences;
pub use host::Host;
pub use recording::{RECORDED, records};
pub use scenarios::{Entry, SCENARIOS};
pub use skeleton::{Record, Skeleton};
