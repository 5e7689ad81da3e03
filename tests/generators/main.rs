//! What generators and validators of other languages make of the exported schema, as it is: each reads the same frames
//! and gives back the same values, and refuses the same spoiled ones.
//!
//! `generators/README.md` says which they are. They are installed once, below `target/`; where there is no Node.js or no
//! Python, the test says so.

#[path = "../frames_common/mod.rs"]
mod frames_common;
#[path = "../toolchain_support/mod.rs"]
mod toolchain_support;

mod corpus;
mod deriving;
mod judging;
mod made_up;
mod python;
mod rust;
mod spoiled;
mod typescript;
mod validators;
