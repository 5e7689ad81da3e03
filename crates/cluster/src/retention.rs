//! How many closed sessions stay: beyond that, the ones that were closed longest ago are removed with all that is stored of them.

use super::{
    connection::Connection,
    decisions::retention::surplus,
    fenced::AppendError,
    lease::Lease,
    records::{OwnedRecord, StoredRecord, list_all},
};
use std::time::Duration;
use tokio::task::JoinSet;

/// How often a node looks for sessions to remove.
pub const SWEEP: Duration = Duration::from_secs(10);

/// Sessions that are removed in one sweep.
const MAX_SWEPT: usize = 1024;

/// Sessions that are removed at once.
const MAX_REMOVING: usize = 16;

/// Removes sessions beyond `kept` closed ones. One node does it; where two take themselves for that one, each session is removed by
/// the first of them.
pub async fn remove_surplus(connection: &Connection, lease: &Lease, kept: usize) {
    let is_first = lease.nodes().first().is_some_and(|(id, _)| id == lease.id());
    if !is_first || !lease.is_held() {
        return;
    }
    match list_all(connection).await {
        Ok(records) => sweep(connection, lease, surplus(records, kept)).await,
        Err(error) => tracing::warn!("closed sessions are not listed: {error}"),
    }
}

async fn sweep(connection: &Connection, lease: &Lease, records: Vec<StoredRecord>) {
    let mut removing = JoinSet::new();
    for record in records.into_iter().take(MAX_SWEPT) {
        while removing.len() >= MAX_REMOVING {
            removing.join_next().await;
        }
        let (connection, lease) = (connection.clone(), lease.clone());
        removing.spawn(async move {
            let session = record.session.clone();
            match remove(&connection, record, &lease).await {
                Ok(()) => tracing::info!("session {session}: removed, as so many were closed after it"),
                // A client has opened it meanwhile, or another node removes it.
                Err(AppendError::Fenced) => {}
                Err(error) => tracing::warn!("session {session}: not removed: {error}"),
            }
        });
    }
    while removing.join_next().await.is_some() {}
}

/// Removes a closed session as it was read: from the first write on, no node opens it.
async fn remove(connection: &Connection, stored: StoredRecord, lease: &Lease) -> Result<(), AppendError> {
    let StoredRecord { session, record, revision } = stored;
    if !record.is_removed {
        OwnedRecord::mark_removed(connection, &session, record, revision, lease).await?;
    }
    connection.remove(&session).await;
    Ok(())
}
