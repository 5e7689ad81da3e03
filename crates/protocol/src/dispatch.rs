//! Which commands wait for one another, and which one an error without an id answers, by the dialect's `dispatch`.

use crate::{Dialect, DialectDispatch, RpcCommandKind, RpcErrorResponse};

impl Dialect {
    /// Whether commands are served one after another, except for those that overtake or run beside the others.
    pub fn is_serial(self) -> bool {
        self.record().dispatch != DialectDispatch::Concurrent
    }

    /// Whether a command of this kind holds up none of the commands behind it, in a dialect that serves the others one
    /// after another.
    pub fn runs_beside_others(self, kind: RpcCommandKind) -> bool {
        let are_shells_concurrent = self.record().dispatch == DialectDispatch::SerialWithConcurrentBash;
        are_shells_concurrent && kind == RpcCommandKind::Bash
    }

    /// The outstanding command that an error without an id most likely answers.
    ///
    /// `open`: number and kind of each outstanding command, in the order of sending. In dialects with concurrent commands, the
    /// newest that is not `bash`, `prompt` or `get_state`, else the newest; in others the oldest (pi and xcsh source).
    pub fn origin_of_error(
        self,
        error: &RpcErrorResponse,
        open: impl Iterator<Item = (u64, RpcCommandKind)>,
    ) -> Option<u64> {
        let named = RpcCommandKind::parse(&error.command);
        let open = open.filter(|(_, kind)| named.is_none_or(|named| named == *kind));
        let origin = match self.record().dispatch {
            DialectDispatch::Concurrent => open.max_by_key(|(number, kind)| {
                let unlikely = [RpcCommandKind::Bash, RpcCommandKind::Prompt, RpcCommandKind::GetState];
                (!unlikely.contains(kind), *number)
            }),
            DialectDispatch::SerialWithControlLane | DialectDispatch::SerialWithConcurrentBash => open
                .min_by_key(|(number, kind)| (kind.is_control() || self.runs_beside_others(*kind), *number)),
        };
        origin.map(|(number, _)| number)
    }
}
