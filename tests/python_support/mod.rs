//! Extensions in Python under a server that the test plays.
#![allow(dead_code)] // each test binary uses its part

use serde_json::{Value, json};
use std::{
    env, fs,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Set to 1, it makes a failure of what else would be left out.
const REQUIRED: &str = "PI_RPC_REQUIRE_PYTHON";

/// Names another Python than the `python3` of the path.
const PYTHON: &str = "PI_RPC_PYTHON";

/// Longer than anything takes that works.
const TOO_LONG: Duration = Duration::from_secs(30);

/// The folder of the examples.
pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/extensions")
}

/// The Python to test with; `None` where there is none of 3.8 or newer, which is told.
pub fn python() -> Option<String> {
    let python = env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
    let recent = "import sys; sys.exit(sys.version_info < (3, 8))";
    let reason = match Command::new(&python).args(["-c", recent]).status() {
        Ok(status) if status.success() => return Some(python),
        Ok(_) => format!("{python} is older than 3.8"),
        Err(error) => format!("{python}: {error}"),
    };
    let required = env::var(REQUIRED).is_ok_and(|value| value == "1");
    assert!(!required, "{REQUIRED}=1: {reason}");
    let test = thread::current().name().unwrap_or("a test").to_owned();
    // Tests that pass are not heard by the usual macros.
    let _ = writeln!(io::stderr(), "NOT RUN: {test}: {reason}");
    None
}

/// An extension that runs, and the server that it sees.
pub struct Played {
    child: Child,
    stdin: Option<ChildStdin>,
    frames: Receiver<Value>,
    stderr: BufReader<ChildStderr>,
    dir: TempDir,
}

impl Played {
    /// Starts an extension with this source, and greets it; gives what it registers, too.
    pub fn start(python: &str, source: &str) -> (Self, Value) {
        let mut played = Self::ungreeted(python, source, true);
        played.tell(json!({
            "type": "hello", "protocol": 1, "dialect": "pi", "cwd": "/work", "agentDirectory": "/agent", "maxFrame": 1000,
        }));
        let registered = played.next();
        (played, registered)
    }

    /// Starts it; `by_server`: as a server does.
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
        Self { child, stdin, frames, stderr, dir }
    }

    /// Tells it something.
    pub fn tell(&mut self, frame: Value) {
        writeln!(self.stdin.as_mut().expect("stdin is open"), "{frame}").unwrap();
    }

    /// What it says next, which is a frame of the schema.
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

    /// The next line on stderr.
    pub fn remark(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Tells it something; gives what it says next.
    #[track_caller]
    pub fn done(&mut self, frame: Value) -> Value {
        self.tell(frame);
        self.next()
    }

    /// Ends its input, and waits for its end; gives what it has not said yet, and the rest of stderr.
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
