//! Replaces a running host by the program that is now in its place: the process and its sockets stay the same.
//!
//! Clients that connect meanwhile wait in the backlog of the sockets.

use command_fds::{CommandFdExt as _, FdMapping};
use nix::sys::signal::{SigSet, Signal};
use pi_rpc_processes::{Processes, process_watcher};
use std::{
    env,
    ffi::OsString,
    io,
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};
use tokio::{
    runtime,
    signal::unix::{SignalKind, signal},
    time::timeout,
};

/// Set for a program whose sockets are those of the host before it, in the order of its addresses: the identities of their files.
const HANDED_OVER: &str = "PI_RPC_HANDED_OVER";

/// The descriptor of the first socket. Source: `sd_listen_fds(3)`.
const FIRST_SOCKET: i32 = 3;

/// Whether the sockets that are passed to this process are those of the host before it.
pub fn is_handed_over() -> bool {
    env::var_os(HANDED_OVER).is_some() && env::var_os("LISTEN_FDS").is_some()
}

/// The identities of the files of these sockets; [`NO_FILE`] for one without.
pub fn handed_over_files() -> Vec<String> {
    let files = env::var(HANDED_OVER).unwrap_or_default();
    files.split(',').map(str::to_owned).collect()
}

/// Stands for a socket without a file.
pub const NO_FILE: &str = "-";

/// How long a program may take to say its version.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// Lets the signal for an upgrade come in again, once it does not end this process any more: the host before has blocked it. Call
/// it while there is one thread.
///
/// # Errors
///
/// The system refuses it.
pub fn unblock_signal() -> io::Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
    let _entered = runtime.enter();
    // Its handler stays when it is dropped.
    let _ = signal(SignalKind::user_defined2())?;
    Ok(upgrade_signal().thread_unblock()?)
}

fn upgrade_signal() -> SigSet {
    let mut set = SigSet::empty();
    set.add(Signal::SIGUSR2);
    set
}

/// The program that a host was started as.
pub struct Successor {
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Successor {
    /// Notes how this process was started. Call it before the program can have been replaced.
    ///
    /// # Errors
    ///
    /// The system does not tell.
    pub fn new() -> io::Result<Self> {
        Ok(Self { program: env::current_exe()?, arguments: env::args_os().skip(1).collect() })
    }

    /// Finds out whether the program that is there now runs. Dropping the future ends it.
    ///
    /// # Errors
    ///
    /// It cannot be started, fails, or does not end.
    pub fn check(&self) -> impl Future<Output = Result<(), String>> + Send + use<> {
        let program = self.program.clone();
        async move {
            let wrong = |reason: String| format!("{}: {reason}", program.display());
            let mut command = tokio::process::Command::new(&program);
            command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let (mut child, _group) =
                Processes::new().spawn(&mut command).map_err(|error| wrong(error.to_string()))?;
            match timeout(CHECK_TIMEOUT, child.wait()).await {
                Ok(Ok(status)) if status.success() => Ok(()),
                Ok(Ok(status)) => Err(wrong(format!("--version ended with {status}"))),
                Ok(Err(error)) => Err(wrong(error.to_string())),
                Err(_) => Err(wrong(format!("--version has not ended within {CHECK_TIMEOUT:?}"))),
            }
        }
    }

    /// Replaces this process; returns only if that fails. `files`: the identities of the files of these sockets.
    pub fn start(self, sockets: Vec<OwnedFd>, files: &[String]) -> io::Error {
        // The next program has no handler at first, and this signal would end it.
        if let Err(error) = upgrade_signal().thread_block() {
            return error.into();
        }
        process_watcher::stop();
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env(HANDED_OVER, files.join(","));
        command.env("LISTEN_FDS", sockets.len().to_string());
        command.env("LISTEN_PID", std::process::id().to_string());
        let mappings = (FIRST_SOCKET..).zip(sockets);
        let mappings = mappings.map(|(child_fd, parent_fd)| FdMapping { parent_fd, child_fd });
        match command.fd_mappings(mappings.collect()) {
            Ok(command) => command.exec(),
            Err(error) => io::Error::other(error),
        }
    }
}
