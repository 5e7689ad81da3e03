//! Cost of a tap: `cargo bench --bench tap`.
//!
//! Round trips of `get_state` with a server by itself and with one behind a tap that records and judges, turn by turn,
//! so that both see the same machine: the median and the 99th percentile in microseconds, and how much the tap adds.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

const ROUNDS: usize = 4000;

fn main() {
    let dir = tempfile::tempdir().expect("a directory");
    let binary = env!("CARGO_BIN_EXE_pi-rpc");
    let serve = [binary, "serve", "--no-session", "--model", "scripted/demo"];
    let tap = [binary, "tap", "--record", "trace.jsonl", "--report", "report.txt", "--"];
    let mut servers =
        [Server::start(dir.path(), &serve), Server::start(dir.path(), &[&tap[..], &serve].concat())];
    let mut times: [Vec<Duration>; 2] = Default::default();
    for _ in 0..ROUNDS {
        for (server, times) in servers.iter_mut().zip(&mut times) {
            times.push(server.round_trip());
        }
    }
    times.iter_mut().for_each(|times| times.sort());
    let [alone, tapped] = times;
    let micros = |times: &[Duration], part: usize| times[times.len() * part / 100].as_secs_f64() * 1e6;
    for (name, times) in [("alone", &alone), ("tapped", &tapped)] {
        println!("{name:8} median {:7.1} µs   99 % {:7.1} µs", micros(times, 50), micros(times, 99));
    }
    let (alone, tapped) = (micros(&alone, 50), micros(&tapped, 50));
    println!("added    median {:7.1} µs   ratio {:.2}", tapped - alone, tapped / alone);
    servers.into_iter().for_each(Server::end);
}

struct Server {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: String,
}

impl Server {
    fn start(dir: &Path, words: &[&str]) -> Self {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(dir).env("HOME", dir);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a server");
        let stdin = child.stdin.take().expect("a pipe");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut server = Self { child, stdin, stdout, line: String::new() };
        server.round_trip();
        server
    }

    fn round_trip(&mut self) -> Duration {
        let start = Instant::now();
        self.stdin.write_all(b"{\"id\":\"1\",\"type\":\"get_state\"}\n").expect("a reader");
        self.line.clear();
        self.stdout.read_line(&mut self.line).expect("an answer");
        let took = start.elapsed();
        assert!(self.line.contains("\"success\":true"), "{}", self.line);
        took
    }

    fn end(mut self) {
        drop(self.stdin);
        self.child.wait().expect("an end");
    }
}
