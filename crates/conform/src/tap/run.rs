//! Runs the server behind the tap: its pipes, its signals, its exit.

use super::{
    Observer,
    pump::{PumpEnd, pump},
};
use pi_rpc_files::harmless::harmless_lines;
use pi_rpc_oracle::STALLED;
use pi_rpc_processes::process_watcher::{self, WatchedGroup};
use rustix::{
    process::{Pid, Signal, kill_process},
    stdio::{dup2_stdin, dup2_stdout},
};
use std::{
    ffi::OsString,
    fs::File,
    io::{self, IsTerminal as _, PipeReader, Write as _},
    os::{fd::AsFd, unix::process::ExitStatusExt as _},
    process::Stdio,
    thread,
    time::Duration,
};
use tokio::{
    process::{Child, Command as Process},
    signal::unix::{Signal as Signals, SignalKind, signal},
    sync::oneshot,
};

/// The command that starts the server.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program, as the shell would find it.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// The end of a tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapEnd {
    /// The exit status of the server: 128 plus the number of the signal if one has ended it.
    pub status: u8,
    /// Whether there was time to record and report everything.
    pub is_reported: bool,
}

/// How long recording and reporting may take after the server has exited.
const LAST_RECORDS: Duration = Duration::from_secs(10);

/// Starts the server between our stdin and our stdout, and waits for its exit. Fails if it cannot be started.
pub async fn tap(command: &Command, observer: Observer) -> io::Result<TapEnd> {
    // Before the server starts, so that no signal is lost.
    let mut signals = ForwardedSignals::listen()?;
    let (mut server, _watched) = start(command)?;
    let (stop, stopped) = io::pipe().map(|(reader, writer)| (writer, reader))?;
    let passed = start_pumps(&mut server, stopped, &observer)?;
    let status = loop {
        tokio::select! {
            status = server.wait() => break status?,
            signal = signals.next() => {
                observer.handle().signal(signal.as_raw());
                                // Unless it has exited.
                if let Some(pid) = server.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) {
                    let _ = kill_process(pid, signal);
                }
            }
        }
    };
    // Bytes that the server has left in its pipe are still passed on; pipes that its children keep open do not matter.
    drop(stop);
    tokio::select! {
        _ = passed => {}
        signal = signals.next() => return Ok(TapEnd { status: status_of_signal(signal.as_raw()), is_reported: false }),
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let status = code.or_else(|| status.signal().map(status_of_signal)).unwrap_or(u8::MAX);
    // The host must not wait for the report.
    dup2_stdout(dev_null()?)?;
    let report = tokio::task::spawn_blocking(move || observer.finish(status));
    let is_reported = tokio::select! {
        report = tokio::time::timeout(LAST_RECORDS, report) => report.is_ok(),
        _ = signals.next() => false,
    };
    Ok(TapEnd { status, is_reported })
}

/// Starts the server in a process group of its own, so that a signal from a terminal reaches it once, through us.
fn start(command: &Command) -> io::Result<(Child, Option<WatchedGroup>)> {
    let mut process = Process::new(&command.program);
    process.args(&command.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
    // Control characters are filtered for a terminal; a file gets the bytes as they are.
    if io::stderr().is_terminal() {
        process.stderr(Stdio::piped());
    }
    let start = process_watcher::announce_start(process.as_std_mut());
    let child = process.spawn()?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    Ok((child, group.map(|group| WatchedGroup::new(start, group))))
}

/// Starts the pumps of stdin and stdout, and of stderr if that is a terminal. The receiver resolves when all output of the
/// server was passed on.
fn start_pumps(
    server: &mut Child,
    stop: PipeReader,
    observer: &Observer,
) -> io::Result<oneshot::Receiver<()>> {
    let no_pipe = || io::Error::other("no pipe to the server");
    let mut to_server = File::from(server.stdin.take().ok_or_else(no_pipe)?.into_owned_fd()?);
    let mut from_server = File::from(server.stdout.take().ok_or_else(no_pipe)?.into_owned_fd()?);
    let mut from_host = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut to_host = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let handle = observer.handle();
    thread::Builder::new().name("host".to_owned()).spawn(move || {
        match pump(&mut from_host, &mut to_server, None, |bytes| handle.host_wrote(bytes), |_| {}) {
            PumpEnd::Ended => handle.end_of_input(),
            // The host's next write fails, as it would without us.
            PumpEnd::ReaderClosed => drop(dev_null().map(dup2_stdin)),
        }
    })?;
    let stderr_thread = match server.stderr.take() {
        Some(stderr) => Some(forward_stderr(File::from(stderr.into_owned_fd()?), stop.try_clone()?)?),
        None => None,
    };
    let handle = observer.handle();
    let (passed, all_passed) = oneshot::channel();
    thread::Builder::new().name("server".to_owned()).spawn(move || {
        let waited = |time| {
            if time >= STALLED {
                handle.stalled(time);
            }
        };
        let over =
            pump(&mut from_server, &mut to_host, Some(&stop), |bytes| handle.server_wrote(bytes), waited);
        if over == PumpEnd::ReaderClosed {
            handle.end_of_output();
        }
        // First of all, so that the server's next write fails as it would without us.
        drop((from_server, to_host));
        // A panicked thread forwards nothing more.
        let _ = stderr_thread.map(thread::JoinHandle::join);
        // The receiver is gone once a signal has ended us.
        let _ = passed.send(());
    })?;
    Ok(all_passed)
}

/// Forwards the server's stderr to our terminal, without control characters.
fn forward_stderr(mut from: File, stop: PipeReader) -> io::Result<thread::JoinHandle<()>> {
    let mut nowhere = dev_null()?;
    thread::Builder::new().name("stderr".to_owned()).spawn(move || {
        let mut partial = Vec::new();
        let show = |bytes: &[u8]| {
            partial.extend_from_slice(bytes);
            let whole = complete_characters(&partial);
            let text = harmless_lines(&String::from_utf8_lossy(&partial[..whole]));
            partial.drain(..whole);
            // The terminal may be gone.
            let _ = io::stderr().write_all(text.as_bytes());
        };
        pump(&mut from, &mut nowhere, Some(&stop), show, |_| {});
    })
}

/// The number of bytes before an incomplete character at the end.
fn complete_characters(bytes: &[u8]) -> usize {
    match str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

fn dev_null() -> io::Result<File> {
    File::options().read(true).write(true).open("/dev/null")
}

/// The exit status of a process ended by a signal, by the convention of shells.
fn status_of_signal(number: i32) -> u8 {
    u8::try_from(number).map_or(u8::MAX, |number| 128 | number)
}

/// The signals that are passed on.
struct ForwardedSignals {
    terminate: Signals,
    interrupt: Signals,
    hang_up: Signals,
}

impl ForwardedSignals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::TERM,
            _ = self.interrupt.recv() => Signal::INT,
            _ = self.hang_up.recv() => Signal::HUP,
        }
    }
}
