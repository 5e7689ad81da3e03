//! The process of a server and its three pipes.

use super::line_source::{LineSource, SourceLine};
use pi_rpc_processes::process_watcher::{self, WatchedGroup};
use rustix::process::{Pid, kill_process_group};
use std::{
    collections::VecDeque,
    future::pending,
    io,
    os::unix::process::ExitStatusExt as _,
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};
use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::sleep_until,
};

pub use rustix::process::Signal;

/// Default limit of a line, in bytes.
pub const LONGEST: usize = 256 * 1024 * 1024;

/// How long the pipes are read after the exit, while processes that the server has left behind still hold them.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// An event of the server's process, with the time of its observation.
#[derive(Debug)]
pub struct ProcessEvent {
    /// The time.
    pub at: Instant,
    /// The event.
    pub kind: ProcessEventKind,
}

/// An event of the server's process.
#[derive(Debug)]
pub enum ProcessEventKind {
    /// A line on stdout, without its line feed.
    Line(Vec<u8>),
    /// A line on stdout of so many bytes, over the limit; its content is dropped.
    TooLong(usize),
    /// An unfinished line at the end of stdout.
    Unfinished(Vec<u8>),
    /// A line on stderr, without its line feed.
    Stderr(Vec<u8>),
    /// stdout was closed. Most servers exit then; some live on.
    OutputClosed,
    /// The process has exited. The last event.
    Exited(ExitStatus),
}

/// The process of a server, in a process group of its own. Dropping it kills what is left of the group.
pub struct Process {
    stdin: Option<ChildStdin>,
    output: OutputReader,
}

/// Reads both outputs of the server and waits for its exit, also while its input is written to.
struct OutputReader {
    child: Child,
    group: Option<Pid>,
    /// Has the group ended if this program is killed.
    watched: Option<WatchedGroup>,
    stdout: LineSource<ChildStdout>,
    stderr: LineSource<ChildStderr>,
    reads_stdout: bool,
    has_exited: bool,
    events: VecDeque<ProcessEvent>,
}

/// The exit status as shells report it: 128 plus the signal for a process that was killed.
pub fn shell_status(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

impl Process {
    /// Starts the server. Needs a tokio runtime with IO and time.
    ///
    /// # Errors
    ///
    /// The process cannot be started.
    pub fn spawn(command: Command) -> io::Result<Self> {
        Self::spawn_with_limit(command, LONGEST)
    }

    /// [`spawn`](Self::spawn) with a limit of `longest` bytes a line.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_with_limit(mut command: Command, longest: usize) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let start = process_watcher::announce_start(command.as_std_mut());
        let mut child = command.spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let watched = group.map(|group| WatchedGroup::new(start, group));
        let stdin = child.stdin.take();
        let stdout = LineSource::new(child.stdout.take(), longest);
        let stderr = LineSource::new(child.stderr.take(), longest);
        let events = VecDeque::new();
        Ok(Self {
            stdin,
            output: OutputReader {
                child,
                group,
                watched,
                stdout,
                stderr,
                reads_stdout: true,
                has_exited: false,
                events,
            },
        })
    }

    /// Writes bytes to stdin while still reading the outputs, so that the two sides cannot block each other. Not cancel-safe:
    /// a part may have been written.
    ///
    /// # Errors
    ///
    /// The input was closed, on this side or by the server.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Self { stdin, output } = self;
        let Some(stdin) = stdin else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let mut writing = std::pin::pin!(stdin.write_all(bytes));
        loop {
            tokio::select! {
                biased;
                written = &mut writing => return written,
                () = output.poll() => {}
            }
        }
    }

    /// Closes the server's stdin.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Takes the server's stdin out; [`write`](Self::write) fails then.
    pub const fn take_input(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// Whether the server's stdin is open.
    pub const fn input_is_open(&self) -> bool {
        self.stdin.is_some()
    }

    /// Closes this side of the server's stdout.
    pub fn close_output(&mut self) {
        self.output.stdout.close();
    }

    /// Pauses and resumes the reading of stdout. While paused, the server's pipe fills.
    pub const fn set_reading(&mut self, reads_stdout: bool) {
        self.output.reads_stdout = reads_stdout;
    }

    /// Waits for the next event; `None` after the exit. Cancel-safe.
    pub async fn next(&mut self) -> Option<ProcessEvent> {
        loop {
            if let Some(event) = self.output.events.pop_front() {
                return Some(event);
            }
            if self.output.has_exited {
                return None;
            }
            self.output.poll().await;
        }
    }

    /// The next event that was observed already, without waiting.
    pub fn try_next(&mut self) -> Option<ProcessEvent> {
        self.output.events.pop_front()
    }

    /// The id of the process and its group; 0 if it exited at once.
    pub fn id(&self) -> u32 {
        self.output.group.map_or(0, |group| group.as_raw_nonzero().get().unsigned_abs())
    }

    /// Sends a signal to the process group; does nothing after the exit.
    pub fn signal(&self, signal: Signal) {
        self.output.signal(signal);
    }
}

impl OutputReader {
    /// Waits until something happens and queues its events; for ever after the exit.
    async fn poll(&mut self) {
        if self.has_exited {
            return pending().await;
        }
        let (mut stdout, mut stderr) = (VecDeque::new(), VecDeque::new());
        let was_open = self.stdout.is_open();
        let status = tokio::select! {
            biased;
            () = self.stdout.read(&mut stdout), if self.reads_stdout => None,
            () = self.stderr.read(&mut stderr) => None,
            status = self.child.wait() => Some(status.unwrap_or_default()),
        };
        self.push_lines(stdout, stderr);
        if was_open && !self.stdout.is_open() {
            self.events.push_back(ProcessEvent { at: Instant::now(), kind: ProcessEventKind::OutputClosed });
        }
        if let Some(status) = status {
            self.drain().await;
            // Processes that the server has left behind are not to outlive it.
            self.signal(Signal::KILL);
            self.has_exited = true;
            self.watched = None;
            self.events
                .push_back(ProcessEvent { at: Instant::now(), kind: ProcessEventKind::Exited(status) });
        }
    }

    /// Reads what is left in the pipes.
    async fn drain(&mut self) {
        let deadline = tokio::time::Instant::now() + DRAIN_TIMEOUT;
        while self.stdout.is_open() || self.stderr.is_open() {
            let (mut stdout, mut stderr) = (VecDeque::new(), VecDeque::new());
            let over = tokio::select! {
                biased;
                () = self.stdout.read(&mut stdout) => false,
                () = self.stderr.read(&mut stderr) => false,
                () = sleep_until(deadline) => true,
            };
            self.push_lines(stdout, stderr);
            if over {
                return;
            }
        }
    }

    fn push_lines(&mut self, stdout: VecDeque<SourceLine>, stderr: VecDeque<SourceLine>) {
        let at = Instant::now();
        let stdout = stdout.into_iter().map(|line| match line {
            SourceLine::Line(line) => ProcessEventKind::Line(line),
            SourceLine::Rest(rest) => ProcessEventKind::Unfinished(rest),
            SourceLine::TooLong(length) => ProcessEventKind::TooLong(length),
        });
        let stderr = stderr.into_iter().filter_map(|line| match line {
            SourceLine::Line(line) | SourceLine::Rest(line) => Some(ProcessEventKind::Stderr(line)),
            SourceLine::TooLong(_) => None,
        });
        self.events.extend(stdout.chain(stderr).map(|kind| ProcessEvent { at, kind }));
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group.filter(|_| !self.has_exited) {
            // The group may be empty.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.output.signal(Signal::KILL);
    }
}
