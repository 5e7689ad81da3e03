//! The reference of all dialects as one self-contained HTML page. Only the ten lines of the introduction are written by hand.
//!
//! - `schema_index`: the definitions of `schema/`, grouped for readers, with their anchors.
//! - `example`, `json`: a valid example of every definition, and JSON for people.
//! - `document`: the page; `introduction`: the protocol in ten lines; `contents`: the navigation.
//! - `chart`, `shapes`: the drawn state chart; `legality`: dispositions of commands, cases of events; `session`: its members.
//! - `frame`, `fields`: one definition; `dialects`, `rules`, `texts`: the tables.
//! - `inline`: texts, types and marks within a line.

mod chart;
mod contents;
mod dialects;
mod document;
mod example;
mod fields;
mod frame;
mod inline;
mod introduction;
mod legality;
mod rules;
mod schema_index;
mod session;
mod shapes;
mod texts;

pub use chart::chart_drawing;
pub use document::reference_page;
pub use example::Examples;
