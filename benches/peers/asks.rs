//! Measurements of commands that need no model.

use crate::{
    Outcome, Samples,
    install::Server,
    process::{Cpu, Process},
    start::PAUSE,
};
use memchr::memmem::Finder;
use serde_json::json;
use std::{
    io::Write as _,
    process::Command,
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
    let times = round_trips(&mut process, r#""success":true"#)?;
    let cpu = process.cpu();
    let at_once = at_once(process, &cpu)?;
    Ok(vec![("median", at(&times, 50)), ("p99", at(&times, 99)), at_once[0], at_once[1]])
}

/// Median of the same round trips with `cat` in place of a server: what the driver and the pipes take of each.
pub fn echoed() -> Outcome<f64> {
    let mut process = Process::spawn(&mut Command::new("cat"))?;
    Ok(at(&round_trips(&mut process, "get_state")?, 50))
}

/// Times of [`ROUND_TRIPS`] lines, each answered by one whose head has `mark`, in order of length; 200 before them do not count.
fn round_trips(process: &mut Process, mark: &str) -> Outcome<Vec<Duration>> {
    let mark = Finder::new(mark);
    let mut times = Vec::with_capacity(200 + ROUND_TRIPS);
    for _ in 0..200 + ROUND_TRIPS {
        let since = Instant::now();
        process.send_line("{\"id\":\"q\",\"type\":\"get_state\"}\n")?;
        process.next(&mark)?;
        times.push(since.elapsed());
    }
    times.drain(..200);
    times.sort_unstable();
    Ok(times)
}

fn at(times: &[Duration], share: usize) -> f64 {
    times[times.len() * share / 100].as_secs_f64()
}

/// Wall clock and processor time of many commands at once.
fn at_once(mut process: Process, before: &Cpu) -> Outcome<[(&'static str, f64); 2]> {
    let lines: String =
        (0..AT_ONCE).map(|id| format!("{{\"id\":\"{id}\",\"type\":\"get_state\"}}\n")).collect();
    let mut stdin = process.take_stdin()?;
    thread::scope(|scope| {
        let since = Instant::now();
        // If the server hangs, this thread ends together with the process and its pipe.
        let writer = scope.spawn(move || stdin.write_all(lines.as_bytes()).map(|()| stdin));
        let read = process.until_many(r#""command":"get_state""#, AT_ONCE);
        let wall = since.elapsed().as_secs_f64();
        let cpu = process.cpu().since(before);
        drop(process);
        let written = writer.join().map_err(|_| "the writer failed".to_owned())?;
        read?;
        written.map(|_| [("at once", wall), ("at once cpu", cpu)]).map_err(|error| error.to_string())
    })
}
