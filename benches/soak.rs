//! Traffic at full speed for as long as you like: `cargo bench --bench soak -- --minutes 60 [--dialect pi]`.
//!
//! A host prompts, steers, aborts, answers dialogs, compacts, changes sessions and runs commands, one thing after
//! another as fast as it is answered; the model is `mock-llm` behind real HTTP; between host and server `tap` judges
//! every frame. Memory, descriptors and threads of server and tap are sampled throughout. It fails if the tap has a
//! finding, if the last third takes more than the first, or if a process is left behind.

use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, sync_channel},
    thread,
    time::{Duration, Instant},
};

/// Time limit for a frame.
const PATIENCE: Duration = Duration::from_secs(120);

/// Interval between samples of the processes.
const LOOK: Duration = Duration::from_secs(5);

/// Rounds in one session.
const ROUNDS: u64 = 300;

fn main() {
    let options: Vec<String> = std::env::args().collect();
    let option = |name: &str| options.iter().position(|it| it == name).and_then(|at| options.get(at + 1));
    let minutes: f64 = option("--minutes").map_or(1.0, |it| it.parse().expect("minutes"));
    let dialect = option("--dialect").map_or("pi", String::as_str);
    let dir = tempfile::tempdir().expect("a directory");
    let mut model = Model::start(dir.path());
    let mut host = Host::start(dir.path(), dialect, &model.address);
    let end = Instant::now() + Duration::from_secs_f64(minutes * 60.0);
    let mut samples = Vec::new();
    let mut next_look = Instant::now() + LOOK;
    while Instant::now() < end {
        host.round();
        if Instant::now() >= next_look {
            next_look += LOOK;
            samples.push(host.look());
            // The files of long output belong to the host.
            remove_files(&dir.path().join("tmp"));
        }
    }
    let left = host.end();
    model.end();
    print(dialect, minutes, &host.rounds, &host.refused, host.frames, &samples);
    let report = fs::read_to_string(dir.path().join("report.txt")).unwrap_or_default();
    let grown = grown(&samples);
    println!("\n{}", report.trim());
    let is_clean = report.contains("violations of the server: nothing; of the host: nothing");
    assert!(is_clean, "the tap has found something");
    assert!(grown.is_empty(), "not flat: {}", grown.join(", "));
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// The scripted model, behind HTTP.
struct Model {
    child: Child,
    address: String,
}

impl Model {
    fn start(dir: &Path) -> Self {
        let slow = json!({ "deltas": 40, "size": 8 });
        let bash = |command: &str| json!([{ "tool": "bash", "arguments": { "command": command } }]);
        let script = json!({ "turns": [
            { "onResult": "", "repeat": true, "say": [{ "text": "The tool has said it." }] },
            { "match": { "regex": "^Think" }, "repeat": true, "say": [{ "thinking": "This, or that?" }, { "text": "That." }] },
            { "match": { "regex": "^Call" }, "repeat": true, "say": bash("echo one") },
            { "match": { "regex": "^Print" }, "repeat": true, "say": bash("seq 1 20000") },
            { "match": { "regex": "^Wait" }, "repeat": true, "say": bash("sleep 100") },
            { "match": { "regex": "^Speak" }, "repeat": true, "delayMs": 1, "say": [slow] },
            { "match": { "regex": "^Fail" }, "repeat": true, "fail": { "status": 529 } },
            { "match": { "regex": "^Break" }, "repeat": true, "say": [{ "text": "This is not" }], "cutAfterBytes": 600 },
            { "repeat": true, "say": [{ "text": "Yes." }] },
        ] });
        let file = dir.join("soak.json");
        fs::write(&file, script.to_string()).expect("a script");
        let mut command = Command::new(env!("CARGO_BIN_EXE_pi-rpc"));
        command.args(["mock-llm", "--lenient", "--script"]).arg(file);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a model");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("an address");
        let address = line.trim().rsplit(' ').next().unwrap_or_default().to_owned();
        Self { child, address }
    }

    fn end(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

/// Activity of the host.
type Round = fn(&mut Host);

struct Host {
    tap: Child,
    /// Process id of the server behind the tap.
    server: u32,
    stdin: Option<ChildStdin>,
    frames_in: Receiver<Value>,
    dialect: String,
    sessions: PathBuf,
    random: fastrand::Rng,
    asked: u64,
    since_new: u64,
    frames: u64,
    /// Count and duration of each activity.
    rounds: BTreeMap<&'static str, (u64, Duration)>,
    /// Numbers of refused commands by error.
    refused: BTreeMap<String, u64>,
}

impl Host {
    fn start(dir: &Path, dialect: &str, address: &str) -> Self {
        let agent = if dialect == "xcsh" { ".xcsh/agent" } else { ".pi/agent" };
        let agent = dir.join(agent);
        fs::create_dir_all(&agent).expect("a folder");
        fs::create_dir_all(dir.join("tmp")).expect("a folder");
        let models = json!({ "providers": { "fake": {
            "baseUrl": address, "apiKey": "key", "api": "anthropic-messages",
            "models": [{ "id": "model", "reasoning": true, "contextWindow": 20_000, "maxTokens": 2000 }],
        } } });
        fs::write(agent.join("models.json"), models.to_string()).expect("a file");
        // Summaries are small, and waits before retries are short.
        let settings = json!({
            "retry": { "baseDelayMs": 1, "maxRetries": 1, "provider": { "maxRetries": 0 } }, "compaction": { "reserveTokens": 4000, "keepRecentTokens": 2000 },
        });
        fs::write(agent.join("settings.json"), settings.to_string()).expect("a file");
        let binary = env!("CARGO_BIN_EXE_pi-rpc");
        let mut command = Command::new(binary);
        command.args([
            "tap",
            "--tier",
            "should",
            "--report",
            "report.txt",
            "--dialect",
            dialect,
            "--",
            binary,
        ]);
        command.args(["serve", "--dialect", dialect, "--model", "fake/model", "--session-dir", "sessions"]);
        command.args(["--confirm-tools", "bash"]);
        command.current_dir(dir).env("HOME", dir).env("TMPDIR", dir.join("tmp"));
        let mut tap = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a tap");
        let stdout = BufReader::new(tap.stdout.take().expect("a pipe"));
        let (sender, frames_in) = sync_channel(1024);
        thread::spawn(move || {
            for line in stdout.lines() {
                let frame = serde_json::from_str(&line.expect("text")).expect("JSON");
                if sender.send(frame).is_err() {
                    return;
                }
            }
        });
        let stdin = tap.stdin.take();
        let mut host = Self {
            tap,
            server: 0,
            stdin,
            frames_in,
            dialect: dialect.to_owned(),
            sessions: dir.join("sessions"),
            random: fastrand::Rng::with_seed(1),
            asked: 0,
            since_new: 0,
            frames: 0,
            rounds: BTreeMap::new(),
            refused: BTreeMap::new(),
        };
        host.ask(json!({ "type": "get_state" }));
        let children = children(host.tap.id());
        host.server = *children.first().expect("the tap has started the server");
        host
    }

    /// Performs one activity, and waits until the server is at rest.
    fn round(&mut self) {
        self.since_new += 1;
        let kinds: [(&str, Round); 13] = [
            ("prompt", |host| host.run("Hello")),
            ("prompt that is thought about", |host| host.run("Think")),
            ("tool call, allowed or not", |host| host.run("Call")),
            ("tool call with long output", |host| host.run("Print")),
            ("abort of an answer", |host| host.aborted("Speak", "message_update")),
            ("abort of a tool", |host| host.aborted("Wait", "tool_execution_start")),
            ("steering and follow-up", Self::steered),
            ("failure and retry", |host| host.retried("Fail")),
            ("cut connection", |host| host.retried("Break")),
            ("compaction", |host| drop(host.ask(json!({ "type": "compact" })))),
            ("bash", |host| drop(host.ask(json!({ "type": "bash", "command": "echo a; echo b >&2" })))),
            ("bash, stopped", Self::stopped),
            ("questions", Self::questions),
        ];
        let (name, play) = match self.since_new > ROUNDS {
            true => ("new session", Self::renewed as Round),
            false => kinds[self.random.usize(..kinds.len())],
        };
        let start = Instant::now();
        play(self);
        let (count, took) = self.rounds.entry(name).or_default();
        (*count, *took) = (*count + 1, *took + start.elapsed());
    }

    fn run(&mut self, message: &str) {
        if self.ask(json!({ "type": "prompt", "message": message }))["success"] == true {
            self.rests();
        }
    }

    fn retried(&mut self, message: &str) {
        if self.ask(json!({ "type": "prompt", "message": message }))["success"] == true {
            self.until(|frame| frame["type"] == "auto_retry_end");
            self.rests();
        }
    }

    fn aborted(&mut self, message: &str, moment: &str) {
        if self.ask(json!({ "type": "prompt", "message": message }))["success"] == true {
            // A denied call never starts.
            self.until(|frame| frame["type"] == moment || is_end(frame));
            self.ask(json!({ "type": "abort" }));
            self.rests();
        }
    }

    fn steered(&mut self) {
        if self.ask(json!({ "type": "prompt", "message": "Speak" }))["success"] == true {
            self.ask(json!({ "type": "steer", "message": "Think" }));
            self.ask(json!({ "type": "prompt", "message": "Hello", "streamingBehavior": "followUp" }));
            self.rests();
        }
    }

    fn stopped(&mut self) {
        let id = self.send(json!({ "type": "bash", "command": "sleep 100" }));
        self.ask(json!({ "type": "abort_bash" }));
        // The response may have come before that to the other command.
        if !self.refused.contains_key(&id) {
            self.ask(json!({ "type": "get_state" }));
        }
    }

    fn questions(&mut self) {
        for kind in [
            "get_messages",
            "get_session_stats",
            "get_available_models",
            "get_last_assistant_text",
            "get_commands",
        ] {
            self.ask(json!({ "type": kind }));
        }
        self.ask(json!({ "type": "cycle_thinking_level" }));
        self.ask(json!({ "type": "set_session_name", "name": "soak" }));
    }

    fn renewed(&mut self) {
        let state = self.ask(json!({ "type": "get_state" }));
        self.ask(json!({ "type": "new_session" }));
        self.since_new = 0;
        if let Some(old) = state["data"]["sessionFile"].as_str() {
            // Switches there and back; the file is not needed after that.
            self.run("Hello");
            self.ask(json!({ "type": "switch_session", "sessionPath": old }));
            self.ask(json!({ "type": "new_session" }));
            remove_files(&self.sessions);
        }
    }

    /// Waits until no work is in progress.
    fn rests(&mut self) {
        loop {
            let state = self.ask(json!({ "type": "get_state" }));
            let busy = ["isStreaming", "isCompacting"].iter().any(|flag| state["data"][flag] == true);
            if !busy {
                return;
            }
            self.until(|frame| {
                is_end(frame) || frame["type"].as_str().is_some_and(|kind| kind.ends_with("_end"))
            });
        }
    }

    fn ask(&mut self, command: Value) -> Value {
        let id = self.send(command);
        let answer =
            self.until(|frame| frame["type"] == "response" && (frame["id"] == id || frame["id"].is_null()));
        if answer["success"] != true {
            *self.refused.entry(answer["error"].to_string()).or_default() += 1;
        }
        answer
    }

    fn send(&mut self, mut command: Value) -> String {
        self.asked += 1;
        let id = self.asked.to_string();
        command["id"] = json!(id);
        self.write(&command);
        id
    }

    fn write(&mut self, frame: &Value) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(format!("{frame}\n").as_bytes()).expect("the tap reads");
    }

    /// Waits for the next matching frame. Dialogs are answered meanwhile: two of three calls are allowed.
    fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let frame = self.frames_in.recv_timeout(PATIENCE).expect("a frame");
            self.frames += 1;
            if frame["type"] == "extension_ui_request" && frame["method"] == "select" {
                let options = frame["options"].as_array().expect("options");
                let value = options[self.random.usize(..options.len())].clone();
                self.write(&json!({ "type": "extension_ui_response", "id": frame["id"], "value": value }));
            } else if frame["type"] == "extension_ui_request" && frame["method"] == "confirm" {
                let confirmed = self.random.u8(..3) > 0;
                self.write(
                    &json!({ "type": "extension_ui_response", "id": frame["id"], "confirmed": confirmed }),
                );
            }
            if fits(&frame) {
                return frame;
            }
        }
    }

    fn look(&self) -> [Sample; 2] {
        [self.server, self.tap.id()].map(Sample::of)
    }

    /// Ends the input; returns the remaining processes of the server.
    fn end(&mut self) -> Vec<String> {
        self.stdin = None;
        let status = self.tap.wait().expect("the tap ends");
        assert!(status.success(), "{} ended with {status}", self.dialect);
        fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let environ = fs::read(entry.path().join("environ")).ok()?;
                let marks = format!("TMPDIR={}", self.sessions.with_file_name("tmp").display());
                let is_ours = environ.split(|byte| *byte == 0).any(|variable| variable == marks.as_bytes());
                is_ours.then(|| entry.file_name().to_string_lossy().into_owned())
            })
            .collect()
    }
}

fn is_end(frame: &Value) -> bool {
    frame["type"] == "agent_end" || frame["type"] == "agent_settled"
}

/// Sample of a process: resident memory in KiB, open descriptors, threads.
#[derive(Clone, Copy)]
struct Sample {
    memory: u64,
    descriptors: u64,
    threads: u64,
}

impl Sample {
    fn of(pid: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let number = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
            line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
        };
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, |all| all.count() as u64);
        Self { memory: number("VmRSS:"), descriptors, threads: number("Threads:") }
    }
}

fn children(pid: u32) -> Vec<u32> {
    let all = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    all.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

fn remove_files(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let _ = fs::remove_file(entry.path());
    }
}

/// Maximum of each measure in a part of the samples.
fn most(samples: &[[Sample; 2]]) -> [[u64; 3]; 2] {
    [0, 1].map(|which| {
        let of = |get: fn(&Sample) -> u64| samples.iter().map(|both| get(&both[which])).max().unwrap_or(0);
        [of(|it| it.memory), of(|it| it.descriptors), of(|it| it.threads)]
    })
}

const NAMES: [&str; 2] = ["server", "tap"];
const MEASURES: [&str; 3] = ["memory, KiB", "descriptors", "threads"];

/// Measures that are greater in the last third than in the first. For memory, a tenth and 2 MiB count as noise.
fn grown(samples: &[[Sample; 2]]) -> Vec<String> {
    let third = samples.len() / 3;
    let (first, last) = (most(&samples[..third]), most(&samples[samples.len() - third..]));
    let mut grown = Vec::new();
    for (which, name) in NAMES.iter().enumerate() {
        for (at, measure) in MEASURES.iter().enumerate() {
            let allowed = if at == 0 { first[which][at] * 11 / 10 + 2048 } else { first[which][at] + 2 };
            if last[which][at] > allowed {
                grown.push(format!("{name}: {measure}: {} to {}", first[which][at], last[which][at]));
            }
        }
    }
    grown
}

fn print(
    dialect: &str,
    minutes: f64,
    rounds: &BTreeMap<&'static str, (u64, Duration)>,
    refused: &BTreeMap<String, u64>,
    frames: u64,
    samples: &[[Sample; 2]],
) {
    let all: u64 = rounds.values().map(|(count, _)| count).sum();
    println!("{dialect}, {minutes} minutes: {all} rounds, {frames} frames");
    for (name, (count, took)) in rounds {
        println!("  {count:8} {name}, {:.1} ms each", took.as_secs_f64() * 1000.0 / *count as f64);
    }
    refused.iter().for_each(|(error, count)| println!("  {count:8} refused: {error}"));
    println!("the most in each tenth:");
    for (at, part) in samples.chunks(samples.len().div_ceil(10).max(1)).enumerate() {
        let [server, tap] = most(part);
        println!("  {at:2}  server {server:?}  tap {tap:?}  ({})", MEASURES.join(", "));
    }
}
