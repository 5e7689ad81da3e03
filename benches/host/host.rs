//! A host that runs, and figures about its process.

use crate::client::Client;
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The program that is measured: that of this build, or another one that `--binary` names.
pub fn binary() -> String {
    let mut options = std::env::args().skip_while(|option| option != "--binary").skip(1);
    options.next().unwrap_or_else(|| env!("CARGO_BIN_EXE_pi-rpc").to_owned())
}

pub struct Host {
    dir: tempfile::TempDir,
    child: Child,
}

impl Host {
    /// Starts a host, with the scripted demo or with the model of a vendor at this address.
    pub fn start(options: &[&str], vendor: Option<&str>) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let agent = dir.path().join(".pi/agent");
        fs::create_dir_all(&agent).expect("a folder");
        if let Some(address) = vendor {
            let models = json!({ "providers": { "bench": {
                "baseUrl": address, "apiKey": "key", "api": "openai-completions",
                "models": [{ "id": "model", "contextWindow": 200_000, "maxTokens": 2000 }],
            } } });
            fs::write(agent.join("models.json"), models.to_string()).expect("a file");
        }
        let model = if vendor.is_some() { "bench/model" } else { "scripted/demo" };
        Self::spawn(dir, model, options)
    }

    /// Starts a host whose model plays a script.
    pub fn with_script(script: &Value, options: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("script.json"), script.to_string()).expect("a file");
        Self::spawn(dir, "scripted/script.json", options)
    }

    fn spawn(dir: tempfile::TempDir, model: &str, options: &[&str]) -> Self {
        let mut command = Command::new(binary());
        command.args(["host", "--listen", "unix:s", "--dialect", "pi-1", "--model", model]).args(options);
        command.current_dir(dir.path()).env("HOME", dir.path());
        let child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("a host");
        let host = Self { dir, child };
        while UnixStream::connect(host.socket()).is_err() {
            thread::sleep(Duration::from_millis(5));
        }
        host
    }

    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    pub fn client(&self) -> Client {
        Client::connect(&self.socket())
    }

    /// Resident memory in bytes.
    pub fn memory(&self) -> f64 {
        status(self.child.id(), "status", "VmRSS") * 1024.0
    }

    pub fn threads(&self) -> u64 {
        status(self.child.id(), "status", "Threads") as u64
    }

    /// Processor time in seconds.
    pub fn cpu(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
        let ticks = fields.split(' ').skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
        ticks.sum::<f64>() / 100.0
    }

    /// The time that a process takes to attach to a session and to get an answer.
    pub fn attach_process(&self, session: &str) -> Duration {
        let began = Instant::now();
        let mut command = Command::new(binary());
        command.arg("attach").arg(format!("unix:{}:/sessions/{session}", self.socket().display()));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process");
        writeln!(child.stdin.as_mut().expect("a pipe"), "{}", json!({ "type": "get_state" }))
            .expect("it reads");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
        let took = began.elapsed();
        drop(child.stdin.take());
        child.wait().expect("it ends");
        took
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A figure of a process in a file of `/proc`, in its unit; 0 without one.
pub fn status(process: u32, file: &str, name: &str) -> f64 {
    let text = fs::read_to_string(format!("/proc/{process}/{file}")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// A session file with so many messages, half of them the user's.
pub fn session_of(messages: usize, directory: &Path) -> String {
    let time = "2026-01-31T12:00:00.000Z";
    let mut text = format!(
        "{}\n",
        json!({ "type": "session", "version": 3, "id": "bench", "timestamp": time, "cwd": directory })
    );
    let mut parent = Value::Null;
    let usage = json!({ "input": 100, "output": 20, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 120,
        "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } });
    for number in 0..messages {
        let words = format!("Message {number}: ") + &"some words of a conversation that goes on ".repeat(4);
        let content = json!([{ "type": "text", "text": words }]);
        let message = match number % 2 {
            0 => json!({ "role": "user", "content": content, "timestamp": number }),
            _ => json!({ "role": "assistant", "content": content, "api": "scripted", "provider": "scripted",
                "model": "demo", "usage": usage, "stopReason": "stop", "timestamp": number }),
        };
        let id = format!("{number:08x}");
        let entry =
            json!({ "type": "message", "id": id, "parentId": parent, "timestamp": time, "message": message });
        // Writing to a string does not fail.
        let _ = writeln!(text, "{entry}");
        parent = json!(id);
    }
    text
}
