//! Measurement of consecutive tool calls.

use crate::{
    Outcome, Samples,
    install::{OURS, Server},
    model::{CALLS, Model},
    process::Process,
    start::PAUSE,
    stream::{END, prompt},
};
use serde_json::json;
use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};

/// Measures the seconds per call, with and without the time of the model; for this server, also the command alone.
pub fn measure(server: &Server, model: &Model) -> Outcome<Samples> {
    let mut process = Process::start(server, &[])?;
    process.ask(json!({ "type": "get_state" }))?;
    process.send(&prompt("Hello."))?;
    process.until(END)?;
    process.ask(json!({ "type": "get_state" }))?;
    thread::sleep(PAUSE);
    let since = Instant::now();
    let mut running = Duration::ZERO;
    process.send(&prompt(&model.tools()))?;
    for _ in 0..CALLS {
        process.until(r#""type":"tool_execution_start""#)?;
        let since = Instant::now();
        process.until(r#""type":"tool_execution_end""#)?;
        running += since.elapsed();
    }
    process.until(END)?;
    let each = |time: Duration| time.as_secs_f64() / CALLS as f64;
    let mut samples = vec![("each", each(since.elapsed())), ("running", each(running))];
    drop(process);
    if server.name == OURS {
        samples.push(("alone", each(alone(server)?)));
    }
    Ok(samples)
}

/// Time of the same commands without a server.
fn alone(server: &Server) -> Outcome<Duration> {
    let since = Instant::now();
    for call in 0..CALLS {
        let mut bash = Command::new("bash");
        bash.args(["-c", &format!("true # {call}")]).current_dir(server.directory());
        // Reads both pipes until they end.
        let output = bash.output().map_err(|error| format!("bash: {error}"))?;
        if !output.status.success() {
            return Err("bash fails".to_owned());
        }
    }
    Ok(since.elapsed())
}
