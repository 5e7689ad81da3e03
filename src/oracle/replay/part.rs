//! One process of a recording.

use super::{
    ids::{Request, id_of, request, shape},
    work::Work,
};
use crate::{
    oracle::{Body, Direction, Record, TraceError, line_buffer::LineBuffer, read_record},
    protocol::{Dialect, DialectVersion},
};
use serde::Deserialize;
use serde_json::Value;

/// Everything that was recorded of one process, in order.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub(super) steps: Vec<Step>,
    /// The dialect that the recording names.
    pub dialect: Option<Dialect>,
    /// Strings were shortened when it was recorded.
    pub cut: bool,
}

/// One record.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Its number in the recording, from 1.
    pub record: usize,
    /// When, in milliseconds.
    pub t: f64,
    pub what: What,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// A line of the host, and what it is compared by.
    In {
        line: Vec<u8>,
        shape: Option<Value>,
        cut: bool,
    },
    /// A line of the server, the step of the request that it answers, and that of the one that it is the work of.
    Out {
        line: Vec<u8>,
        answers: Option<usize>,
        work_of: Option<usize>,
    },
    /// What the server wrote to stderr.
    Err(Vec<u8>),
    EndOfInput,
    Exit(u8),
}

impl What {
    fn of_host(line: Vec<u8>, cut: bool) -> Self {
        Self::In { shape: shape(&line), line, cut }
    }
}

/// Why a recording cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// A line is no record.
    #[error("line {line}: {error}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        error: TraceError,
    },
    /// There are not so many processes.
    #[error("no process {wanted}: the recording has {found}")]
    NoProcess {
        /// The one that was asked for, from 1.
        wanted: usize,
        /// How many there are.
        found: usize,
    },
}

impl Part {
    /// Reads process number `process`, from 1, of a recording. What stands before the first `spawn` belongs to the first.
    pub fn read(text: &str, process: usize) -> Result<Self, PartError> {
        let (mut part, mut spawned, mut found) = (Self::default(), 0, 0);
        let mut pieces = LineBuffer::default();
        let last = text.lines().count();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let record = match read_record(line) {
                Ok(record) => record,
                // Whoever recorded was stopped within the last line.
                Err(TraceError::Line(error)) if error.is_eof() && at + 1 == last && !text.ends_with('\n') => {
                    break;
                }
                Err(error) => return Err(PartError::Line { line: at + 1, error }),
            };
            let spawns = record.direction == Direction::Meta && Meta::read(&record.body).event == "spawn";
            spawned += usize::from(spawns);
            found = spawned.max(1);
            if found == process {
                part.add(at + 1, &record, &mut pieces);
            }
        }
        match process >= 1 && process <= found {
            true => Ok(part.with_answers()),
            false => Err(PartError::NoProcess { wanted: process, found }),
        }
    }

    fn add(&mut self, number: usize, record: &Record<'_>, pieces: &mut LineBuffer) {
        self.cut |= record.cut;
        let line = record.body.bytes();
        let what = match (record.direction, &record.body) {
            (Direction::In, Body::Raw(_)) => return self.host_wrote(number, record.t, pieces.push(line)),
            (Direction::In, Body::Json(_)) => What::of_host(line.to_vec(), record.cut),
            (Direction::Out, _) => What::Out { line: line.to_vec(), answers: None, work_of: None },
            (Direction::Err, _) => What::Err(line.to_vec()),
            (Direction::Meta, body) => {
                let meta = Meta::read(body);
                if let Some(name) = meta.dialect.as_deref() {
                    self.dialect = DialectVersion::parse(name).map(|spoken| spoken.dialect);
                }
                let Some(what) = meta.step() else { return };
                self.host_wrote(number, record.t, pieces.take_rest());
                what
            }
        };
        self.steps.push(Step { record: number, t: record.t, what });
    }

    /// Lines that were recorded as they were written, in pieces.
    fn host_wrote(&mut self, record: usize, t: f64, lines: Vec<Vec<u8>>) {
        self.steps.extend(lines.into_iter().map(|line| Step { record, t, what: What::of_host(line, false) }));
    }

    /// Finds the request of each response: of that id and command, else the oldest without an id that has none yet; and of
    /// every other frame the request that it is the work of.
    fn with_answers(mut self) -> Self {
        let mut asked: Vec<(usize, Request)> = Vec::new();
        let mut answered: Vec<usize> = Vec::new();
        let mut work = Work::default();
        for at in 0..self.steps.len() {
            let Some(step) = self.steps.get_mut(at) else { break };
            match &mut step.what {
                What::In { line, .. } => {
                    let request = request(line);
                    work.asked(at, request.as_ref());
                    asked.extend(request.map(|request| (at, request)));
                }
                What::Out { line, answers, work_of } => {
                    let Some((command, id)) = id_of(line) else {
                        *work_of = work.frame(line);
                        continue;
                    };
                    let named = |(_, request): &&(usize, Request)| request.is(&command, id.as_ref());
                    let found = match id {
                        Some(_) => asked.iter().rev().find(named),
                        None => asked.iter().filter(named).find(|(at, _)| !answered.contains(at)),
                    };
                    *answers = found.map(|(at, _)| *at);
                    answered.extend(*answers);
                }
                _ => {}
            }
        }
        self
    }
}

/// What happened to the process.
#[derive(Default, Deserialize)]
struct Meta {
    #[serde(default)]
    event: String,
    dialect: Option<String>,
    code: Option<i64>,
}

impl Meta {
    /// What is no such object happened to nobody.
    fn read(body: &Body<'_>) -> Self {
        serde_json::from_slice(body.bytes()).unwrap_or_default()
    }

    fn step(self) -> Option<What> {
        match self.event.as_str() {
            "stdin closed" => Some(What::EndOfInput),
            "exit" => Some(What::Exit(status(self.code.unwrap_or_default()))),
            _ => None,
        }
    }
}

/// The status for that code; a negative one is the number of a signal.
fn status(code: i64) -> u8 {
    let number = if code < 0 { code.unsigned_abs() | 128 } else { code.unsigned_abs() };
    u8::try_from(number).unwrap_or(u8::MAX)
}
