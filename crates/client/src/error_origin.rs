//! Attribution of error responses without an id to their commands.

use pi_rpc_protocol::{Dialect, DialectDispatch, RpcCommandKind, RpcErrorResponse};

/// The outstanding command that an error without an id most likely answers (see [`Client::call`](super::Client::call)).
///
/// `open`: number and kind of each outstanding command, in the order of sending. In dialects with concurrent commands, the
/// newest that is not `bash`, `prompt` or `get_state`, else the newest; in others the oldest (pi and xcsh source).
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
        DialectDispatch::SerialWithControlLane | DialectDispatch::SerialWithConcurrentBash => open
            .min_by_key(|(number, kind)| (kind.is_control() || dialect.runs_beside_others(*kind), *number)),
    };
    origin.map(|(number, _)| number)
}
