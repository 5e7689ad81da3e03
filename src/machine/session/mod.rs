//! The model of the session that frames describe: what was said, what it used, what is kept of it.
//!
//! What is only compared is kept as a digest. Everything is unknown until frames tell it, and again where some of them
//! were missed.

pub(super) mod account;
pub(super) mod digest;
pub(super) mod entries;
pub(super) mod fork_points;
pub(super) mod identity;
pub(super) mod listing;
pub(super) mod log;
pub(super) mod message;
pub(super) mod prices;
pub(super) mod shells;
