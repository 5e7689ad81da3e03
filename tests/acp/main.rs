//! `pi-rpc acp`, driven by the official client library over real pipes: every message is valid by ACP's schema, and the oracle
//! finds no fault in the conversation with the server behind it.

mod acp_support;

mod back_pressure;
mod client_terminals;
mod client_tools;
mod dialogs;
mod foreign_agents;
mod mapping;
mod progress;
mod prompts;
mod sessions;
mod settings;
mod steering;
mod wire;
