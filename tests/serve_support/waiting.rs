//! How long tests wait, and how many cases they try.
#![allow(dead_code)] // each test binary uses its part

use std::{
    thread,
    time::{Duration, Instant},
};

/// The only deadline: a guard against hanging, far beyond what anything takes on a busy machine.
pub const TOO_LONG: Duration = Duration::from_secs(180);

/// Whether every case is tried rather than a sample: `PI_RPC_THOROUGH=1`.
pub fn thorough() -> bool {
    std::env::var_os("PI_RPC_THOROUGH").is_some_and(|value| value == "1")
}

/// Every `step`th case, the first among them; all of them if [`thorough`].
pub fn sample<T>(cases: impl IntoIterator<Item = T>, step: usize) -> impl Iterator<Item = T> {
    cases.into_iter().step_by(if thorough() { 1 } else { step })
}

/// Waits until something is the case.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < TOO_LONG, "never: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}
