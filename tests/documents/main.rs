//! The documents hold: their commands run, their links lead somewhere, their generated parts are current.
#![cfg(feature = "serve")]

#[path = "../documents_support/mod.rs"]
mod documents_support;

mod commands;
mod generated;
mod links;
