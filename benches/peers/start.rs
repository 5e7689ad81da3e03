//! A server's start.

use crate::{Outcome, Samples, install::Server, process::Process};
use serde_json::json;
use std::{thread, time::Duration};

/// How long a server may put its things in order before it is measured.
pub const PAUSE: Duration = Duration::from_millis(300);

/// From the start of the process to its first answer, and what it holds a moment later.
pub fn measure(server: &Server) -> Outcome<Samples> {
    let mut process = Process::start(server, &[])?;
    process.ask(json!({ "type": "get_state" }))?;
    let wall = process.since.elapsed().as_secs_f64();
    thread::sleep(PAUSE);
    Ok(vec![("wall", wall), ("memory", process.memory("VmRSS")?)])
}
