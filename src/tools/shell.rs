//! Running one shell command, for the `bash` tool and for the protocol's own `bash` command alike: what may be set,
//! what steers it, and what it comes to. How it is followed is in `running`.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::directory_report::DirectoryReport;
use super::output::CommandOutput;
use super::output_files::{OutputFiles, RemovedFiles};
use super::processes::Processes;
use super::run::ToolOutput;
use super::running_command::RunningCommand;
use super::truncate::Limits;
use crate::protocol::TruncationResult;

/// How commands are run: the settings, and what differs between dialects.
#[derive(Debug, Clone)]
pub struct ShellOptions {
    /// The shell of the settings; `None`: bash, else sh.
    pub shell: Option<PathBuf>,
    /// Lines put before every command.
    pub prefix: Option<String>,
    /// A folder of programs that come before those of `PATH`: the agent's own.
    pub programs: Option<PathBuf>,
    /// When to end a command that does not end; `None`: never. pi has none, xcsh 300 s.
    pub timeout: Option<Duration>,
    /// How much of the output's tail is shown.
    pub limits: Limits,
    /// The most bytes of output that the file with the whole of it takes. Neither pi nor xcsh has a limit.
    pub file_limit: u64,
    /// The files that commands have left already; beyond their limit the oldest go.
    pub files: OutputFiles,
    /// Takes escape sequences, carriage returns and control characters out of the output.
    pub clean: bool,
    /// Writes the file with the full output also for output that is short in bytes but cut by lines.
    pub spools_cut_lines: bool,
    /// Reports in which directory the command left off ([`ShellOutcome::directory`]).
    pub keeps_directory: bool,
    /// Where the tool says that a command was stopped.
    pub stop_notice: StopNotice,
    /// Variables of ours that commands do not get: they hold keys.
    pub withheld: Vec<String>,
    /// Puts `timeoutSeconds` into the details of the tool's result, as xcsh does.
    pub reports_timeout: bool,
}

impl ShellOptions {
    /// For the `bash` tool as in pi: output as it is.
    pub fn for_tool() -> Self {
        Self { clean: false, spools_cut_lines: true, ..Self::for_command() }
    }

    /// For the protocol's `bash` command as in pi: output cleaned.
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
            spools_cut_lines: false,
            keeps_directory: false,
            stop_notice: StopNotice::After,
            withheld: Vec::new(),
            reports_timeout: false,
        }
    }
}

/// What [`ShellOptions::file_limit`] is where nobody says otherwise: 1 GiB.
pub const OUTPUT_FILE_LIMIT: u64 = 1 << 30;

/// How the tool's text says that a command was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopNotice {
    /// pi: a blank line and `Command aborted` after the output.
    After,
    /// xcsh: `[Command cancelled]` on a line before the output.
    Before,
}

/// What steers a command while it runs.
pub struct ShellControl {
    /// Ends the command.
    pub cancel: CancellationToken,
    /// While `false`, output is not read. A gate whose sender is gone is open.
    pub gate: watch::Receiver<bool>,
    /// Who wants to see the output grow.
    pub progress: Option<Progress>,
    /// Who wants all of the output, piece by piece; while there is no room, nothing is read.
    pub follower: Option<mpsc::Sender<String>>,
    /// Remembers what may still be alive.
    pub processes: Processes,
}

/// Progress of a command: after each chunk the output so far, if the channel has room. If not, one is made as soon as
/// it has, of the output as it is then; so a slow receiver gets fewer and newer ones (latest wins) and costs nothing.
/// A channel of capacity 1 keeps at most one that is out of date. What finds no room by the end is left out.
pub struct Progress {
    /// Where it goes.
    pub sender: mpsc::Sender<ToolOutput>,
    /// How it is put.
    pub render: fn(ShellSnapshot) -> ToolOutput,
}

/// The output so far.
#[derive(Debug)]
pub struct ShellSnapshot {
    /// The tail of the output, and what was cut.
    pub truncation: TruncationResult,
    /// The file with all of it, if there is one yet.
    pub full_output_path: Option<PathBuf>,
}

/// A command that is over.
#[derive(Debug)]
pub struct ShellOutcome {
    /// How it came to its end.
    pub ending: CommandEnd,
    /// The tail of the output, what was cut, and how much there was.
    pub truncation: TruncationResult,
    /// The file with the full output, if there was too much. Whoever reads the result owns it.
    pub full_output_path: Option<PathBuf>,
    /// Files of other commands that were removed to make room for this one's.
    pub removed: RemovedFiles,
    /// Bytes of the last line before any cut; if it ends with a line feed, without that.
    pub last_line_bytes: u64,
    /// Where the command left off, if that was asked for and can be known.
    pub directory: Option<PathBuf>,
}

/// How a command came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, which was not ours.
    Signalled(i32),
    /// By our cancelling.
    Cancelled,
    /// By reaching this time limit.
    TimedOut(Duration),
}

impl CommandEnd {
    /// The exit code, as a shell tells it: 128 and the number of the signal that ended it. `None`: we stopped it.
    pub const fn exit_code(self) -> Option<i32> {
        match self {
            CommandEnd::Exited(code) => Some(code),
            CommandEnd::Signalled(signal) => Some(128 + signal),
            CommandEnd::Cancelled | CommandEnd::TimedOut(_) => None,
        }
    }

    /// What xcsh puts on a line before the output of a command that was stopped.
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

/// Why a command could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// The settings name a shell that is not there.
    #[error("Custom shell path not found: {}\nPlease correct shellPath in the settings.", .0.display())]
    NoShell(PathBuf),
    /// The directory to run in is not there.
    #[error("Working directory does not exist: {}\nCannot execute bash commands.", .0.display())]
    NoDirectory(PathBuf),
    /// The system refuses a pipe, a file or a process.
    #[error("Failed to run the command: {0}")]
    System(#[from] io::Error),
}

/// Runs `command` in `cwd` to its end, as `control` allows. stdin is empty, the environment is ours without what is withheld.
///
/// If it is cancelled or out of time, its process group is dead when this returns; if the future is dropped, the
/// group is killed. A command that is cancelled beforehand is not started.
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
        // Keeping the directory is a comfort; running the command is the job.
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
        // Whoever is gone needs nothing.
        let _ = follower.send(rest).await;
    }
    // A server that is leaving tells nobody of it.
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
