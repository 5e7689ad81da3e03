//! Conformance with live programs: scenarios played with a server, a proxy that records and judges, a recording played as a server.
//!
//! - [`live`]: plays scenarios with a live server.
//! - [`scenario`]: scenario files.
//! - [`random`]: random conversations from a seed, and their shrinking.
//! - [`tap`]: records and judges between a live host and a live server.
//! - [`replay`]: plays a recording as a server.

mod embedded;
pub mod live;
pub mod random;
pub mod replay;
pub mod scenario;
pub mod tap;
