//! Requests over HTTP: connections, retries, tokens of accounts, keys in texts.

mod http_support;
#[allow(dead_code)] // these tests use a part
#[path = "../../../model/tests/model/model_support/mod.rs"]
mod model_support;

mod google_account;
mod google_token;
mod http_ask;
mod http_bodies;
mod http_environment;
mod http_exchange;
mod http_federation;
mod http_retries;
mod http_sockets;
