//! The requests that wait for a response, and the states that each can have met.

use super::Rule;
use crate::protocol::{FlowState, LineError, RequestId, RpcCommandKind, RpcErrorResponse, RpcResponse};
use std::collections::VecDeque;

/// One request without its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// As the host gave it.
    pub id: Option<RequestId>,
    /// The command.
    pub command: RpcCommandKind,
    /// The states between the request and now: an outcome that is right in any of them is right.
    pub met: Vec<FlowState>,
}

/// The open requests, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    open: VecDeque<Open>,
    /// The latest that were answered. Of prompts, with what: in dialects that answer before they know, the other answer
    /// may follow, in either order.
    answered: VecDeque<(Open, Option<bool>)>,
    /// Lines that were no command; each is owed an error without a request.
    bad_lines: VecDeque<BadLine>,
}

/// What the error of a line that was no command may name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BadLine {
    kind: Option<String>,
    id: Option<RequestId>,
}

impl BadLine {
    fn fits(&self, error: &RpcErrorResponse) -> bool {
        self.kind.as_ref() == Some(&error.command) && (error.id.is_none() || error.id == self.id)
    }
}

/// Answered requests that are remembered for a late error, or a second answer.
const REMEMBERED: usize = 64;

impl Requests {
    /// A command came in while the machine was in `state`.
    pub fn open(&mut self, id: Option<RequestId>, command: RpcCommandKind, state: FlowState) {
        self.open.push_back(Open { id, command, met: vec![state] });
    }

    /// A line came in that was no command.
    pub fn bad_line(&mut self, error: &LineError) {
        let (kind, id) = match error {
            LineError::Parse { .. } => (None, None),
            LineError::Unknown { kind, id } | LineError::Field { kind, id, .. } => {
                (Some(kind.clone()), id.clone())
            }
        };
        self.bad_lines.push_back(BadLine { kind, id });
    }

    /// The flow has moved: every open request can have met the new state.
    pub fn moved(&mut self, state: FlowState) {
        for request in &mut self.open {
            if !request.met.contains(&state) {
                request.met.push(state);
            }
        }
    }

    /// The requests that wait, oldest first.
    pub fn waiting(&self) -> impl Iterator<Item = &Open> {
        self.open.iter()
    }

    /// Whether a request of that command waits.
    pub fn waits(&self, command: RpcCommandKind) -> bool {
        self.open.iter().any(|request| request.command == command)
    }

    /// A response was said; `late` if the dialect may answer a prompt twice.
    pub fn answer(&mut self, response: &RpcResponse, late: bool) -> Result<(), (Rule, String)> {
        if let RpcResponse::ErrorResponse(error) = response
            && let Some(at) = self.bad_lines.iter().position(|line| line.fits(error))
        {
            self.bad_lines.remove(at);
            return Ok(());
        }
        let (id, command, success) = match response {
            RpcResponse::Success(it) => (it.id(), RpcCommandKind::parse(it.kind().as_str()), true),
            RpcResponse::ErrorResponse(it) => (it.id.as_ref(), RpcCommandKind::parse(&it.command), false),
        };
        let Some(id) = id else { return self.answer_without_id(command, success, late) };
        let at = self.open.iter().position(|request| request.id.as_ref() == Some(id));
        let Some(at) = at else { return self.answer_late(Some(id), command, success, late) };
        let request = self.open.remove(at);
        match request {
            Some(request) if command != Some(request.command) => {
                let expected = format!("the command `{}` of request {id}", request.command);
                self.remember(request, false);
                Err((Rule::RespCommand, expected))
            }
            Some(request) => {
                self.remember(request, success);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn answer_without_id(
        &mut self,
        command: Option<RpcCommandKind>,
        success: bool,
        late: bool,
    ) -> Result<(), (Rule, String)> {
        let named = |request: &Open| Some(request.command) == command && request.id.is_none();
        // A prompt that was just acknowledged fails before the next one is answered.
        let acknowledged =
            |(request, success): &(Open, Option<bool>)| named(request) && *success == Some(true);
        if late
            && !success
            && let Some(at) = self.answered.iter().rposition(acknowledged)
        {
            self.answered[at].1 = None;
            return Ok(());
        }
        if let Some(at) = self.open.iter().position(named) {
            if let Some(request) = self.open.remove(at) {
                self.remember(request, success);
            }
            return Ok(());
        }
        if success {
            return Err((Rule::RespKnownId, "an open request of that command without an id".to_owned()));
        }
        if command.is_none() && self.bad_lines.pop_front().is_some() {
            return Ok(());
        }
        // The originals drop the id of a request whose handler fails; the oldest that does not overtake is the one.
        let failed = |request: &Open| match command {
            None => !request.command.is_control(),
            command => Some(request.command) == command,
        };
        match self.open.iter().position(failed) {
            Some(at) => {
                self.open.remove(at);
                Ok(())
            }
            None => self.answer_late(None, command, success, late),
        }
    }

    fn answer_late(
        &mut self,
        id: Option<&RequestId>,
        command: Option<RpcCommandKind>,
        success: bool,
        late: bool,
    ) -> Result<(), (Rule, String)> {
        let known = |(request, _): &(Open, Option<bool>)| {
            request.id.as_ref() == id && command.is_none_or(|command| command == request.command)
        };
        match self.answered.iter().rposition(known) {
            Some(at) if late && self.answered[at].1 == Some(!success) => {
                self.answered[at].1 = None;
                Ok(())
            }
            Some(_) => Err((Rule::RespOnce, "one response per request".to_owned())),
            None => Err((Rule::RespKnownId, "the id of an open request".to_owned())),
        }
    }

    fn remember(&mut self, request: Open, success: bool) {
        let twice = matches!(request.command, RpcCommandKind::Prompt | RpcCommandKind::AbortAndPrompt);
        self.answered.push_back((request, twice.then_some(success)));
        if self.answered.len() > REMEMBERED {
            self.answered.pop_front();
        }
    }
}
