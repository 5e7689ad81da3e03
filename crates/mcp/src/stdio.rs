//! A server as a process: messages on its stdin and stdout, a line each.

use super::{MAX_MESSAGE, client::Inbox, server::Surroundings};
use pi_rpc_files::harmless::harmless;
use pi_rpc_processes::Group;
use pi_rpc_protocol::{LineSplitter, SplitLine};
use std::{path::PathBuf, process::Stdio, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::mpsc,
    time::timeout,
};

/// How long a server may take to exit once its stdin is closed; then its group gets TERM, and KILL.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);

/// Messages that wait for a server to read.
const QUEUE: usize = 64;

/// Bytes of lines in a row that are no messages, after which the server is ended.
const MAX_NOISE: usize = 4 * 1024 * 1024;

/// Bytes of stderr that are kept.
const STDERR_TAIL: usize = 2000;

/// The reason where a server has ended by itself.
const CLOSED: &str = "Connection closed";

/// How much is read at once, in bytes.
const CHUNK: usize = 64 * 1024;

/// What to start.
pub(crate) struct ServerProcess {
    pub command: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub directory: PathBuf,
}

/// Starts the process. It is ended once the returned sender is dropped, or when it breaks a limit; `inbox` is closed then.
///
/// # Errors
///
/// It cannot be started.
pub(crate) fn start(
    server: &ServerProcess,
    surroundings: &Surroundings,
    inbox: Arc<Inbox>,
) -> Result<mpsc::Sender<String>, String> {
    let mut command = Command::new(&server.command);
    command.args(&server.args).current_dir(&server.directory);
    surroundings.environment.withhold_keys(command.as_std_mut());
    command.envs(server.env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = surroundings.processes.spawn(&mut command);
    let program = server.command.display();
    let (mut child, group) = started.map_err(|error| format!("{program}: {error}"))?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(format!("{program}: its pipes are missing"));
    };
    let (sender, messages) = mpsc::channel(QUEUE);
    let answers = sender.downgrade();
    let secrets = surroundings.secrets.clone();
    tokio::spawn(async move {
        let mut tail = Vec::new();
        let reason = {
            let following = follow_stderr(stderr, &mut tail);
            tokio::pin!(following);
            let serving = async {
                tokio::select! {
                    reason = read(stdout, &inbox, &answers) => reason,
                    reason = write(stdin, messages) => reason,
                }
            };
            tokio::pin!(serving);
            let mut stderr_is_open = true;
            let reason = loop {
                tokio::select! {
                    reason = &mut serving => break reason,
                    () = &mut following, if stderr_is_open => stderr_is_open = false,
                }
            };
            // What it has to say about its end comes just before or after it.
            if stderr_is_open {
                let _ = timeout(EXIT_TIMEOUT, following).await;
            }
            reason
        };
        let status = end(child, group).await;
        let said = String::from_utf8_lossy(&tail);
        let said = secrets.redact(said.trim());
        let said = said.lines().map(harmless).collect::<Vec<_>>().join("\n");
        // How it ended after it was given up says nothing.
        let status = status.filter(|_| reason == CLOSED).map(|status| format!(" ({status})"));
        let status = status.unwrap_or_default();
        inbox.close(&match said.trim() {
            "" => format!("{reason}{status}"),
            said => format!("{reason}{status}\n{said}"),
        });
    });
    Ok(sender)
}

/// Writes messages until there will be none, or the server reads no more; closes stdin.
async fn write(mut stdin: ChildStdin, mut messages: mpsc::Receiver<String>) -> String {
    while let Some(message) = messages.recv().await {
        if stdin.write_all(message.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            // Its stdout tells more, if it has ended.
            return std::future::pending().await;
        }
    }
    CLOSED.to_owned()
}

/// Reads messages to the end of stdout; gives the reason of the end.
async fn read(mut stdout: ChildStdout, inbox: &Inbox, answers: &mpsc::WeakSender<String>) -> String {
    let mut splitter = LineSplitter::new(MAX_MESSAGE);
    let mut chunk = vec![0; CHUNK];
    let mut noise = 0;
    loop {
        let count = match stdout.read(&mut chunk).await {
            Ok(0) | Err(_) => return CLOSED.to_owned(),
            Ok(count) => count,
        };
        splitter.push(&chunk[..count]);
        while let Some(line) = splitter.next_line() {
            let SplitLine::Line(line) = line else { return too_long() };
            match inbox.receive_text(line) {
                (answer, true) => {
                    noise = 0;
                    if let (Some(answer), Some(sender)) = (answer, answers.upgrade()) {
                        // A server that does not read gets no answers.
                        let _ = sender.try_send(format!("{answer}\n"));
                    }
                }
                (_, false) => noise += line.len() + 1,
            }
            if noise > MAX_NOISE {
                return format!("it wrote {MAX_NOISE} bytes to stdout without a message of MCP");
            }
        }
        if splitter.is_skipping() {
            return too_long();
        }
        // A server that never stops must not hold up the others.
        tokio::task::yield_now().await;
    }
}

fn too_long() -> String {
    format!("it wrote a message of more than {MAX_MESSAGE} bytes")
}

/// Keeps the last bytes of stderr.
async fn follow_stderr(mut stderr: ChildStderr, tail: &mut Vec<u8>) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        tail.extend_from_slice(&chunk[..count]);
        let surplus = tail.len().saturating_sub(STDERR_TAIL);
        tail.drain(..surplus);
    }
}

/// Ends a process whose stdin is closed; gives its status, if it exited by itself.
async fn end(mut child: Child, group: Group) -> Option<std::process::ExitStatus> {
    let status = timeout(EXIT_TIMEOUT, child.wait()).await.ok().and_then(Result::ok);
    {
        let dead = group.end();
        tokio::pin!(dead);
        let mut is_reaped = status.is_some();
        loop {
            tokio::select! {
                biased;
                () = &mut dead => break,
                _ = child.wait(), if !is_reaped => is_reaped = true,
            }
        }
    }
    // The loop may have ended before the exit was collected.
    let _ = child.try_wait();
    group.release();
    status
}
