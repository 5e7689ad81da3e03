//! The inspector: a page that shows a conversation of a host and a server while it happens, or from a recording.
//!
//! ```text
//! server, host ─→ LiveRecording ─→ private file ┐
//!                                     recording ┴─→ indexer ─→ Index ─→ server ─→ page
//! ```
//!
//! Whatever the source, the records are in a file. A thread ([`indexer`](self)) reads them once, in order, judges each and
//! keeps some 60 bytes of it in the [`Index`]; texts are read again when they are looked at. So memory does not grow with
//! the length of lines, and a server that writes faster than it is indexed waits at its own pipe.
//!
//! - `facts`, `names`, `frame_head`, `item_index`, `figures`, `index`: what is kept of records. No IO.
//! - `item_view`, `partial_message`, `dispositions`, `copies`, `record_filter`: made from that. No IO.
//! - `recording_file`, `inspection`, `indexer`, `live_recording`: the file and its index, shared.
//! - `command_source`, `host_source`: servers that are started, sessions that are watched.
//! - `rows`, `item_page`, `timing_view`: what the page shows, read from both.
//! - `app`, `server`: the page's requests; `wire`: its answers; `contract`: those as TypeScript types.

mod app;
mod command_source;
mod contract;
mod copies;
mod dispositions;
mod facts;
mod figures;
mod frame_head;
mod host_source;
mod index;
mod indexer;
mod inspection;
mod item_index;
mod item_page;
mod item_view;
mod live_recording;
mod names;
mod page;
mod partial_message;
mod record_filter;
mod recording_file;
mod rows;
mod scripts;
mod sender;
mod server;
mod timing_view;
pub mod wire;

pub use app::{App, Subject};
pub use command_source::ServerCommand;
pub use contract::contract;
pub use copies::{CopyForm, copied};
pub use host_source::HostAccess;
pub use index::{Index, Span};
pub use server::PageServer;
