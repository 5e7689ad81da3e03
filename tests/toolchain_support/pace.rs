//! Slowness of this machine, by which deadlines of tests beside other people's programs are stretched.

use std::{
    process::Command,
    sync::OnceLock,
    time::{Duration, Instant},
};

/// Processes that are started for the measurement.
const STARTS: u32 = 40;

/// Duration of these starts on the two quiet cores that the deadlines were chosen for.
const REFERENCE: Duration = Duration::from_millis(60);

/// Slowness of this machine relative to the reference, at least 1. Measured once, at the first call.
pub fn slowness() -> u32 {
    static SLOWNESS: OnceLock<u32> = OnceLock::new();
    *SLOWNESS.get_or_init(|| {
        let started = Instant::now();
        for _ in 0..STARTS {
            Command::new("sh").args(["-c", ":"]).status().expect("sh");
        }
        let factor = started.elapsed().as_millis().div_ceil(REFERENCE.as_millis());
        u32::try_from(factor).unwrap_or(u32::MAX).clamp(1, 60)
    })
}

/// Stretches `deadline` for this machine.
pub fn stretched(deadline: Duration) -> Duration {
    deadline * slowness()
}
