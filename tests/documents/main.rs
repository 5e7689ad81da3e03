//! The documents hold: their commands run, their links lead somewhere, their generated parts are current, their recipes apply,
//! tests have names as CONTRIBUTING.md asks.
#![cfg(feature = "serve")]

#[path = "../documents_support/mod.rs"]
mod documents_support;

mod commands;
mod conformance;
mod front_pairs;
mod generated;
mod links;
mod llms;
mod measured;
mod metrics;
mod recipes;
mod surroundings;
mod test_names;
mod tried;
