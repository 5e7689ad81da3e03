//! The server on stdin and stdout: reads commands, writes frames, shuts down.

use super::{
    Hazards,
    outbox::Outbox,
    print_mode::{PrintMode, PrintResult},
    runner::{ExitReason, Runner, SessionOptions, until},
    stdin::FrameReader,
};
use pi_rpc_engine::Input;
use pi_rpc_protocol::DialectEndOfInput;
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Everything that a server is started with.
pub struct Options {
    /// The session to serve.
    pub session: SessionOptions,
    /// Prints a run instead of serving; stdin is then not read for frames.
    pub print: Option<PrintMode>,
    /// The longest line that is read, in bytes.
    pub max_frame: usize,
    /// Pending bytes of output from which on no commands are read.
    pub max_unread: usize,
    /// Hazards that test the host.
    pub hazards: Option<Hazards>,
}

/// Why nothing was served.
#[derive(Debug)]
pub struct ServeError {
    /// The reason, for the user.
    pub text: String,
    /// The exit status.
    pub status: u8,
}

impl From<String> for ServeError {
    fn from(text: String) -> Self {
        Self { text, status: 1 }
    }
}

/// Exit status where an option or a setting cannot be heeded.
const MISUSED: u8 = 2;

/// Inputs that are handled in a row before the runtime gets its turn.
const MAX_BURST: usize = 64;

/// Exit status when stdout is closed, as in the originals.
const STDOUT_GONE: u8 = 1;

/// Exit status when stdin cannot be read.
const STDIN_BROKEN: u8 = 1;

/// Exit status after the signal `number`, by the convention of shells.
pub const fn signal_status(number: u8) -> u8 {
    128 + number
}

/// Serves the protocol on stdin and stdout until the input ends or a signal comes. Returns the exit status.
pub async fn serve(options: Options) -> Result<u8, ServeError> {
    let dialect = options.session.dialect;
    let max_queue = options.session.limits.queue as u64;
    let mut outbox = Outbox::to_stdout(dialect, options.max_unread, options.hazards)
        .map_err(|error| format!("stdout: {error}"))?;
    let mut frames =
        FrameReader::of_stdin(dialect, options.max_frame).map_err(|error| format!("stdin: {error}"))?;
    let mut signals = Signals::listen().map_err(|error| format!("signals: {error}"))?;
    let mut runner = Runner::new(options.session, outbox.gate());
    if runner.is_observed() {
        frames.read_traces();
    }
    let reads_stdin = options.print.is_none();
    if let Some(print) = options.print {
        outbox.start_print(print, runner.engine.header());
    }
    let mut status = 0;
    let mut stopping = false;
    let mut was_open = true;
    let mut is_closed = false;
    let mut burst = 0;
    // Bytes that had been read when the engine last had no queued command.
    let mut served = 0;
    let mut exit_reason = runner.execute(&mut |emission| outbox.push(emission));
    while exit_reason.is_none() {
        let gone = !stopping && (outbox.is_broken() || is_closed && !runner.engine.is_idle());
        if runner.engine.unserved() == 0 {
            served = frames.bytes_read();
        }
        let has_room = frames.bytes_read() - served <= max_queue;
        let reads = outbox.accepts_commands() && has_room && runner.engine.is_open() && !stopping;
        // Nothing wakes the loop for prompts of print mode, so it polls.
        let is_idle = runner.engine.is_idle();
        let printed = outbox.print_mode().filter(|_| reads && !gone).and_then(|print| print.next(is_idle));
        // Available inputs are handled before the next write, so that their frames share it.
        let more = match !gone && burst < MAX_BURST && !outbox.is_full() {
            _ if printed.is_some() => printed,
            true if reads => frames.next_buffered().or_else(|| runner.try_next()),
            true => runner.try_next(),
            false => None,
        };
        if more.is_none() {
            outbox.flush();
            if outbox.is_broken() && !gone && !stopping {
                continue;
            }
            // A host that never stops writing, or does not read, must not starve signals, models and tools, which the
            // runtime polls only when this loop yields.
            if burst >= MAX_BURST || outbox.is_full() {
                tokio::task::yield_now().await;
                burst = 0;
            }
        }
        burst += 1;
        if outbox.is_gate_open() != was_open {
            was_open = outbox.is_gate_open();
            let reads_extensions = Input::ReadsExtensions(was_open);
            exit_reason = runner.handle(reads_extensions, &mut |emission| outbox.push(emission));
            if exit_reason.is_some() {
                break;
            }
        }
        if runner.engine.is_open() {
            runner.tasks.extensions.mark_greeted();
        }
        let input = if gone {
            (stopping, status) = (true, STDOUT_GONE);
            runner.tasks.refuse_processes();
            Input::Shutdown
        } else if let Some(input) = more {
            input
        } else {
            // Unbiased: the branches are polled in random order. Only signals have priority.
            let next = async {
                tokio::select! {
                    () = outbox.ready(), if outbox.is_behind() => None,
                    () = outbox.closed(), if !is_closed => {
                        is_closed = true;
                        None
                    }
                    input = runner.next() => Some(input),
                    Some(input) = frames.next(), if reads && reads_stdin => {
                        if matches!(input, Input::Shutdown) {
                            (stopping, status) = (true, STDIN_BROKEN);
                        }
                        Some(input)
                    }
                }
            };
            let turn = tokio::select! {
                biased;
                number = signals.next() => Err(number),
                input = next => Ok(input),
            };
            match turn {
                Err(number) => {
                    status = signal_status(number);
                    if std::mem::replace(&mut stopping, true) {
                        runner.tasks.end_all().await;
                        return Ok(status);
                    }
                    Input::Shutdown
                }
                Ok(Some(input)) => input,
                Ok(None) => continue,
            }
        };
        if let Some(context) = frames.take_trace_context() {
            runner.note_trace_context(&context);
        }
        exit_reason = runner.handle(input, &mut |emission| outbox.push(emission));
    }
    let last = runner.engine.messages().last();
    let at_limit = runner.engine.has_ended_at_limit();
    let printed = outbox.print_mode().filter(|_| !stopping);
    let printed = printed.map(|print| print.end(last.map(|last| &**last), at_limit));
    let failure = printed.and_then(|PrintResult { text, failure, failed_status }| {
        outbox.push_bytes(text.into_bytes());
        Some(ServeError { text: failure?, status: failed_status })
    });
    outbox.flush();
    runner.end().await;
    match exit_reason {
        Some(ExitReason::Refused(text)) => return Err(text.into()),
        Some(ExitReason::Misused(text)) => return Err(ServeError { text, status: MISUSED }),
        Some(ExitReason::Done) | None => {}
    }
    let hurry = stopping || dialect.record().end_of_input == DialectEndOfInput::Exit;
    let status = finish(&mut outbox, &mut signals, hurry, status).await;
    if let Some(occurrences) = outbox.hazard_occurrences() {
        // Not a log: a test that passes says by it what the client has met.
        eprintln!("hazards: {occurrences}");
    }
    match failure {
        Some(failure) if status == 0 => Err(failure),
        _ => Ok(status),
    }
}

/// Writes the pending frames and returns the exit status. Waits for a slow reader without a limit; with `hurry`, for
/// [`FLUSH_TIMEOUT`] and at most until the next signal.
async fn finish(outbox: &mut Outbox, signals: &mut Signals, hurry: bool, mut status: u8) -> u8 {
    let mut patience = hurry.then(|| Instant::now() + FLUSH_TIMEOUT);
    loop {
        outbox.flush();
        if !outbox.is_behind() {
            return if outbox.is_broken() && status == 0 { STDOUT_GONE } else { status };
        }
        tokio::select! {
            () = outbox.ready() => {}
            number = signals.next() => {
                status = signal_status(number);
                if patience.replace(Instant::now() + FLUSH_TIMEOUT).is_some() {
                    return status;
                }
            }
            () = until(patience) => {
                tracing::warn!("stdout: pending frames were not read within {FLUSH_TIMEOUT:?}; exiting without them");
                return status;
            }
        }
    }
}

/// How long a stopping process waits for the host to read the last frames.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Signals that shut the server down.
pub struct Signals {
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Listens for them from now on.
    ///
    /// # Errors
    ///
    /// The system refuses it.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal and returns its number.
    pub async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => 15,
            _ = self.hang_up.recv() => 1,
            _ = self.interrupt.recv() => 2,
        }
    }
}
