//! Which nodes are alive, by their heartbeats. Times are durations since this node has begun to listen.

use pi_rpc_host::HostLoad;
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, time::Duration};

/// Leases after which a node that is gone is forgotten.
const FORGOTTEN_AFTER: u32 = 100;

/// Seconds of a lease unless a node says otherwise.
const USUAL_LEASE: u64 = 5;

/// Seconds of the longest lease.
pub const MAX_LEASE: u64 = 3600;

/// What a node says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// Its name, for people.
    pub name: String,
    /// Its labels.
    pub labels: Vec<String>,
    /// Seconds for which others leave it its sessions after the last heartbeat that they have seen.
    #[serde(default = "usual_lease")]
    pub lease_seconds: u64,
}

const fn usual_lease() -> u64 {
    USUAL_LEASE
}

impl Default for NodeInfo {
    fn default() -> Self {
        Self { name: String::new(), labels: Vec::new(), lease_seconds: USUAL_LEASE }
    }
}

/// The longest name of a node, and the longest label, in bytes: both are in each heartbeat.
const MAX_NAME: usize = 256;

/// Labels of a node.
const MAX_LABELS: usize = 64;

impl NodeInfo {
    /// Checks that a heartbeat is short.
    pub(crate) fn check(&self) -> Result<(), String> {
        let labels = self.labels.iter().map(|label| ("--label", label));
        let named = [("--node", &self.name)].into_iter().chain(labels);
        for (option, name) in named {
            if name.len() > MAX_NAME {
                return Err(format!("{option}: expected at most {MAX_NAME} bytes, got {}", name.len()));
            }
        }
        match self.labels.len() {
            count if count > MAX_LABELS => {
                Err(format!("--label: expected at most {MAX_LABELS}, got {count}"))
            }
            _ => Ok(()),
        }
    }

    /// How long others leave it its sessions.
    pub(crate) fn lease(&self) -> Duration {
        // What another node says does not count for longer than this one could say.
        Duration::from_secs(self.lease_seconds.clamp(1, MAX_LEASE))
    }

    /// How long the node goes on without seeing its own heartbeats: shorter than others wait.
    pub(crate) fn own_lease(&self) -> Duration {
        self.lease() * 4 / 5
    }
}

/// The nodes, as one of them has seen them.
#[derive(Clone, Debug)]
pub struct Members {
    /// The lease of a node that was not seen.
    unseen_lease: Duration,
    seen: HashMap<String, Seen>,
}

#[derive(Clone, Debug)]
struct Seen {
    info: NodeInfo,
    load: Option<HostLoad>,
    /// When its lease ends unless another heartbeat comes.
    until: Duration,
}

impl Members {
    /// No node was seen. All are taken for alive until this node has listened for `unseen_lease`.
    pub fn new(unseen_lease: Duration) -> Self {
        Self { unseen_lease, seen: HashMap::new() }
    }

    /// Notes a heartbeat. `leaves`: the node gives its sessions up with it.
    pub fn note(&mut self, node: String, info: NodeInfo, leaves: bool, now: Duration) {
        let until = if leaves { now } else { now + info.lease() };
        self.seen.insert(node, Seen { info, load: None, until });
        // Ids are new with each lease.
        self.seen.retain(|_, seen| now < seen.until + FORGOTTEN_AFTER * seen.info.lease());
    }

    /// Whether a node may own sessions.
    pub fn is_alive(&self, node: &str, now: Duration) -> bool {
        now < self.seen.get(node).map_or(self.unseen_lease, |seen| seen.until)
    }

    /// Notes what a node has said that it is doing.
    pub fn note_load(&mut self, node: &str, load: HostLoad) {
        if let Some(seen) = self.seen.get_mut(node) {
            seen.load = Some(load);
        }
    }

    /// What a node is doing, as it has said last.
    pub fn load(&self, node: &str) -> Option<HostLoad> {
        self.seen.get(node)?.load
    }

    /// Ids of the nodes that are alive, in their order, with what they say of themselves.
    pub fn alive(&self, now: Duration) -> Vec<(String, NodeInfo)> {
        let alive = self.seen.iter().filter(|(_, seen)| now < seen.until);
        let mut nodes: Vec<_> = alive.map(|(id, seen)| (id.clone(), seen.info.clone())).collect();
        nodes.sort_by(|one, other| one.0.cmp(&other.0));
        nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members() -> Members {
        let mut members = Members::new(Duration::from_secs(5));
        members.note("a".to_owned(), NodeInfo::default(), false, Duration::from_secs(1));
        members
    }

    #[test]
    fn node_is_alive_for_its_lease() {
        let members = members();
        let alive = [5, 6].map(|seconds| members.is_alive("a", Duration::from_secs(seconds)));
        assert_eq!(alive, [true, false]);
        assert_eq!(members.alive(Duration::from_secs(5)).len(), 1);
        assert!(members.alive(Duration::from_secs(6)).is_empty());
    }

    #[test]
    fn unseen_node_has_one_lease() {
        let alive = [4, 5].map(|seconds| members().is_alive("b", Duration::from_secs(seconds)));
        assert_eq!(alive, [true, false]);
    }

    #[test]
    fn node_that_leaves_is_gone() {
        let mut members = members();
        members.note("a".to_owned(), NodeInfo::default(), true, Duration::from_secs(2));
        assert!(!members.is_alive("a", Duration::from_secs(2)));
    }

    #[test]
    fn gone_node_is_forgotten() {
        let mut members = members();
        members.note("b".to_owned(), NodeInfo::default(), false, Duration::from_secs(1000));
        assert_eq!(members.seen.len(), 1);
    }
}
