//! Deadlines of tests, and the number of tried cases.
#![allow(dead_code)] // each test binary uses its part

use std::{
    sync::Mutex,
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

/// Tries the cases, some concurrently, as most of a case is waiting; returns their number.
pub fn at_once<T: Send>(cases: impl Iterator<Item = T> + Send, test: impl Fn(T) + Sync) -> usize {
    let cases = Mutex::new(cases);
    let next = || cases.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
    thread::scope(|scope| {
        let workers = [(); 6].map(|()| scope.spawn(|| std::iter::from_fn(next).map(&test).count()));
        workers.into_iter().map(|worker| worker.join().expect("each case passes")).sum()
    })
}

/// Every pair of the two, the second changing faster.
pub fn pairs<A: Clone, B: Clone>(firsts: &[A], seconds: &[B]) -> Vec<(A, B)> {
    let of = |first: &A| seconds.iter().map(|second| (first.clone(), second.clone())).collect::<Vec<_>>();
    firsts.iter().flat_map(of).collect()
}

/// Waits until a condition holds.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < TOO_LONG, "never: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}
