//! Models: what they are asked, what they answer.
//!
//! - [`compat`], [`openai`], [`openai_completions`], [`openai_responses`]: the APIs of OpenAI and of those who speak them.
//! - [`convert`]: the conversation as any provider takes it.
//! - [`sequence`]: blocks one after another.
//! - [`types`]: the steps of an answer, as the engine takes them.
//! - [`request`]: what a model is asked, and how its answer is read, whoever the provider.
//! - [`scripted`]: the model that is built in: a demo, and scripts that say what a model would.

pub mod compat;
pub mod convert;
pub mod openai;
pub mod openai_completions;
pub mod openai_responses;
pub mod request;
pub mod scripted;
pub mod sequence;
pub mod types;
