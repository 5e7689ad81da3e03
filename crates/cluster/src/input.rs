//! Lines of clients, and what connections ask of a session, as they lie in the stream.

use super::{
    decisions::way_in::ClientMessage,
    fenced::{header, number},
    session_record::{ClientInput, TakenInput},
    tail::{ReadAttempts, Stored},
};
use async_nats::{
    HeaderMap,
    jetstream::stream::{RawMessageErrorKind, Stream},
};
use bytes::{Bytes, BytesMut};
use pi_rpc_host::Principal;
use std::sync::Arc;

/// Names the client.
const CLIENT: &str = "Pi-Rpc-Client";
/// Counts the lines of the client.
const LINE: &str = "Pi-Rpc-Line";
/// Counts the connections of the client.
const ATTACHMENT: &str = "Pi-Rpc-Attachment";
/// Who the client acts for, with the limits of that one, as JSON.
const PRINCIPAL: &str = "Pi-Rpc-Principal";
/// What the message is.
const KIND: &str = "Pi-Rpc-Kind";
/// The stream sequences of the parts of the line, with spaces between them.
const PARTS: &str = "Pi-Rpc-Parts";

/// What a part of a line is.
const PART: &str = "part";

/// Stands for a line whose parts are gone: no command, so that its client gets an error.
const LOST_LINE: &[u8] = b"a line whose parts are no longer in the stream";

/// Stands for all clients of a session.
pub const ALL_CLIENTS: &str = "*";

/// A message to the owner of a session.
#[derive(Clone, Debug)]
pub struct InputMessage {
    /// The client.
    pub client: String,
    /// Who it acts for; `None`: for who has opened the session.
    pub principal: Option<Arc<Principal>>,
    /// What it wants.
    pub content: InputContent,
}

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputContent {
    /// A connection that begins to write, with its number.
    Attach(u64),
    /// A line without its line feed.
    Line(LineNumber, Bytes),
    /// The end of its input, which counts as a line.
    End(LineNumber),
    /// A snapshot in the output.
    Snapshot,
    /// The end of the session.
    Close,
}

/// Which line of a client it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineNumber {
    /// The number of its connection; `None`: a node of an earlier version names none.
    pub attachment: Option<u64>,
    /// How many lines the client has written with this one.
    pub line: u64,
}

impl InputMessage {
    /// The message by its numbers; `None`: it has none.
    pub const fn numbered(&self) -> Option<ClientMessage> {
        match &self.content {
            InputContent::Attach(attachment) => Some(ClientMessage::Attach { attachment: *attachment }),
            InputContent::Line(LineNumber { attachment, line }, _)
            | InputContent::End(LineNumber { attachment, line }) => {
                Some(ClientMessage::Line { attachment: *attachment, line: *line })
            }
            InputContent::Snapshot | InputContent::Close => None,
        }
    }

    /// The headers, and the payload.
    pub fn encode(&self) -> (HeaderMap, Bytes) {
        let mut headers = HeaderMap::new();
        headers.insert(CLIENT, self.client.as_str());
        let (kind, payload) = match &self.content {
            InputContent::Attach(_) => ("attach", Bytes::new()),
            InputContent::Line(_, text) => ("line", text.clone()),
            InputContent::End(_) => ("end", Bytes::new()),
            InputContent::Snapshot => ("snapshot", Bytes::new()),
            InputContent::Close => ("close", Bytes::new()),
        };
        headers.insert(KIND, kind);
        if let Some(principal) = &self.principal {
            // Such a value always serializes.
            headers.insert(PRINCIPAL, serde_json::to_string(&**principal).unwrap_or_default());
        }
        let (attachment, line) = match self.numbered() {
            Some(ClientMessage::Attach { attachment }) => (Some(attachment), None),
            Some(ClientMessage::Line { attachment, line }) => (attachment, Some(line)),
            None => (None, None),
        };
        for (name, number) in [(ATTACHMENT, attachment), (LINE, line)] {
            if let Some(number) = number {
                headers.insert(name, number.to_string());
            }
        }
        (headers, payload)
    }

    /// The id of the message, by which JetStream recognises one that was sent twice; `None`: it may be sent twice.
    pub fn id(&self, session: &str) -> Option<String> {
        match self.numbered()? {
            // Another node may announce a connection with the same number: theirs are two.
            ClientMessage::Attach { .. } => {
                Some(format!("{session}:{}:{:016x}", self.client, pi_rpc_server::seed()))
            }
            ClientMessage::Line { attachment, line } => {
                Some(format!("{session}:{}:{}:{line}", self.client, attachment.unwrap_or_default()))
            }
        }
    }

    /// The message with these headers; `None`: it is unknown.
    pub fn decode(headers: &HeaderMap, payload: Bytes) -> Option<Self> {
        let line =
            || Some(LineNumber { attachment: number(headers, ATTACHMENT), line: number(headers, LINE)? });
        let content = match header(headers, KIND)? {
            "attach" => InputContent::Attach(number(headers, ATTACHMENT)?),
            "line" => InputContent::Line(line()?, payload),
            "end" => InputContent::End(line()?),
            "snapshot" => InputContent::Snapshot,
            "close" => InputContent::Close,
            _ => return None,
        };
        // One that cannot be read may do nothing.
        let principal = match header(headers, PRINCIPAL) {
            Some(text) => Some(Arc::new(serde_json::from_str(text).ok()?)),
            None => None,
        };
        Some(Self { client: header(headers, CLIENT)?.to_owned(), principal, content })
    }
}

/// The headers of the parts of a message with these headers.
pub fn part_headers(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    headers.insert(KIND, PART);
    headers
}

/// Names the parts of a line in the headers of the message that stands for it.
pub fn name_parts(headers: &mut HeaderMap, sequences: &[u64]) {
    let list: Vec<String> = sequences.iter().map(u64::to_string).collect();
    headers.insert(PARTS, list.join(" "));
}

/// Whether the line of a message lies in parts.
pub fn has_parts(stored: &Stored) -> bool {
    header(&stored.headers, PARTS).is_some()
}

/// Puts the line of a message together if it lies in parts. Reading ends behind the part with which it is longer than `max`
/// bytes. A line with a part that is gone becomes one that no client writes.
///
/// # Errors
///
/// NATS does not answer in time.
pub async fn join_parts(stream: &Stream, stored: &mut Stored, max: usize) -> Result<(), String> {
    let Some(parts) = header(&stored.headers, PARTS) else { return Ok(()) };
    let mut line = BytesMut::new();
    for sequence in parts.split(' ') {
        if line.len() > max {
            break;
        }
        let part = match sequence.parse() {
            Ok(sequence) => read_part(stream, sequence, &stored.headers).await?,
            Err(_) => None,
        };
        let Some(part) = part else {
            tracing::error!("{}: a line lacks its part {sequence}", stored.subject);
            line = BytesMut::from(LOST_LINE);
            break;
        };
        line.extend_from_slice(&part);
    }
    stored.payload = line.freeze();
    Ok(())
}

/// A part of the line that a message with these headers stands for; `None`: it is gone. From the leader of the stream: a copy
/// may not have it yet.
async fn read_part(stream: &Stream, sequence: u64, headers: &HeaderMap) -> Result<Option<Bytes>, String> {
    let attempts = ReadAttempts::start();
    loop {
        match stream.get_raw_message(sequence).await {
            Ok(part) => {
                let is_same = |name| header(&part.headers, name) == header(headers, name);
                let is_it = header(&part.headers, KIND) == Some(PART)
                    && [CLIENT, ATTACHMENT, LINE].into_iter().all(is_same);
                return Ok(Some(part.payload).filter(|_| is_it));
            }
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => return Ok(None),
            Err(error) => attempts.wait(error.to_string()).await?,
        }
    }
}

/// What was received from a client by what an owner has taken and what lies behind that in the stream, up to the message with the
/// sequence `before`, without it. From the leader of the stream.
///
/// # Errors
///
/// NATS does not answer in time.
pub async fn client_input(
    stream: &Stream,
    subject: &str,
    taken: &TakenInput,
    client: &str,
    before: u64,
) -> Result<ClientInput, String> {
    let mut input = taken.lines.get(client).copied().unwrap_or_default();
    let mut last = taken.position;
    let attempts = ReadAttempts::start();
    loop {
        let next = stream.raw_message_builder().next_by_subject(subject).sequence(last + 1).send().await;
        match next {
            Ok(message) if message.sequence >= before => return Ok(input),
            Ok(message) => {
                last = message.sequence;
                // The text of a line changes nothing.
                let decoded = InputMessage::decode(&message.headers, Bytes::new());
                if let Some(message) = decoded.filter(|message| message.client == client)
                    && let Some(numbered) = message.numbered()
                {
                    input.admit(numbered);
                }
            }
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => return Ok(input),
            Err(error) => attempts.wait(error.to_string()).await?,
        }
    }
}
