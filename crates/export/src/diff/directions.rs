//! Which side writes a definition and which reads it: more values for the writer are more cases for the reader.

use crate::parts::reachable;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Roots that the client's side writes.
const CLIENT_WRITES: [&str; 6] =
    ["Inbound", "RpcCommand", "RpcExtensionUIResponse", "HostToolUpdate", "HostToolResult", "FromExtension"];

/// Roots that the client's side reads.
const CLIENT_READS: [&str; 11] = [
    "Outbound",
    "RpcResponse",
    "AgentSessionEvent",
    "ExtensionError",
    "ReadyFrame",
    "RpcExtensionUIRequest",
    "HostToolCall",
    "HostToolCancel",
    "ToExtension",
    "SessionHeader",
    "SessionEntry",
];

/// Directions of one definition.
#[derive(Clone, Copy, Default)]
pub struct Direction {
    /// The client's side writes it.
    pub written: bool,
    /// The client's side reads it.
    pub read: bool,
}

/// Directions of all definitions.
pub struct Directions {
    written: BTreeSet<String>,
    read: BTreeSet<String>,
}

impl Directions {
    pub fn new(a: &Map<String, Value>, b: &Map<String, Value>) -> Self {
        // Definitions of hosts take precedence: extensions show dialogs in the server's name.
        let of = |roots: &[&str]| -> BTreeSet<String> {
            [a, b].into_iter().flat_map(|defs| reachable(defs, roots)).collect()
        };
        let is_own = |name: &&&str| ![&"FromExtension", &"ToExtension"].contains(name);
        let (own_written, own_read): (Vec<&str>, Vec<&str>) = (
            CLIENT_WRITES.iter().filter(is_own).copied().collect(),
            CLIENT_READS.iter().filter(is_own).copied().collect(),
        );
        let (mut written, mut read) = (of(&own_written), of(&own_read));
        let known: BTreeSet<String> = written.union(&read).cloned().collect();
        written.extend(of(&CLIENT_WRITES).difference(&known).cloned());
        read.extend(of(&CLIENT_READS).difference(&known).cloned());
        Self { written, read }
    }

    pub fn of(&self, name: &str) -> Direction {
        Direction { written: self.written.contains(name), read: self.read.contains(name) }
    }

    pub fn is_reached(&self, name: &str) -> bool {
        self.written.contains(name) || self.read.contains(name)
    }
}
