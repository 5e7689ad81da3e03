//! Extensions in Python under a server that the test plays.

use crate::toolchain_support;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Time limit of every wait.
const TOO_LONG: Duration = Duration::from_secs(120);

/// The folder of the examples.
pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/extensions")
}

/// Python to test with; `None`, with a note, if there is no suitable one.
pub fn python() -> Option<String> {
    toolchain_support::python((3, 8))
}

/// A running extension, with the test as its server.
pub struct Played {
    child: Child,
    stdin: Option<ChildStdin>,
    frames: Receiver<Value>,
    stderr: BufReader<ChildStderr>,
    _dir: TempDir,
}

impl Played {
    /// Starts an extension with this source, sends `hello`, and returns its registration, too.
    pub fn start(python: &str, source: &str) -> (Self, Value) {
        let mut played = Self::ungreeted(python, source, true);
        played.tell(json!({
            "type": "hello", "protocol": 1, "dialect": "pi", "cwd": "/work", "agentDirectory": "/agent", "maxFrame": 1000,
        }));
        let registered = played.next();
        (played, registered)
    }

    /// Starts an extension without a `hello`; `by_server`: as a server does.
    pub fn ungreeted(python: &str, source: &str, by_server: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("it.py");
        fs::write(&file, source).unwrap();
        let mut command = Command::new(python);
        command.arg(&file).env_remove("PI_RPC_EXTENSION").env("PYTHONPATH", examples());
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        if by_server {
            command.env("PI_RPC_EXTENSION", "1");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, frames) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let line = line.unwrap();
                let frame = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                if sender.send(frame).is_err() {
                    return;
                }
            }
        });
        Self { child, stdin, frames, stderr, _dir: dir }
    }

    /// Sends a frame to the extension.
    pub fn tell(&mut self, frame: Value) {
        writeln!(self.stdin.as_mut().expect("stdin is open"), "{frame}").unwrap();
    }

    /// Reads the next frame, which must be valid.
    #[track_caller]
    pub fn next(&mut self) -> Value {
        let frame = self.frames.recv_timeout(TOO_LONG).expect("it says something");
        let read = pi_rpc::protocol::read::<pi_rpc::protocol::FromExtension>(
            frame.to_string().as_bytes(),
            pi_rpc::protocol::Dialect::Pi,
        );
        assert!(read.is_ok(), "{}: {frame}", read.unwrap_err());
        frame
    }

    /// Reads the next line on stderr.
    pub fn remark(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Sends a frame, and reads the next one.
    #[track_caller]
    pub fn done(&mut self, frame: Value) -> Value {
        self.tell(frame);
        self.next()
    }

    /// Ends the input, and waits for the exit; returns the remaining frames and the rest of stderr.
    #[track_caller]
    pub fn ends(mut self) -> (ExitStatus, Vec<Value>, String) {
        self.stdin = None;
        let started = Instant::now();
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None => assert!(started.elapsed() < TOO_LONG, "it does not end"),
            }
            thread::sleep(Duration::from_millis(2));
        };
        let mut text = String::new();
        self.stderr.read_to_string(&mut text).unwrap();
        (status, self.frames.iter().collect(), text)
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
