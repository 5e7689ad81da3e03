//! Scenarios played with a live server.
//!
//! Each has a clean [home](Home), a scripted model of its own, and a process as the [`Adapter`] says. A
//! [`Conversation`] is what is said there: everything goes past the judge as it is said. [`play`] does the steps, then
//! ends the server and tells what came out.

mod adapter;
mod all;
mod conversation;
mod home;
mod play;
mod steps;
mod wanted;

pub use adapter::{Adapter, AdapterError, adapter_schema};
pub use all::{Playing, play_all};
pub use conversation::Conversation;
pub use home::Home;
pub use play::{Server, play};
pub use steps::Stop;
