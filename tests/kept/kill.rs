//! A server that is killed loses nothing that its host was told.

use crate::{
    kept_support::{agrees, directory, entries, files, keeper, keeping},
    serve_support::{TOO_LONG, thorough},
};
use fastrand::Rng;
use pi_rpc::protocol::Dialect::{self, Pi, Xcsh};
use serde_json::{Map, Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    ops::Range,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

#[test]
fn kill_loses_no_acknowledged_entry() {
    let rounds = if thorough() { 100 } else { 6 };
    let torn: usize = thread::scope(|scope| {
        let halves =
            [0, 1].map(|half| scope.spawn(move || (0..rounds).map(|n| round(2 * n + half)).sum::<usize>()));
        halves.into_iter().map(|half| half.join().expect("a half without a failure")).sum()
    });
    // Shown with --nocapture: how many kills fell inside a write.
    println!("{torn} of {} files were torn", 2 * rounds);
}

/// Kills a server in a conversation and goes on with another; gives the number of torn lines.
fn round(seed: u64) -> usize {
    let mut rng = Rng::with_seed(seed);
    let dialect = if rng.bool() { Pi } else { Xcsh };
    let moment = Moment::random(&mut rng);
    let what = format!("seed {seed}: {dialect}, {moment:?}");
    let dir = directory(&turns());
    let told = conversation(dialect, &dir, moment, &mut rng);
    let Some(path) = files(dir.path()).pop() else {
        let begun = told.iter().any(|told| told["type"] == "message");
        assert!(!begun, "{what}: no file, although the host was told: {told:?}");
        return 0;
    };
    let left = fs::read(&path).unwrap();
    let lines = left.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let torn = usize::from(lines < left.len());
    // Nothing was told yet of what a header alone could hold.
    if lines == 0 {
        assert_eq!(told, Vec::<Value>::new(), "{what}");
    }
    let text = path.to_str().unwrap();
    let mut server = keeper(dialect, dir, &["--session", text]);
    if lines > 0 {
        let kept = fs::read(&path).unwrap();
        assert!(kept == left[..lines], "{what}: the file is not what it was without its torn line");
        in_order(&told, &kept, &what);
        agrees(&mut server, &path);
    }
    let end = server.run("Go on?").pop().unwrap();
    assert_eq!(end["messages"].as_array().map(Vec::len), Some(2), "{what}: {end}");
    agrees(&mut server, &path);
    assert!(fs::read(&path).unwrap().starts_with(&left[..lines]), "{what}: an earlier byte was changed");
    server.close_stdin();
    let ended = server.ends();
    let complaints: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(complaints.len(), torn, "{what}: {complaints:?}");
    assert!(complaints.iter().all(|line| line.contains("is incomplete")), "{what}: {complaints:?}");
    torn
}

/// When the server is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// So long after the host has read so many lines.
    Read { lines: usize, wait: Duration },
    /// As soon as the session's file has so many bytes.
    Written { bytes: u64 },
}

impl Moment {
    fn random(rng: &mut Rng) -> Self {
        match rng.bool() {
            true => Self::Read { lines: rng.usize(1..110), wait: Duration::from_micros(rng.u64(0..1500)) },
            false => Self::Written { bytes: rng.u64(1..2_600_000) },
        }
    }

    /// How many words the long messages have: those that a kill shall fall into take the kernel a while to write.
    fn words(self) -> Range<usize> {
        match self {
            Self::Read { .. } => 15_000..20_000,
            Self::Written { .. } => 160_000..260_000,
        }
    }

    /// Waits for it, or for `TOO_LONG`.
    fn wait(self, directory: &Path, read: &AtomicUsize) {
        let started = Instant::now();
        let is_over = || started.elapsed() > TOO_LONG || read.load(Ordering::Relaxed) == usize::MAX;
        match self {
            Self::Read { lines, wait } => {
                while read.load(Ordering::Relaxed) < lines && !is_over() {
                    thread::yield_now();
                }
                thread::sleep(wait);
            }
            Self::Written { bytes } => {
                let mut path = None;
                while !is_over() {
                    path = path.or_else(|| files(directory).pop());
                    let length = path.as_ref().and_then(|path| fs::metadata(path).ok());
                    if length.is_some_and(|file| file.len() >= bytes) {
                        return;
                    }
                    std::hint::spin_loop();
                }
            }
        }
    }
}

/// Talks to a server until it is killed; gives what the host was told of entries, also by frames that it had yet to read.
fn conversation(dialect: Dialect, dir: &TempDir, moment: Moment, rng: &mut Rng) -> Vec<Value> {
    let mut command = keeping(dialect, dir.path(), &[]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let read = AtomicUsize::new(0);
    let host = Host::new(dialect, &mut child, &read);
    thread::scope(|scope| {
        let read = &read;
        scope.spawn(move || {
            moment.wait(dir.path(), read);
            child.kill().unwrap();
            child.wait().unwrap();
        });
        host.talk(&moment.words(), rng)
    })
}

/// What the model says.
fn turns() -> Value {
    json!([
        { "match": "tool", "onResult": "", "repeat": true, "say": [{ "text": "It has ended." }] },
        { "match": "tool", "repeat": true, "say": [
            { "thinking": "A tool.", "signature": "s" },
            { "tool": "bash", "arguments": { "command": "echo one" } },
            { "tool": "read", "arguments": { "path": "script.json" } },
        ] },
        { "summary": true, "repeat": true, "say": [{ "text": "What was said." }] },
        { "repeat": true, "say": [{ "text": "An answer in words.", "size": 8 }] },
    ])
}

/// A host that talks until nobody answers.
struct Host<'r> {
    dialect: Dialect,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// How many lines were read; the largest number when the conversation is over.
    read: &'r AtomicUsize,
    told: Vec<Value>,
    /// The level that the session has, as far as the host knows.
    asked: Value,
}

/// The server is gone.
struct Gone;

impl<'r> Host<'r> {
    fn new(dialect: Dialect, child: &mut Child, read: &'r AtomicUsize) -> Self {
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { dialect, stdin, stdout, read, told: Vec::new(), asked: Value::Null }
    }

    fn talk(mut self, words: &Range<usize>, rng: &mut Rng) -> Vec<Value> {
        let Err(Gone) = self.conversation(words, rng) else {
            self.read.store(usize::MAX, Ordering::Relaxed);
            while self.next().is_ok() {}
            return self.told;
        };
        self.told
    }

    fn conversation(&mut self, words: &Range<usize>, rng: &mut Rng) -> Result<(), Gone> {
        // Two of them are more than a compaction keeps. A question is not planned first, so a file begins with it.
        let mut long = || "words ".repeat(rng.usize(words.clone())) + "?";
        let (first, second) = (long(), long());
        self.run(&first)?;
        self.ask(json!({ "type": "set_session_name", "name": "A name" }))?;
        self.run("Use a tool.")?;
        self.ask(json!({ "type": "bash", "command": "echo two; exit 3" }))?;
        self.ask(json!({ "type": "set_thinking_level", "level": "high" }))?;
        self.send(json!({ "type": "prompt", "message": "Use a tool." }))?;
        self.until("tool_execution_start")?;
        self.send(json!({ "type": "steer", "message": "Something else." }))?;
        self.until("agent_end")?;
        self.ask(json!({ "type": "set_model", "provider": "scripted", "modelId": "script.json" }))?;
        self.run(&second)?;
        self.run("Go on.")?;
        self.ask(json!({ "type": "set_session_name", "name": "Another name" }))?;
        self.ask(json!({ "type": "compact" }))?;
        self.run("Use a tool.")
    }

    fn run(&mut self, message: &str) -> Result<(), Gone> {
        self.send(json!({ "type": "prompt", "message": message }))?;
        self.until("agent_end")
    }

    fn ask(&mut self, command: Value) -> Result<(), Gone> {
        self.asked = command.clone();
        self.send(command)?;
        self.until("response")
    }

    fn send(&mut self, command: Value) -> Result<(), Gone> {
        self.stdin.write_all(format!("{command}\n").as_bytes()).map_err(|_| {
            // What was said before is read all the same.
            while self.next().is_ok() {}
            Gone
        })
    }

    fn until(&mut self, kind: &str) -> Result<(), Gone> {
        while self.next()?["type"] != kind {}
        Ok(())
    }

    fn next(&mut self) -> Result<Value, Gone> {
        let mut line = Vec::new();
        self.stdout.read_until(b'\n', &mut line).unwrap();
        let frame: Value = match line.last() {
            Some(b'\n') => serde_json::from_slice(&line).unwrap(),
            // The end, or a frame that was cut off.
            _ => return Err(Gone),
        };
        self.read.fetch_add(1, Ordering::Relaxed);
        self.told.extend(self.entry(&frame));
        Ok(frame)
    }

    /// What the entry holds that a frame tells of.
    fn entry(&self, frame: &Value) -> Option<Value> {
        if frame["type"] == "message_end" {
            return Some(json!({ "type": "message", "message": frame["message"] }));
        }
        if frame["type"] != "response" || self.asked["type"] != frame["command"] {
            return None;
        }
        assert_eq!(frame["success"], true, "{} {frame}", self.asked);
        let data = &frame["data"];
        Some(match frame["command"].as_str()? {
            "bash" => {
                let (command, output, code) = (&self.asked["command"], &data["output"], &data["exitCode"]);
                let role = "bashExecution";
                let message = json!({ "role": role, "command": command, "output": output, "exitCode": code });
                json!({ "type": "message", "message": message })
            }
            "set_thinking_level" => {
                json!({ "type": "thinking_level_change", "thinkingLevel": self.asked["level"] })
            }
            "set_model" if self.dialect == Xcsh => {
                json!({ "type": "model_change", "model": "scripted/script.json" })
            }
            "set_model" => {
                json!({ "type": "model_change", "provider": "scripted", "modelId": "script.json" })
            }
            // In the other dialect the header holds it.
            "set_session_name" if self.dialect == Pi => {
                json!({ "type": "session_info", "name": self.asked["name"] })
            }
            "set_session_name" => json!({ "title": self.asked["name"] }),
            "compact" => {
                let (first, tokens) = (&data["firstKeptEntryId"], &data["tokensBefore"]);
                let summary = &data["summary"];
                json!({ "type": "compaction", "summary": summary, "firstKeptEntryId": first, "tokensBefore": tokens })
            }
            _ => return None,
        })
    }
}

/// All that was told is in the file, in the order of telling.
#[track_caller]
fn in_order(told: &[Value], file: &[u8], what: &str) {
    let header: Value = serde_json::from_slice(file.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    let mut titles = told.iter().filter_map(|told| told.get("title"));
    // The header may be newer than the last title that was told.
    if let Some(title) = titles.next_back() {
        assert!([title, &json!("Another name")].contains(&&header["title"]), "{what}: {header}");
    }
    let entries = entries(file);
    let mut rest = entries.iter();
    for told in told.iter().filter(|told| told.get("title").is_none()) {
        assert!(rest.any(|entry| holds(entry, told)), "{what}: lost: {}", short(told));
    }
}

/// Whether `whole` has all that `part` has.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            let of = |map: &Map<String, Value>, key: &str| map.get(key).cloned().unwrap_or_default();
            part.iter().all(|(key, value)| holds(&of(whole, key), value))
        }
        _ => whole == part,
    }
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(300).collect()
}
