//! `pi-rpc replay`.

use super::{HARNESS, refuse};
use clap::Args;
use pi_rpc_conform::replay::{Action, HostInput, RecordedProcess, Replay};
use pi_rpc_protocol::{Dialect, LineSplitter, SplitLine};
use pi_rpc_recording::LONGEST_LINE;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, ErrorKind, Read as _, Write as _},
    path::PathBuf,
    process::ExitCode,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread,
    time::Duration,
};

/// Options of `pi-rpc replay`.
#[derive(Args)]
pub struct Options {
    /// Recording to play
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Answer commands that are not in the recording with errors of this dialect (default: the recording's)
    #[arg(long, value_name = "D", env = "PI_RPC_DIALECT", value_parser = super::named_dialect)]
    dialect: Option<Dialect>,
    /// Play the Nth process of the recording
    #[arg(long, value_name = "N", default_value_t = 1)]
    process: usize,
    /// Play at this speed: 1: as recorded, 2: twice as fast, 0: without delays
    #[arg(long, value_name = "F", default_value_t = 0.0, value_parser = speed)]
    speed: f64,
    /// Fail if the host's lines differ from the recording
    #[arg(long)]
    strict: bool,
}

/// Text behind the options in `--help`.
pub const HELP: &str = "\
Matches a line of the host to the recording by its shape: all members except id and timestamp; the next recorded line \
first, else a later one of the same shape. A recorded frame of the server is sent once every line that the host had sent \
before it has come, with the ids of this host in responses. A line that the host omits is skipped, with the frames that \
followed from it, 0.25 s after a later line has come. A line that is not in the recording is answered with an error and \
reported on stderr. Exits with the status of the recorded server; with 1 if --strict finds a difference.

Example:
  pi-rpc replay --speed 1 talk.jsonl";

/// How long an omitted line is awaited once a later one has come.
const OMISSION_TIMEOUT: Duration = Duration::from_millis(250);

/// Lines of the host that are queued.
const LINE_CAPACITY: usize = 16;

/// Longest line of the host, in bytes.
const LONGEST: usize = 256 * 1024 * 1024;

/// Reads a whole recording. The error names the line that is too long, or at which memory ran out.
fn read(mut from: impl BufRead) -> Result<String, String> {
    let (mut bytes, mut number, mut begins) = (Vec::new(), 1, 0);
    loop {
        let chunk = from.fill_buf().map_err(|error| error.to_string())?;
        if chunk.is_empty() {
            break;
        }
        let room = bytes.try_reserve(chunk.len());
        room.map_err(|_| {
            format!("line {number}: no memory is left for the recording, {} bytes so far", bytes.len())
        })?;
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            bytes.extend_from_slice(piece);
            if bytes.len() - begins > LONGEST_LINE + 1 {
                return Err(format!("line {number}: expected at most {LONGEST_LINE} bytes"));
            }
            if piece.ends_with(b"\n") {
                (number, begins) = (number + 1, bytes.len());
            }
        }
        let count = chunk.len();
        from.consume(count);
    }
    String::from_utf8(bytes)
        .map_err(|error| format!("invalid UTF-8 at byte {}", error.utf8_error().valid_up_to()))
}

/// Plays until the end of the recording or of the input.
pub fn run(options: &Options) -> ExitCode {
    let path = options.trace.display();
    let part = File::open(&options.trace)
        .map_err(|error| error.to_string())
        .and_then(|file| read(BufReader::new(file)))
        .and_then(|text| RecordedProcess::read(&text, options.process).map_err(|error| error.to_string()));
    let part = match part {
        Ok(part) => part,
        Err(text) => return refuse(&format!("{path}: {text}"), HARNESS),
    };
    if part.cut {
        warn(&format!("{path}: strings were shortened when this was recorded; they are played as they are"));
    }
    let dialect = options.dialect.or(part.dialect).unwrap_or(super::options::DEFAULT_DIALECT);
    let mut replay = Replay::new(part, dialect);
    let (sender, lines) = sync_channel(LINE_CAPACITY);
    thread::spawn(move || read_stdin(&sender));
    let status = play(&mut replay, &lines, options.speed);
    let remarks = replay.remarks();
    remarks.iter().for_each(|remark| warn(remark));
    match status {
        _ if options.strict && !remarks.is_empty() => ExitCode::FAILURE,
        Ok(status) => ExitCode::from(status),
        // The host has closed its end.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => refuse(&format!("stdout: {error}"), HARNESS),
    }
}

/// Plays the recording; returns the exit status.
fn play(replay: &mut Replay, lines: &Receiver<Vec<u8>>, speed: f64) -> io::Result<u8> {
    let mut stdout = io::stdout().lock();
    loop {
        match replay.advance() {
            Action::Write { line, after } => {
                if speed > 0.0 && after > 0.0 {
                    stdout.flush()?;
                    thread::sleep(Duration::try_from_secs_f64(after / speed / 1000.0).unwrap_or_default());
                }
                stdout.write_all(&line)?;
            }
            // stderr may be closed.
            Action::WriteStderr(text) => drop(io::stderr().write_all(&text)),
            Action::Wait => {
                stdout.flush()?;
                let next = match replay.has_skipped_ahead() {
                    true => lines.recv_timeout(OMISSION_TIMEOUT),
                    false => lines.recv().map_err(RecvTimeoutError::from),
                };
                let answer = match next {
                    Ok(line) => replay.handle(&HostInput::Line(&line)),
                    Err(RecvTimeoutError::Timeout) => replay.handle(&HostInput::Pause),
                    Err(RecvTimeoutError::Disconnected) => replay.handle(&HostInput::End),
                };
                answer.map_or(Ok(()), |line| stdout.write_all(&line))?;
            }
            Action::Exit(status) => {
                stdout.flush()?;
                return Ok(status);
            }
        }
    }
}

/// Reads stdin line by line; the channel closes at its end.
fn read_stdin(to: &SyncSender<Vec<u8>>) {
    let mut splitter = LineSplitter::new(LONGEST);
    let mut chunk = vec![0; 64 * 1024];
    let mut stdin = io::stdin().lock();
    let send = |line: SplitLine<'_>| match line {
        SplitLine::Line(line) => to.send(line.to_vec()).is_ok(),
        SplitLine::TooLong(length) => {
            warn(&format!("ignored a line of {length} bytes: at most {LONGEST} are read"));
            true
        }
    };
    loop {
        match stdin.read(&mut chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
            Ok(count) => splitter.push(chunk.get(..count).unwrap_or_default()),
        }
        while let Some(line) = splitter.next_line() {
            if !send(line) {
                return;
            }
        }
    }
    splitter.finish().map(send);
}

fn warn(text: &str) {
    // stderr may be closed.
    let _ = writeln!(io::stderr(), "replay: {text}");
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed: &f64| speed.is_finite() && *speed >= 0.0);
    speed.ok_or_else(|| "expected a number, 0 or above".to_owned())
}
