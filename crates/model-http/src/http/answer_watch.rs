//! What a watcher is shown of an answer: its head, and its events as they came.

use reqwest::Response;
use std::collections::BTreeMap;
use tokio::sync::{mpsc, oneshot};

/// Who is shown an answer before it is read.
#[derive(Debug, Default)]
pub struct AnswerWatch {
    /// Receives its head.
    pub heads: Option<mpsc::Sender<ResponseHead>>,
    /// Receives its events.
    pub events: Option<mpsc::Sender<RawEvent>>,
}

/// An event of an answer as the provider has sent it.
#[derive(Debug)]
pub struct RawEvent {
    /// Its data.
    pub data: String,
    /// Acknowledges the event, so that the answer is read on.
    pub seen: oneshot::Sender<()>,
}

/// Status and headers of an answer.
#[derive(Debug)]
pub struct ResponseHead {
    /// HTTP status.
    pub status: u16,
    /// Headers by lower-case name; values of a repeated one are joined with commas. Values that are no text are left
    /// out.
    pub headers: BTreeMap<String, String>,
    /// Acknowledges the head, so that the answer is read.
    pub seen: oneshot::Sender<()>,
}

impl ResponseHead {
    pub(super) fn of(response: &Response) -> (Self, oneshot::Receiver<()>) {
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in response.headers() {
            let Ok(value) = value.to_str() else { continue };
            let all = headers.entry(name.as_str().to_owned()).or_default();
            if !all.is_empty() {
                all.push_str(", ");
            }
            all.push_str(value);
        }
        let (seen, waits) = oneshot::channel();
        (Self { status: response.status().as_u16(), headers, seen }, waits)
    }
}
