//! Runs the process of one extension, from its start to its end.

use super::{
    frame_queue::FrameWriter,
    node::NodeHost,
    pipe::Pipe,
    spawn::{spawn_executable, spawn_host},
    stderr::StderrTail,
    stdout::StdoutReader,
    unpack::Unpacked,
};
use pi_rpc_files::secrets::{ChildEnvironment, Secrets};
use pi_rpc_processes::{Group, Processes};
use std::{
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    pin::pin,
    process::ExitStatus,
    time::Duration,
};
use tokio::{
    io::AsyncWrite,
    net::unix::pipe,
    process::Child,
    sync::{oneshot, watch},
    time::timeout,
};

/// How long a process may take to exit once it has closed one of its pipes, as every exit does.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// A process to run, with its queues.
pub(super) struct ExtensionProcess {
    pub(super) path: String,
    /// For the Node host: its runtime, and the queue of answers.
    pub(super) node: Option<(NodeHost, FrameWriter)>,
    pub(super) directory: PathBuf,
    pub(super) processes: Processes,
    pub(super) secrets: Secrets,
    pub(super) reader: StdoutReader,
    pub(super) writer: FrameWriter,
    /// Receives the reason to end the process.
    pub(super) stop: oneshot::Receiver<String>,
}

impl ExtensionProcess {
    /// Starts the process and stays with it until it is gone, with everything that is left in its group. Gives the
    /// reason for its end; what it wrote was heard, unless it was stopped.
    pub(super) async fn run(self) -> String {
        let Self { path, node, directory, processes, secrets, reader, writer, stop } = self;
        let environment = secrets.child_environment();
        let is_shown = node.is_some();
        let started = match node {
            None => spawn_executable(Path::new(&path), &directory, &environment, &processes)
                .map(SpawnedProcess::executable),
            Some((node, answers)) => {
                SpawnedProcess::host(node, answers, &directory, &environment, &processes).await
            }
        };
        let SpawnedProcess { mut child, group, answers, _unpacked } = match started {
            Ok(started) => started,
            Err(text) => return text,
        };
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return "it cannot be started: its pipes are missing".to_owned();
        };
        let (gone, exited) = watch::channel(false);
        let mut stderr_tail = StderrTail::new(&path, is_shown);
        let ended = {
            let by_itself = async {
                tokio::try_join!(
                    async {
                        let status = child.wait().await;
                        // The readers of its pipes see that it is gone.
                        gone.send_replace(true);
                        status.map_err(|error| format!("its exit could not be observed: {error}"))
                    },
                    async {
                        reader.run(Pipe::new(stdout, exited.clone())).await?;
                        exits_soon(exited.clone(), "stdout").await
                    },
                    write_frames(writer, stdin, "stdin", exited.clone()),
                    write_answers(answers, exited.clone()),
                    async {
                        stderr_tail.follow(Pipe::new(stderr, exited.clone())).await;
                        Ok(())
                    },
                )
            };
            tokio::select! {
                biased;
                Ok(text) = stop => Err(text),
                ended = by_itself => ended,
            }
        };
        end_group(child, group).await;
        let how = ended.map_or_else(|text| text, |(status, ..)| describe_exit(status));
        match stderr_tail.last(&secrets) {
            stderr_tail if stderr_tail.is_empty() => how,
            stderr_tail => format!("{how}: {stderr_tail}"),
        }
    }
}

/// A started process.
struct SpawnedProcess {
    child: Child,
    group: Group,
    answers: Option<(FrameWriter, pipe::Sender)>,
    /// Keeps the unpacked program until the exit.
    _unpacked: Option<Unpacked>,
}

impl SpawnedProcess {
    fn executable((child, group): (Child, Group)) -> Self {
        Self { child, group, answers: None, _unpacked: None }
    }

    async fn host(
        node: NodeHost,
        answers: FrameWriter,
        directory: &Path,
        environment: &ChildEnvironment,
        processes: &Processes,
    ) -> Result<Self, String> {
        let runtime = node.clone();
        let unpacked = tokio::task::spawn_blocking(move || runtime.unpack()).await;
        let unpacked = unpacked.map_err(std::io::Error::other).flatten();
        let unpacked =
            unpacked.map_err(|error| format!("the program that hosts it cannot be unpacked: {error}"))?;
        let pipe = pipe::pipe().and_then(|(ours, theirs)| Ok((ours, theirs.into_blocking_fd()?)));
        let (ours, theirs) = pipe.map_err(|error| format!("it cannot be started: {error}"))?;
        let (child, group) = spawn_host(&node, &unpacked.main, theirs, directory, environment, processes)?;
        Ok(Self { child, group, answers: Some((answers, ours)), _unpacked: Some(unpacked) })
    }
}

async fn write_answers(
    answers: Option<(FrameWriter, pipe::Sender)>,
    exited: watch::Receiver<bool>,
) -> Result<(), String> {
    match answers {
        Some((writer, pipe)) => write_frames(writer, pipe, "descriptor of answers", exited).await,
        None => Ok(()),
    }
}

async fn write_frames(
    writer: FrameWriter,
    pipe: impl AsyncWrite + Unpin,
    name: &str,
    mut exited: watch::Receiver<bool>,
) -> Result<(), String> {
    let written = tokio::select! {
        written = writer.write_to(pipe) => written,
        _ = exited.wait_for(|exited| *exited) => Ok(()),
    };
    match written {
        Ok(()) => Ok(()),
        Err(_) => exits_soon(exited, name).await,
    }
}

/// Fails if the process does not exit soon after closing a pipe.
async fn exits_soon(mut exited: watch::Receiver<bool>, pipe: &str) -> Result<(), String> {
    match timeout(EXIT_TIMEOUT, exited.wait_for(|exited| *exited)).await {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("it closed its {pipe}")),
    }
}

/// Ends the process and everything left in its group.
async fn end_group(mut child: Child, group: Group) {
    let mut reaped = false;
    {
        let mut dead = pin!(group.end());
        loop {
            tokio::select! {
                biased;
                () = &mut dead => break,
                _ = child.wait(), if !reaped => reaped = true,
            }
        }
    }
    // The loop may have ended before the exit was collected.
    let _ = child.try_wait();
    group.release();
}

fn describe_exit(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it exited with status {code}"),
        (None, signal) => format!("it was killed by signal {}", signal.unwrap_or_default()),
    }
}
