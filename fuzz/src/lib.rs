//! What must hold of whatever comes from outside: a function for each target, which takes any bytes and panics where
//! something does not hold. `fuzz/README.md` says what each of them is for.
//!
//! The targets are these functions for libFuzzer; `tests/fuzz_corpora` of the main crate gives them what is kept in
//! `fuzz/corpus`.

#![forbid(unsafe_code)]

pub mod answers;
pub mod arguments;
pub mod configs;
pub mod conversations;
mod cuts;
pub mod edits;
pub mod frames;
pub mod framing;
pub mod lasting;
mod legal;
pub mod recordings;
pub mod scripts;
pub mod sessions;

#[path = "../../tests/frames_common/mod.rs"]
mod frames_common;
