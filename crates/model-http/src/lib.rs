//! Requests to model providers over HTTP.
//!
//! For programs that have a request in a vendor's form (the crate [`pi_rpc_model`]) and want the events of its answer:
//! [`Http::stream_answer`](http::Http::stream_answer) sends it, retries where the vendor allows it, and ends with exactly one
//! `Finish` or `Fail`.
//!
//! This crate knows no vendor's words: requests and readers come from [`pi_rpc_model`]. It stores nothing, follows no redirect,
//! and redacts known keys in the texts of failures. It reads files and variables only for authorities, proxies and the accounts
//! of AWS and Google.
//!
//! - [`http`]: one request, and the events of its answer as they arrive.
//! - [`body`]: server-sent events; `frames`: binary frames of AWS; `decoder`: bodies that are compressed unasked.
//! - [`google`]: tokens for Google accounts.
//!
//! ```
//! use bytes::Bytes;
//! use futures_util::{StreamExt as _, stream};
//! use pi_rpc_model_http::body::{ServerSentEvent, events};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! // The pieces of a body end anywhere.
//! let pieces = ["event: pi", "ng\ndata: {\"a\"", ":1}\n", "\n"].map(|piece| Ok(Bytes::from(piece)));
//! let read: Vec<_> = events(stream::iter(pieces)).collect().await;
//! let ping = ServerSentEvent { name: "ping".to_owned(), data: "{\"a\":1}".to_owned() };
//! assert_eq!(read, [Ok(ping)]);
//! # }
//! ```
//!
//! A whole request needs a provider:
//!
//! ```no_run
//! use pi_rpc_model::{http_options::HttpOptions, request::{HttpRequest, Reader}};
//! use pi_rpc_model_http::http::Http;
//!
//! # async fn ask(request: HttpRequest, reader: Box<dyn Reader>, options: HttpOptions) {
//! let (http, (sender, mut events)) = (Http::default(), tokio::sync::mpsc::channel(16));
//! let print = async { while let Some(event) = events.recv().await { println!("{event:?}"); } };
//! tokio::join!(http.stream_answer(request, reader, &options, sender), print);
//! # }
//! ```

pub mod body;
mod decoder;
mod frames;
pub mod google;
pub mod http;
#[cfg(test)]
mod odd_streams;
mod stray_json;
