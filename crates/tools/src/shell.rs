//! Executes one shell command, for the `bash` tool and the protocol's `bash` command: options, control, outcome.
//!
//! The process itself is in [`running_command`](super::running_command).

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{
    directory_report::DirectoryReport,
    output::CommandOutput,
    output_files::{OutputFiles, RemovedFiles},
    run::ToolOutput,
    running_command::RunningCommand,
    truncate::Limits,
};
use pi_rpc_files::secrets::ChildEnvironment;
use pi_rpc_processes::Processes;
use pi_rpc_protocol::TruncationResult;

/// Options of commands, from settings and dialect.
#[derive(Debug, Clone)]
pub struct ShellOptions {
    /// The shell; `None`: bash, else sh.
    pub shell: Option<PathBuf>,
    /// Lines in front of every command.
    pub prefix: Option<String>,
    /// The agent's folder of programs, put in front of `PATH`.
    pub programs: Option<PathBuf>,
    /// Timeout of a command; `None`: none, as in pi. xcsh has 300 s.
    pub timeout: Option<Duration>,
    /// Size of the tail that is shown.
    pub limits: Limits,
    /// Largest file with the full output, in bytes. Neither pi nor xcsh has a limit.
    pub file_limit: u64,
    /// Files with full outputs of earlier commands; beyond their limit the oldest are removed.
    pub files: OutputFiles,
    /// Whether escape sequences, carriage returns and control characters are removed from the output.
    pub clean: bool,
    /// Whether the directory in which the command ends is reported ([`ShellOutcome::directory`]).
    pub keeps_directory: bool,
    /// Place and wording of the notice that a command was stopped.
    pub stop_notice: StopNotice,
    /// The environment of the command.
    pub environment: ChildEnvironment,
    /// Variables of the command's own, set last. [`SESSION_VARIABLES`] that are not among them are removed.
    pub variables: Vec<(&'static str, String)>,
    /// Whether the details of the tool's result have `timeoutSeconds`, as in xcsh.
    pub reports_timeout: bool,
}

impl ShellOptions {
    /// Options of pi's `bash` tool: raw output.
    pub fn for_tool() -> Self {
        Self { clean: false, ..Self::for_command() }
    }

    /// Options of pi's `bash` command: cleaned output.
    pub fn for_command() -> Self {
        Self {
            shell: None,
            prefix: None,
            programs: None,
            timeout: None,
            limits: Limits::default(),
            file_limit: OUTPUT_FILE_LIMIT,
            files: OutputFiles::default(),
            clean: true,
            keeps_directory: false,
            stop_notice: StopNotice::After,
            environment: ChildEnvironment::default(),
            variables: Vec::new(),
            reports_timeout: false,
        }
    }
}

/// Variables by which every command recognises an agent, and their values. Source: pi 1.6.0 source, observed.
pub(super) const AGENT_VARIABLES: [(&str, &str); 2] = [("AI_AGENT", "pi"), ("PI_CODING_AGENT", "true")];

/// Variables about the session of a command of the model. Source: pi 1.6.0 source, observed.
pub const SESSION_VARIABLES: [&str; 5] =
    ["PI_SESSION_ID", "PI_SESSION_FILE", "PI_PROVIDER", "PI_MODEL", "PI_REASONING_LEVEL"];

/// Default of [`ShellOptions::file_limit`]: 1 GiB.
pub const OUTPUT_FILE_LIMIT: u64 = 1 << 30;

/// Notice in a result that the command was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopNotice {
    /// pi: a blank line and `Command aborted` after the output.
    After,
    /// xcsh: `[Command cancelled]` on a line before the output.
    Before,
}

/// Channels that control and observe a running command.
pub struct ShellControl {
    /// Cancels the command.
    pub cancel: CancellationToken,
    /// While `false`, output is not read. Without a sender the gate is open.
    pub gate: watch::Receiver<bool>,
    /// Receiver of progress.
    pub progress: Option<Progress>,
    /// Receiver of the whole output in pieces; while the channel is full, nothing is read.
    pub follower: Option<mpsc::Sender<String>>,
    /// Registry of process groups.
    pub processes: Processes,
}

/// Progress of a command: the output so far after each chunk, if the channel has room.
///
/// Without room, a new one is made once there is some, of the output at that time: a slow receiver gets fewer and newer
/// ones. A channel of capacity 1 keeps at most one that is out of date. None is sent after the end.
pub struct Progress {
    /// The channel.
    pub sender: mpsc::Sender<ToolOutput>,
    /// Renders a snapshot.
    pub render: fn(ShellSnapshot) -> ToolOutput,
}

/// Output so far.
#[derive(Debug)]
pub struct ShellSnapshot {
    /// The tail of the output, and how it was truncated.
    pub truncation: TruncationResult,
    /// The file with the full output, if there is one yet.
    pub full_output_path: Option<PathBuf>,
}

/// Result of a command that has ended.
#[derive(Debug)]
pub struct ShellOutcome {
    /// How the command ended.
    pub ending: CommandEnd,
    /// The tail of the output, and how it was truncated.
    pub truncation: TruncationResult,
    /// The file with the full output, if it was truncated. The reader of the result owns it.
    pub full_output_path: Option<PathBuf>,
    /// Files of earlier commands that were removed to make room for this one's.
    pub removed: RemovedFiles,
    /// Bytes of the last line before any cut; if it ends with a line feed, without that.
    pub last_line_bytes: u64,
    /// The directory in which the command ended, if it was requested and is known.
    pub directory: Option<PathBuf>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// It exited with this code.
    Exited(i32),
    /// A signal of another process ended it.
    Signalled(i32),
    /// It was cancelled.
    Cancelled,
    /// It has reached this timeout.
    TimedOut(Duration),
}

impl CommandEnd {
    /// The exit code as shells report it: 128 plus the signal. `None` if it was cancelled or timed out.
    pub const fn exit_code(self) -> Option<i32> {
        match self {
            CommandEnd::Exited(code) => Some(code),
            CommandEnd::Signalled(signal) => Some(128 + signal),
            CommandEnd::Cancelled | CommandEnd::TimedOut(_) => None,
        }
    }

    /// xcsh's notice before the output of a stopped command.
    pub fn leading_notice(self) -> Option<String> {
        match self {
            CommandEnd::Cancelled => Some("[Command cancelled]".into()),
            CommandEnd::TimedOut(limit) => {
                Some(format!("[Command timed out after {} seconds]", limit.as_secs_f64()))
            }
            CommandEnd::Exited(_) | CommandEnd::Signalled(_) => None,
        }
    }
}

/// Why a command could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// The shell of the settings does not exist.
    #[error("Custom shell path not found: {}\nPlease correct shellPath in the settings.", .0.display())]
    NoShell(PathBuf),
    /// The working directory does not exist.
    #[error("Working directory does not exist: {}\nCannot execute bash commands.", .0.display())]
    NoDirectory(PathBuf),
    /// The system refuses a pipe, a file or a process.
    #[error("Failed to run the command: {0}")]
    System(#[from] io::Error),
}

/// Runs `command` in `cwd` until it ends or `control` stops it. stdin is empty.
///
/// After a cancellation or timeout, its process group is dead when this returns. If the future is dropped, the group is
/// killed. A command that is cancelled beforehand is not started.
pub async fn run_shell(
    command: &str,
    cwd: &Path,
    options: &ShellOptions,
    control: ShellControl,
) -> Result<ShellOutcome, ShellError> {
    let follower = control.follower.clone();
    let processes = control.processes.clone();
    let mut output = CommandOutput::new(options, follower.is_some());
    if control.cancel.is_cancelled() {
        return Ok(outcome(CommandEnd::Cancelled, &output, RemovedFiles::default(), None));
    }
    let report = options.keeps_directory.then(DirectoryReport::new).and_then(|report| {
        // Without the directory the command can still run.
        report.inspect_err(|error| tracing::debug!("the directory cannot be kept: {error}")).ok()
    });
    let mut running = RunningCommand::start(command, cwd, options, report.as_ref(), &control.processes)?;
    let ending = running.follow(&mut output, options.timeout, control).await?;
    if let CommandEnd::Cancelled | CommandEnd::TimedOut(_) = ending {
        running.end(&mut output).await;
    }
    running.detach();
    output.finish();
    if let (Some(follower), Some(rest)) = (follower, output.take_new_text()) {
        // Fails only if the follower has gone.
        let _ = follower.send(rest).await;
    }
    // Once stdout is closed, no reader would learn of the file.
    let removed = match processes.is_closed() {
        true => {
            output.discard_file();
            RemovedFiles::default()
        }
        false => output.keep_file(&options.files),
    };
    Ok(outcome(ending, &output, removed, report.and_then(|report| report.read())))
}

fn outcome(
    ending: CommandEnd,
    output: &CommandOutput,
    removed: RemovedFiles,
    directory: Option<PathBuf>,
) -> ShellOutcome {
    let ShellSnapshot { truncation, full_output_path } = output.snapshot();
    ShellOutcome {
        ending,
        truncation,
        full_output_path,
        removed,
        last_line_bytes: output.last_line_bytes(),
        directory,
    }
}
