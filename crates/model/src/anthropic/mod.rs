//! Anthropic Messages (`anthropic-messages`), as the vendor and servers with a compatible API speak it.
//!
//! Source: the vendor's API reference (Messages, streaming); pi source (provider `anthropic`); observed.

mod features;
mod messages;
mod reader;
mod request;
mod thinking;

pub use reader::reader;
pub use request::{kept_effort, request};
