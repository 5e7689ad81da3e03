//! What `pi-rpc schema` prints is what the repository has.

#[path = "../serve_support/mod.rs"]
mod serve_support;
mod text_diff;

mod exported;
mod python_types;
