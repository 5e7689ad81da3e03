//! Plays the steps of a process.

use super::{
    ids::{request, shape, with_id},
    part::{Part, Step, What},
};
use crate::protocol::{Dialect, Encoder, Outbound, RequestId, RpcErrorResponse, RpcResponse, read_line};

/// A process that is played.
pub struct Replay {
    dialect: Dialect,
    steps: Vec<Step>,
    /// The next step to play.
    at: usize,
    /// What the host sent for each step that came in: its id. Later steps may have come before their time.
    came: Vec<Option<Came>>,
    input_ended: bool,
    remarks: Vec<String>,
}

#[derive(Clone, Debug)]
struct Came {
    id: Option<RequestId>,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Play {
    /// Write this line, `after` so many milliseconds since the step before it.
    Say {
        /// The line, with its line feed.
        line: Vec<u8>,
        /// Milliseconds between the two in the recording.
        after: f64,
    },
    /// Write this to stderr.
    Tell(Vec<u8>),
    /// Wait for the host.
    Listen,
    /// End with this status.
    Exit(u8),
}

/// What the host sends.
pub enum Heard<'a> {
    /// A line, without its line feed.
    Line(&'a [u8]),
    /// The end of its input.
    End,
}

impl Replay {
    /// Before the first step.
    pub fn new(part: Part, dialect: Dialect) -> Self {
        let came = vec![None; part.steps.len()];
        Self { dialect, steps: part.steps, at: 0, came, input_ended: false, remarks: Vec::new() }
    }

    /// Hears the host. Gives the line to write for what the recording does not have, if it is owed an answer.
    pub fn hear(&mut self, heard: &Heard<'_>) -> Option<Vec<u8>> {
        match heard {
            Heard::Line(line) => self.line(line),
            Heard::End => {
                self.end();
                None
            }
        }
    }

    /// What to do next. Repeats itself when it is told to listen.
    pub fn advance(&mut self) -> Play {
        loop {
            let Some(step) = self.steps.get(self.at) else {
                // The recording breaks off: as long as the host stays, so do we.
                return if self.input_ended { Play::Exit(0) } else { Play::Listen };
            };
            let before =
                self.at.checked_sub(1).and_then(|at| self.steps.get(at)).map_or(step.t, |step| step.t);
            let after = (step.t - before).max(0.0);
            let play = match &step.what {
                What::In { .. } if self.input_ended || self.came_at(self.at).is_some() => None,
                What::In { .. } => return Play::Listen,
                What::EndOfInput if !self.input_ended => return Play::Listen,
                What::EndOfInput => None,
                What::Out { line, answers } => {
                    Some(Play::Say { line: self.addressed(line, *answers), after })
                }
                What::Err(text) => Some(Play::Tell([text.as_slice(), b"\n"].concat())),
                What::Exit(status) => return Play::Exit(*status),
            };
            self.at += 1;
            if let Some(play) = play {
                return play;
            }
        }
    }

    /// What the host sent that the recording does not have, and what it has not sent so far, in words.
    pub fn remarks(&self) -> Vec<String> {
        let missing = self.steps.iter().zip(&self.came).filter(|(_, came)| came.is_none());
        let missing = missing.filter_map(|(step, _)| match &step.what {
            What::In { line, .. } => Some(format!("record {} never came: {}", step.record, excerpt(line))),
            _ => None,
        });
        self.remarks.iter().cloned().chain(missing).collect()
    }

    fn line(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let own = shape(line);
        let fits = |what: &What| match what {
            What::In { shape: Some(recorded), cut, .. } => own.as_ref().is_some_and(|own| match cut {
                // What was shortened cannot be compared.
                true => own.get("type") == recorded.get("type"),
                false => own == recorded,
            }),
            What::In { line: recorded, shape: None, .. } => line == recorded,
            _ => false,
        };
        let waiting = self.steps.iter().zip(&self.came).enumerate().skip(self.at);
        let mut waiting = waiting.filter(|(_, (_, came))| came.is_none());
        let found = waiting.find(|(_, (step, _))| fits(&step.what)).map(|(at, _)| at);
        let id = request(line).and_then(|request| request.id);
        match found.and_then(|at| self.came.get_mut(at)) {
            Some(came) => {
                *came = Some(Came { id });
                None
            }
            None => self.unexpected(line, id),
        }
    }

    fn unexpected(&mut self, line: &[u8], id: Option<RequestId>) -> Option<Vec<u8>> {
        let response = match read_line(line, self.dialect) {
            // A blank line is nothing.
            Ok(None) => return None,
            Err(error) if !error.is_answered() => None,
            Err(error) => Some(error.response(self.dialect)),
            Ok(Some(_)) => request(line).map(|request| RpcErrorResponse {
                id,
                error: format!("unexpected {}: the recording has no such command here", request.command),
                command: request.command,
            }),
        };
        self.remarks.push(format!("unexpected: {}", excerpt(line)));
        response.map(|response| {
            let mut line = Vec::new();
            Encoder::encode_frame(&Outbound::Response(RpcResponse::ErrorResponse(response)), &mut line);
            line
        })
    }

    /// Goes on with what followed the end of the input in the recording.
    fn end(&mut self) {
        self.input_ended = true;
        let rest = self.steps.iter().enumerate().skip(self.at);
        let end =
            rest.filter(|(_, step)| matches!(step.what, What::EndOfInput | What::Exit(_))).map(|(at, _)| at);
        // Where everything has come, what was said until then is still said.
        let waits = self.steps.iter().zip(&self.came).skip(self.at);
        let waits =
            waits.into_iter().any(|(step, came)| came.is_none() && matches!(step.what, What::In { .. }));
        if waits {
            self.at = end.min().unwrap_or(self.steps.len());
        }
    }

    fn came_at(&self, at: usize) -> Option<&Came> {
        self.came.get(at).and_then(Option::as_ref)
    }

    /// The line with the id of the request that came now, where the recorded one had its own.
    fn addressed(&self, line: &[u8], answers: Option<usize>) -> Vec<u8> {
        let mut line = match answers.and_then(|at| self.came_at(at)) {
            Some(came) => with_id(line, came.id.as_ref()),
            None => line.to_vec(),
        };
        line.push(b'\n');
        line
    }
}

/// The most of a line that a remark repeats, in characters.
const EXCERPT: usize = 200;

fn excerpt(line: &[u8]) -> String {
    String::from_utf8_lossy(line).chars().take(EXCERPT).collect()
}
