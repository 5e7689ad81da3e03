//! Plays scenarios with a live server.
//!
//! [`play`] gives each scenario a clean [home](Home), a scripted model and a server process, started as the [`Adapter`]
//! describes. It does the steps, ends the server, and returns what was [`Played`]. All
//! frames go through a [`Conversation`], which records and judges them. [`play_all`] plays many scenarios in parallel.

mod adapter;
mod conversation;
mod expected_frames;
mod home;
mod play;
mod play_all;
mod server_version;
mod steps;

pub use adapter::{Adapter, AdapterError, adapter_schema};
pub use conversation::Conversation;
pub use home::Home;
pub use play::{Played, Server, play};
pub use play_all::{PlayEvent, PlayOptions, play_all};
pub use server_version::ask_version;
pub use steps::StopReason;
