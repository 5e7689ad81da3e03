//! The process of the server, its signals and its exit.

use super::{
    passthrough::Passthrough,
    pipes::{Pipes, Translator, pass},
};
use pi_rpc_front::{Detection, HOST_TOOLS_EXTENSION};
use pi_rpc_processes::process_watcher::{self, WatchedGroup};
use pi_rpc_protocol::{Dialect, DialectVersion};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io,
    os::{fd::AsFd, unix::process::ExitStatusExt as _},
    process::Stdio,
    thread,
};
use tempfile::TempDir;
use tokio::{
    process::Command,
    signal::unix::{Signal as Signals, SignalKind, signal},
    sync::oneshot,
};

/// The server, and what both sides speak.
pub struct Options<'a> {
    pub program: &'a OsStr,
    pub arguments: &'a [OsString],
    /// `None`: it is found out.
    pub server: Option<DialectVersion>,
    /// `None`: it is found out, as far as commands show it.
    pub client: Option<Dialect>,
    /// Whether the server is started with the extension for tools of the host.
    pub host_tools: bool,
    /// The number of links that have started one another, for the next one.
    pub depth: Option<String>,
}

/// Starts the server, and passes frames until it has exited. Returns its status as shells do.
pub fn run(options: Options<'_>) -> Result<u8, String> {
    let Options { program, arguments, server, client, host_tools, depth } = options;
    let failed = |error: io::Error| format!("cannot start {}: {error}", program.to_string_lossy());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let mut command = Command::new(program);
    let extension = host_tools.then(extension).transpose().map_err(failed)?;
    command.args(arguments);
    if let Some(folder) = &extension {
        command.arg(EXTENSION_OPTION).arg(folder.path().join(EXTENSION_FILE));
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
    command.envs(depth.map(|depth| (super::link::DEPTH, depth)));
    let translator = match (server, client) {
        (server, None) => Translator::Passthrough(Box::new(Passthrough::new(server))),
        (Some(server), Some(client)) => match Translator::between(server, client) {
            Translator::Front(mut front) => {
                if host_tools {
                    front.has_host_tools();
                }
                Translator::Front(front)
            }
            translator => translator,
        },
        (None, Some(client)) => Translator::Detecting(Detection::new(), client),
    };
    let status = runtime.block_on(serve(command, translator)).map_err(failed);
    // The thread that waits for the client may never end.
    runtime.shutdown_background();
    status
}

/// The option of servers that names an extension.
const EXTENSION_OPTION: &str = "-e";

const EXTENSION_FILE: &str = "pi-rpc-host-tools.js";

/// A folder for our user alone, with the extension for tools of the host.
fn extension() -> io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join(EXTENSION_FILE), HOST_TOOLS_EXTENSION)?;
    Ok(folder)
}

async fn serve(mut command: Command, translator: Translator) -> io::Result<u8> {
    // Before the server starts, so that no signal is lost.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let start = process_watcher::announce_start(command.as_std_mut());
    let mut server = command.spawn()?;
    let group = server.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let _watched = group.map(|group| WatchedGroup::new(start, group));
    let (stopped, stop) = io::pipe()?;
    let missing = || io::Error::other("a pipe of the server is missing");
    let pipes = Pipes {
        from_client: File::from(io::stdin().as_fd().try_clone_to_owned()?),
        to_client: File::from(io::stdout().as_fd().try_clone_to_owned()?),
        from_server: File::from(server.stdout.take().ok_or_else(missing)?.into_owned_fd()?),
        to_server: Some(File::from(server.stdin.take().ok_or_else(missing)?.into_owned_fd()?)),
        stopped,
    };
    let (passed, mut all_passed) = oneshot::channel();
    thread::Builder::new().name("front".to_owned()).spawn(move || {
        pass(pipes, translator);
        // The receiver is gone once a signal has ended us.
        let _ = passed.send(());
    })?;
    let status = loop {
        let signal = tokio::select! {
            status = server.wait() => break status?,
            () = received(&mut terminate) => Signal::TERM,
            () = received(&mut interrupt) => Signal::INT,
            () = received(&mut hang_up) => Signal::HUP,
        };
        if let Some(pid) = group {
            // It may have exited.
            let _ = kill_process(pid, signal);
        }
    };
    // Frames that the server has left in its pipe are still passed on.
    drop(stop);
    tokio::select! {
        _ = &mut all_passed => {}
        () = received(&mut terminate) => {}
        () = received(&mut interrupt) => {}
        () = received(&mut hang_up) => {}
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let signal = status.signal().and_then(|signal| u8::try_from(signal).ok());
    Ok(code.or_else(|| signal.map(|signal| 128 | signal)).unwrap_or(u8::MAX))
}

async fn received(signals: &mut Signals) {
    signals.recv().await;
}
