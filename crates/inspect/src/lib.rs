//! The inspector: a page that shows a conversation of a host and a server while it happens, or from a recording.
//!
//! For a command such as `pi-rpc inspect`: [`App::start`] starts or opens what is to be inspected, and a [`PageServer`] serves
//! its page to a browser on the same machine.
//!
//! The page is for one user: the server listens at 127.0.0.1 only, and its address has a token. The inspector judges by the rules
//! of the [oracle](pi_rpc_oracle) and has none of its own. It changes no frame of a conversation, and sends one only when the
//! user of the page does. Memory does not grow with the length of lines.
//!
//! - [`App`], [`Subject`]: an inspection with its source: a [`ServerCommand`], a session of a host ([`HostAccess`]), or a file.
//! - [`PageServer`]: the HTTP server of the page. [`wire`]: its answers; [`contract`](contract()): those as TypeScript types.
//! - [`Index`], [`Span`]: everything that is known of a recording without its texts.
//! - [`copied`], [`CopyForm`]: records in other forms: steps of a scenario, tests with one of the clients.
//!
//! ```text
//! server, host ─→ LiveRecording ─→ private file ┐
//!                                     recording ┴─→ indexer ─→ Index ─→ server ─→ page
//! ```
//!
//! Whatever the source, the records are in a file. A thread (`indexer`) reads them once, in order, judges each and keeps some 60
//! bytes of it in the [`Index`]; texts are read again when they are looked at. A server that writes faster than it is indexed
//! waits at its own pipe.
//!
//! - `facts`, `names`, `frame_head`, `item_index`, `figures`, `index`: what is kept of records. No IO.
//! - `item_view`, `partial_message`, `dispositions`, `copies`, `record_filter`: made from that. No IO.
//! - `recording_file`, `inspection`, `indexer`, `live_recording`: the file and its index, shared.
//! - `command_source`, `host_source`: servers that are started, sessions that are watched.
//! - `rows`, `item_page`, `timing_view`: what the page shows, read from both.
//!
//! ```
//! use pi_rpc_inspect::{Index, Span};
//! use pi_rpc_oracle::View;
//! use pi_rpc_protocol::Dialect;
//! use pi_rpc_recording::read_record;
//!
//! let recording = [
//!     r#"{"t":0,"dir":"meta","frame":{"event":"spawn","argv":["pi"],"server":"pi"}}"#,
//!     r#"{"t":0,"dir":"in","frame":{"id":"1","type":"abort"}}"#,
//!     r#"{"t":2,"dir":"out","frame":{"id":"1","type":"response","command":"abort","success":true}}"#,
//!     r#"{"t":3,"dir":"out","frame":{"id":"1","type":"response","command":"abort","success":true}}"#,
//! ];
//! let mut index = Index::new(Dialect::Pi.into(), View::Both);
//! let mut offset = 0;
//! for line in recording {
//!     index.add(&read_record(line)?, Span { offset, length: line.len() as u32 });
//!     offset += line.len() as u64 + 1;
//! }
//! assert_eq!((index.totals().r#in, index.totals().out), (1, 2));
//! assert_eq!(index.findings()[0].violation.rule.as_str(), "resp-once");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
mod server_index;
mod timing_view;
pub mod wire;

pub use app::{App, Subject};
pub use command_source::ServerCommand;
pub use contract::contract;
pub use copies::{CopyForm, copied};
pub use host_source::HostAccess;
pub use index::{Index, Span};
pub use server::PageServer;
