//! Ids in the dialect's formats, out of a seed.

use super::Now;
use crate::protocol::{Dialect, DialectIdsSession};

/// Makes ids. The server seeds it from the system, tests fix the seed.
#[derive(Debug)]
pub struct Ids {
    random: fastrand::Rng,
    calls: u64,
}

impl Ids {
    /// The same seed gives the same ids.
    pub fn new(seed: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), calls: 0 }
    }

    /// A session's id.
    pub fn session(&mut self, dialect: Dialect, now: Now) -> String {
        match dialect.record().ids.session {
            DialectIdsSession::Uuid4 => {
                uuid::Builder::from_random_bytes(self.random.u128(..).to_be_bytes()).into_uuid().to_string()
            }
            // Ordered by time: milliseconds in front, chance behind.
            DialectIdsSession::Hex16 => {
                format!("{:016x}", (now.wall << 20) | u64::from(self.random.u32(..1 << 20)))
            }
        }
    }

    /// Tells apart what the engine starts.
    pub const fn call(&mut self) -> super::CallId {
        self.calls += 1;
        self.calls
    }
}
