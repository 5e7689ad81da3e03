//! Measurements of commands that need no model.

use crate::{Outcome, Samples, install::Server, process::Process, start::PAUSE};
use serde_json::json;
use std::{
    io::Write as _,
    thread,
    time::{Duration, Instant},
};

const ROUND_TRIPS: usize = 2000;
const AT_ONCE: usize = 10_000;

/// `get_state`, one at a time and then all at once.
pub fn measure(server: &Server) -> Outcome<Samples> {
    let mut process = Process::start(server, &[])?;
    process.ask(json!({ "type": "get_state" }))?;
    thread::sleep(PAUSE);
    for _ in 0..200 {
        process.ask(json!({ "type": "get_state" }))?;
    }
    let mut times = Vec::with_capacity(ROUND_TRIPS);
    for _ in 0..ROUND_TRIPS {
        let since = Instant::now();
        process.ask(json!({ "type": "get_state" }))?;
        times.push(since.elapsed());
    }
    times.sort_unstable();
    let at = |share: usize| times[ROUND_TRIPS * share / 100].as_secs_f64();
    Ok(vec![("median", at(50)), ("p99", at(99)), ("at once", at_once(process)?.as_secs_f64())])
}

fn at_once(mut process: Process) -> Outcome<Duration> {
    let lines: String =
        (0..AT_ONCE).map(|id| format!("{{\"id\":\"{id}\",\"type\":\"get_state\"}}\n")).collect();
    let mut stdin = process.take_stdin()?;
    thread::scope(|scope| {
        let since = Instant::now();
        // If the server hangs, this thread ends together with the process and its pipe.
        let writer = scope.spawn(move || stdin.write_all(lines.as_bytes()).map(|()| stdin));
        let read = process.until_many(r#""command":"get_state""#, AT_ONCE);
        let wall = since.elapsed();
        drop(process);
        let written = writer.join().map_err(|_| "the writer failed".to_owned())?;
        read?;
        written.map(|_| wall).map_err(|error| error.to_string())
    })
}
