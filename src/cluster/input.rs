//! Lines of clients, and what connections ask of a session, as they lie in the stream.

use super::fenced::{header, number};
use async_nats::HeaderMap;
use bytes::Bytes;

/// Names the client.
const CLIENT: &str = "Pi-Rpc-Client";
/// Counts the lines of the client.
const LINE: &str = "Pi-Rpc-Line";
/// What the message is.
const KIND: &str = "Pi-Rpc-Kind";

/// Stands for all clients of a session.
pub const ALL_CLIENTS: &str = "*";

/// A message to the owner of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputMessage {
    /// The client.
    pub client: String,
    /// What it wants.
    pub content: InputContent,
}

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputContent {
    /// A line without its line feed, and how many the client has written with it.
    Line(u64, Bytes),
    /// The end of its input.
    End(u64),
    /// A snapshot in the output.
    Snapshot,
    /// The end of the session.
    Close,
}

impl InputMessage {
    /// The headers, and the payload.
    pub fn encode(&self) -> (HeaderMap, Bytes) {
        let mut headers = HeaderMap::new();
        headers.insert(CLIENT, self.client.as_str());
        let (kind, line, payload) = match &self.content {
            InputContent::Line(line, text) => ("line", Some(line), text.clone()),
            InputContent::End(line) => ("end", Some(line), Bytes::new()),
            InputContent::Snapshot => ("snapshot", None, Bytes::new()),
            InputContent::Close => ("close", None, Bytes::new()),
        };
        headers.insert(KIND, kind);
        if let Some(line) = line {
            headers.insert(LINE, line.to_string());
        }
        (headers, payload)
    }

    /// The id of the message, by which JetStream recognises one that was sent twice; `None`: it may be sent twice.
    pub fn id(&self, session: &str) -> Option<String> {
        match self.content {
            InputContent::Line(line, _) | InputContent::End(line) => {
                Some(format!("{session}:{}:{line}", self.client))
            }
            InputContent::Snapshot | InputContent::Close => None,
        }
    }

    /// The message with these headers; `None`: it is unknown.
    pub fn decode(headers: &HeaderMap, payload: Bytes) -> Option<Self> {
        let content = match header(headers, KIND)? {
            "line" => InputContent::Line(number(headers, LINE)?, payload),
            "end" => InputContent::End(number(headers, LINE)?),
            "snapshot" => InputContent::Snapshot,
            "close" => InputContent::Close,
            _ => return None,
        };
        Some(Self { client: header(headers, CLIENT)?.to_owned(), content })
    }
}
