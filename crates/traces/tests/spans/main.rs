//! The spans of whole conversations, in virtual time.

mod hooks;
mod models;
mod runs;
mod tree;
