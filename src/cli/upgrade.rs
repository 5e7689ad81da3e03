//! Replaces a running host by the program that is now in its place: the process and its sockets stay the same.
//!
//! Clients that connect meanwhile wait in the backlog of the sockets.

use crate::process_watcher;
use command_fds::{CommandFdExt as _, FdMapping};
use std::{
    env,
    ffi::OsString,
    io,
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    path::PathBuf,
    process::{Command, Stdio},
};

/// Set for a program whose sockets are those of the host before it, in the order of its addresses.
const HANDED_OVER: &str = "PI_RPC_HANDED_OVER";

/// The descriptor of the first socket. Source: `sd_listen_fds(3)`.
const FIRST_SOCKET: i32 = 3;

/// Whether the sockets that are passed to this process are those of the host before it.
pub fn is_handed_over() -> bool {
    env::var_os(HANDED_OVER).is_some() && env::var_os("LISTEN_FDS").is_some()
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

    /// Finds out whether the program that is there now runs. Blocks for a moment.
    ///
    /// # Errors
    ///
    /// It cannot be started, or fails.
    pub fn check(&self) -> Result<(), String> {
        let wrong = |reason: String| format!("{}: {reason}", self.program.display());
        let mut command = Command::new(&self.program);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(wrong(format!("--version ended with {status}"))),
            Err(error) => Err(wrong(error.to_string())),
        }
    }

    /// Replaces this process; returns only if that fails.
    pub fn start(self, sockets: Vec<OwnedFd>) -> io::Error {
        process_watcher::stop();
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env(HANDED_OVER, "1");
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
