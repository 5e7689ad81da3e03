//! A running command: started, read to its end, and terminated or detached.
//!
//! stdout and stderr share one pipe, so their order is that of writing. The pipe is read only while the gate is open: a slow
//! reader slows the command down instead of filling memory. The command is over when its shell has exited and its output is
//! read. A background job that keeps the pipe open is awaited briefly; later output is discarded.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use std::{io, iter};

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::{
    directory_report::DirectoryReport,
    output::CommandOutput,
    shell::{AGENT_VARIABLES, CommandEnd, SESSION_VARIABLES, ShellControl, ShellError, ShellOptions},
};
use pi_rpc_processes::{Group, Processes};

/// How long output is awaited from other processes (`tee`, `>(…)`) once the shell has exited.
const LATE_OUTPUT: Duration = Duration::from_millis(100);

/// Size of one read, in bytes.
const CHUNK: usize = 64 * 1024;

/// A started command.
pub(super) struct RunningCommand {
    child: Child,
    group: Group,
    pipe: Receiver,
    /// Whether the pipe has reached its end.
    at_end: bool,
    buffer: Vec<u8>,
}

impl RunningCommand {
    /// Starts `command`. With `report`, the shell reports the directory in which it ends.
    pub(super) fn start(
        command: &str,
        cwd: &Path,
        options: &ShellOptions,
        report: Option<&DirectoryReport>,
        processes: &Processes,
    ) -> Result<Self, ShellError> {
        if !cwd.is_dir() {
            return Err(ShellError::NoDirectory(cwd.to_owned()));
        }
        let shell = find_shell(options.shell.as_deref())?;
        let script = match &options.prefix {
            Some(prefix) => format!("{prefix}\n{command}"),
            None => command.to_owned(),
        };
        let mut process = Command::new(&shell);
        let script = match report {
            Some(report) => report.instrument(&shell, &script, &mut process)?,
            None => script.into(),
        };
        let (reader, writer) = io::pipe()?;
        process.arg("-c").arg(script).current_dir(cwd).stdin(Stdio::null());
        process.stdout(writer.try_clone()?).stderr(writer);
        options.environment.withhold_keys(process.as_std_mut());
        // This program may itself be a command of another agent.
        for name in SESSION_VARIABLES {
            process.env_remove(name);
        }
        process.envs(AGENT_VARIABLES).envs(options.variables.iter().map(|(name, value)| (name, value)));
        if let Some(programs) = &options.programs {
            process.env("PATH", path_with(programs));
        }
        let pipe = Receiver::from_owned_fd(OwnedFd::from(reader))?;
        let (child, group) = processes.spawn(&mut process)?;
        // Dropping `process` closes our copies of the writing end.
        Ok(Self { child, group, pipe, at_end: false, buffer: vec![0; CHUNK] })
    }

    /// Reads until the command is over, cancelled or out of time; the caller has to stop it in the last two cases.
    pub(super) async fn follow(
        &mut self,
        output: &mut CommandOutput,
        timeout: Option<Duration>,
        control: ShellControl,
    ) -> io::Result<CommandEnd> {
        let ShellControl { cancel, mut gate, progress, follower, .. } = control;
        let deadline = timeout.and_then(|timeout| Some((Instant::now().checked_add(timeout)?, timeout)));
        let mut gate_lives = true;
        let mut has_news = false;
        let mut exited = false;
        // Bytes of the command's own output that are unread after its exit.
        let mut unread = 0;
        let mut patience = None;
        while !(exited && self.at_end) {
            let open = !gate_lives || *gate.borrow_and_update();
            if exited && unread == 0 && open && patience.is_none() {
                patience = Some(Instant::now() + LATE_OUTPUT);
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(CommandEnd::Cancelled),
                Some(limit) = after(deadline) => return Ok(CommandEnd::TimedOut(limit)),
                permit = reserve(progress.as_ref().map(|progress| &progress.sender)), if has_news => {
                    if let (Some(permit), Some(progress)) = (permit, &progress) {
                        permit.send((progress.render)(output.snapshot()));
                    }
                    has_news = false;
                }
                permit = reserve(follower.as_ref()), if output.has_new_text() => {
                    if let (Some(permit), Some(fresh)) = (permit, output.take_new_text()) {
                        permit.send(fresh);
                    }
                }
                changed = gate.changed(), if gate_lives => gate_lives = changed.is_ok(),
                status = self.child.wait(), if !exited => {
                    status?;
                    exited = true;
                    unread = available(&self.pipe);
                }
                Some(()) = after(patience.map(|until| (until, ()))), if open => break,
                read = self.pipe.read(&mut self.buffer), if open && !self.at_end && !output.has_new_text() => {
                    let count = read?;
                    self.at_end = count == 0;
                    has_news |= count > 0;
                    unread = unread.saturating_sub(count as u64);
                    output.push(&self.buffer[..count]);
                }
            }
        }
        self.child.wait().await.map(own_end)
    }

    /// Ends the group, and collects its output meanwhile.
    pub(super) async fn end(&mut self, output: &mut CommandOutput) {
        let mut reaped = false;
        let mut dead = std::pin::pin!(self.group.end());
        loop {
            tokio::select! {
                biased;
                () = &mut dead => break,
                _ = self.child.wait(), if !reaped => reaped = true,
                read = self.pipe.read(&mut self.buffer), if !self.at_end => match read {
                    Ok(0) | Err(_) => self.at_end = true,
                    Ok(count) => output.push(&self.buffer[..count]),
                },
            }
        }
        // Reap the child if the loop has not.
        let _ = self.child.try_wait();
        let mut unread = available(&self.pipe);
        while unread > 0
            && let Ok(count @ 1..) = self.pipe.try_read(&mut self.buffer)
        {
            output.push(&self.buffer[..count]);
            unread = unread.saturating_sub(count as u64);
        }
    }

    /// Releases background jobs and keeps reading their output, as a closed pipe would kill them.
    pub(super) fn detach(self) {
        let Self { group, mut pipe, at_end, mut buffer, .. } = self;
        group.release();
        if !at_end {
            tokio::spawn(async move { while matches!(pipe.read(&mut buffer).await, Ok(1..)) {} });
        }
    }
}

fn find_shell(wanted: Option<&Path>) -> Result<PathBuf, ShellError> {
    if let Some(shell) = wanted {
        return if shell.exists() {
            Ok(shell.to_owned())
        } else {
            Err(ShellError::NoShell(shell.to_owned()))
        };
    }
    let usual = PathBuf::from("/bin/bash");
    if usual.exists() {
        return Ok(usual);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("bash")).find(|bash| bash.is_file());
    Ok(found.unwrap_or_else(|| PathBuf::from("sh")))
}

/// `PATH` with `programs` first, once.
fn path_with(programs: &Path) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = std::env::split_paths(&path).filter(|folder| folder != programs);
    let folders = iter::once(programs.to_owned()).chain(others);
    // A folder with a colon in its name cannot be in `PATH`.
    std::env::join_paths(folders).unwrap_or(path)
}

fn own_end(status: ExitStatus) -> CommandEnd {
    match status.code() {
        Some(code) => CommandEnd::Exited(code),
        None => CommandEnd::Signalled(status.signal().unwrap_or_default()),
    }
}

/// Bytes in the pipe.
fn available(pipe: &Receiver) -> u64 {
    rustix::io::ioctl_fionread(pipe).unwrap_or(0)
}

/// Waits until the time and returns the value; for ever without one.
async fn after<T>(moment: Option<(Instant, T)>) -> Option<T> {
    match moment {
        Some((moment, value)) => {
            sleep_until(moment).await;
            Some(value)
        }
        None => std::future::pending().await,
    }
}

/// Reserves room in the channel; `None` at once without a receiver.
async fn reserve<T>(listener: Option<&mpsc::Sender<T>>) -> Option<mpsc::Permit<'_, T>> {
    listener?.reserve().await.ok()
}
