//! Closes the run that the owner before did not live to end.

use super::{entries::EntryLog, fenced::AppendError};
use pi_rpc_protocol::Dialect;
use pi_rpc_server::{seed, wall_ms};
use pi_rpc_session::{OpenedSession, Stamp, Write};

/// Appends the end of a run that was cut, as an abort would have.
///
/// # Errors
///
/// Another node has taken the session, NATS refuses it, or the lease has ended.
pub async fn close(
    log: &mut EntryLog,
    opened: Option<&mut OpenedSession>,
    dialect: Dialect,
) -> Result<(), AppendError> {
    let Some(tree) = opened.and_then(|opened| opened.tree.as_mut()) else { return Ok(()) };
    let stamp = Stamp { dialect, wall_ms: wall_ms() };
    let lines = tree.close_cut_run(stamp, &mut fastrand::Rng::with_seed(seed()));
    match lines.is_empty() {
        true => Ok(()),
        false => log.write(&Write::Append(lines.concat().into())).await,
    }
}
