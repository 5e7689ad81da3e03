//! The tools that models call, by themselves.
mod tools_support;

mod arguments;
mod bash;
mod edit;
mod find;
mod grep;
mod images;
mod read;
mod shell;
mod write;
