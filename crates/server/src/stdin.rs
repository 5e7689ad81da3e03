//! Reads stdin frame by frame, without a thread: a read happens only once data is there.

use super::observer::TraceContext;
use pi_rpc_engine::Input;
use pi_rpc_protocol::{Dialect, LineSplitter, SplitLine, read_line};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    fs::File,
    io::{self, ErrorKind, Read},
    os::fd::{AsFd, OwnedFd},
};
use tokio::io::{Interest, Ready, unix::AsyncFd};

/// Size of one read, in bytes.
const CHUNK: usize = 64 * 1024;

/// This process's stdin.
pub struct Stdin {
    from: File,
    /// Readiness of the descriptor; `None` for a file, which is always ready.
    watched: Option<AsyncFd<OwnedFd>>,
}

impl Stdin {
    /// Registers stdin with the runtime.
    ///
    /// # Errors
    ///
    /// It is closed, or cannot be polled.
    pub fn new() -> io::Result<Self> {
        let from = io::stdin().as_fd().try_clone_to_owned()?;
        let watched = watch(&from, Interest::READABLE)?;
        Ok(Self { from: File::from(from), watched })
    }

    /// Reads what there is, and waits for the first byte. 0: the end of input. Cancel-safe.
    ///
    /// # Errors
    ///
    /// Reading fails.
    pub async fn read(&mut self, splitter: &mut LineSplitter) -> io::Result<usize> {
        loop {
            self.readable().await;
            match self.from.read(splitter.space(CHUNK)) {
                Ok(count) => {
                    splitter.commit(count);
                    return Ok(count);
                }
                // The host may have set O_NONBLOCK on the shared pipe.
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until the host has closed stdin, whether or not everything is read. Nothing more comes from a file.
    pub async fn hung_up(&self) {
        let Some(watched) = &self.watched else { return };
        // If watching fails, the next read reports why.
        while let Ok(mut guard) = watched.readable().await {
            if guard.ready().is_read_closed() {
                return;
            }
            // Bytes that are there are left for the reader; the end is an event of its own.
            guard.clear_ready_matching(Ready::READABLE);
        }
    }

    /// Whether bytes wait to be read; also where the system does not tell.
    pub fn has_unread(&self) -> bool {
        rustix::io::ioctl_fionread(&self.from).map_or(true, |count| count > 0)
    }

    /// Waits until a read would not block.
    async fn readable(&self) {
        let Some(watched) = &self.watched else { return };
        // If watching fails, the read reports why.
        while let Ok(mut guard) = watched.readable().await {
            if is_ready(watched, PollFlags::IN) {
                return;
            }
            guard.clear_ready();
        }
    }
}

/// Reader of the inbound frames on stdin.
pub struct FrameReader {
    stdin: Stdin,
    splitter: LineSplitter,
    dialect: Dialect,
    max_frame: usize,
    /// Bytes of all lines that were returned.
    bytes_read: u64,
    has_ended: bool,
    /// Whether trace contexts of lines are read.
    reads_traces: bool,
    /// The trace context of the last frame.
    trace_context: Option<TraceContext>,
}

impl FrameReader {
    /// A reader of this process's stdin.
    pub fn of_stdin(dialect: Dialect, max_frame: usize) -> io::Result<Self> {
        Ok(Self {
            stdin: Stdin::new()?,
            splitter: LineSplitter::new(max_frame),
            dialect,
            max_frame,
            bytes_read: 0,
            has_ended: false,
            reads_traces: false,
            trace_context: None,
        })
    }

    /// Reads the trace contexts of lines from now on.
    pub const fn read_traces(&mut self) {
        self.reads_traces = true;
    }

    /// Takes the trace context that the last frame carried.
    pub const fn take_trace_context(&mut self) -> Option<TraceContext> {
        self.trace_context.take()
    }

    /// The next frame, then once [`Input::EndOfInput`], then `None`. Cancel-safe: a dropped future loses nothing.
    pub async fn next(&mut self) -> Option<Input> {
        loop {
            if let Some(input) = self.next_buffered() {
                return Some(input);
            }
            if self.has_ended {
                return None;
            }
            match self.stdin.read(&mut self.splitter).await {
                Ok(0) => return Some(self.end()),
                Ok(_) => {}
                Err(error) => {
                    tracing::error!("stdin: {error}");
                    self.has_ended = true;
                    return Some(Input::Shutdown);
                }
            }
        }
    }

    /// Bytes of all lines returned so far.
    pub const fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// The next frame that is buffered already.
    pub fn next_buffered(&mut self) -> Option<Input> {
        loop {
            let line = self.splitter.next_line()?;
            if let SplitLine::Line(line) = &line {
                self.bytes_read += line.len() as u64;
                self.trace_context = self.reads_traces.then(|| TraceContext::of_line(line)).flatten();
            }
            let input = to_input(line, self.dialect, self.max_frame);
            self.splitter.release();
            if input.is_some() {
                return input;
            }
        }
    }

    /// The last line, if only its line feed is missing, else [`Input::EndOfInput`].
    fn end(&mut self) -> Input {
        let last = self.splitter.finish();
        if let Some(SplitLine::Line(line)) = &last {
            self.trace_context = self.reads_traces.then(|| TraceContext::of_line(line)).flatten();
        }
        let last = last.and_then(|line| to_input(line, self.dialect, self.max_frame));
        self.has_ended = last.is_none();
        last.unwrap_or(Input::EndOfInput)
    }
}

/// Whether a descriptor is ready for one of `flags`, or is closed or broken, which the next read or write reports.
pub fn is_ready(of: impl AsFd, flags: PollFlags) -> bool {
    let mut polled = [PollFd::new(&of, flags)];
    matches!(poll(&mut polled, Some(&Timespec::default())), Ok(1..))
}

/// Registers a descriptor with the runtime; `None` for a file, which is always ready.
#[allow(
    deprecated,
    reason = "what is recommended is unsafe, for types whose descriptor may change: an `OwnedFd`'s never does"
)]
pub fn watch(of: &impl AsFd, interest: Interest) -> io::Result<Option<AsyncFd<OwnedFd>>> {
    match AsyncFd::with_interest(of.as_fd().try_clone_to_owned()?, interest) {
        Ok(watched) => Ok(Some(watched)),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error),
    }
}

fn to_input(line: SplitLine, dialect: Dialect, max_frame: usize) -> Option<Input> {
    match line {
        SplitLine::TooLong(length) => Some(Input::too_long(length, max_frame)),
        SplitLine::Line(line) => line_to_input(line, dialect),
    }
}

/// The input for a line without its line feed; `None`: a blank line that the dialect skips.
pub fn line_to_input(line: &[u8], dialect: Dialect) -> Option<Input> {
    match read_line(line, dialect) {
        Ok(frame) => frame.map(|frame| Input::line(Ok(frame))),
        Err(error) => {
            if !error.is_answered() {
                tracing::warn!("ignored: {error:?}");
            }
            Some(Input::line(Err(error)))
        }
    }
}
