//! The status of a host and of those that share sessions with it: hosts, sessions, owners, lag and limits.
//!
//! [`permit`] decides about each row: a principal sees what is its own, and all of it if it sees all.

use super::{
    limits::TokenLimits,
    metrics::METRICS,
    permission::{SessionOwner, permit},
    principal::Principal,
    registry::SessionHost,
    token_file::KnownToken,
    usage::UsageBook,
};
use futures_util::future::join_all;
use pi_rpc_protocol::{ListedSession, SessionStatus};
use pi_rpc_server::wall_ms;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// The status of a host, as a principal may see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostStatus {
    /// Who sees it.
    pub principal: String,
    /// The hosts: for principals that see all.
    pub hosts: Vec<HostRow>,
    /// The sessions.
    pub sessions: Vec<SessionRow>,
    /// The tokens, with what is used of their limits.
    pub limits: Vec<LimitsRow>,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostRow {
    /// Its id in the cluster; `None`: it is alone.
    pub id: Option<String>,
    /// Labels, which say what sessions it takes.
    pub labels: Vec<String>,
    /// Whether it is the one that was asked.
    pub is_this: bool,
    /// What it is doing; `None`: it has not said so.
    pub load: Option<HostLoad>,
}

/// What a host is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostLoad {
    /// Sessions that it runs.
    pub sessions: u64,
    /// Connections of clients.
    pub connections: u64,
    /// Bytes that wait for clients to read them.
    pub pending_bytes: u64,
    /// Deltas that were joined for slow clients since it began.
    pub coalesced_deltas: u64,
    /// Snapshots in place of frames for slow clients since it began.
    pub lag_snapshots: u64,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRow {
    /// The session, as it is listed.
    #[serde(flatten)]
    pub session: ListedSession,
    /// The principal that has opened it.
    pub owner: String,
    /// The id of the host that runs it; `None`: there is none, or but one.
    pub host: Option<String>,
}

/// A token with limits, or one without any that has opened sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitsRow {
    /// The name of its principal.
    pub name: String,
    /// The limits.
    pub limits: TokenLimits,
    /// Sessions that the name has open.
    pub sessions: usize,
    /// Commands that count against the limit now; `None`: it has no limit, or they are not known.
    pub commands: Option<u32>,
    /// Dollars that the name has spent today; `None`: they are not known.
    pub dollars_today: Option<f64>,
}

impl HostLoad {
    /// That of this process, which runs so many sessions.
    pub fn here(sessions: usize) -> Self {
        let (connections, pending_bytes) = METRICS.connections_and_pending();
        let (coalesced_deltas, lag_snapshots) = METRICS.lag();
        Self { sessions: sessions as u64, connections, pending_bytes, coalesced_deltas, lag_snapshots }
    }
}

impl HostStatus {
    /// Reads the status for a principal. `tokens`: those of the host's file.
    pub async fn read(
        host: &SessionHost,
        usage: &UsageBook,
        tokens: Vec<KnownToken>,
        principal: &Principal,
    ) -> Self {
        let open = |row: SessionRow| {
            let owner = row.owner.clone();
            permit(principal, SessionOwner::Opener(&owner), row).ok()
        };
        let all = host.session_rows().await;
        let count = |name: &str| all.iter().filter(|row| row.owner == name).count();
        // A token of another program is not in the file.
        let own = (principal.name.clone(), principal.limits.clone());
        let mut known: Vec<_> = tokens.into_iter().map(|token| (token.name, token.limits)).collect();
        if !known.contains(&own) {
            known.push(own);
        }
        let known = known.into_iter().filter_map(|(name, limits)| {
            let owner = name.clone();
            permit(principal, SessionOwner::Opener(&owner), (name, limits)).ok()
        });
        let limits = join_all(known.map(|known| {
            let (name, limits) = known.into_inner();
            let sessions = count(&name);
            async move {
                let used = usage.used(&name, limits.commands_per_minute, Instant::now(), wall_ms()).await;
                let (commands, dollars_today) = (used.commands, used.dollars);
                LimitsRow { name, limits, sessions, commands, dollars_today }
            }
        }))
        .await;
        let hosts = permit(principal, SessionOwner::NOBODY, host.host_rows());
        let hosts = hosts.map_or_else(|_| Vec::new(), |hosts| hosts.into_inner());
        let sessions = all.into_iter().filter_map(open).map(|row| row.into_inner()).collect();
        Self { principal: principal.name.clone(), hosts, sessions, limits }
    }
}

/// A host that is alone, with what its sessions are doing.
pub fn lone_host(run_here: &[SessionStatus]) -> HostRow {
    HostRow { id: None, labels: Vec::new(), is_this: true, load: Some(HostLoad::here(run_here.len())) }
}
