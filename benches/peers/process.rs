//! Process of a server: its start, commands, resources and end.

use crate::{
    Outcome,
    install::Server,
    reader::{Reader, Stop},
};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{Read as _, Seek as _, Write as _},
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

/// Time limit of every command.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Process that is ended on drop, with all its children.
pub struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    pub reader: Reader<ChildStdout>,
    /// Start time.
    pub since: Instant,
    stderr: File,
}

impl Process {
    /// Starts a server with further options.
    pub fn start(server: &Server, options: &[&str]) -> Outcome<Self> {
        server.forget();
        let mut command = Command::new(server.program());
        command.args(server.arguments()).args(options).current_dir(server.directory());
        command.env_clear().env("HOME", &server.home).env("LANG", "C.UTF-8").env("TERM", "dumb");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(server.node.iter().map(|node| ("PI_RPC_NODE", node)));
        // Prevents network access.
        command.env("PI_OFFLINE", "1").env("PI_SKIP_VERSION_CHECK", "1");
        Self::spawn(&mut command)
    }

    /// Starts any program.
    pub fn spawn(command: &mut Command) -> Outcome<Self> {
        let stderr = tempfile::tempfile().map_err(|error| error.to_string())?;
        let copy = stderr.try_clone().map_err(|error| error.to_string())?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(copy).process_group(0);
        let since = Instant::now();
        let mut child = command.spawn().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or("no stdout")?;
        Ok(Self { child, stdin, reader: Reader::new(stdout), since, stderr })
    }

    /// Writes a command.
    pub fn send(&mut self, command: &Value) -> Outcome<()> {
        self.send_line(&format!("{command}\n"))
    }

    /// Writes a line.
    pub fn send_line(&mut self, line: &str) -> Outcome<()> {
        let stdin = self.stdin.as_mut().ok_or("its stdin is closed")?;
        stdin.write_all(line.as_bytes()).map_err(|error| format!("it does not read: {error}"))
    }

    /// Takes the stdin of the process, which has none afterwards.
    pub fn take_stdin(&mut self) -> Outcome<ChildStdin> {
        self.stdin.take().ok_or_else(|| "its stdin is closed".to_owned())
    }

    /// Reads up to the line whose head has `mark`.
    pub fn until(&mut self, mark: &str) -> Outcome<Vec<u8>> {
        self.until_many(mark, 1)
    }

    /// Reads up to the `count`-th line whose head has `mark`.
    pub fn until_many(&mut self, mark: &str, count: usize) -> Outcome<Vec<u8>> {
        self.reader.until(mark, count, LIMIT).map_err(|stop| self.reason(&stop))
    }

    /// Reads up to the next line whose head has `mark`.
    pub fn next(&mut self, mark: &memchr::memmem::Finder<'_>) -> Outcome<()> {
        self.reader.next(mark, LIMIT).map_err(|stop| self.reason(&stop))
    }

    /// Sends a command without an id and reads up to its response, which must be a success.
    pub fn ask(&mut self, mut command: Value) -> Outcome<()> {
        command["id"] = "q".into();
        self.send(&command)?;
        let head = self.until(r#""type":"response""#)?;
        match memchr::memmem::find(&head, br#""success":true"#) {
            Some(_) => Ok(()),
            None => Err(format!("{} fails: {}", command["type"], String::from_utf8_lossy(&head))),
        }
    }

    /// Processor time so far.
    pub fn cpu(&self) -> Cpu {
        Cpu::of(self.child.id())
    }

    /// Memory figure of `/proc` with this name, such as `VmRSS`, in bytes.
    pub fn memory(&self, name: &str) -> Outcome<f64> {
        kilobytes(&format!("/proc/{}/status", self.child.id()), name)
    }

    /// Proportional memory in bytes: memory that processes share is divided among them.
    pub fn share(&self) -> Outcome<f64> {
        kilobytes(&format!("/proc/{}/smaps_rollup", self.child.id()), "Pss")
    }

    /// Memory in bytes that the process has written, and shares with none.
    pub fn dirty(&self) -> Outcome<f64> {
        kilobytes(&format!("/proc/{}/smaps_rollup", self.child.id()), "Private_Dirty")
    }

    /// Resets `VmHWM`.
    pub fn reset_peak(&self) -> Outcome<()> {
        let path = format!("/proc/{}/clear_refs", self.child.id());
        fs::write(&path, "5").map_err(|error| format!("{path}: {error}"))
    }

    /// Waits until a process that has closed its stdout has exited, and is not reaped yet.
    pub fn is_over(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, fields)| fields.starts_with('Z'))
    }

    fn reason(&mut self, stop: &Stop) -> String {
        let ended = match stop {
            Stop::Ended => self.child.wait().ok(),
            _ => None,
        };
        let mut text = match ended.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => format!("dies (status {code})"),
            Some((_, Some(signal))) => format!("dies (signal {signal})"),
            _ => stop.to_string(),
        };
        let mut stderr = String::new();
        if self.stderr.rewind().is_ok() && self.stderr.read_to_string(&mut stderr).is_ok() {
            let line = stderr.lines().find(|line| line.contains("Error")).or(stderr.lines().last());
            text.extend(line.map(|line| format!(": {}", line.trim())));
        }
        text
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // Ends the remaining processes of its group, even if it has exited.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Processor time of a process, of all its threads.
#[derive(Default)]
pub struct Cpu {
    /// Nanoseconds of the living threads, by id.
    threads: BTreeMap<String, u64>,
    /// Seconds of all threads, in hundredths.
    all: Duration,
}

impl Cpu {
    fn of(pid: u32) -> Self {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let threads = threads.filter_map(|thread| {
            let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            let nanoseconds = text.split(' ').next()?.parse().ok()?;
            Some((thread.file_name().to_string_lossy().into_owned(), nanoseconds))
        });
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
        let ticks = fields.split(' ').skip(11).take(2).filter_map(|field| field.parse::<u64>().ok());
        Self {
            threads: threads.collect(),
            all: Duration::from_millis(10) * u32::try_from(ticks.sum::<u64>()).unwrap_or(u32::MAX),
        }
    }

    /// Seconds from `before` to this one.
    pub fn since(&self, before: &Self) -> f64 {
        let fine: u64 = self
            .threads
            .iter()
            .map(|(thread, now)| now.saturating_sub(before.threads.get(thread).copied().unwrap_or(0)))
            .sum();
        let coarse = self.all.saturating_sub(before.all);
        let fine = Duration::from_nanos(fine);
        // Threads that have ended are only in the coarse figure.
        if coarse > fine + Duration::from_millis(20) { coarse.as_secs_f64() } else { fine.as_secs_f64() }
    }
}

fn kilobytes(path: &str, name: &str) -> Outcome<f64> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number =
        line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|line| line.parse::<f64>().ok());
    number.map(|number| number * 1024.0).ok_or_else(|| format!("{path} has no {name}"))
}
