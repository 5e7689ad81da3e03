//! The front between clients and servers of different dialects: `pi-rpc front`.
#![cfg(feature = "serve")]

#[path = "../front_support/mod.rs"]
mod front_support;

mod breakages;
mod by_name;
mod canary;
mod pairs;
mod random;
mod recordings;
