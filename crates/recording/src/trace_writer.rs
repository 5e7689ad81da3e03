//! Writes recordings, record by record.

use super::{Body, Direction, Record, redact::Redactor};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use std::{
    borrow::Cow,
    io::{self, Write},
};

/// Writes records in the format that [`read_record`](super::read_record) reads. Every record is one write, so that a
/// concurrent reader sees whole lines.
#[derive(Debug)]
pub struct TraceWriter<W> {
    to: W,
    line: Vec<u8>,
    /// Redacts records before they are written, if wanted.
    redactor: Option<Redactor>,
}

impl<W: Write> TraceWriter<W> {
    /// Creates a writer to a file, a pipe or memory.
    pub const fn new(to: W) -> Self {
        Self { to, line: Vec::new(), redactor: None }
    }

    /// Redacts the records if `is_wanted`, for a recording to be shared. The judge finds the same in it, except violations
    /// that lie in letters alone.
    #[must_use]
    pub fn redacting(self, is_wanted: bool) -> Self {
        Self { redactor: is_wanted.then(Redactor::default), ..self }
    }

    /// Writes one record.
    pub fn write(&mut self, record: &Record<'_>) -> io::Result<()> {
        let redacted = self.redactor.as_mut().map(|redactor| redactor.redact(record));
        let Record { t, direction: dir, body, cut } = redacted.as_ref().unwrap_or(record);
        let body = match body {
            // Blanks around the value are dropped.
            Body::Json(bytes) => {
                serde_json::from_slice(bytes).map_or_else(|_| Written::of_text(bytes), Written::Frame)
            }
            Body::Raw(bytes) => Written::of_text(bytes),
        };
        self.line.clear();
        serde_json::to_writer(&mut self.line, &Line { t: micros(*t), dir: *dir, body, cut: *cut })?;
        self.line.push(b'\n');
        self.to.write_all(&self.line)
    }

    /// Flushes the destination.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    /// The destination.
    pub const fn get_ref(&self) -> &W {
        &self.to
    }

    /// Returns the destination.
    pub fn into_inner(self) -> W {
        self.to
    }
}

impl<'a> Record<'a> {
    /// Creates the record of a line, given without its line feed, `t` milliseconds after the recording began. A line of the
    /// host that is not JSON is recorded with its line feed, to tell it from a piece of a line.
    pub fn line(t: f64, direction: Direction, line: &'a [u8]) -> Self {
        let body = match (is_json(line), direction) {
            (true, _) => Body::Json(Cow::Borrowed(line)),
            (false, Direction::In) => Body::Raw(Cow::Owned([line, b"\n"].concat())),
            (false, _) => Body::Raw(Cow::Borrowed(line)),
        };
        Self { t, direction, body, cut: false }
    }

    /// Creates the record of an unterminated last line.
    pub const fn unended(t: f64, direction: Direction, rest: &'a [u8]) -> Self {
        Self { t, direction, body: Body::Raw(Cow::Borrowed(rest)), cut: false }
    }

    /// Creates the record of an event of the process.
    pub fn meta(t: f64, meta: &Meta<'_>) -> Record<'static> {
        // Texts and numbers always serialize.
        let bytes = serde_json::to_vec(meta).unwrap_or_default();
        Record { t, direction: Direction::Meta, body: Body::Json(Cow::Owned(bytes)), cut: false }
    }
}

/// An event of the server's process, as recorded.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event")]
pub enum Meta<'a> {
    /// A process starts.
    #[serde(rename = "spawn")]
    Spawn {
        /// The program and its arguments.
        argv: &'a [String],
        /// The dialect that it is said to speak; `None`: its frames will show that.
        #[serde(skip_serializing_if = "Option::is_none")]
        dialect: Option<&'a str>,
        /// The name of the server.
        server: &'a str,
    },
    /// The host has closed the server's input.
    #[serde(rename = "stdin closed")]
    StdinClosed,
    /// The host has closed its end of the server's output.
    #[serde(rename = "stdout closed")]
    StdoutClosed,
    /// The host has sent a signal to the process.
    #[serde(rename = "signal")]
    Signal {
        /// The number of the signal.
        number: i32,
    },
    /// The process has ended.
    #[serde(rename = "exit")]
    Exit {
        /// The exit status; 128 plus the number of the signal if a signal ended the process.
        code: i32,
    },
    /// What the process had started and still ran a while after its exit.
    #[serde(rename = "processes left")]
    ProcessesLeft {
        /// The command lines; none: everything had ended.
        commands: &'a [String],
    },
    /// The host gave up waiting.
    #[serde(rename = "timeout")]
    Timeout {
        /// Description of what the host waited for.
        what: &'a str,
    },
    /// The content of the session file, read after the end of the process.
    #[serde(rename = "session file")]
    SessionFile {
        /// The lines; one that is not JSON as a string.
        lines: &'a [Value],
    },
    /// The host did not read the server's output for some time.
    #[serde(rename = "stalled")]
    Stalled {
        /// The time in milliseconds.
        ms: u64,
    },
    /// Bytes were passed on without being recorded.
    #[serde(rename = "lost")]
    Lost {
        /// The number of bytes.
        bytes: u64,
    },
}

#[derive(Serialize)]
struct Line<'a> {
    t: f64,
    dir: Direction,
    #[serde(flatten)]
    body: Written<'a>,
    #[serde(skip_serializing_if = "is_false")]
    cut: bool,
}

#[derive(Serialize)]
enum Written<'a> {
    #[serde(rename = "frame")]
    Frame(&'a RawValue),
    #[serde(rename = "raw")]
    Raw(&'a str),
    #[serde(rename = "raw64")]
    Raw64(String),
}

impl<'a> Written<'a> {
    fn of_text(bytes: &'a [u8]) -> Self {
        str::from_utf8(bytes).map_or_else(|_| Self::Raw64(BASE64_STANDARD.encode(bytes)), Self::Raw)
    }
}

fn is_json(line: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(line).is_ok()
}

fn micros(ms: f64) -> f64 {
    (ms * 1000.0).round() / 1000.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}
