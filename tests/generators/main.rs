//! Generators and validators of other languages with the exported schema, unmodified: each reads the same frames
//! into the same values, and refuses the same spoiled ones.
//!
//! `generators/README.md` lists them. They are installed once, below `target/`; without Node.js or
//! Python, the test reports that.

#[path = "../frames_common/mod.rs"]
mod frames_common;
#[path = "../toolchain_support/mod.rs"]
mod toolchain_support;

mod corpus;
mod deriving;
mod documents;
mod go;
mod java;
mod judging;
mod made_up;
mod python;
mod rust;
mod spoiled;
mod typescript;
mod validators;
