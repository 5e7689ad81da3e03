//! Measurement of many idle conversations at once.

use crate::{Outcome, Samples, install::Server, process::Process, start::PAUSE};
use serde_json::json;
use std::thread;

/// Name of the figure for a thousand conversations.
pub const THOUSAND: &str = "thousand";

/// Numbers of measured processes, with the names of their figures. Few for peers, as more would have the same result.
pub const fn points(ours: bool) -> &'static [(usize, &'static str)] {
    let points = &[(1, "1"), (2, "2"), (4, "4"), (10, "10"), (30, "30"), (100, "100")];
    if ours { points } else { points.split_at(3).0 }
}

/// Measures the memory of the processes, shared memory counted once, and extrapolates it to a thousand.
pub fn measure(server: &Server) -> Outcome<Samples> {
    let mut processes = Vec::new();
    let mut samples = Vec::new();
    for (count, name) in points(server.is_ours()) {
        while processes.len() < *count {
            let mut process = Process::start(server, &[])?;
            process.ask(json!({ "type": "get_state" }))?;
            processes.push(process);
        }
        thread::sleep(PAUSE);
        let sum: Outcome<f64> = processes.iter().map(Process::share).sum();
        samples.push((*name, sum?));
    }
    let each = samples.last().map_or(0.0, |(_, sum)| sum / processes.len() as f64);
    samples.push((THOUSAND, each * 1000.0));
    Ok(samples)
}
