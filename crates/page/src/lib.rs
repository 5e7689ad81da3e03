//! A session as one HTML page for people, written by `export_html`.
//!
//! For programs that show or archive sessions: [`html`](html()) renders a session's tree, a [`Page`] takes plain values from
//! anywhere else. Both return one `String`.
//!
//! This crate reads neither files nor the clock, and writes nothing. The page is self-contained: it loads nothing, and its
//! content security policy forbids loading. Everything in a session is shown as text: markup stays letters, and characters that
//! would hide or reorder text are made visible.
//!
//! - [`html`](html()), [`PageOptions`]: a session's [`Tree`](pi_rpc_session::Tree) as a page.
//! - [`Page`], [`PageEntry`], [`Body`]: the page's data.
//!
//! How a page comes about:
//!
//! - `from_tree` builds a [`Page`] from a session's tree; `input` is the page's data.
//! - `layout` divides the tree of entries into straight segments, the leaf's path first; `results` pairs results with
//!   calls; `view` holds both, and labels and titles.
//! - `document` renders the page; `navigation` its table of contents and the links between branches; `controls` what
//!   the script works with: search, filter, buttons; `embedded_file` the session file for readers to keep.
//! - `parts` divides long sessions: their entries are markup that the script makes elements of when it comes near.
//! - `entry`, `message`, `tool` render one entry; `kinds` says what the filter takes it for.
//! - `markdown`, `diff`, `text`, `figures` render texts and numbers.
//!
//! ```
//! use pi_rpc_page::{Body, Page, PageEntry};
//! use std::sync::Arc;
//!
//! let message = serde_json::from_str(r#"{"role":"user","content":"Is <b> a tag?","timestamp":1767225600000}"#)?;
//! let entry = PageEntry {
//!     id: "e1".to_owned(),
//!     parent: None,
//!     at: 1_767_225_600_000,
//!     line: None,
//!     body: Body::Message(Arc::new(message)),
//! };
//! let page = Page { session: "s1".to_owned(), cwd: "/work".to_owned(), entries: vec![entry], ..Page::default() };
//! let html = page.html();
//! assert!(html.starts_with("<!DOCTYPE html>") && html.contains("Is &lt;b&gt; a tag?"));
//! # Ok::<(), serde_json::Error>(())
//! ```

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
