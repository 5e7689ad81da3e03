//! Names of the same thing in different dialects: the `renames` of the dialect records, and the commands of the bridges.

use crate::bridges::bridges;
use pi_rpc_protocol::{Base, RpcCommandKind};

/// The name in `to` of what `from` calls `name`.
pub fn renamed(from: Base, to: Base, name: &'static str) -> &'static str {
    let pairs = |base: Base| base.record().renames.iter().filter_map(|pair| pair.split_once('='));
    let original = pairs(from).find(|(_, new)| *new == name).map_or(name, |(old, _)| old);
    pairs(to).find(|(old, _)| *old == original).map_or(original, |(_, new)| new)
}

/// The command of `to` that does what `kind` does in `from`; `None`: it has none.
pub fn renamed_command(from: Base, to: Base, kind: RpcCommandKind) -> Option<RpcCommandKind> {
    let same = |one: &str, other: &str| -> Option<&'static str> {
        bridges().commands.iter().find_map(|(a, b)| match () {
            () if a == one && b != other => Some(b.as_str()),
            () if b == one && a != other => Some(a.as_str()),
            () => None,
        })
    };
    let name = renamed(from, to, kind.as_str());
    let candidates = [Some(name), same(kind.as_str(), name)].into_iter().flatten();
    candidates.filter_map(RpcCommandKind::parse).find(|kind| kind.is_in(to))
}
