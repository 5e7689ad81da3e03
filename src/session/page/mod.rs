//! A session as one HTML page for people, written by `export_html`.
//!
//! A [`Page`] takes plain values and returns one `String`; it reads neither files nor the clock. The page is
//! self-contained: it loads nothing, and its content security policy forbids loading. Everything in a session is
//! shown as text: markup stays letters, and characters that would hide or reorder text are made visible.
//!
//! - `from_tree` builds a [`Page`] from a session's tree; `input` is the page's data.
//! - `layout` divides the tree of entries into straight segments, the leaf's path first; `results` pairs results with
//!   calls; `view` holds both, and labels and titles.
//! - `document` renders the page; `navigation` its table of contents and the links between branches.
//! - `entry`, `message`, `tool` render one entry.
//! - `markdown`, `diff`, `text`, `figures` render texts and numbers.

mod diff;
mod document;
mod entry;
mod figures;
mod from_tree;
mod input;
mod layout;
mod markdown;
mod message;
mod navigation;
mod results;
mod text;
mod tool;
mod view;

pub use from_tree::{PageOptions, html};
pub use input::{Body, Page, PageEntry};
