//! Which side writes a definition and which reads it: more values for the writer are more cases for the reader.

use crate::parts::reachable;
use pi_rpc_protocol::BUNDLE;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Definitions that the frames of one direction begin with: the union, and its families.
fn families(union: &str) -> Vec<String> {
    let bundle: Value = serde_json::from_str(BUNDLE).unwrap_or_default();
    let branches = bundle["$defs"][union]["oneOf"].as_array().into_iter().flatten();
    let names = branches.filter_map(|branch| branch["$ref"].as_str()?.rsplit('/').next());
    [union].into_iter().chain(names).map(str::to_owned).collect()
}

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
        let of = |roots: &[String]| -> BTreeSet<String> {
            let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
            [a, b].into_iter().flat_map(|defs| reachable(defs, &roots)).collect()
        };
        let session_file = ["SessionHeader", "SessionEntry"].map(str::to_owned);
        let mut written = of(&families("Inbound"));
        let mut read = of(&[&families("Outbound")[..], &session_file[..]].concat());
        let known: BTreeSet<String> = written.union(&read).cloned().collect();
        written.extend(of(&["FromExtension".to_owned()]).difference(&known).cloned());
        read.extend(of(&["ToExtension".to_owned()]).difference(&known).cloned());
        Self { written, read }
    }

    pub fn of(&self, name: &str) -> Direction {
        Direction { written: self.written.contains(name), read: self.read.contains(name) }
    }

    pub fn is_reached(&self, name: &str) -> bool {
        self.written.contains(name) || self.read.contains(name)
    }
}
