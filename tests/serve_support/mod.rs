//! The real binary over real pipes, for tests.
#![allow(dead_code, unused_imports)] // each test binary uses its part

mod frames;
mod lines;
mod processes;
mod terminal;
mod vendor;
mod waiting;

pub use frames::{bash_turns, keys, of_type, types};
use lines::Lines;
pub use processes::processes_of;
pub use terminal::{shown, terminal};
pub use vendor::{
    APIS, BEDROCK, FakeVendor, all_apis, base_url, chatgpt_token, configured, key_of, start,
    write_agent_file, write_models_file,
};
pub use waiting::{TOO_LONG, at_once, eventually, pairs, sample, thorough};

use pi_rpc::protocol::{Dialect, Outbound, read};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::RecvTimeoutError,
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// The two dialects that differ most.
pub const BOTH: [Dialect; 2] = [Dialect::Pi, Dialect::Xcsh];

/// The binary that is tested.
pub fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_pi-rpc"))
}

/// The binary with nothing of our environment but the path, in `directory`, whose name marks its processes. It speaks
/// `pi` unless an argument says otherwise.
pub fn command(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
        .env("HOME", directory)
        .env("TMPDIR", directory)
        .env("PI_RPC_DIALECT", "pi")
        .current_dir(directory);
    command
}

/// A server that runs, and a host that talks to it.
pub struct Server {
    pub dialect: Dialect,
    pub dir: TempDir,
    pub child: Child,
    stdin: Option<ChildStdin>,
    /// Reader of stdout; `None` once closed.
    stdout: Option<Lines>,
    stderr: Option<JoinHandle<String>>,
    seen: Vec<String>,
}

/// End of a server.
pub struct Ended {
    pub status: ExitStatus,
    /// The frames that had not been read.
    pub frames: Vec<Value>,
    pub stderr: String,
    pub dir: TempDir,
}

/// Bytes on their way to a server.
pub struct Flood {
    written: Arc<AtomicUsize>,
    /// Thread that writes, and holds stdin open until joined.
    writer: JoinHandle<ChildStdin>,
}

impl Flood {
    /// Bytes that were written so far.
    pub fn written(&self) -> usize {
        self.written.load(Ordering::SeqCst)
    }

    /// Bytes that were written until everything was, or the server had ended.
    pub fn ends(self) -> usize {
        drop(self.writer.join().unwrap());
        self.written.load(Ordering::SeqCst)
    }
}

impl Server {
    /// Starts a server with the demo model; in `xcsh` and `omp`, reads `ready`.
    pub fn demo(dialect: Dialect) -> Self {
        Self::with(dialect, &[])
    }

    /// Starts a server whose model plays these `turns`.
    pub fn script(dialect: Dialect, turns: Value) -> Self {
        Self::script_with(dialect, json!({ "turns": turns }), &[])
    }

    /// Starts a server whose model plays a script, with more options.
    pub fn script_with(dialect: Dialect, script: Value, options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("script.json"), script.to_string()).unwrap();
        let options = [&["--model", "scripted/script.json"], options].concat();
        Self::serve(dialect, dir, &options)
    }

    /// Starts a server whose model plays these `turns`, in a folder that also keeps the sessions.
    pub fn script_in(dialect: Dialect, dir: TempDir, turns: Value, options: &[&str]) -> Self {
        std::fs::write(dir.path().join("script.json"), json!({ "turns": turns }).to_string()).unwrap();
        let mut command = command(binary(), dir.path());
        command.args(["serve", "--model", "scripted/script.json", "--dialect", dialect.as_str()]);
        command.args(options);
        Self::start(dialect, dir, command).greeted()
    }

    /// Starts a server with the demo model and more options.
    pub fn with(dialect: Dialect, options: &[&str]) -> Self {
        let options = [&["--model", "scripted/demo"], options].concat();
        Self::serve(dialect, tempfile::tempdir().unwrap(), &options)
    }

    fn serve(dialect: Dialect, dir: TempDir, options: &[&str]) -> Self {
        let mut command = command(binary(), dir.path());
        command.args(["serve", "--no-session", "--dialect", dialect.as_str()]).args(options);
        Self::start(dialect, dir, command).greeted()
    }

    fn greeted(mut self) -> Self {
        if matches!(self.dialect, Dialect::Xcsh | Dialect::Omp) {
            assert_eq!(self.next()["type"], "ready");
        }
        self
    }

    /// Starts `command`, a server of `dialect`.
    pub fn start(dialect: Dialect, dir: TempDir, mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut errors = child.stderr.take().unwrap();
        let stderr = std::thread::spawn(move || {
            let mut text = Vec::new();
            errors.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().map(Lines::new));
        Self { dialect, dir, child, stdin, stdout, stderr: Some(stderr), seen: Vec::new() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Sends a frame.
    pub fn send(&mut self, frame: Value) {
        self.send_bytes(format!("{frame}\n").as_bytes());
    }

    /// Sends bytes as they are, in one write.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().expect("stdin is open").write_all(bytes).unwrap();
    }

    /// Sends a frame to a server that may have ended; returns whether it runs.
    pub fn try_send(&mut self, frame: Value) -> bool {
        let line = format!("{frame}\n");
        self.stdin.as_mut().expect("stdin is open").write_all(line.as_bytes()).is_ok()
    }

    /// Sends bytes, also when the server does not read for a while. stdin is closed afterwards if the handle is
    /// dropped; join it to have it back.
    pub fn send_aside(&mut self, bytes: Vec<u8>) -> JoinHandle<ChildStdin> {
        let mut stdin = self.stdin.take().expect("stdin is open");
        std::thread::spawn(move || {
            stdin.write_all(&bytes).unwrap();
            stdin
        })
    }

    /// Returns stdin after [`send_aside`](Self::send_aside).
    pub fn sent(&mut self, sending: JoinHandle<ChildStdin>) {
        self.stdin = Some(sending.join().unwrap());
    }

    /// Sends bytes until the server takes no more, and keeps stdin open for that long.
    pub fn flood(&mut self, bytes: Vec<u8>) -> Flood {
        let mut stdin = self.stdin.take().expect("stdin is open");
        let written = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&written);
        let writer = std::thread::spawn(move || {
            for part in bytes.chunks(4096) {
                // It has ended.
                if stdin.write_all(part).is_err() {
                    break;
                }
                counter.fetch_add(part.len(), Ordering::SeqCst);
            }
            stdin
        });
        Flood { written, writer }
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Closes our end of stdout.
    pub fn close_stdout(&mut self) {
        self.stdout.take().expect("stdout is open").close();
    }

    /// Reads the bytes of the next frame; `None` at the end.
    pub fn next_line(&mut self) -> Option<Vec<u8>> {
        match self.stdout.as_mut().expect("stdout is open").next() {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no frame for {TOO_LONG:?}; seen:\n{}", self.told()),
        }
    }

    /// Reads the next frame, which must be valid.
    #[track_caller]
    pub fn next(&mut self) -> Value {
        match self.frame() {
            Some(frame) => frame,
            None => panic!("stdout has ended; seen:\n{}", self.told()),
        }
    }

    #[track_caller]
    fn frame(&mut self) -> Option<Value> {
        let line = self.next_line()?;
        let text = String::from_utf8(line).expect("UTF-8");
        let frame: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        if !frame["id"].is_string() && frame.get("id").is_some() {
            // The host gave such an id; the schema wants strings.
        } else if let Err(error) = read::<Outbound>(text.as_bytes(), self.dialect) {
            panic!("{error}: {text}");
        }
        self.seen.push(text);
        Some(frame)
    }

    /// Reads frames up to the first that fits.
    #[track_caller]
    pub fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let frame = self.next();
            let found = fits(&frame);
            frames.push(frame);
            if found {
                return frames;
            }
        }
    }

    /// Reads frames up to the first of this type.
    #[track_caller]
    pub fn until_type(&mut self, kind: &str) -> Vec<Value> {
        self.until(|frame| frame["type"] == kind)
    }

    /// Reads up to the response with this id.
    #[track_caller]
    pub fn response(&mut self, id: &str) -> Value {
        self.until(|frame| frame["type"] == "response" && frame["id"] == id).pop().unwrap()
    }

    /// Sends a command with the id `id`, and reads up to its response.
    #[track_caller]
    pub fn ask(&mut self, id: &str, mut command: Value) -> Value {
        command["id"] = id.into();
        self.send(command);
        self.response(id)
    }

    /// Sends a command, which must succeed, and returns its data.
    #[track_caller]
    pub fn data(&mut self, command: Value) -> Value {
        let mut response = self.ask("data", command);
        assert_eq!(response["success"], true, "{response}");
        response["data"].take()
    }

    /// Runs a prompt to its end, and returns the frames.
    #[track_caller]
    pub fn run(&mut self, message: &str) -> Vec<Value> {
        self.send(json!({"type": "prompt", "message": message}));
        self.until_type("agent_end")
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until the file exists.
    #[track_caller]
    pub fn awaits(&self, file: &str) {
        let path = self.path(file);
        eventually(&format!("{file} is there"), || path.exists());
    }

    /// Waits for the end of the process, within `limit`.
    #[track_caller]
    pub fn ends_within(self, limit: Duration) -> Ended {
        let started = Instant::now();
        let ended = self.ends();
        assert!(started.elapsed() < limit, "took {:?}", started.elapsed());
        ended
    }

    /// Waits for the end of the process, and checks that no child is left.
    #[track_caller]
    pub fn ends(mut self) -> Ended {
        let mut frames = Vec::new();
        if self.stdout.is_some() {
            while let Some(frame) = self.frame() {
                frames.push(frame);
            }
        }
        let status = self.exited();
        let stderr = self.stderr.take().unwrap().join().unwrap();
        let dir = std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap());
        assert_eq!(processes_of(dir.path()), Vec::<String>::new(), "left behind");
        Ended { status, frames, stderr, dir }
    }

    /// Ends the input of an idle server, and checks that it exits without further output.
    #[track_caller]
    pub fn finishes(mut self) -> TempDir {
        self.close_stdin();
        let ended = self.ends();
        assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), ""), "{:?}", ended.frames);
        assert_eq!(ended.frames, Vec::<Value>::new());
        ended.dir
    }

    #[track_caller]
    fn exited(&mut self) -> ExitStatus {
        eventually("the server ends", || self.child.try_wait().unwrap().is_some());
        self.child.wait().unwrap()
    }

    /// Frames so far, shortened.
    fn told(&self) -> String {
        let short = |line: &String| line.chars().take(600).collect::<String>();
        self.seen.iter().map(short).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for process in processes_of(self.dir.path()) {
            let pid = process.split(' ').next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
            pid.map(|pid| kill_process(pid, Signal::KILL));
        }
    }
}

/// Holds a text to its snapshot, from which the tables of what was tried are made.
pub fn snapshot(name: &str, text: String) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, text));
}
