//! Which commands wait for one another, by the dialect's `dispatch`.

use crate::{Dialect, DialectDispatch, RpcCommandKind};

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
}
