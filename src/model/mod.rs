//! Models: what they are asked, what they answer.
//!
//! - [`types`]: the steps of an answer, as the engine takes them.
//! - [`request`]: what a model is asked, and how its answer is read, whoever the provider.
//! - [`convert`]: the conversation as any provider takes it.
//! - [`api`]: the APIs of real models: [`anthropic`], [`openai_completions`] and [`openai_responses`]; [`compat`]: where
//!   those who speak OpenAI's depart from it.
//! - `http`: asking a real model over the network; `body`: the events in what comes back; `retry`: when a request is sent once more.
//! - [`failure`]: what a failed answer calls for.
//! - [`scripted`]: the model that is built in: a demo, and scripts that say what a model would.

pub mod anthropic;
pub mod api;
#[cfg(feature = "serve")]
pub mod body;
pub mod compat;
pub mod convert;
pub mod failure;
#[cfg(feature = "serve")]
pub mod http;
mod openai;
pub mod openai_completions;
pub mod openai_responses;
pub mod request;
#[cfg(feature = "serve")]
pub mod retry;
pub mod scripted;
mod sequence;
mod sse;
pub mod types;
