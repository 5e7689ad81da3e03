//! Conformance with live programs: scenarios played with a server, a proxy that records and judges, a recording played as a server.
//!
//! - [`live`]: plays scenarios with a live server.
//! - [`tap`]: records and judges between a live host and a live server.
//! - [`replay`]: plays a recording as a server.

pub mod live;
pub mod replay;
pub mod tap;
