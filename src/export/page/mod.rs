//! The reference of the protocol as one HTML page that stands alone: all dialects, and nothing written by hand
//! but the first ten lines.
//!
//! - `book`: what `schema/` holds, sorted for readers: which family a def belongs to, and where on the page it is.
//! - `example`, `json`: a valid example of every def, and JSON that people read.
//! - `document`: the page; `opening`: the protocol in ten lines; `contents`: the way through it.
//! - `chart`, `drawing`: the states drawn; `legality`: what becomes of a command, when an event comes.
//! - `frame`, `fields`: one def; `dialects`, `rules`, `texts`: the tables.
//! - `words`: what is inside.

mod chart;
mod contents;
mod dialects;
mod document;
mod example;
mod fields;
mod frame;
mod inline;
mod introduction;
mod json;
mod legality;
mod rules;
mod schema_index;
mod session;
mod shapes;
mod texts;

pub use document::reference_page;
pub use example::Examples;
pub(super) use json::pretty;
