//! The process of another's server: its pipes, and its end.

use super::{
    host_error::HostError,
    other_server::{OtherServer, OtherSessionOptions},
};
use pi_rpc_files::harmless::harmless;
use pi_rpc_processes::{Group, Processes, line_reader::LineReader};
use pi_rpc_protocol::FRAME_LIMIT;
use std::{io, process::Stdio, time::Duration};
use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    task::JoinHandle,
    time::{Instant, sleep_until, timeout},
};

/// How long the process may take to exit once its input is closed, and to read what it was sent before it is ended.
pub const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long output is read after the process has exited or closed its input: one of its children may hold the pipe for ever.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Longest line of stderr that is logged, in bytes.
const SHOWN_STDERR: usize = 4096;

/// Most bytes that wait for the process to read them; until there are fewer, no client's line is taken.
const MAX_UNREAD: usize = 1 << 20;

/// Most bytes that wait for the process at all: clients' lines that came together, and what the host itself sends.
const MAX_UNWRITTEN: usize = 4 * FRAME_LIMIT;

/// A server that runs.
pub struct ServerProcess {
    child: Child,
    group: Group,
    stdin: Option<ChildStdin>,
    lines: LineReader<ChildStdout>,
    log: JoinHandle<()>,
    unwritten: Vec<u8>,
    closes_input: bool,
    /// Until when output is read; `None`: the process runs and reads.
    drains_until: Option<Instant>,
    /// Why the process is not waited for, which has broken the protocol.
    fault: Option<String>,
}

/// What happened at the pipes.
pub enum PipeEvent {
    /// A line of the server.
    Line(Vec<u8>),
    /// Something was written, or the process has exited.
    Progress,
    /// The server writes nothing more that counts.
    Ended,
}

impl ServerProcess {
    /// Starts the server for a session.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn start(server: &OtherServer, options: &OtherSessionOptions) -> Result<Self, HostError> {
        let failed = |error: io::Error| {
            HostError::OpenFailed(format!("{} cannot be started: {error}", server.program.to_string_lossy()))
        };
        let mut command = Command::new(&server.program);
        command.args(&server.arguments).args(&options.arguments).current_dir(&options.directory);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (mut child, group) = Processes::new().spawn(&mut command).map_err(failed)?;
        let pipes = child.stdin.take().zip(child.stdout.take()).zip(child.stderr.take());
        let ((stdin, stdout), stderr) = pipes.ok_or_else(|| failed(io::Error::other("a pipe is missing")))?;
        Ok(Self {
            child,
            group,
            stdin: Some(stdin),
            lines: LineReader::new(stdout, FRAME_LIMIT),
            log: tokio::spawn(log_stderr(stderr)),
            unwritten: Vec::new(),
            closes_input: false,
            drains_until: None,
            fault: None,
        })
    }

    /// Adds bytes for the server's stdin.
    pub fn write(&mut self, bytes: &[u8]) {
        if !self.takes_input() {
            return;
        }
        if self.unwritten.len() + bytes.len() > MAX_UNWRITTEN {
            let text = format!("the server has not read what it was sent: more than {MAX_UNWRITTEN} bytes");
            return self.fail(text);
        }
        self.unwritten.extend_from_slice(bytes);
    }

    /// Notes why the program is to be ended; the next call of [`next`](Self::next) returns that reason.
    pub fn fail(&mut self, reason: String) {
        self.fault.get_or_insert(reason);
    }

    /// Whether what is written reaches the server.
    pub const fn takes_input(&self) -> bool {
        self.stdin.is_some() && !self.closes_input && self.drains_until.is_none() && self.fault.is_none()
    }

    /// Closes the server's stdin once all of it is written.
    pub fn close_input(&mut self) {
        self.closes_input = true;
    }

    /// Whether the server reads what it is sent.
    pub fn has_room(&self) -> bool {
        self.unwritten.len() < MAX_UNREAD
    }

    /// Waits until a pipe has done something. Cancel-safe.
    pub async fn next(&mut self) -> PipeEvent {
        if self.fault.is_some() {
            return PipeEvent::Ended;
        }
        if self.closes_input && self.unwritten.is_empty() {
            self.stdin = None;
        }
        let has_work = !self.unwritten.is_empty();
        let drains_until = self.drains_until;
        let Self { child, stdin, lines, unwritten, .. } = self;
        let write = async {
            match stdin {
                Some(stdin) if has_work => stdin.write(unwritten).await,
                _ => std::future::pending().await,
            }
        };
        let drained = async {
            match drains_until {
                Some(until) => sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            written = write => {
                match written {
                    Ok(count) if count > 0 => drop(self.unwritten.drain(..count)),
                    // It reads no more; what it has written still counts.
                    _ => {
                        (self.stdin, self.unwritten) = (None, Vec::new());
                        self.drain();
                    }
                }
                PipeEvent::Progress
            }
            line = lines.next_or_fail() => match line {
                Ok(Some(line)) => PipeEvent::Line(line),
                Ok(None) => PipeEvent::Ended,
                Err(error) => {
                    self.fail(format!("the output of the server: {error}"));
                    PipeEvent::Ended
                }
            },
            _ = child.wait(), if drains_until.is_none() => {
                self.drain();
                PipeEvent::Progress
            }
            () = drained => PipeEvent::Ended,
        }
    }

    fn drain(&mut self) {
        self.drains_until.get_or_insert_with(|| Instant::now() + DRAIN_TIMEOUT);
    }

    /// Ends the server. Returns what was wrong with its end, if it has ended by itself.
    pub async fn end(mut self) -> Option<String> {
        let fault = self.fault.take();
        if fault.is_some() {
            self.stop().await;
            return fault;
        }
        let reads_no_more = self.stdin.is_none() && !self.closes_input;
        self.stdin = None;
        let time = if reads_no_more { DRAIN_TIMEOUT } else { EXIT_TIMEOUT };
        let status = match timeout(time, self.child.wait()).await {
            Ok(Ok(status)) if !status.success() => Some(format!("the server has ended: {status}")),
            Err(_) if reads_no_more => Some("the server has closed its input".to_owned()),
            _ => None,
        };
        self.stop().await;
        status
    }

    /// Ends the server at once.
    pub async fn stop(mut self) {
        // The group is there until its first process is waited for.
        let _ = tokio::join!(self.group.end(), timeout(EXIT_TIMEOUT, self.child.wait()));
        self.log.abort();
    }
}

/// Logs what the server writes to stderr.
async fn log_stderr(stderr: ChildStderr) {
    let mut lines = LineReader::new(stderr, SHOWN_STDERR);
    while let Ok(Some(line)) = lines.next().await {
        match line {
            Ok(line) => tracing::info!("the server: {}", harmless(String::from_utf8_lossy(&line).trim_end())),
            Err(error) => tracing::info!("the server: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pi_rpc_protocol::Dialect;

    #[tokio::test]
    async fn unread_bytes_are_bounded() {
        let directory = std::env::temp_dir();
        let server = OtherServer {
            program: "/bin/cat".into(),
            arguments: Vec::new(),
            speaks: Dialect::Pi1.into(),
            dialect: Dialect::Pi1,
            directory: directory.clone(),
        };
        let options = OtherSessionOptions { dialect: Dialect::Pi1, directory, arguments: Vec::new() };
        let mut process = ServerProcess::start(&server, &options).unwrap();
        process.write(&vec![0; MAX_UNREAD]);
        assert!(!process.has_room(), "no more lines of clients are taken");
        process.write(&vec![0; MAX_UNWRITTEN]);
        assert!(!process.takes_input());
        assert!(matches!(process.next().await, PipeEvent::Ended));
        let error = "the server has not read what it was sent: more than 268435456 bytes";
        assert_eq!(process.end().await.as_deref(), Some(error));
    }
}
