//! What a session emits, as it lies in the stream: batches of frames with their numbers, and messages about the session.

use super::fenced::number;
use async_nats::HeaderMap;
use bytes::Bytes;
use pi_rpc_host::WatcherMessage;
use pi_rpc_protocol::{DialogResolvedEvent, SessionEndedEvent, SessionSnapshotEvent};
use serde::{Deserialize, Serialize};

/// The number of the frame before the first one of a batch.
const BEFORE: &str = "Pi-Rpc-Before";
/// The number of the last frame of a batch.
const LAST: &str = "Pi-Rpc-Last";
/// Counts the owners.
const EPOCH: &str = "Pi-Rpc-Epoch";

/// A frame or a message.
#[derive(Clone, Debug)]
pub struct OutputItem {
    /// The client that it is for; `None`: all of them.
    pub to: Option<String>,
    /// What it is.
    pub content: OutputContent,
}

/// What a session emits.
#[derive(Clone, Debug)]
pub enum OutputContent {
    /// A frame, line feed included.
    Frame(Vec<u8>),
    /// A message about the session.
    Message(WatcherMessage),
}

/// A batch as it is read.
#[derive(Debug)]
pub struct Batch {
    /// The number of the frame before the first one.
    pub before: u64,
    /// The number of the last frame.
    pub last: u64,
    /// The items.
    pub items: Vec<OutputItem>,
}

/// The line before the content of an item.
#[derive(Serialize, Deserialize)]
struct Head {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    to: Option<String>,
    kind: Kind,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Frame,
    Snapshot,
    DialogResolved,
    Ended,
}

/// The headers of a batch.
pub fn headers(before: u64, last: u64, epoch: u64) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(BEFORE, before.to_string());
    headers.insert(LAST, last.to_string());
    headers.insert(EPOCH, epoch.to_string());
    headers
}

/// The number of the last frame, and the owner, of a batch with these headers.
pub fn position(headers: &HeaderMap) -> (u64, u64) {
    (number(headers, LAST).unwrap_or_default(), number(headers, EPOCH).unwrap_or_default())
}

/// Encodes an item at the end of a batch. A message that is for one process alone is left out.
pub fn encode(item: &OutputItem, batch: &mut Vec<u8>) {
    let (kind, content) = match &item.content {
        OutputContent::Frame(line) => (Kind::Frame, line.clone()),
        OutputContent::Message(WatcherMessage::Snapshot(event)) => (Kind::Snapshot, json(&**event)),
        OutputContent::Message(WatcherMessage::DialogResolved(event)) => (Kind::DialogResolved, json(event)),
        OutputContent::Message(WatcherMessage::Ended(event)) => (Kind::Ended, json(event)),
        OutputContent::Message(WatcherMessage::Received(_) | WatcherMessage::Response(_)) => return,
    };
    batch.extend(json(&Head { to: item.to.clone(), kind }));
    batch.extend(content);
}

/// The value as a line, line feed included.
fn json(value: &impl Serialize) -> Vec<u8> {
    // Such values always serialize.
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Decodes a batch; what is unknown in it is left out.
pub fn decode(headers: &HeaderMap, payload: &Bytes) -> Batch {
    let before = number(headers, BEFORE).unwrap_or_default();
    let (last, _) = position(headers);
    let mut lines = payload.split_inclusive(|byte| *byte == b'\n');
    let mut items = Vec::new();
    while let (Some(head), Some(line)) = (lines.next(), lines.next()) {
        let Ok(Head { to, kind }) = serde_json::from_slice(head) else { continue };
        let message = match kind {
            Kind::Frame => {
                items.push(OutputItem { to, content: OutputContent::Frame(line.to_vec()) });
                continue;
            }
            Kind::Snapshot => serde_json::from_slice::<SessionSnapshotEvent>(line)
                .map(|event| WatcherMessage::Snapshot(Box::new(event))),
            Kind::DialogResolved => {
                serde_json::from_slice::<DialogResolvedEvent>(line).map(WatcherMessage::DialogResolved)
            }
            Kind::Ended => serde_json::from_slice::<SessionEndedEvent>(line).map(WatcherMessage::Ended),
        };
        match message {
            Ok(message) => items.push(OutputItem { to, content: OutputContent::Message(message) }),
            Err(error) => tracing::error!("a message in the output cannot be read: {error}"),
        }
    }
    Batch { before, last, items }
}
