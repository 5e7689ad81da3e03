//! A session as one HTML page for people, written by `export_html`.
//!
//! A [`Page`] takes plain values and returns one `String`; it reads neither files nor the clock. The page is
//! self-contained: it loads nothing, and its content security policy forbids loading. Everything in a session is
//! shown as text: markup stays letters, and characters that would hide or reorder text are made visible.
//!
//! - `from_tree` builds a [`Page`] from a session's tree; `input` is the page's data.
//! - `layout` divides the tree of entries into straight segments, the leaf's path first; `results` pairs results with
//!   calls; `view` holds both, and labels and titles.
//! - `document` renders the page; `navigation` its table of contents and the links between branches; `controls` what
//!   the script works with: search, filter, buttons; `embedded_file` the session file for readers to keep.
//! - `parts` divides long sessions: their entries are markup that the script makes elements of when it comes near.
//! - `entry`, `message`, `tool` render one entry; `kinds` says what the filter takes it for.
//! - `markdown`, `diff`, `text`, `figures` render texts and numbers.

mod controls;
mod diff;
mod document;
mod embedded_file;
mod entry;
mod figures;
mod from_tree;
mod input;
mod kinds;
mod layout;
mod markdown;
mod message;
mod navigation;
mod parts;
mod results;
mod text;
mod tool;
mod view;

pub use from_tree::{PageOptions, html};
pub use input::{Body, Page, PageEntry};
