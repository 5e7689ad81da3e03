//! The scripted model, and the mock that plays it behind the vendors' HTTP APIs.

#[cfg(feature = "serve")]
mod mock_support;
mod scripted_common;

#[cfg(feature = "serve")]
mod anthropic;
#[cfg(feature = "serve")]
mod azure;
mod bedrock;
#[cfg(feature = "serve")]
mod codex;
#[cfg(feature = "serve")]
mod completions;
#[cfg(feature = "serve")]
mod failures;
#[cfg(feature = "serve")]
mod google;
#[cfg(feature = "serve")]
mod google_tokens;
#[cfg(feature = "serve")]
mod mistral;
mod pi_messages;
#[cfg(feature = "serve")]
mod refusals;
#[cfg(feature = "serve")]
mod responses;
mod scripted_demo;
mod scripted_examples;
mod scripted_failing;
mod scripted_playing;
mod scripted_reading;
