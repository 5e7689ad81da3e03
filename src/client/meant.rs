//! Which command an error without an id answers.

use crate::protocol::{Dialect, DialectDispatch, RpcCommandKind, RpcErrorResponse};

/// The open command that an error without an id is taken to answer (see [`Client::call`](super::Client::call)); commands are
/// numbered in the order in which they were sent. Where commands overtake each other it is the newest that is not known to
/// take long or not to fail so, else the newest; where they do not it is the oldest (pi and xcsh source).
pub(super) fn meant(
    open: impl Iterator<Item = (u64, RpcCommandKind)>,
    error: &RpcErrorResponse,
    dialect: Dialect,
) -> Option<u64> {
    let named = RpcCommandKind::parse(&error.command);
    let open = open.filter(|(_, kind)| named.is_none_or(|named| named == *kind));
    let meant = match dialect.record().dispatch {
        DialectDispatch::Concurrent => open.max_by_key(|(number, kind)| {
            let unlikely = [RpcCommandKind::Bash, RpcCommandKind::Prompt, RpcCommandKind::GetState];
            (!unlikely.contains(kind), *number)
        }),
        DialectDispatch::SerialWithControlLane => {
            open.min_by_key(|(number, kind)| (kind.is_control(), *number))
        }
    };
    meant.map(|(number, _)| number)
}
