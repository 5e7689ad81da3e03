//! Models: requests and answers of each vendor's API, whole; requests over HTTP.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)] // tests read files

mod model_support;

mod anthropic_request;
mod anthropic_stream;
mod azure_request;
mod bedrock_request;
mod bedrock_stream;
mod blank_parts;
mod cached_prefix;
mod codex_request;
mod convert;
mod failures;
mod google_request;
mod google_stream;
mod mid_conversation;
mod mistral_request;
mod mistral_stream;
mod odd_values;
mod openai_completions_request;
mod openai_completions_stream;
mod openai_responses_request;
mod openai_responses_stream;
mod pi_messages_request;
mod pi_messages_stream;
mod reasoning_details;
mod threads;
mod vertex_request;
