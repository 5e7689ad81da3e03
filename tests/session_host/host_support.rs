//! A host that runs, and clients of its Unix socket.

use crate::serve_support::{TOO_LONG, binary, command, eventually};
use pi_rpc::{
    oracle::{Direction, Finding, Record, View, WireJudge},
    protocol::{Dialect, Side},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    sync::Arc,
    thread,
};
use tempfile::TempDir;

/// A host with a scripted model. Its directory has the socket `s`, the script and what the tools make.
pub struct Host {
    pub dir: Arc<TempDir>,
    child: Child,
}

impl Host {
    /// Starts a host whose model plays these turns.
    pub fn start(turns: &Value, arguments: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("script.json"), json!({ "turns": turns }).to_string()).unwrap();
        Self::start_in(Arc::new(dir), arguments)
    }

    /// Starts a host in the directory of another one.
    pub fn start_in(dir: Arc<TempDir>, arguments: &[&str]) -> Self {
        let mut line = command(binary(), dir.path());
        line.args(["host", "--listen", "unix:s", "--model", "scripted/script.json", "--dialect", "pi-1"]);
        line.args(arguments).stdin(Stdio::null()).stderr(Stdio::piped());
        let child = line.spawn().unwrap();
        let socket = dir.path().join("s");
        eventually("the socket is there", || UnixStream::connect(&socket).is_ok());
        Self { dir, child }
    }

    pub fn client(&self) -> Client {
        Client::connect(self.socket())
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    /// Makes the file that tools of the script wait for.
    pub fn put(&self, name: &str) {
        fs::write(self.dir.path().join(name), "").unwrap();
    }

    /// `pi-rpc attach` with these arguments behind the address.
    pub fn attach(&self, session: &str, arguments: &[&str]) -> Command {
        let mut line = command(binary(), self.dir.path());
        line.env_remove("PI_RPC_DIALECT")
            .arg("attach")
            .arg(format!("unix:{}{session}", self.socket().display()))
            .args(arguments);
        line.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        line
    }

    /// The id of the host's process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the host, which can write nothing more.
    pub fn kill(self) {
        self.signal(Signal::KILL);
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Stops the host by a signal. Returns its end.
    pub fn stop(mut self) -> Output {
        self.signal(Signal::TERM);
        let status = self.child.wait().unwrap();
        let mut stderr = Vec::new();
        self.child.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
        Output { status, stdout: Vec::new(), stderr }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A shared connection. What it exchanges is judged at its end.
pub struct Client {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    judge: WireJudge,
    violations: Vec<String>,
}

impl Client {
    pub fn connect(socket: PathBuf) -> Self {
        let writer = UnixStream::connect(socket).unwrap();
        let reader = writer.try_clone().unwrap();
        reader.set_read_timeout(Some(TOO_LONG)).unwrap();
        let judge = WireJudge::new(Dialect::Pi1, View::Both);
        Self { reader: BufReader::new(reader), writer, judge, violations: Vec::new() }
    }

    /// Judges a line, without a clock: nothing is late.
    fn judge(&mut self, direction: Direction, line: &str) {
        let findings = self.judge.observe(&Record::line(0.0, direction, line.as_bytes()));
        self.note(findings);
    }

    fn note(&mut self, findings: Vec<Finding>) {
        let of_server = findings.into_iter().filter(|it| it.violation.rule.about().side == Side::Server);
        self.violations.extend(of_server.map(|it| format!("{:?}: {}", it.session, it.violation)));
    }

    pub fn send(&mut self, frame: &Value) {
        self.send_line(&frame.to_string());
    }

    pub fn send_line(&mut self, line: &str) {
        self.judge(Direction::In, line);
        writeln!(self.writer, "{line}").unwrap();
    }

    pub fn next(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.reader.read_line(&mut line).unwrap(), 0, "the host has hung up");
        self.judge(Direction::Out, line.trim_end());
        serde_json::from_str(&line).unwrap()
    }

    /// The frames up to and including the one that `is_last` recognises.
    pub fn until(&mut self, is_last: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            frames.push(self.next());
            if is_last(&frames[frames.len() - 1]) {
                return frames;
            }
        }
    }

    /// The frames up to and including the first one of this type.
    pub fn until_type(&mut self, kind: &str) -> Vec<Value> {
        self.until(|frame| frame["type"] == kind)
    }

    /// Sends a command and returns its response. Other frames in front of it are dropped.
    pub fn request(&mut self, frame: &Value) -> Value {
        self.send(frame);
        self.until(|other| other["type"] == "response" && other["id"] == frame["id"]).pop().unwrap()
    }

    /// Opens a session in memory and returns its handle.
    pub fn open(&mut self) -> String {
        let opened = self.request(&json!({ "type": "open_session", "id": "open", "inMemory": true }));
        opened["data"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if !thread::panicking() {
            let findings = self.judge.finish();
            self.note(findings);
            assert_eq!(self.violations, Vec::<String>::new());
        }
    }
}

/// The error response to a command.
pub fn refusal(id: &Value, command: &str, error: &str) -> Value {
    json!({ "id": id, "type": "response", "command": command, "success": false, "error": error })
}

/// A turn that says a text.
pub fn hello() -> Value {
    json!([{ "say": [{ "text": "Hello there" }], "repeat": true }])
}

/// A turn whose tool waits for the file `go`, and one that says a text. A host that is killed leaves the tool's command
/// behind, which ends with its folder.
pub fn waiting() -> Value {
    let command = "until [ -e go ] || [ ! -d \"$PWD\" ]; do sleep 0.01; done";
    json!([
        { "onResult": "", "repeat": true, "say": [{ "text": "It has ended." }] },
        { "repeat": true, "say": [{ "tool": "bash", "arguments": { "command": command } }] },
    ])
}
