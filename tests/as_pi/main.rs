//! Comparison with releases of pi from npm: same commands, files, hosts and extensions, same results.
#![cfg(feature = "serve")]

#[path = "../commands_support/mod.rs"]
mod commands_support;
#[path = "../matrix_support/mod.rs"]
mod matrix_support;
#[path = "../peer_support/mod.rs"]
mod peer_support;
#[path = "../serve_support/mod.rs"]
mod serve_support;
#[path = "../surroundings_support/mod.rs"]
mod surroundings_support;
#[path = "../toolchain_support/mod.rs"]
mod toolchain_support;
#[path = "../traces/trace_support/mod.rs"]
mod trace_support;

mod argument_errors;
mod bedrock_requests;
mod cached_conversations;
mod commands;
mod conversation_requests;
mod failure_classes;
mod frames_of_apis;
mod front_clients;
mod google_requests;
mod logins;
mod mistral_requests;
mod omp_client;
mod omp_sessions;
mod openai_requests;
mod provider_requests;
mod radius_requests;
mod request_comparison;
mod request_matrix;
mod rpc_client;
mod sessions;
mod surroundings;
mod trace_typescript;
mod vertex_accounts;
mod vertex_requests;
