//! Scenarios played with a live server.
//!
//! Each has a clean [home](Home), a scripted model of its own, and a process as the [`Adapter`] says. A
//! [`Conversation`] is what is said there: everything goes past the judge as it is said. [`play`] does the steps, then
//! ends the server and tells what came out.

mod adapter;
mod conversation;
mod expected_frames;
mod home;
mod play;
mod play_all;
mod steps;

pub use adapter::{Adapter, AdapterError, adapter_schema};
pub use conversation::Conversation;
pub use home::Home;
pub use play::{Server, play};
pub use play_all::{PlayOptions, play_all};
pub use steps::StopReason;
