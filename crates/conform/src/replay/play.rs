//! Plays the steps of a process.

use super::{
    ids::{request, shape, with_id},
    recorded_process::{RecordedProcess, Step, StepKind},
};
use pi_rpc_protocol::{Dialect, Encoder, Outbound, RequestId, RpcErrorResponse, RpcResponse, read_line};

/// A recorded process that is being replayed.
pub struct Replay {
    dialect: Dialect,
    steps: Vec<Step>,
    /// The next step to play.
    at: usize,
    /// The input that has arrived for each step, in any order.
    arrivals: Vec<Option<Arrival>>,
    /// Whether the replay no longer waits for the input of each step.
    left_out: Vec<bool>,
    input_ended: bool,
    remarks: Vec<String>,
}

#[derive(Clone, Debug)]
/// Input of the host that matched a step.
struct Arrival {
    id: Option<RequestId>,
}

/// The next action of the replaying server.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Write a line to stdout, `after` a delay.
    Write {
        /// The line, with its line feed.
        line: Vec<u8>,
        /// Milliseconds since the previous step, by the recording.
        after: f64,
    },
    /// Write bytes to stderr.
    WriteStderr(Vec<u8>),
    /// Wait for input of the host.
    Wait,
    /// Exit with this status.
    Exit(u8),
}

/// Input of the host.
pub enum HostInput<'a> {
    /// A line, without its line feed.
    Line(&'a [u8]),
    /// No input for a while.
    Pause,
    /// The end of the input.
    End,
}

impl Replay {
    /// Creates a replay before the first step.
    pub fn new(part: RecordedProcess, dialect: Dialect) -> Self {
        let (arrivals, left_out) = (vec![None; part.steps.len()], vec![false; part.steps.len()]);
        Self {
            dialect,
            steps: part.steps,
            at: 0,
            arrivals,
            left_out,
            input_ended: false,
            remarks: Vec::new(),
        }
    }

    /// Handles input of the host. Returns the line to write at once: the error response to a command that the recording does
    /// not have, or the response to one that came too late.
    pub fn handle(&mut self, input: &HostInput<'_>) -> Option<Vec<u8>> {
        match input {
            HostInput::Line(line) => self.line(line),
            HostInput::Pause => {
                self.leave_out(self.next_arrival().unwrap_or_default());
                None
            }
            HostInput::End => {
                self.end_input();
                None
            }
        }
    }

    /// The next action. Returns [`Action::Wait`] again until [`Self::handle`] has brought the awaited input.
    pub fn advance(&mut self) -> Action {
        loop {
            let Some(step) = self.steps.get(self.at) else {
                // The recording breaks off: stay until the host closes the input.
                return if self.input_ended { Action::Exit(0) } else { Action::Wait };
            };
            let before =
                self.at.checked_sub(1).and_then(|at| self.steps.get(at)).map_or(step.t, |step| step.t);
            let after = (step.t - before).max(0.0);
            let play = match &step.kind {
                StepKind::In { .. } if self.is_settled(self.at) => None,
                StepKind::In { .. } if self.input_ended => {
                    self.at = self.next_end();
                    continue;
                }
                StepKind::In { .. } => return Action::Wait,
                StepKind::EndOfInput if !self.input_ended => return Action::Wait,
                StepKind::EndOfInput => None,
                StepKind::Out { answers, caused_by, .. } if self.is_left_out([*answers, *caused_by]) => None,
                StepKind::Out { line, answers, .. } => {
                    Some(Action::Write { line: self.with_current_id(line, *answers), after })
                }
                StepKind::Err(text) => Some(Action::WriteStderr([text.as_slice(), b"\n"].concat())),
                StepKind::Exit(status) => return Action::Exit(*status),
            };
            self.at += 1;
            if let Some(play) = play {
                return play;
            }
        }
    }

    /// Whether input has arrived for a later step than the awaited one, which the host may have left out.
    pub fn has_skipped_ahead(&self) -> bool {
        self.next_arrival().is_some()
    }

    /// The first step, from the current one on, whose input has arrived.
    fn next_arrival(&self) -> Option<usize> {
        let came = self.arrivals.iter().enumerate().skip(self.at);
        came.filter(|(_, came)| came.is_some()).map(|(at, _)| at).next()
    }

    /// Gives up waiting for the input of steps before `until`.
    fn leave_out(&mut self, until: usize) {
        let waiting = self.left_out.iter_mut().zip(&self.arrivals).take(until).skip(self.at);
        for (left_out, _) in waiting.filter(|(_, came)| came.is_none()) {
            *left_out = true;
        }
    }

    fn is_settled(&self, at: usize) -> bool {
        self.left_out.get(at).copied().unwrap_or_default() || self.arrival_at(at).is_some()
    }

    /// Whether one of these requests was left out, so that its output is to be skipped.
    fn is_left_out(&self, steps: [Option<usize>; 2]) -> bool {
        let is_left_out = |at: usize| self.left_out.get(at).copied().unwrap_or_default();
        steps.into_iter().flatten().any(|at| is_left_out(at) && self.arrival_at(at).is_none())
    }

    /// The differences from the recording so far, as text: unexpected input, and input that has not arrived.
    pub fn remarks(&self) -> Vec<String> {
        let missing = self.steps.iter().zip(&self.arrivals).filter(|(_, came)| came.is_none());
        let missing = missing.filter_map(|(step, _)| match &step.kind {
            StepKind::In { line, .. } => {
                Some(format!("record {} never came: {}", step.record, excerpt(line)))
            }
            _ => None,
        });
        self.remarks.iter().cloned().chain(missing).collect()
    }

    fn line(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let own = shape(line);
        let fits = |kind: &StepKind| match kind {
            StepKind::In { shape: Some(recorded), cut, .. } => own.as_ref().is_some_and(|own| match cut {
                // Shortened lines cannot be compared as a whole.
                true => own.get("type") == recorded.get("type"),
                false => own == recorded,
            }),
            StepKind::In { line: recorded, shape: None, .. } => line == recorded,
            _ => false,
        };
        let waiting = self.steps.iter().zip(&self.arrivals).enumerate().skip(self.at);
        let mut waiting = waiting.filter(|(_, (_, came))| came.is_none());
        let found = waiting.find(|(_, (step, _))| fits(&step.kind)).map(|(at, _)| at);
        let id = request(line).and_then(|request| request.id);
        match found {
            Some(at) => {
                if let Some(came) = self.arrivals.get_mut(at) {
                    *came = Some(Arrival { id });
                }
                None
            }
            None => match self.find_left_out(fits) {
                Some(at) => self.answer_late(at, id),
                None => self.unexpected(line, id),
            },
        }
    }

    /// The first left-out step that fits and whose input has not arrived since.
    fn find_left_out(&self, fits: impl Fn(&StepKind) -> bool) -> Option<usize> {
        let passed = self.steps.iter().enumerate().take(self.at);
        let mut passed = passed.filter(|(at, _)| self.is_left_out([Some(*at), None]));
        passed.find(|(_, step)| fits(&step.kind)).map(|(at, _)| at)
    }

    /// Handles the late input of a left-out step: returns its response, and nothing else that it caused.
    fn answer_late(&mut self, at: usize, id: Option<RequestId>) -> Option<Vec<u8>> {
        *self.arrivals.get_mut(at)? = Some(Arrival { id });
        let response = self.steps.iter().find_map(|step| match &step.kind {
            StepKind::Out { line, answers, .. } if *answers == Some(at) => Some(line),
            _ => None,
        })?;
        Some(self.with_current_id(response, Some(at)))
    }

    fn unexpected(&mut self, line: &[u8], id: Option<RequestId>) -> Option<Vec<u8>> {
        let response = match read_line(line, self.dialect) {
            // A blank line is ignored.
            Ok(None) => return None,
            Err(error) if !error.is_answered() => None,
            Err(error) => Some(error.response(self.dialect)),
            Ok(Some(_)) => request(line).map(|request| RpcErrorResponse {
                id,
                error: format!("unexpected {}: the recording has no such command here", request.command),
                command: request.command,
                code: None,
            }),
        };
        self.remarks.push(format!("unexpected: {}", excerpt(line)));
        response.map(|response| {
            let mut line = Vec::new();
            Encoder::encode_frame(&Outbound::Response(RpcResponse::ErrorResponse(response)), &mut line);
            line
        })
    }

    /// Handles the end of the input: input that is still awaited before the last arrival is left out.
    fn end_input(&mut self) {
        self.input_ended = true;
        let last = self.arrivals.iter().rposition(Option::is_some).unwrap_or_default();
        self.leave_out(last);
    }

    /// The next step at which the recorded input or process ends.
    fn next_end(&self) -> usize {
        let ends = |step: &Step| matches!(step.kind, StepKind::EndOfInput | StepKind::Exit(_));
        let rest = self.steps.iter().skip(self.at).position(ends);
        rest.map_or(self.steps.len(), |rest| self.at + rest)
    }

    fn arrival_at(&self, at: usize) -> Option<&Arrival> {
        self.arrivals.get(at).and_then(Option::as_ref)
    }

    /// The recorded line with the id of the current request instead of the recorded one.
    fn with_current_id(&self, line: &[u8], answers: Option<usize>) -> Vec<u8> {
        let mut line = match answers.and_then(|at| self.arrival_at(at)) {
            Some(came) => with_id(line, came.id.as_ref()),
            None => line.to_vec(),
        };
        line.push(b'\n');
        line
    }
}

/// The most characters of a line that a remark quotes.
const EXCERPT: usize = 200;

fn excerpt(line: &[u8]) -> String {
    String::from_utf8_lossy(line).chars().take(EXCERPT).collect()
}
