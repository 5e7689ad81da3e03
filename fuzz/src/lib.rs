//! Properties that hold for any input from outside: a function for each target, which takes any bytes and panics on
//! a violation. `fuzz/README.md` describes the targets.
//!
//! libFuzzer calls these functions; `tests/fuzz_corpora` of the main crate calls them with the inputs in
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
