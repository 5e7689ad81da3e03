//! Many sessions in one process: `cargo bench --bench host [-- --sessions 10000] [--streams 1000] [--seconds 10]
//! [--only PART] [--binary PROGRAM]`.
//!
//! Prints a table: memory of idle sessions and how soon all answer, the way of a delta from the vendor to the client, attaching,
//! coming back, opening long sessions; beside it a process for each session, and pi's. Nothing fails: the goals stand beside
//! the figures.

mod client;
mod host;
mod latencies;
mod processes;
mod vendor;

use client::Client;
use host::Host;
use latencies::{Latencies, milliseconds};
use serde_json::json;
use std::{
    fmt::Write as _,
    fs, thread,
    time::{Duration, Instant},
};
use vendor::Vendor;

/// Connections that share the sessions.
const CONNECTIONS: usize = 8;
/// Interval between the deltas of one stream.
const PACE: Duration = Duration::from_millis(50);
/// Frames that a client misses.
const MISSED: usize = 10_000;
/// Messages of a long session.
const MESSAGES: usize = 10_000;

fn main() {
    let options: Vec<String> = std::env::args().collect();
    let option = |name: &str, otherwise: usize| {
        let at = options.iter().position(|it| it == name);
        let given = at.and_then(|at| options.get(at + 1));
        given.map_or(otherwise, |given| given.parse().unwrap_or_else(|_| panic!("{name}: expected a number")))
    };
    let only = options.iter().position(|it| it == "--only").and_then(|at| options.get(at + 1));
    let wants = |part: &str| only.is_none_or(|only| only == part);
    let mut table = Table::default();
    if wants("idle") {
        idle(option("--sessions", 10_000), &mut table);
    }
    if wants("streaming") {
        streaming(option("--streams", 1000), option("--seconds", 10), &mut table);
    }
    if wants("attach") {
        attaching(&mut table);
    }
    if wants("missed") {
        coming_back(&mut table);
    }
    if wants("long") {
        long_session(&mut table);
    }
    if wants("processes") {
        processes::measure(&mut table);
    }
    println!("\n{}", table.0);
}

/// The rows of the results.
#[derive(Default)]
pub struct Table(String);

impl Table {
    /// Adds a row, and prints it at once.
    pub fn row(&mut self, what: &str, value: &str, goal: &str) {
        println!(
            "{what}: {value}{}",
            if goal.is_empty() { String::new() } else { format!(" (goal {goal})") }
        );
        if self.0.is_empty() {
            self.0.push_str("| | figure | goal |\n|---|---|---|\n");
        }
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "| {what} | {value} | {goal} |");
    }
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}

/// Opens idle sessions, and asks all of them at once.
fn idle(count: usize, table: &mut Table) {
    let host = Host::start(&[], None);
    let mut clients: Vec<Client> = (0..CONNECTIONS).map(|_| host.client()).collect();
    drop(clients[0].open());
    let before = host.memory();
    let began = Instant::now();
    thread::scope(|scope| {
        for (at, client) in clients.iter_mut().enumerate() {
            let count = count / CONNECTIONS + usize::from(at < count % CONNECTIONS);
            scope.spawn(move || client.open_many(count));
        }
    });
    let took = began.elapsed();
    let after = host.memory();
    let rate = count as f64 / took.as_secs_f64();
    table.row(
        &format!("{count} idle sessions: resident memory"),
        &megabytes(after),
        "at most 1,000 MB for 10,000",
    );
    table.row("… of each", &format!("{:.1} kB", (after - before) / count as f64 / 1e3), "");
    table.row("… opened a second", &format!("{rate:.0}"), "");
    let began = Instant::now();
    let last = thread::scope(|scope| {
        let asked: Vec<_> = clients.iter_mut().map(|client| scope.spawn(|| client.ask_all())).collect();
        asked.into_iter().map(|asked| asked.join().expect("a client")).max()
    });
    let took = last.map_or(Duration::ZERO, |last| last.saturating_duration_since(began));
    table.row(
        "… `get_state` of all at once, until the last response",
        &milliseconds(took),
        "at most 1,000 ms for 10,000",
    );
    table.row("… resident memory after that", &megabytes(host.memory()), "");
    table.row("… threads", &host.threads().to_string(), "");
}

/// Streams in many sessions at once, and times each delta from the vendor's write to the client's read.
fn streaming(count: usize, seconds: usize, table: &mut Table) {
    let deltas = seconds * 1000 / PACE.as_millis() as usize;
    let vendor = Vendor::start(deltas, PACE);
    let host = Host::start(&["--no-tools"], Some(vendor.address()));
    let mut clients: Vec<Client> = (0..CONNECTIONS).map(|_| host.client()).collect();
    for (at, client) in clients.iter_mut().enumerate() {
        client.open_many(count / CONNECTIONS + usize::from(at < count % CONNECTIONS));
    }
    let cpu = host.cpu();
    let began = Instant::now();
    let mut all = Latencies::default();
    thread::scope(|scope| {
        let read: Vec<_> =
            clients.iter_mut().map(|client| scope.spawn(|| client.stream_all(&vendor))).collect();
        read.into_iter().for_each(|read| all.add(read.join().expect("a client")));
    });
    let took = began.elapsed();
    let cpu = host.cpu() - cpu;
    let frames = all.len();
    table.row(
        &format!(
            "{count} sessions, {} deltas a second each: median from the vendor's byte to the client's",
            1000 / PACE.as_millis()
        ),
        &milliseconds(all.quantile(0.5)),
        "",
    );
    table.row("… 99th percentile", &milliseconds(all.quantile(0.99)), "at most 50 ms for 1,000");
    table.row("… longest", &milliseconds(all.quantile(1.0)), "");
    table.row("… deltas read, of those sent", &format!("{frames} of {}", count * deltas), "");
    table.row(
        "… processor time of the host for a delta",
        &format!("{:.1} µs", cpu / frames.max(1) as f64 * 1e6),
        "",
    );
    table.row("… cores that the host took", &format!("{:.2}", cpu / took.as_secs_f64()), "");
    table.row("… resident memory", &megabytes(host.memory()), "");
}

/// Attaches to a session, over a connection that is there, and by a new process.
fn attaching(table: &mut Table) {
    let host = Host::start(&[], None);
    let mut client = host.client();
    let session = client.open();
    let mut watcher = host.client();
    let mut times = Latencies::default();
    for id in 0..2000 {
        let began = Instant::now();
        watcher.request(&json!({ "type": "attach_session", "id": id, "sessionId": session }));
        times.push(began.elapsed());
        watcher.request(&json!({ "type": "detach_session", "id": "d", "sessionId": session }));
    }
    table.row("Attaching to a session: median of 2,000", &milliseconds(times.quantile(0.5)), "");
    table.row("… 99th percentile", &milliseconds(times.quantile(0.99)), "");
    let mut times = Latencies::default();
    (0..50).for_each(|_| times.push(host.attach_process(&session)));
    table.row(
        "`pi-rpc attach`, start of the process to the first answer: median of 50",
        &milliseconds(times.quantile(0.5)),
        "",
    );
}

/// Comes back to a session with many frames that were missed.
fn coming_back(table: &mut Table) {
    let script = json!({ "turns": [{ "repeat": true, "say": [{ "deltas": MISSED, "size": 8 }] }] });
    let host = Host::with_script(&script, &["--kept-output", "64000000"]);
    let mut client = host.client();
    let session = client.open();
    client.send(&json!({ "type": "prompt", "id": 1, "message": "Hi", "sessionId": session }));
    let last = client.until("\"agent_settled\"");
    let mut times = Latencies::default();
    for id in 0..10 {
        let mut back = host.client();
        let began = Instant::now();
        back.send(&json!({ "type": "attach_session", "id": id, "sessionId": session, "after": 0 }));
        back.until("\"agent_settled\"");
        times.push(began.elapsed());
    }
    let what = format!("Coming back with {last} missed frames, until the last: median of 10");
    table.row(&what, &milliseconds(times.quantile(0.5)), "");
}

/// Opens a session file with many messages.
fn long_session(table: &mut Table) {
    let host = Host::start(&[], None);
    let path = host.folder().join("long.jsonl");
    fs::write(&path, host::session_of(MESSAGES, host.folder())).expect("a session file");
    let size = fs::metadata(&path).map_or(0, |file| file.len());
    let mut times = Latencies::default();
    let mut client = host.client();
    for _ in 0..10 {
        let began = Instant::now();
        let session = client.open_with(&json!({ "sessionPath": path }));
        times.push(began.elapsed());
        client.request(&json!({ "type": "close_session", "id": "c", "sessionId": session }));
    }
    let what = format!("Opening a session of {MESSAGES} messages ({}): median of 10", megabytes(size as f64));
    table.row(&what, &milliseconds(times.quantile(0.5)), "at most 50 ms");
}
