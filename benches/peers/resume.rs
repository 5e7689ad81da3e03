//! Measurements of sessions with many messages.

use crate::{
    Outcome, Samples,
    install::{OMP, Server},
    process::Process,
    start::PAUSE,
};
use serde_json::{Value, json};
use std::{
    fs::File,
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

/// Measures switching to a session and starting with it, each with its messages.
pub fn measure(server: &Server, place: &Path, messages: u32) -> Outcome<Samples> {
    // Responses of omp are limited to a megabyte, so it returns messages by pages only.
    let whole = server.name != OMP;
    let mut samples = switched(server, &session(place, server, messages)?, whole)?;
    if whole {
        samples.push(("start", started(server, &session(place, server, messages)?)?));
    }
    Ok(samples)
}

fn switched(server: &Server, path: &Path, whole: bool) -> Outcome<Samples> {
    let mut process = Process::start(server, &[])?;
    process.ask(json!({ "type": "get_state" }))?;
    thread::sleep(PAUSE);
    let since = Instant::now();
    process.ask(json!({ "type": "switch_session", "sessionPath": path }))?;
    let mut samples = vec![("switch", since.elapsed().as_secs_f64())];
    if whole {
        let since = Instant::now();
        all_messages(&mut process, path)?;
        samples.push(("messages", since.elapsed().as_secs_f64()));
    }
    Ok(samples)
}

fn started(server: &Server, path: &Path) -> Outcome<f64> {
    let file = path.to_str().ok_or("the path is no text")?;
    let mut process = Process::start(server, &["--session", file])?;
    all_messages(&mut process, path)?;
    Ok(process.since.elapsed().as_secs_f64())
}

fn all_messages(process: &mut Process, path: &Path) -> Outcome<()> {
    let before = process.reader.bytes;
    process.ask(json!({ "type": "get_messages" }))?;
    let bytes = process.reader.bytes - before;
    let file = path.metadata().map_err(|error| error.to_string())?.len();
    // An entry is less than half data other than its message.
    if bytes > file / 2 { Ok(()) } else { Err(format!("{bytes} bytes of messages, and the file has {file}")) }
}

/// Writes a new session of the working directory of the server.
fn session(place: &Path, server: &Server, messages: u32) -> Outcome<PathBuf> {
    let path = place.join("session.jsonl");
    write(&path, &server.directory(), messages).map_err(|error| error.to_string())?;
    Ok(path)
}

/// Writes a session with about 500 bytes per message.
fn write(path: &Path, directory: &Path, messages: u32) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let time = "2026-02-01T00:00:00.000Z";
    let id = "0198c0de-0000-7000-8000-000000000001";
    writeln!(
        file,
        "{}",
        json!({ "type": "session", "version": 3, "id": id, "timestamp": time, "cwd": directory })
    )?;
    for number in 0..messages {
        let parent = number.checked_sub(1).map(entry);
        let message = if number % 2 == 0 { question(number) } else { answer(number) };
        let id = entry(number);
        let entry =
            json!({ "type": "message", "id": id, "parentId": parent, "timestamp": time, "message": message });
        writeln!(file, "{entry}")?;
    }
    file.flush()
}

fn entry(number: u32) -> String {
    format!("{:08x}", 0x1000_0000 + number)
}

fn question(number: u32) -> Value {
    let text = format!("Question {number}: {}", "what became of the \"second\" pipe? ".repeat(9));
    json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": 1_769_904_000_000_u64 })
}

fn answer(number: u32) -> Value {
    let text = format!("Answer {number}.\n{}", "It was closed. ".repeat(8));
    let cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 });
    json!({
        "role": "assistant", "content": [{ "type": "text", "text": text }],
        "api": "anthropic-messages", "provider": "fake", "model": "fake-1",
        "usage": { "input": 100, "output": 50, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 150, "cost": cost },
        "stopReason": "stop", "timestamp": 1_769_904_000_000_u64,
    })
}
