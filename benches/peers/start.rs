//! Measurement of the start of a server.

use crate::{Outcome, Samples, install::Server, process::Process};
use serde_json::json;
use std::{thread, time::Duration};

/// Time for a server to settle before its memory is measured.
pub const PAUSE: Duration = Duration::from_millis(300);

/// Measures the time from the start of the process to its first response, and its memory shortly after.
pub fn measure(server: &Server) -> Outcome<Samples> {
    let mut process = Process::start(server, &[])?;
    process.ask(json!({ "type": "get_state" }))?;
    let wall = process.since.elapsed().as_secs_f64();
    thread::sleep(PAUSE);
    Ok(vec![("wall", wall), ("memory", process.memory("VmRSS")?), ("dirty", process.dirty()?)])
}
