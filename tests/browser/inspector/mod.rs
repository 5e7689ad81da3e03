//! The page of `pi-rpc inspect` in a real browser, beside a real `pi-rpc inspect`.

mod access;
mod commands;
mod dialogs;
mod frames;
mod hostile;
mod moments;
mod pictures;
pub mod sample;
mod sources;
pub mod support;
