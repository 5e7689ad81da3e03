//! Random numbers and ids, derived from a seed.

/// Generator of ids. The server seeds it from the system, tests fix the seed.
#[derive(Debug)]
pub struct Ids {
    random: fastrand::Rng,
    calls: u64,
}

impl Ids {
    /// Creates a generator; the same seed gives the same ids.
    pub fn new(seed: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), calls: 0 }
    }

    /// The random number generator, for the ids of sessions and entries.
    pub const fn random(&mut self) -> &mut fastrand::Rng {
        &mut self.random
    }

    /// The next id of a request; never used twice.
    pub const fn call(&mut self) -> crate::io::CallId {
        self.calls += 1;
        self.calls
    }

    /// Generates a UUID of version 4.
    pub fn uuid(&mut self) -> String {
        let bytes = self.random.u128(..).to_be_bytes();
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }

    /// Generates 16 hex digits.
    pub fn hex16(&mut self) -> String {
        format!("{:016x}", self.random.u64(..))
    }
}
