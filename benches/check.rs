//! Cost of judging a long recording: `cargo bench --bench check`.
//!
//! A conversation of this server, with thinking, text and tools, is recorded once and repeated until the trace has 20
//! and 200 MB; the release binary judges both. Prints MB/s, frames/s and the peak memory of the process, which
//! must not grow with the trace. `-- --keep` leaves the traces in `target/`.

use serde_json::{Value, json};
use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, BufWriter, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

fn main() {
    let keep = std::env::args().any(|argument| argument == "--keep");
    let conversation = record();
    println!("one conversation: {} records, {} kB", conversation.len(), size(&conversation) / 1000);
    let peaks: Vec<f64> = [20, 200].map(|megabytes| judged(&conversation, megabytes, keep)).to_vec();
    println!("memory at 200 MB / at 20 MB: {:.2}", peaks[1] / peaks[0]);
}

/// Judges a trace of this size three times; returns the peak memory in MB.
fn judged(conversation: &[String], megabytes: usize, keep: bool) -> f64 {
    let (trace, frames) = write(conversation, megabytes * 1_000_000);
    let runs: Vec<(Duration, f64)> = (0..3).map(|_| check(&trace)).collect();
    let best = runs.iter().map(|(took, _)| took.as_secs_f64()).fold(f64::INFINITY, f64::min);
    let peak = runs.iter().map(|(_, peak)| *peak).fold(0.0, f64::max);
    let bytes = fs::metadata(&trace).expect("a trace").len() as f64;
    println!(
        "{megabytes:>4} MB: {:.0} MB/s, {:.0} frames/s, at most {peak:.1} MB of memory",
        bytes / 1e6 / best,
        frames as f64 / best
    );
    if !keep {
        fs::remove_file(&trace).expect("a trace");
    }
    peak
}

/// Time and peak memory of the binary.
fn check(trace: &Path) -> (Duration, f64) {
    let began = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_pi-rpc"))
        .args(["check", "--tier", "must", "--format", "json"])
        .arg(trace)
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary");
    let mut peak = 0.0;
    let status = loop {
        peak = high_water(child.id()).unwrap_or(peak);
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        thread::sleep(Duration::from_millis(5));
    };
    assert!(status.code().is_some_and(|code| code < 2), "the trace can be judged");
    (began.elapsed(), peak)
}

/// Peak memory of a running process in MB.
fn high_water(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<f64>().ok()? / 1000.0)
}

/// Writes the repeated conversation, each time as a new process, as recorded tests do.
fn write(conversation: &[String], bytes: usize) -> (PathBuf, usize) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("check-{}.jsonl", bytes / 1_000_000));
    let mut to = BufWriter::new(File::create(&path).expect("a trace"));
    let times = bytes.div_ceil(size(conversation));
    for line in (0..times).flat_map(|_| conversation) {
        writeln!(to, "{line}").expect("space for the trace");
    }
    to.flush().expect("space for the trace");
    (path, times * conversation.len())
}

fn size(conversation: &[String]) -> usize {
    conversation.iter().map(|line| line.len() + 1).sum()
}

/// Records a conversation with this server, as lines of a trace.
fn record() -> Vec<String> {
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("script.json");
    fs::write(&script, script_text()).expect("a script");
    let mut child = Command::new(env!("CARGO_BIN_EXE_pi-rpc"))
        .args(["serve", "--dialect", "pi", "--no-session", "--thinking", "high"])
        .arg("--model")
        .arg(format!("scripted/{}", script.display()))
        .env("HOME", directory.path())
        .current_dir(directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut trace = vec![line("meta", &json!({ "event": "spawn", "dialect": "pi" }))];
    for id in 0..PROMPTS {
        let prompt = json!({ "id": id.to_string(), "type": "prompt", "message": "Look around." });
        writeln!(stdin, "{prompt}").expect("a server");
        trace.push(line("in", &prompt));
        loop {
            let frame = stdout.next().expect("a frame").expect("a frame");
            let frame: Value = serde_json::from_str(&frame).expect("a frame");
            trace.push(line("out", &frame));
            if frame["type"] == "agent_end" {
                break;
            }
        }
    }
    drop(stdin);
    trace.push(line("meta", &json!({ "event": "stdin closed" })));
    let status = child.wait().expect("a child");
    trace.push(line("meta", &json!({ "event": "exit", "code": status.code() })));
    trace
}

const PROMPTS: usize = 4;

/// Script in which each prompt gets thinking, text and a tool call, then an answer of 4 kB, so that snapshots of all
/// lengths occur.
fn script_text() -> String {
    let turns: Vec<Value> = (0..PROMPTS)
        .flat_map(|_| {
            [
                json!({ "say": [
                    { "thinking": "What is here? ".repeat(30) },
                    { "text": "I look." },
                    { "tool": "bash", "arguments": { "command": "seq 200" } },
                ] }),
                json!({ "say": [{ "text": "The \"files\" are\n\tall here; nothing is missing. ".repeat(100) }] }),
            ]
        })
        .collect();
    json!({ "model": { "reasoning": true }, "turns": turns }).to_string()
}

fn line(direction: &str, frame: &Value) -> String {
    json!({ "t": 0.0, "dir": direction, "frame": frame }).to_string()
}
