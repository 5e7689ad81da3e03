//! A session as one HTML page for people: what `export_html` writes.
//!
//! A [`Page`] is plain values in, one `String` out; it knows no file and no clock. The page stands alone: nothing in it
//! is loaded from elsewhere, and its content security policy lets nothing be. Whatever a session holds is shown as text:
//! markup in it stays letters, and characters that would hide or reorder others are written out.
//!
//! - `layout`: the tree of entries laid out as straight segments, the leaf's path first; `results`: which result belongs to
//!   which call; `view`: both, and what else has to be known of the whole.
//! - `from_tree`: the page of a session as it is kept; `input`: what any page is made from.
//! - `document`: the page; `navigation`: the way through the tree.
//! - `entry`, `message`, `tool`: what one entry looks like.
//! - `markdown`, `diff`, `text`, `figures`: what is inside.

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
