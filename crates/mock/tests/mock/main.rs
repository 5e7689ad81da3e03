//! The scripted model, and the mock that plays it behind the vendors' HTTP APIs.

mod mock_support;
mod scripted_common;

mod anthropic;
mod azure;
mod bedrock;
mod codex;
mod completions;
mod failures;
mod google;
mod google_tokens;
mod mistral;
mod pi_messages;
mod refusals;
mod responses;
mod scripted_demo;
mod scripted_examples;
mod scripted_failing;
mod scripted_playing;
mod scripted_reading;
