//! The server behind the tap: its pipes, its signals, its end.

use super::{
    Witness,
    pump::{Over, pump},
};
use crate::{harmless::harmless_lines, oracle::STALLED};
use rustix::{
    process::{Pid, Signal, kill_process},
    stdio::{dup2_stdin, dup2_stdout},
};
use std::{
    ffi::OsString,
    fs::File,
    io::{self, IsTerminal as _, PipeReader, Write as _},
    os::{fd::AsFd, unix::process::ExitStatusExt as _},
    process::{ExitStatus, Stdio},
    thread,
    time::Duration,
};
use tokio::{
    process::{Child, Command as Process},
    signal::unix::{Signal as Signals, SignalKind, signal},
    sync::oneshot,
};

/// What to start.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program, as the shell would find it.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The status that the server ended with: 128 and the number of the signal, if one has ended it.
    pub status: u8,
    /// Everything that was seen is recorded and reported: there was time for it.
    pub is_told: bool,
}

/// How long the recording and the report may take when everything else is over.
const LAST_RECORDS: Duration = Duration::from_secs(10);

/// Starts the server between our stdin and our stdout, and waits for its end. Fails if it cannot be started.
pub async fn tap(command: &Command, witness: Witness) -> io::Result<Ended> {
    // Before the server is there: none may be lost to it.
    let mut stops = Stops::listen()?;
    let mut server = start(command)?;
    let (stop, stopped) = io::pipe().map(|(reader, writer)| (writer, reader))?;
    let passed = pass(&mut server, stopped, &witness)?;
    let status = loop {
        tokio::select! {
            status = server.wait() => break status?,
            signal = stops.next() => {
                witness.teller().signal(signal.as_raw());
                tell(&server, signal);
            }
        }
    };
    // What the server has left in its pipe still goes by; what its children keep open does not matter.
    drop(stop);
    tokio::select! {
        _ = passed => {}
        signal = stops.next() => return Ok(Ended { status: status_of_signal(signal.as_raw()), is_told: false }),
    }
    let status = status_of(status);
    // The host must not wait for the report.
    dup2_stdout(nothing()?)?;
    let told = tokio::task::spawn_blocking(move || witness.finish(status));
    let is_told = tokio::select! {
        told = tokio::time::timeout(LAST_RECORDS, told) => told.is_ok(),
        _ = stops.next() => false,
    };
    Ok(Ended { status, is_told })
}

/// In a process group of its own, so that a signal from a terminal reaches it once, by us.
fn start(command: &Command) -> io::Result<Child> {
    let mut process = Process::new(&command.program);
    process.args(&command.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
    // A terminal is not the server's to move about in; a file gets the bytes as they are.
    if io::stderr().is_terminal() {
        process.stderr(Stdio::piped());
    }
    process.spawn()
}

/// Starts both pumps, and the one of stderr if that is a terminal; gives word when everything that the server wrote was
/// passed on.
fn pass(server: &mut Child, stop: PipeReader, witness: &Witness) -> io::Result<oneshot::Receiver<()>> {
    let no_pipe = || io::Error::other("no pipe to the server");
    let mut to_server = File::from(server.stdin.take().ok_or_else(no_pipe)?.into_owned_fd()?);
    let mut from_server = File::from(server.stdout.take().ok_or_else(no_pipe)?.into_owned_fd()?);
    let mut from_host = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut to_host = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let told = witness.teller();
    thread::Builder::new().name("host".to_owned()).spawn(move || {
        match pump(&mut from_host, &mut to_server, None, |bytes| told.of_host(bytes), |_| {}) {
            Over::Ended => told.end_of_input(),
            // The host's next write fails, as it would without us.
            Over::Unheard => drop(nothing().map(dup2_stdin)),
        }
    })?;
    let remarks = match server.stderr.take() {
        Some(stderr) => Some(show_remarks(File::from(stderr.into_owned_fd()?), stop.try_clone()?)?),
        None => None,
    };
    let told = witness.teller();
    let (passed, all_passed) = oneshot::channel();
    thread::Builder::new().name("server".to_owned()).spawn(move || {
        let waited = |time| {
            if time >= STALLED {
                told.stalled(time);
            }
        };
        let over = pump(&mut from_server, &mut to_host, Some(&stop), |bytes| told.of_server(bytes), waited);
        if over == Over::Unheard {
            told.end_of_output();
        }
        // In this order: nobody may be told before the server's next write fails, as it would without us.
        drop((from_server, to_host));
        // A thread that has panicked shows nothing more.
        let _ = remarks.map(thread::JoinHandle::join);
        // Nobody waits once a signal has ended us.
        let _ = passed.send(());
    })?;
    Ok(all_passed)
}

/// Shows what the server writes to stderr on our terminal, without what would move its cursor or hide something.
fn show_remarks(mut from: File, stop: PipeReader) -> io::Result<thread::JoinHandle<()>> {
    let mut nowhere = nothing()?;
    thread::Builder::new().name("remarks".to_owned()).spawn(move || {
        let mut partial = Vec::new();
        let show = |bytes: &[u8]| {
            partial.extend_from_slice(bytes);
            let whole = whole_letters(&partial);
            let text = harmless_lines(&String::from_utf8_lossy(&partial[..whole]));
            partial.drain(..whole);
            // A terminal that is gone shows nothing more.
            let _ = io::stderr().write_all(text.as_bytes());
        };
        pump(&mut from, &mut nowhere, Some(&stop), show, |_| {});
    })
}

/// How many bytes there are before a letter whose end has not come yet.
fn whole_letters(bytes: &[u8]) -> usize {
    match str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

fn nothing() -> io::Result<File> {
    File::options().read(true).write(true).open("/dev/null")
}

/// Passes a signal on; a server that has just ended needs none.
fn tell(server: &Child, signal: Signal) {
    let pid = server.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    if let Some(pid) = pid {
        let _ = kill_process(pid, signal);
    }
}

fn status_of(status: ExitStatus) -> u8 {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.or_else(|| status.signal().map(status_of_signal)).unwrap_or(u8::MAX)
}

/// The shells' convention.
fn status_of_signal(number: i32) -> u8 {
    u8::try_from(number).map_or(u8::MAX, |number| 128 | number)
}

/// The signals that are passed on.
struct Stops {
    terminate: Signals,
    interrupt: Signals,
    hang_up: Signals,
}

impl Stops {
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
