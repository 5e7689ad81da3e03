//! Writes recordings, record by record.

use super::{Body, Direction, Record, redact::Redactor};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use std::{
    borrow::Cow,
    io::{self, Write},
};

/// Writes records as [`read_record`](super::read_record) reads them. Every record is one write: whoever reads along
/// sees whole lines.
#[derive(Debug)]
pub struct TraceWriter<W> {
    to: W,
    line: Vec<u8>,
    /// Takes what was said out of the records, where that is wished for.
    redactor: Option<Redactor>,
}

impl<W: Write> TraceWriter<W> {
    /// A writer to a file, a pipe or memory.
    pub const fn new(to: W) -> Self {
        Self { to, line: Vec::new(), redactor: None }
    }

    /// Writes records without what was said in them, if that `is_wanted`: a recording to be given away, of which the
    /// judge says the same but for faults that lie in letters alone.
    #[must_use]
    pub fn redacting(self, is_wanted: bool) -> Self {
        Self { redactor: is_wanted.then(Redactor::default), ..self }
    }

    /// Writes one record.
    pub fn write(&mut self, record: &Record<'_>) -> io::Result<()> {
        let redacted = self.redactor.as_mut().map(|redactor| redactor.redact(record));
        let Record { t, direction: dir, body, cut } = redacted.as_ref().unwrap_or(record);
        let said = match body {
            Body::Json(bytes) => Written::of_line(bytes),
            Body::Raw(bytes) => Written::of_text(bytes),
        };
        self.line.clear();
        serde_json::to_writer(&mut self.line, &Line { t: micros(*t), dir: *dir, said, cut: *cut })?;
        self.line.push(b'\n');
        self.to.write_all(&self.line)
    }

    /// What was written so far goes on its way, where the destination keeps it back.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    /// Gives back the destination.
    pub fn into_inner(self) -> W {
        self.to
    }
}

impl<'a> Record<'a> {
    /// A line that was seen, given without its line feed, `t` milliseconds after the recording began. What the host
    /// wrote and is no JSON is kept with the line feed: pieces of a line look alike.
    pub fn line(t: f64, direction: Direction, line: &'a [u8]) -> Self {
        let body = match (is_json(line), direction) {
            (true, _) => Body::Json(Cow::Borrowed(line)),
            (false, Direction::In) => Body::Raw(Cow::Owned([line, b"\n"].concat())),
            (false, _) => Body::Raw(Cow::Borrowed(line)),
        };
        Self { t, direction, body, cut: false }
    }

    /// What stands behind the last line feed.
    pub const fn unended(t: f64, direction: Direction, rest: &'a [u8]) -> Self {
        Self { t, direction, body: Body::Raw(Cow::Borrowed(rest)), cut: false }
    }

    /// Something that happened to the process.
    pub fn meta(t: f64, meta: &Meta<'_>) -> Record<'static> {
        // Text and numbers: there is nothing that could fail.
        let bytes = serde_json::to_vec(meta).unwrap_or_default();
        Record { t, direction: Direction::Meta, body: Body::Json(Cow::Owned(bytes)), cut: false }
    }
}

/// What can happen to a process.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event")]
pub enum Meta<'a> {
    /// A process starts: what was known of the one before is void.
    #[serde(rename = "spawn")]
    Spawn {
        /// The program and its arguments.
        argv: &'a [String],
        /// The dialect that it is expected to speak.
        dialect: &'a str,
        /// What the server is called.
        server: &'a str,
    },
    /// The host has ended the input.
    #[serde(rename = "stdin closed")]
    StdinClosed,
    /// The host has closed its end of the output.
    #[serde(rename = "stdout closed")]
    StdoutClosed,
    /// The host has sent a signal to the process.
    #[serde(rename = "signal")]
    Signal {
        /// Its number.
        number: i32,
    },
    /// The process has ended.
    #[serde(rename = "exit")]
    Exit {
        /// Its status; 128 and the number of the signal that has ended it.
        code: i32,
    },
    /// Somebody waited for an answer in vain.
    #[serde(rename = "timeout")]
    Timeout {
        /// For what.
        what: &'a str,
    },
    /// What the file of the process's session holds.
    #[serde(rename = "session file")]
    SessionFile {
        /// Its lines; one that is no JSON as a string.
        lines: &'a [Value],
    },
    /// The host did not take what the server wrote for so long.
    #[serde(rename = "stalled")]
    Stalled {
        /// In milliseconds.
        ms: u64,
    },
    /// Bytes went by that were not recorded.
    #[serde(rename = "lost")]
    Lost {
        /// How many.
        bytes: u64,
    },
}

#[derive(Serialize)]
struct Line<'a> {
    t: f64,
    dir: Direction,
    #[serde(flatten)]
    said: Written<'a>,
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
    /// Blanks around the value are not kept.
    fn of_line(bytes: &'a [u8]) -> Self {
        serde_json::from_slice(bytes).map_or_else(|_| Self::of_text(bytes), Self::Frame)
    }

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
