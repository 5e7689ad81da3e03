//! Cost of large session files: `cargo bench --bench sessions`.
//!
//! One file of 100,000 entries, one with an entry of 20 MB and one of 10,000 short messages, read, switched to, forked,
//! named and gone on with by the release binary in both dialects: milliseconds from a command to the last byte of its
//! answer, and the most memory that the process has had until then. `-- --entries 10000` for a smaller file. `-- --peer
//! 'pi:node cli.js --mode rpc'` also runs another program on the same files, `pi` being the dialect that it speaks;
//! what it needs to start without a key is put into its home.

use fastrand::Rng;
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, BufWriter, Write as _},
    ops::Range,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Instant,
};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let after = |name: &str| arguments.iter().skip_while(|word| *word != name).nth(1);
    let entries = after("--entries").map_or(100_000, |number| number.parse().expect("a number"));
    let dir = tempfile::tempdir().expect("a directory");
    prepare(dir.path());
    let files = [
        many(dir.path(), "many", entries, 1000..5000),
        long(dir.path()),
        many(dir.path(), "short", 10_000, 50..450),
    ];
    let own = ["pi", "xcsh"].map(|dialect| {
        let line = format!(
            "{} serve --model scripted/script.json --dialect {dialect}",
            env!("CARGO_BIN_EXE_pi-rpc")
        );
        (dialect.to_owned(), line)
    });
    let peer = after("--peer").map(|text| {
        let (dialect, line) = text.split_once(':').expect("a dialect before the command");
        (dialect.to_owned(), format!("{line} --provider fake --model model"))
    });
    for (dialect, line) in own.into_iter().chain(peer) {
        for file in &files {
            println!("\n{line}\n{} ({} MB)", file.display(), size(file) / 1_000_000);
            let file = copy(dir.path(), file);
            told(&line, dir.path(), &file);
            started(&dialect, &line, dir.path(), &file);
            switched(&line, dir.path(), &file);
            fs::remove_dir_all(dir.path().join(FOLDER)).expect("a folder of sessions");
            fs::remove_file(file).expect("a copy");
        }
    }
}

/// Directory of new sessions.
const FOLDER: &str = "kept";

/// Measures a server that starts with the file and returns its messages.
fn told(line: &str, dir: &Path, file: &Path) {
    let mut server = Server::start(line, dir, &["--session", file.to_str().expect("UTF-8")]);
    server.step("start and get_messages", json!({ "type": "get_messages" }));
    server.end();
}

/// Measures all commands with a server that starts with the file.
fn started(dialect: &str, line: &str, dir: &Path, file: &Path) {
    let mut server = Server::start(line, dir, &["--session", file.to_str().expect("UTF-8")]);
    server.step("start with --session", json!({ "type": "get_state" }));
    server.step("get_messages", json!({ "type": "get_messages" }));
    server.step("get_messages again", json!({ "type": "get_messages" }));
    server.step("get_session_stats", json!({ "type": "get_session_stats" }));
    server.step("set_session_name", json!({ "type": "set_session_name", "name": "A name" }));
    if !line.contains("--provider fake") {
        server.step("a prompt", json!({ "type": "prompt", "message": "Go on." }));
        server.step("another prompt", json!({ "type": "prompt", "message": "Go on." }));
    }
    let (points, fork) = match dialect {
        "xcsh" => ("get_branch_messages", "branch"),
        _ => ("get_fork_messages", "fork"),
    };
    let messages = server.step(points, json!({ "type": points }));
    server.step("export_html", json!({ "type": "export_html", "outputPath": "page.html" }));
    let places = messages["data"]["messages"].as_array().expect("messages");
    if let [first, .., last] = places.as_slice() {
        let middle = &places[places.len() / 2];
        // The entry nearest to the end first, as a fork leaves the session.
        for (what, at) in [("at the end", last), ("in its middle", middle), ("near its beginning", first)] {
            server.step(&format!("{fork} {what}"), json!({ "type": fork, "entryId": at["entryId"] }));
        }
    }
    server.end();
}

/// Measures a server with another session that switches to the file.
fn switched(line: &str, dir: &Path, file: &Path) {
    let mut server = Server::start(line, dir, &[]);
    server.step("start without", json!({ "type": "get_state" }));
    server.step("switch_session", json!({ "type": "switch_session", "sessionPath": file }));
    server.step("get_messages", json!({ "type": "get_messages" }));
    server.step("switch_session to the same", json!({ "type": "switch_session", "sessionPath": file }));
    server.end();
}

struct Server {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    since: Option<Instant>,
}

impl Server {
    fn start(line: &str, dir: &Path, options: &[&str]) -> Self {
        let mut words = line.split(' ');
        let since = Some(Instant::now());
        let mut child = Command::new(words.next().expect("a program"))
            .args(words)
            .args(["--session-dir", FOLDER])
            .args(options)
            .current_dir(dir)
            .env("HOME", dir)
            .env("PI_OFFLINE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a program that starts");
        let stdin = child.stdin.take().expect("a pipe");
        let stdout = BufReader::with_capacity(1 << 20, child.stdout.take().expect("a pipe"));
        Self { child, stdin, stdout, since }
    }

    /// Sends a command, waits for its end and prints the time, for the first one since the start of the process.
    fn step(&mut self, what: &str, command: Value) -> Value {
        let since = self.since.take().unwrap_or_else(Instant::now);
        writeln!(self.stdin, "{command}").expect("a server that reads");
        let end: &[u8] =
            if command["type"] == "prompt" { br#""type":"agent_end""# } else { br#""type":"response""# };
        let mut line = Vec::new();
        let (took, length) = loop {
            line.clear();
            let length = self.stdout.read_until(b'\n', &mut line).expect("a server that writes");
            assert!(length > 0, "the server has ended");
            if line[..line.len().min(200)].windows(end.len()).any(|window| window == end) {
                break (since.elapsed(), length);
            }
        };
        let answer: Value = serde_json::from_slice(&line).expect("JSON");
        let failed = answer["error"].as_str().unwrap_or_default();
        let (took, length) = (took.as_secs_f64() * 1e3, length as f64 / 1e6);
        println!("  {what:<28} {took:>9.1} ms {length:>7.1} MB {:>6} MiB  {failed}", self.peak());
        answer
    }

    /// Peak memory so far in MiB.
    fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse().map_or(0, |kib: u64| kib / 1024)
    }

    fn end(mut self) {
        drop(self.stdin);
        self.child.wait().expect("an end");
    }
}

/// Writes a script for this server, and a model without a key for others.
fn prepare(dir: &Path) {
    let turns = json!([{ "repeat": true, "say": [{ "text": "An answer." }] }]);
    let script = json!({ "model": { "contextWindow": 1_000_000_000 }, "turns": turns });
    fs::write(dir.join("script.json"), script.to_string()).expect("a script");
    let model = json!({ "id": "model", "contextWindow": 1_000_000_000, "maxTokens": 8000 });
    let fake = json!({ "baseUrl": "http://127.0.0.1:9", "apiKey": "key", "api": "anthropic-messages", "models": [model] });
    fs::create_dir_all(dir.join(".pi/agent")).expect("a folder");
    let models = json!({ "providers": { "fake": fake } });
    fs::write(dir.join(".pi/agent/models.json"), models.to_string()).expect("a file of models");
}

/// Writes a session with entries whose texts have these lengths.
fn many(dir: &Path, name: &str, entries: usize, lengths: Range<usize>) -> PathBuf {
    let path = dir.join(format!("{name}.jsonl"));
    let mut file = Writer::new(&path);
    let mut rng = Rng::with_seed(1);
    for place in 0..entries {
        file.entry(place % 4, &text(&mut rng, lengths.clone()));
    }
    path
}

/// Writes a session with a tool result of 20 MB.
fn long(dir: &Path) -> PathBuf {
    let path = dir.join("long.jsonl");
    let mut file = Writer::new(&path);
    let mut rng = Rng::with_seed(1);
    for kind in 0..8 {
        let length = if kind == 2 { 20_000_000 } else { 1000 };
        file.entry(kind % 4, &text(&mut rng, length..length + 1));
    }
    path
}

/// Random lines of words, similar to code or to the output of commands.
fn text(rng: &mut Rng, length: Range<usize>) -> String {
    const WORDS: [&str; 8] = ["let", "the", "\"name\":", "fn main()", "\n    ", "é", "value;", "0x7f"];
    let length = rng.usize(length);
    let mut text = String::with_capacity(length + 16);
    while text.len() < length {
        text.push_str(WORDS[rng.usize(..WORDS.len())]);
        text.push(' ');
    }
    text
}

struct Writer {
    file: BufWriter<File>,
    count: u32,
}

impl Writer {
    fn new(path: &Path) -> Self {
        let mut file = BufWriter::new(File::create(path).expect("a file"));
        let header =
            json!({ "type": "session", "version": 3, "id": "s-1", "timestamp": TIME, "cwd": path.parent() });
        writeln!(file, "{header}").expect("room");
        Self { file, count: 0 }
    }

    /// One of the four kinds of a turn with a tool.
    fn entry(&mut self, kind: usize, text: &str) {
        let words = json!({ "type": "text", "text": text });
        let message = match kind {
            0 => json!({ "role": "user", "content": [words], "timestamp": 1 }),
            1 => {
                let arguments = json!({ "command": text });
                let call =
                    json!({ "type": "toolCall", "id": "call", "name": "bash", "arguments": arguments });
                answer(json!([{ "type": "text", "text": "I will look." }, call]), "toolUse")
            }
            2 => json!({
                "role": "toolResult", "toolCallId": "call", "toolName": "bash", "content": [words],
                "isError": false, "timestamp": 1,
            }),
            _ => answer(json!([words]), "stop"),
        };
        let parent = (self.count > 0).then(|| format!("{:08x}", self.count));
        self.count += 1;
        let id = format!("{:08x}", self.count);
        let entry = json!({
            "type": "message", "id": id, "parentId": parent, "timestamp": TIME, "message": message,
        });
        writeln!(self.file, "{entry}").expect("room");
    }
}

/// Timestamp of all entries.
const TIME: &str = "2026-01-05T10:00:00.000Z";

fn answer(content: Value, stop: &str) -> Value {
    let cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 });
    json!({
        "role": "assistant", "content": content, "api": "scripted", "provider": "fake", "model": "model",
        "usage": { "input": 10, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 11, "cost": cost },
        "stopReason": stop, "timestamp": 1,
    })
}

fn copy(dir: &Path, file: &Path) -> PathBuf {
    let copy = dir.join("copy.jsonl");
    fs::copy(file, &copy).expect("room");
    copy
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).expect("a file").len()
}
