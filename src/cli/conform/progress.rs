//! The progress of `conform` on stderr: a bar on a terminal, else a line for each tenth of a long run.

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use pi_rpc_files::harmless::harmless_lines;
use std::{
    io::{self, Write as _},
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

/// The progress of a run.
pub struct Progress {
    /// Hidden unless stderr is a terminal.
    bar: ProgressBar,
    length: usize,
    began: Instant,
    ended: AtomicUsize,
    failures: AtomicUsize,
}

/// The least number of scenarios of which progress is reported without a terminal.
const LONG_RUN: usize = 20;
/// The number of lines that report it.
const LINES: usize = 10;
/// Interval at which the bar's time is redrawn.
const BAR_INTERVAL: Duration = Duration::from_secs(1);
/// A bar with the number of scenarios, the time left, and the scenario that is played.
const TEMPLATE: &str = "{bar:20} {pos}/{len} {left} {msg}";

impl Progress {
    /// The progress of a run of so many scenarios, none of which has begun.
    pub fn begin(length: usize) -> Self {
        let bar = ProgressBar::new(u64::try_from(length).unwrap_or(u64::MAX));
        let style = ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.with_key("left", write_time_left));
        bar.tick();
        if !bar.is_hidden() {
            bar.enable_steady_tick(BAR_INTERVAL);
        }
        let (ended, failures) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { bar, length, began: Instant::now(), ended, failures }
    }

    /// Shows the scenario that begins.
    pub fn start_scenario(&self, name: &str) {
        self.bar.set_message(match self.failures.load(Ordering::Relaxed) {
            0 => name.to_owned(),
            failures => format!("{name}, {failures} failed"),
        });
    }

    /// Counts a scenario that has ended, as failed if it did. Returns the number of failures.
    pub fn end_scenario(&self, name: &str, has_failed: bool) -> usize {
        let failures =
            self.failures.fetch_add(has_failed.into(), Ordering::Relaxed) + usize::from(has_failed);
        let ended = self.ended.fetch_add(1, Ordering::Relaxed) + 1;
        self.bar.inc(1);
        let tenth = |ended: usize| ended * LINES / self.length.max(1);
        if self.bar.is_hidden() && self.length >= LONG_RUN && tenth(ended) > tenth(ended - 1) {
            let left = self.began.elapsed().mul_f64((self.length - ended) as f64 / ended as f64);
            let (length, left) = (self.length, HumanDuration(left));
            self.print(&format!("conform: {ended}/{length} played, {failures} failed, {left} left; {name}"));
        }
        failures
    }

    /// Prints a line above the bar.
    pub fn print(&self, text: &str) {
        // stderr may be closed.
        self.bar.suspend(|| drop(writeln!(io::stderr(), "{}", harmless_lines(text))));
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Writes the time that the rest of the run will take, as far as it can be told.
fn write_time_left(state: &ProgressState, to: &mut dyn std::fmt::Write) {
    // The template ignores errors, too.
    let _ = match state.pos() {
        0 => to.write_str("…"),
        _ => write!(to, "{:#} left", HumanDuration(state.eta())),
    };
}
