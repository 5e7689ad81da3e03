//! Logins at providers: tokens are renewed in time, once, and nothing that belongs to another is lost.
#![cfg(feature = "serve")]

#[path = "../commands_support/mod.rs"]
mod commands_support;
mod login_support;
#[path = "../configuration/omp_database.rs"]
mod omp_database;
#[path = "../serve_support/mod.rs"]
mod serve_support;

mod commands;
mod database;
mod flows;
mod lock;
mod refresh;
mod served;
mod table;
mod wire;
