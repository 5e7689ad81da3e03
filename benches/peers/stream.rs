//! Measurements of long answers in many deltas.

use crate::{
    Outcome, Samples, World,
    install::{OURS, Server},
    model,
    process::Process,
    start::PAUSE,
};
use serde_json::{Value, json};
use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
    process::Command,
    thread,
    time::Instant,
};

/// Measures an answer that arrives as fast as possible.
pub fn burst(server: &Server, world: &World<'_>, deltas: u32) -> Outcome<Samples> {
    beside_cat(server, world, deltas, &model::burst(deltas))
}

/// Measures an answer with one delta per millisecond, which leaves time to write each of them.
pub fn paced(server: &Server, world: &World<'_>, deltas: u32) -> Outcome<Samples> {
    beside_cat(server, world, deltas, &model::paced(deltas))
}

/// Measures an answer; for this server, also `cat` with the same lines.
fn beside_cat(server: &Server, world: &World<'_>, deltas: u32, text: &str) -> Outcome<Samples> {
    let mut process = ready(server)?;
    process.reader.lengths = Some(Vec::new());
    let mut samples = answer(&mut process, deltas, text)?;
    let lengths = process.reader.lengths.take().unwrap_or_default();
    drop(process);
    if server.name == OURS {
        samples.push(("cat", cat(world.place, &lengths)?));
    }
    Ok(samples)
}

/// Measures an answer to a host that reads a megabyte per second.
pub fn slow(server: &Server, deltas: u32) -> Outcome<Samples> {
    let mut process = ready(server)?;
    process.reader.slowly = Some(1_000_000);
    answer(&mut process, deltas, &model::burst(deltas))
}

/// Starts a server and waits for its first response.
fn ready(server: &Server) -> Outcome<Process> {
    let mut process = Process::start(server, &[])?;
    process.ask(json!({ "type": "get_state" }))?;
    process.send(&prompt("Hello."))?;
    process.until(END)?;
    process.ask(json!({ "type": "get_state" }))?;
    thread::sleep(PAUSE);
    Ok(process)
}

/// Mark of the last line of an answer.
pub const END: &str = r#""type":"agent_end""#;

/// Prompt command with this text.
pub fn prompt(text: &str) -> Value {
    json!({ "type": "prompt", "message": text })
}

fn answer(process: &mut Process, deltas: u32, text: &str) -> Outcome<Samples> {
    process.reset_peak()?;
    let (bytes, updates, cpu) = (process.reader.bytes, process.reader.updates, process.cpu());
    let since = Instant::now();
    process.send(&prompt(text))?;
    process.until(END)?;
    let wall = since.elapsed().as_secs_f64();
    let cpu = process.cpu().since(&cpu);
    if process.reader.last < (deltas * model::CHARACTERS) as usize {
        return Err(format!("an answer of {} bytes", process.reader.last));
    }
    Ok(vec![
        ("wall", wall),
        ("cpu", cpu),
        ("peak", process.memory("VmHWM")?),
        ("bytes", (process.reader.bytes - bytes) as f64),
        ("updates", (process.reader.updates - updates) as f64),
    ])
}

/// Processor time of `cat` for lines of these lengths, through the same pipe to the same reader.
fn cat(place: &Path, lengths: &[u32]) -> Outcome<f64> {
    let path = place.join("lines");
    write_lines(&path, lengths).map_err(|error| error.to_string())?;
    let mut process = Process::spawn(Command::new("cat").arg(&path))?;
    process.reader.drain(crate::process::LIMIT).map_err(|stop| stop.to_string())?;
    while !process.is_over() {
        thread::yield_now();
    }
    Ok(process.cpu().since(&Default::default()))
}

fn write_lines(path: &Path, lengths: &[u32]) -> std::io::Result<()> {
    let longest = lengths.iter().max().copied().unwrap_or_default();
    let text = vec![b'x'; longest as usize];
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    for length in lengths {
        file.write_all(&text[..*length as usize - 1])?;
        file.write_all(b"\n")?;
    }
    file.flush()
}
