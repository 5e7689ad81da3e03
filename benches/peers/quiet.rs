//! Whether the machine is quiet: what other processes and other machines on the same host take of its processors.

use crate::Outcome;
use std::{
    fs, thread,
    time::{Duration, Instant},
};

/// How long the machine is watched before a measurement.
const WATCHED: Duration = Duration::from_secs(1);

/// The longest wait for a quiet machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// Shares of the processors' time that were taken while nothing was measured.
#[derive(Clone, Copy)]
pub struct Load {
    /// By processes of this machine, in percent.
    pub busy: f64,
    /// By other machines on the same host, in percent.
    pub stolen: f64,
}

impl Load {
    /// Watches the machine for a second, in which neither the servers nor the model have anything to do.
    pub fn watch() -> Outcome<Self> {
        let before = Ticks::now()?;
        thread::sleep(WATCHED);
        let after = Ticks::now()?;
        let all = (after.all - before.all).max(1.0);
        let share = |ticks: f64| 100.0 * ticks / all;
        Ok(Self { busy: share(after.busy - before.busy), stolen: share(after.stolen - before.stolen) })
    }

    /// Waits until [`Self::watch`] finds the machine quiet; an error after ten minutes.
    pub fn wait() -> Outcome<Self> {
        let since = Instant::now();
        loop {
            let load = Self::watch()?;
            if load.is_quiet() {
                return Ok(load);
            }
            if since.elapsed() > PATIENCE {
                return Err(format!("the machine was not quiet for ten minutes: {load}"));
            }
        }
    }

    /// Whether figures measured now may go into the tables.
    pub fn is_quiet(self) -> bool {
        self.busy <= 3.0 && self.stolen <= 1.0
    }
}

impl std::fmt::Display for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "other work took {:.1} % of the processors, other machines {:.1} %", self.busy, self.stolen)
    }
}

/// Time of all processors since the machine started, in the unit of `/proc/stat`.
struct Ticks {
    all: f64,
    busy: f64,
    stolen: f64,
}

impl Ticks {
    fn now() -> Outcome<Self> {
        let text = fs::read_to_string("/proc/stat").map_err(|error| format!("/proc/stat: {error}"))?;
        let line = text.lines().next().unwrap_or_default();
        let fields: Vec<f64> =
            line.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal: proc_stat(5)
        let [user, nice, system, idle, waiting, irq, softirq, stolen, ..] = fields[..] else {
            return Err(format!("/proc/stat has no eight figures of all processors: {line}"));
        };
        let busy = user + nice + system + irq + softirq;
        Ok(Self { all: busy + idle + waiting + stolen, busy, stolen })
    }
}
