//! Ids of sessions and of entries.

use pi_rpc_protocol::{Dialect, DialectIdsSession};
use std::sync::Arc;

/// Attempts to draw a free short id before a long one is drawn (source: pi source).
const DRAWS: usize = 100;

/// Draws an entry id that is not `taken`: eight hex digits, or a session id in the dialect's form when the file is so
/// full that a free one is hard to find.
pub fn entry_id(dialect: Dialect, random: &mut fastrand::Rng, taken: impl Fn(&str) -> bool) -> Arc<str> {
    let short = (0..DRAWS).map(|_| format!("{:08x}", random.u32(..))).find(|id| !taken(id));
    let long = || match dialect.record().ids.session {
        DialectIdsSession::Uuid4 | DialectIdsSession::Uuid7 => uuid(random),
        DialectIdsSession::Hex16 => format!("{:016x}", random.u64(..)),
    };
    short.unwrap_or_else(long).into()
}

/// Draws the id of a session that begins at `wall_ms`.
pub fn session_id(dialect: Dialect, wall_ms: u64, random: &mut fastrand::Rng) -> String {
    match dialect.record().ids.session {
        DialectIdsSession::Uuid4 => uuid(random),
        DialectIdsSession::Uuid7 => {
            let mut bytes = [0; 10];
            random.fill(&mut bytes);
            uuid::Builder::from_unix_timestamp_millis(wall_ms, &bytes).into_uuid().to_string()
        }
        // Milliseconds first, so that ids sort by time.
        DialectIdsSession::Hex16 => format!("{:016x}", (wall_ms << 20) | u64::from(random.u32(..1 << 20))),
    }
}

fn uuid(random: &mut fastrand::Rng) -> String {
    uuid::Builder::from_random_bytes(random.u128(..).to_be_bytes()).into_uuid().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_gets_long_ids() {
        let mut random = fastrand::Rng::with_seed(1);
        let long = |dialect, random: &mut fastrand::Rng| entry_id(dialect, random, |id| id.len() == 8);
        assert_eq!(entry_id(Dialect::Pi, &mut random, |_| false).len(), 8);
        assert_eq!(long(Dialect::Pi, &mut random).len(), 36);
        assert_eq!(long(Dialect::Xcsh, &mut random).len(), 16);
    }
}
