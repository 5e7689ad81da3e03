//! Requests to model providers over HTTP.
//!
//! - [`http`]: one request, and the events of its answer as they arrive.
//! - [`body`]: server-sent events; `frames`: binary frames of AWS.
//! - [`google`]: tokens for Google accounts.

pub mod body;
mod frames;
pub mod google;
pub mod http;
mod stray_json;
