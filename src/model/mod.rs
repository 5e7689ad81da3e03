//! Models: what they are asked, what they answer.
//!
//! - [`types`]: the steps of an answer, as the engine takes them.
//! - [`scripted`]: the model that is built in: a demo, and scripts that say what a model would.

pub mod scripted;
pub mod types;
