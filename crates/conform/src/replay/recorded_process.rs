//! Reads one process of a recording into steps.

use super::{
    causes::Causes,
    ids::{Request, id_of, request, shape},
};
use pi_rpc_protocol::{Dialect, DialectVersion};
use pi_rpc_recording::{Body, Direction, Record, TraceError, line_buffer::LineBuffer, read_record};
use serde::Deserialize;
use serde_json::Value;

/// The recorded steps of one process, in order.
#[derive(Clone, Debug, Default)]
pub struct RecordedProcess {
    pub(super) steps: Vec<Step>,
    /// The dialect that the recording names.
    pub dialect: Option<Dialect>,
    /// Whether the recorder shortened long strings.
    pub cut: bool,
}

/// One record of the process.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The number of the record, from 1.
    pub record: usize,
    /// Milliseconds since the recording began.
    pub t: f64,
    pub kind: StepKind,
}

#[derive(Clone, Debug)]
pub(super) enum StepKind {
    /// A line of the host, with its shape for comparison.
    In {
        line: Vec<u8>,
        shape: Option<Value>,
        cut: bool,
    },
    /// A line of the server, with the step of the request that it answers, and of the request that caused it.
    Out {
        line: Vec<u8>,
        answers: Option<usize>,
        caused_by: Option<usize>,
    },
    /// A line of the server's stderr.
    Err(Vec<u8>),
    EndOfInput,
    Exit(u8),
}

impl StepKind {
    fn of_host(line: Vec<u8>, cut: bool) -> Self {
        Self::In { shape: shape(&line), line, cut }
    }
}

/// A recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum RecordedProcessError {
    /// A line is not a record.
    #[error("line {line}: {error}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// Why the line is not a record.
        error: TraceError,
    },
    /// The recording has fewer processes.
    #[error("no process {wanted}: the recording has {found}")]
    NoProcess {
        /// The number of the wanted process, from 1.
        wanted: usize,
        /// The number of processes in the recording.
        found: usize,
    },
}

impl RecordedProcess {
    /// Reads process number `process`, from 1, of a recording. Records before the first `spawn` belong to the first process.
    pub fn read(text: &str, process: usize) -> Result<Self, RecordedProcessError> {
        let (mut part, mut spawned, mut found) = (Self::default(), 0, 0);
        let mut pieces = LineBuffer::default();
        let last = text.lines().count();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let record = match read_record(line) {
                Ok(record) => record,
                // The recorder was stopped within the last line.
                Err(TraceError::Line(error)) if error.is_eof() && at + 1 == last && !text.ends_with('\n') => {
                    break;
                }
                Err(error) => return Err(RecordedProcessError::Line { line: at + 1, error }),
            };
            let spawns =
                record.direction == Direction::Meta && MetaFields::read(&record.body).event == "spawn";
            spawned += usize::from(spawns);
            found = spawned.max(1);
            if found == process {
                part.add(at + 1, &record, &mut pieces);
            }
        }
        match process >= 1 && process <= found {
            true => Ok(part.with_requests()),
            false => Err(RecordedProcessError::NoProcess { wanted: process, found }),
        }
    }

    fn add(&mut self, number: usize, record: &Record<'_>, pieces: &mut LineBuffer) {
        self.cut |= record.cut;
        let line = record.body.bytes();
        let kind = match (record.direction, &record.body) {
            (Direction::In, Body::Raw(_)) => return self.push_lines(number, record.t, pieces.push(line)),
            (Direction::In, Body::Json(_)) => StepKind::of_host(line.to_vec(), record.cut),
            (Direction::Out, _) => StepKind::Out { line: line.to_vec(), answers: None, caused_by: None },
            (Direction::Err, _) => StepKind::Err(line.to_vec()),
            (Direction::Meta, body) => {
                let meta = MetaFields::read(body);
                if let Some(name) = meta.dialect.as_deref() {
                    self.dialect = DialectVersion::parse(name).map(|spoken| spoken.dialect);
                }
                let Some(kind) = meta.step() else { return };
                self.push_lines(number, record.t, pieces.take_rest());
                kind
            }
        };
        self.steps.push(Step { record: number, t: record.t, kind });
    }

    /// Adds lines of the host that were recorded in pieces.
    fn push_lines(&mut self, record: usize, t: f64, lines: Vec<Vec<u8>>) {
        self.steps.extend(lines.into_iter().map(|line| Step {
            record,
            t,
            kind: StepKind::of_host(line, false),
        }));
    }

    /// Links each response to its request (the latest with its id and command; without an id the oldest unanswered one), and
    /// every other frame to the request that caused it.
    fn with_requests(mut self) -> Self {
        let mut requests: Vec<(usize, Request)> = Vec::new();
        let mut answered: Vec<usize> = Vec::new();
        let mut causes = Causes::default();
        for at in 0..self.steps.len() {
            let Some(step) = self.steps.get_mut(at) else { break };
            match &mut step.kind {
                StepKind::In { line, .. } => {
                    let request = request(line);
                    causes.host_sent(at, request.as_ref());
                    requests.extend(request.map(|request| (at, request)));
                }
                StepKind::Out { line, answers, caused_by } => {
                    let Some((command, id)) = id_of(line) else {
                        *caused_by = causes.cause_of(line);
                        continue;
                    };
                    let named = |(_, request): &&(usize, Request)| request.matches(&command, id.as_ref());
                    let found = match id {
                        Some(_) => requests.iter().rev().find(named),
                        None => requests.iter().filter(named).find(|(at, _)| !answered.contains(at)),
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

/// The members of a `meta` record that count for a replay.
#[derive(Default, Deserialize)]
struct MetaFields {
    #[serde(default)]
    event: String,
    dialect: Option<String>,
    code: Option<i64>,
}

impl MetaFields {
    /// Reads a `meta` record; an invalid one has no effect.
    fn read(body: &Body<'_>) -> Self {
        serde_json::from_slice(body.bytes()).unwrap_or_default()
    }

    fn step(self) -> Option<StepKind> {
        match self.event.as_str() {
            "stdin closed" => Some(StepKind::EndOfInput),
            "exit" => Some(StepKind::Exit(status(self.code.unwrap_or_default()))),
            _ => None,
        }
    }
}

/// The exit status for a recorded code; a negative code is the number of a signal.
fn status(code: i64) -> u8 {
    let number = if code < 0 { code.unsigned_abs() | 128 } else { code.unsigned_abs() };
    u8::try_from(number).unwrap_or(u8::MAX)
}
