//! The process of a server and its three pipes.

use super::line_source::{LineSource, SourceLine};
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

/// The longest line that is kept, in bytes: more than any server should ever say at once.
pub(super) const LONGEST: usize = 256 * 1024 * 1024;

/// How long pipes stay open that something which the server has left behind still holds.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Something that the server did, and when it was noticed.
#[derive(Debug)]
pub struct ProcessEvent {
    /// When.
    pub at: Instant,
    /// What.
    pub kind: ProcessEventKind,
}

/// Something that the server did.
#[derive(Debug)]
pub enum ProcessEventKind {
    /// It wrote a line, which is given without its line feed.
    Line(Vec<u8>),
    /// It wrote a line of so many bytes, which was not kept.
    TooLong(usize),
    /// It stopped writing in the middle of a line.
    Unfinished(Vec<u8>),
    /// It wrote a line to stderr.
    Stderr(Vec<u8>),
    /// It has closed its output. Most often it ends then; it may live on.
    OutputClosed,
    /// It has ended; nothing comes behind this.
    Exited(ExitStatus),
}

/// A server that runs, in a process group of its own, or has run. Dropping it kills what is left of the group.
pub struct Process {
    stdin: Option<ChildStdin>,
    output: OutputReader,
}

/// What listens to the server, also while it is written to.
struct OutputReader {
    child: Child,
    group: Option<Pid>,
    stdout: LineSource<ChildStdout>,
    stderr: LineSource<ChildStderr>,
    reads_stdout: bool,
    has_exited: bool,
    events: VecDeque<ProcessEvent>,
}

/// The status that a shell would report: 128 and the signal for a process that was killed.
pub fn shell_status(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

impl Process {
    /// Starts the server. Needs a tokio runtime with IO and time.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn spawn(command: Command) -> io::Result<Self> {
        Self::spawn_with_limit(command, LONGEST)
    }

    /// [`spawn`](Self::spawn) with lines of at most `longest` bytes.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_with_limit(mut command: Command, longest: usize) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let stdin = child.stdin.take();
        let stdout = LineSource::new(child.stdout.take(), longest);
        let stderr = LineSource::new(child.stderr.take(), longest);
        let events = VecDeque::new();
        Ok(Self {
            stdin,
            output: OutputReader {
                child,
                group,
                stdout,
                stderr,
                reads_stdout: true,
                has_exited: false,
                events,
            },
        })
    }

    /// Writes bytes, and goes on listening meanwhile, so that neither side waits for the other. When it is dropped while
    /// it waits, a part may have been written.
    ///
    /// # Errors
    ///
    /// When the input was closed, or the server does not read it any more.
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

    /// Ends the server's input.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// The server's input, to be written to by somebody else: [`write`](Self::write) has none then.
    pub const fn take_input(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// Whether the server's input is open.
    pub const fn input_is_open(&self) -> bool {
        self.stdin.is_some()
    }

    /// Closes our end of the server's output.
    pub fn close_output(&mut self) {
        self.output.stdout.close();
    }

    /// Whether its output is read. Where it is not, the server's pipe fills.
    pub const fn set_reading(&mut self, reads_stdout: bool) {
        self.output.reads_stdout = reads_stdout;
    }

    /// The next thing that the server does; after its end, `None`. Nothing is lost when it is dropped while it waits.
    pub async fn next(&mut self) -> Option<ProcessEvent> {
        loop {
            if let Some(heard) = self.output.events.pop_front() {
                return Some(heard);
            }
            if self.output.has_exited {
                return None;
            }
            self.output.poll().await;
        }
    }

    /// What the server did and was noticed already, without waiting.
    pub fn try_next(&mut self) -> Option<ProcessEvent> {
        self.output.events.pop_front()
    }

    /// The id of the process, and of its group; 0 if it ended at once.
    pub fn id(&self) -> u32 {
        self.output.group.map_or(0, |group| group.as_raw_nonzero().get().unsigned_abs())
    }

    /// Sends a signal to the whole group. One that has ended hears nothing.
    pub fn signal(&self, signal: Signal) {
        self.output.signal(signal);
    }
}

impl OutputReader {
    /// Waits until something happens, and notes it; for ever once the server has ended.
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
            // What it has left behind is not to outlive it.
            self.signal(Signal::KILL);
            self.has_exited = true;
            self.events
                .push_back(ProcessEvent { at: Instant::now(), kind: ProcessEventKind::Exited(status) });
        }
    }

    /// Reads what the server has left in its pipes.
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
            // Nobody may be left in it.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.output.signal(Signal::KILL);
    }
}
