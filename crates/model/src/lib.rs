//! Models: requests to them, and the events of their answers.
//!
//! A [`request::ModelRequest`] becomes an HTTP request in the words of an [`api`]; the events of the answer come back
//! through a [`request::Reader`] as [`types::StreamEvent`]s, the same for every provider and for the scripted model.
//!
//! - [`types`]: the events of an answer, as the engine takes them.
//! - [`request`]: a request before any provider's own words, and the trait of readers.
//! - [`convert`]: the conversation in the form that all providers share.
//! - [`api`]: the APIs of real models: [`anthropic`], [`bedrock`], [`google`], [`mistral`], [`openai_azure`],
//!   [`openai_codex`], [`openai_completions`], [`openai_responses`] and [`pi_messages`]; [`compat`]: servers that differ from OpenAI's own.
//! - `http`: requests over the network; `body`: server-sent events; `frames`: binary frames of AWS; `retry`: when a request
//!   is sent again.
//! - [`failure`]: what to do about a failed answer.
//! - [`scripted`]: the built-in model, which plays a demo or a script.

pub mod anthropic;
pub mod api;
pub mod bedrock;
pub mod chatgpt_token;
pub mod compat;
mod context_room;
pub mod convert;
pub mod failure;
pub mod google;
pub mod http_options;
pub mod mistral;
mod openai;
pub mod openai_azure;
pub mod openai_codex;
pub mod openai_completions;
pub mod openai_responses;
pub mod pi_messages;
mod provider;
pub mod request;
pub mod retry;
pub mod scripted;
pub mod sequence;
pub mod sse;
pub mod types;
