//! `pi-rpc replay`.

use super::{HARNESS, refuse};
use crate::{
    oracle::{
        LONGEST_LINE,
        replay::{Action, HostInput, RecordedProcess, Replay},
    },
    protocol::{Dialect, LineSplitter, SplitLine},
};
use clap::Args;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, ErrorKind, Read as _, Write as _},
    path::PathBuf,
    process::ExitCode,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread,
    time::Duration,
};

/// What to play, and how.
#[derive(Args)]
pub struct Options {
    /// The recording
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// The dialect of the errors for what the recording does not have; without it, that which the recording names
    #[arg(long, value_name = "D", env = "PI_RPC_DIALECT", value_parser = super::named_dialect)]
    dialect: Option<Dialect>,
    /// Which process of the recording to play
    #[arg(long, value_name = "N", default_value_t = 1)]
    process: usize,
    /// 1: as fast as it was recorded, 2: twice as fast, 0: at once
    #[arg(long, value_name = "F", default_value_t = 0.0, value_parser = speed)]
    speed: f64,
    /// Fail if the host sends what the recording does not have, or leaves out what it has
    #[arg(long)]
    strict: bool,
}

/// What `--help` adds.
pub const HELP: &str = "\
A line of the host is looked up by its shape: all its members but id and timestamp. The next one of the recording \
comes first, else a later one of the same shape. What the server had said is said once everything that had come in \
before it has come in again, in responses with the ids of now. What the host leaves out is passed over with what \
followed from it, 0.25 s after the host has sent something later. What the recording does not have is answered with an \
error and listed on stderr. The status is that of the recorded server; 1 if --strict finds something.";

/// How long a host that has sent something later is waited for to send what stands before it in the recording.
const OMISSION_TIMEOUT: Duration = Duration::from_millis(250);

/// Lines that wait to be played to.
const LINE_CAPACITY: usize = 16;

/// The longest line of a host that is read, in bytes.
const LONGEST: usize = 256 * 1024 * 1024;

/// Reads a recording, which is held whole while it is played. The error names the line that is too long, or where the
/// memory ended.
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

/// Plays until the recording, or the host, ends.
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
    let dialect = options.dialect.or(part.dialect).unwrap_or(Dialect::Pi);
    let mut replay = Replay::new(part, dialect);
    let (sender, heard) = sync_channel(LINE_CAPACITY);
    thread::spawn(move || read_stdin(&sender));
    let status = play(&mut replay, &heard, options.speed);
    let remarks = replay.remarks();
    remarks.iter().for_each(|remark| warn(remark));
    match status {
        _ if options.strict && !remarks.is_empty() => ExitCode::FAILURE,
        Ok(status) => ExitCode::from(status),
        // A host that has gone has heard enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => refuse(&format!("stdout: {error}"), HARNESS),
    }
}

/// Plays; gives the status to end with.
fn play(replay: &mut Replay, heard: &Receiver<Vec<u8>>, speed: f64) -> io::Result<u8> {
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
            // Nobody may read it.
            Action::WriteStderr(text) => drop(io::stderr().write_all(&text)),
            Action::Wait => {
                stdout.flush()?;
                let next = match replay.has_skipped_ahead() {
                    true => heard.recv_timeout(OMISSION_TIMEOUT),
                    false => heard.recv().map_err(RecvTimeoutError::from),
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
            warn(&format!("a line of {length} bytes is passed over"));
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
    // Nobody may read it.
    let _ = writeln!(io::stderr(), "replay: {text}");
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed: &f64| speed.is_finite() && *speed >= 0.0);
    speed.ok_or_else(|| "expected a number, 0 or above".to_owned())
}
