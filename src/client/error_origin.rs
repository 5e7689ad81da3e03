//! Which command an error without an id answers.

use crate::protocol::{Dialect, DialectDispatch, RpcCommandKind, RpcErrorResponse};

/// The open command that an error without an id most likely answers (see [`Client::call`](super::Client::call)). `open`:
/// the number of each in the order in which they were sent, and its kind. Where commands overtake each other it is the
/// newest that is not known to take long or not to fail so, else the newest; where they do not, the oldest (pi and xcsh
/// source).
pub(super) fn origin_of_error(
    error: &RpcErrorResponse,
    open: impl Iterator<Item = (u64, RpcCommandKind)>,
    dialect: Dialect,
) -> Option<u64> {
    let named = RpcCommandKind::parse(&error.command);
    let open = open.filter(|(_, kind)| named.is_none_or(|named| named == *kind));
    let origin = match dialect.record().dispatch {
        DialectDispatch::Concurrent => open.max_by_key(|(number, kind)| {
            let unlikely = [RpcCommandKind::Bash, RpcCommandKind::Prompt, RpcCommandKind::GetState];
            (!unlikely.contains(kind), *number)
        }),
        DialectDispatch::SerialWithControlLane => {
            open.min_by_key(|(number, kind)| (kind.is_control(), *number))
        }
    };
    origin.map(|(number, _)| number)
}
