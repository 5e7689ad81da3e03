//! Chance and ids, out of a seed.

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

    /// Chance, for the ids of sessions and entries.
    pub const fn random(&mut self) -> &mut fastrand::Rng {
        &mut self.random
    }

    /// Tells apart what the engine starts.
    pub const fn call(&mut self) -> crate::engine::io::CallId {
        self.calls += 1;
        self.calls
    }

    /// A UUID of version 4.
    pub fn uuid(&mut self) -> String {
        let bytes = self.random.u128(..).to_be_bytes();
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }

    /// 16 hex digits.
    pub fn hex16(&mut self) -> String {
        format!("{:016x}", self.random.u64(..))
    }
}
