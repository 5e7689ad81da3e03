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
    time::timeout,
};

/// How long the process may take to exit once its input is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest line of stderr that is logged, in bytes.
const SHOWN_STDERR: usize = 4096;

/// Most bytes that wait for the process to read them; until there are fewer, no client's line is taken.
const MAX_UNREAD: usize = 1 << 20;

/// A server that runs.
pub struct ServerProcess {
    child: Child,
    group: Group,
    stdin: Option<ChildStdin>,
    lines: LineReader<ChildStdout>,
    log: JoinHandle<()>,
    unwritten: Vec<u8>,
    closes_input: bool,
}

/// What happened at the pipes.
pub enum PipeEvent {
    /// A line of the server.
    Line(Vec<u8>),
    /// Something was written, or a line was too long.
    Progress,
    /// The server writes nothing more.
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
        })
    }

    /// Adds bytes for the server's stdin.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.stdin.is_some() && !self.closes_input {
            self.unwritten.extend_from_slice(bytes);
        }
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
        if self.closes_input && self.unwritten.is_empty() {
            self.stdin = None;
        }
        let has_work = !self.unwritten.is_empty();
        let write = async {
            match &mut self.stdin {
                Some(stdin) if has_work => stdin.write(&self.unwritten).await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            written = write => {
                match written {
                    Ok(count) if count > 0 => drop(self.unwritten.drain(..count)),
                    // It reads no more; what it writes still counts.
                    _ => (self.stdin, self.unwritten) = (None, Vec::new()),
                }
                PipeEvent::Progress
            }
            line = self.lines.next() => match line {
                Ok(Some(Ok(line))) => PipeEvent::Line(line),
                Ok(Some(Err(error))) => {
                    tracing::warn!("a line of the server was left out: {error}");
                    PipeEvent::Progress
                }
                Ok(None) | Err(_) => PipeEvent::Ended,
            },
        }
    }

    /// Ends the server. Returns what was wrong with its end, if it has ended by itself.
    pub async fn end(mut self) -> Option<String> {
        self.stdin = None;
        let status = match timeout(EXIT_TIMEOUT, self.child.wait()).await {
            Ok(Ok(status)) if !status.success() => Some(format!("the server has ended: {status}")),
            _ => None,
        };
        self.group.end().await;
        self.log.abort();
        status
    }

    /// Ends the server at once.
    pub async fn stop(self) {
        self.group.end().await;
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
