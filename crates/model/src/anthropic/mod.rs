//! Anthropic Messages (`anthropic-messages`), as the vendor and servers with a compatible API speak it.
//!
//! Source: the vendor's API reference (Messages, streaming); pi source (provider `anthropic`); observed.

mod features;
pub mod federation;
mod messages;
mod reader;
mod request;
mod thinking;
mod threads;

pub use reader::reader;
pub use request::{kept_effort, request};
pub use threads::Threads;
