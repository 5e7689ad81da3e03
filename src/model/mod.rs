//! Models: what they are asked, what they answer.
//!
//! - [`convert`]: the conversation as any provider takes it.
//! - [`types`]: the steps of an answer, as the engine takes them.
//! - [`request`]: what a model is asked, and how its answer is read, whoever the provider.
//! - [`scripted`]: the model that is built in: a demo, and scripts that say what a model would.

pub mod convert;
pub mod request;
pub mod scripted;
pub mod types;
