//! Models: requests to them in the words of each vendor's API, and the events of their answers.
//!
//! For programs that call models of several vendors and bring their own HTTP, or want none: a [`request::ModelRequest`] becomes
//! an HTTP request in the words of an [`api`]; the events of the answer come back through a [`request::Reader`] as
//! [`types::StreamEvent`]s, the same for every provider and for the scripted model.
//!
//! This crate sends nothing, reads no file and no clock, and looks for no key: credentials come with the request. The crate
//! `pi-rpc-model-http` sends the requests, the crate `pi-rpc-config` resolves the credentials.
//!
//! - [`types`]: the events of an answer, as the engine takes them.
//! - [`request`]: a request before any provider's own words, and the trait of readers.
//! - [`convert`]: the conversation in the form that all providers share; [`transcript`]: changes of instructions and tools in it.
//! - [`api`]: the APIs of real models: [`anthropic`], [`bedrock`], [`google`], [`mistral`], [`openai_azure`],
//!   [`openai_codex`], [`openai_completions`], [`openai_responses`] and [`pi_messages`]; [`compat`]: servers that differ from
//!   OpenAI's own.
//! - [`sse`]: the data of server-sent events; [`sequence`]: blocks one after another where a provider interleaves them.
//! - [`failure`], [`retry`], [`http_options`]: what to do about a failed answer, and when a request is sent again.
//! - [`other_models`]: classifiers and models that make images, which scripts run.
//! - [`scripted`]: the built-in model, which plays a demo or a script.
//!
//! ```
//! use pi_rpc_model::{api::Api, request::{Credentials, Endpoint, ModelRequest, RequestOptions}, types::{Finish, StreamEvent}};
//! use pi_rpc_protocol::ThinkingLevel;
//! use serde_json::json;
//!
//! let model = serde_json::from_value(json!({
//!     "id": "claude-x", "name": "X", "api": "anthropic-messages", "provider": "anthropic", "baseUrl": "https://api.example",
//!     "reasoning": false, "input": ["text"], "cost": { "input": 3, "output": 15, "cacheRead": 0, "cacheWrite": 0 },
//!     "contextWindow": 200_000, "maxTokens": 8192,
//! }))?;
//! let endpoint = Endpoint { model, levels: vec![ThinkingLevel::Off], efforts: Default::default(), adaptive: false };
//! let options = RequestOptions { budgets: Default::default(), blocks_images: false, caches_long: false };
//! let api = Api::parse(&endpoint.model.api).unwrap();
//! let request = api.request(&ModelRequest {
//!     endpoint: &endpoint, credentials: &Credentials::default(), max_answer_tokens: None, level: ThinkingLevel::Off,
//!     system_prompt: "Be brief.", messages: &[], has_system_messages: false, tools: &[],
//!     forced_tool: None, session_id: "", options: &options,
//! });
//! assert!(request.url.starts_with("https://api.example/v1/messages"));
//!
//! let mut reader = api.reader_for(&endpoint.model);
//! reader.event("message_delta", r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#);
//! let events = reader.event("message_stop", r#"{"type":"message_stop"}"#);
//! assert_eq!(events.last(), Some(&StreamEvent::Finish(Finish::Stop)));
//! # Ok::<(), serde_json::Error>(())
//! ```

pub mod anthropic;
pub mod api;
pub mod bedrock;
pub mod chatgpt_token;
pub mod compat;
pub mod compat_defaults;
mod context_room;
pub mod convert;
pub mod failure;
pub mod followed_answer;
pub mod google;
mod held_prefix;
pub mod http_options;
pub mod mistral;
mod openai;
pub mod openai_azure;
pub mod openai_codex;
pub mod openai_completions;
pub mod openai_responses;
mod openrouter_cost;
pub mod other_models;
pub mod pi_messages;
mod provider;
pub mod request;
pub mod retry;
pub mod scripted;
pub mod sequence;
mod service_tiers;
pub mod sse;
pub mod transcript;
pub mod types;
