//! The requests that wait for a response, and the states that each can have met.

use crate::protocol::RuleId as Rule;
use crate::protocol::{FlowState, LineError, RequestId, RpcCommandKind, RpcResponse};
use std::collections::VecDeque;

/// One request without its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRequest {
    /// How many requests came before it.
    pub number: u64,
    /// The number of its frame, both directions counted together.
    pub frame: u64,
    /// As the host gave it.
    pub id: Option<RequestId>,
    /// The command.
    pub command: RpcCommandKind,
    /// The states between the request and now: an outcome that is right in any of them is right.
    pub met: Vec<FlowState>,
    /// When it was written, in milliseconds of the recording's clock; none without a clock.
    pub written: Option<u64>,
    /// Requests there had been when a later one was answered first.
    overtaken: Option<u64>,
    /// A request that was written after it had been overtaken was answered before it, too.
    pub passed: bool,
}

/// What a response says of the request that it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// The id that it repeats.
    pub id: Option<RequestId>,
    /// The command that it names.
    pub command: String,
    /// It was done.
    pub success: bool,
    /// Why it was not.
    pub error: Option<String>,
}

impl ResponseHead {
    /// What `response` says.
    pub fn of(response: &RpcResponse) -> Self {
        match response {
            RpcResponse::Success(it) => {
                let command = it.kind().as_str().to_owned();
                Self { id: it.id().cloned(), command, success: true, error: None }
            }
            RpcResponse::ErrorResponse(it) => {
                let (command, error) = (it.command.clone(), Some(it.error.clone()));
                Self { id: it.id.clone(), command, success: false, error }
            }
        }
    }
}

/// What a response is an answer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseMatch {
    /// A request that waited.
    First(OpenRequest),
    /// A prompt that had the opposite answer already.
    Again(OpenRequest),
    /// A line that was no command: the number of its frame.
    Line(u64),
    /// A request or a line that is not remembered any more, as too many came behind it.
    Forgotten,
    /// Nothing that it may answer.
    Nothing(StrayResponse),
}

/// A response that answers nothing that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrayResponse {
    /// The rule that it breaks.
    pub rule: Rule,
    /// What was expected instead.
    pub expected: String,
    /// The number of the frame that it may have been meant for.
    pub cause: Option<u64>,
}

/// The open requests, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Requests so far.
    count: u64,
    open: VecDeque<OpenRequest>,
    /// The latest that were answered. Of prompts, with what: in dialects that answer before they know, the other answer
    /// may follow, in either order.
    answered: VecDeque<(OpenRequest, Option<bool>)>,
    /// One more than the highest number that was answered.
    answered_to: u64,
    /// Lines that were no command; each is owed an error without a request.
    invalid_lines: VecDeque<InvalidLine>,
    /// Requests and lines that wait and are not remembered.
    forgotten: u64,
}

/// What the error of a line that was no command may name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InvalidLine {
    /// How many requests came before it.
    number: u64,
    /// The number of its frame.
    frame: u64,
    kind: Option<String>,
    id: Option<RequestId>,
    /// It is a command that lacks what it needs.
    lacks: bool,
}

impl InvalidLine {
    fn fits(&self, error: &ResponseHead) -> bool {
        match &self.kind {
            Some(kind) => *kind == error.command && (error.id.is_none() || error.id == self.id),
            None => {
                self.id.is_some() && error.id == self.id && RpcCommandKind::parse(&error.command).is_none()
            }
        }
    }
}

/// Answered requests that are remembered for a late error, or a second answer.
const MAX_ANSWERED: usize = 64;

/// Requests and lines that may wait: a server that answers nothing costs no more than this.
const MAX_OUTSTANDING: usize = 4096;

impl Requests {
    /// A command came in as frame number `frame` while the machine was in `state`. Gives its number.
    pub fn add(
        &mut self,
        frame: u64,
        id: Option<RequestId>,
        command: RpcCommandKind,
        state: FlowState,
        written: Option<u64>,
    ) -> u64 {
        let number = self.count;
        self.count += 1;
        self.open.push_back(OpenRequest {
            number,
            frame,
            id,
            command,
            met: vec![state],
            written,
            overtaken: None,
            passed: false,
        });
        if self.open.len() > MAX_OUTSTANDING {
            self.open.pop_front();
            self.forgotten += 1;
        }
        number
    }

    /// A line came in as frame number `frame` that was no command.
    pub fn add_invalid_line(&mut self, frame: u64, error: &LineError) {
        let (kind, id) = match error {
            LineError::Parse { id, .. } => (None, id.clone()),
            LineError::Unknown { kind, id } | LineError::Field { kind, id, .. } => {
                (Some(kind.clone()), id.clone())
            }
        };
        self.invalid_lines.push_back(InvalidLine {
            number: self.count,
            frame,
            kind,
            id,
            lacks: error.lacks_field(),
        });
        if self.invalid_lines.len() > MAX_OUTSTANDING {
            self.invalid_lines.pop_front();
            self.forgotten += 1;
        }
    }

    /// The flow has moved: every open request can have met the new state.
    pub fn add_state(&mut self, state: FlowState) {
        for request in &mut self.open {
            if !request.met.contains(&state) {
                request.met.push(state);
            }
        }
    }

    /// The requests that wait, oldest first.
    pub fn outstanding(&self) -> impl Iterator<Item = &OpenRequest> {
        self.open.iter()
    }

    /// The lines that were no command and wait for their error: the number of the frame, the type, where a line had one,
    /// and whether a request behind it was answered.
    pub fn lines_without_response(&self) -> impl Iterator<Item = (u64, Option<&str>, bool)> {
        self.invalid_lines
            .iter()
            .map(|line| (line.frame, line.kind.as_deref(), line.number < self.answered_to))
    }

    /// Whether a request of that command waits.
    pub fn has_command(&self, command: RpcCommandKind) -> bool {
        self.open.iter().any(|request| request.command == command)
    }

    /// Whether a request with that id waits.
    pub fn is_outstanding(&self, id: &RequestId) -> bool {
        self.frame_of(id).is_some()
    }

    /// Whether a line of the host had that id: a request, answered or not, or a line that was no command.
    pub fn contains_id(&self, id: &RequestId) -> bool {
        let answered = || self.answered.iter().any(|(request, _)| request.id.as_ref() == Some(id));
        self.is_outstanding(id)
            || answered()
            || self.invalid_lines.iter().any(|line| line.id.as_ref() == Some(id))
    }

    /// The number of the frame of the request that waits with that id.
    pub fn frame_of(&self, id: &RequestId) -> Option<u64> {
        self.open.iter().find(|request| request.id.as_ref() == Some(id)).map(|request| request.frame)
    }

    /// A response was said; `late` if the dialect may acknowledge a prompt and then refuse it.
    pub fn match_response(&mut self, answer: &ResponseHead, late: bool) -> ResponseMatch {
        if !answer.success
            && let Some(at) = self.invalid_lines.iter().position(|line| line.fits(answer))
        {
            let line = self.invalid_lines.remove(at);
            let at = line.as_ref().map_or(0, |line| line.frame);
            // Servers that refuse a prompt, and acknowledge it all the same, do so with one that lacks its text, too.
            if let Some(InvalidLine { kind, id: id @ Some(_), frame, .. }) = line
                && kind.as_deref() == Some(RpcCommandKind::Prompt.as_str())
            {
                let request = OpenRequest {
                    number: self.count,
                    frame,
                    id,
                    command: RpcCommandKind::Prompt,
                    met: Vec::new(),
                    written: None,
                    overtaken: None,
                    passed: false,
                };
                self.remember(&request, false);
            }
            return ResponseMatch::Line(at);
        }
        let command = RpcCommandKind::parse(&answer.command);
        let Some(id) = &answer.id else { return self.match_without_id(command, answer.success, late) };
        let at = self.open.iter().position(|request| request.id.as_ref() == Some(id));
        match at.and_then(|at| self.open.remove(at)) {
            None => self.match_late_response(Some(id), command, answer.success),
            Some(request) if command != Some(request.command) => {
                let expected = format!("the command `{}` of request {id}", request.command);
                self.remember(&request, false);
                let cause = Some(request.frame);
                ResponseMatch::Nothing(StrayResponse { rule: Rule::RespCommand, expected, cause })
            }
            Some(request) => {
                self.remember(&request, answer.success);
                self.close_first(request)
            }
        }
    }

    fn match_without_id(
        &mut self,
        command: Option<RpcCommandKind>,
        success: bool,
        late: bool,
    ) -> ResponseMatch {
        // An id that is `null` is as good as none.
        let nameless = |request: &OpenRequest| matches!(request.id, None | Some(RequestId::Null));
        let named = |request: &OpenRequest| Some(request.command) == command && nameless(request);
        // A prompt that was just acknowledged fails before the next one is answered.
        let acknowledged =
            |(request, success): &(OpenRequest, Option<bool>)| named(request) && *success == Some(true);
        if late
            && !success
            && let Some((request, success)) = self.answered.iter_mut().rfind(|it| acknowledged(it))
        {
            *success = None;
            return ResponseMatch::Again(request.clone());
        }
        if let Some(request) = self.take(named) {
            self.remember(&request, success);
            return self.close_first(request);
        }
        if success {
            return self.without_request(None, success, "an open request of that command without an id");
        }
        if command.is_none()
            && let Some(line) = self.invalid_lines.pop_front()
        {
            return ResponseMatch::Line(line.frame);
        }
        // The originals drop the id of a request whose handler fails; the oldest that does not overtake is the one.
        let failed = |request: &OpenRequest| match command {
            None => !request.command.is_control(),
            command => Some(request.command) == command,
        };
        match self.take(failed) {
            Some(request) => self.close_first(request),
            None => self.match_late_response(None, command, success),
        }
    }

    /// The response to a request that waited.
    fn close_first(&mut self, request: OpenRequest) -> ResponseMatch {
        self.answered_to = self.answered_to.max(request.number + 1);
        // What always overtakes tells nothing of the others.
        if !request.command.is_control() {
            for older in self.open.iter_mut().take_while(|older| older.number < request.number) {
                let overtaken = *older.overtaken.get_or_insert(self.count);
                older.passed |= request.number >= overtaken;
            }
        }
        ResponseMatch::First(request)
    }

    fn take(&mut self, which: impl Fn(&OpenRequest) -> bool) -> Option<OpenRequest> {
        let at = self.open.iter().position(which)?;
        self.open.remove(at)
    }

    fn match_late_response(
        &mut self,
        id: Option<&RequestId>,
        command: Option<RpcCommandKind>,
        success: bool,
    ) -> ResponseMatch {
        let known = |(request, _): &&mut (OpenRequest, Option<bool>)| {
            request.id.as_ref() == id && command.is_none_or(|command| command == request.command)
        };
        match self.answered.iter_mut().rfind(known) {
            Some((request, first)) if *first == Some(!success) => {
                *first = None;
                ResponseMatch::Again(request.clone())
            }
            Some((request, _)) => ResponseMatch::Nothing(StrayResponse {
                rule: Rule::RespOnce,
                expected: "one response per request".to_owned(),
                cause: Some(request.frame),
            }),
            None => self.without_request(id, success, "the id of an open request"),
        }
    }

    /// Nothing is known that it answers. What a line asked that could not be read is not known either: servers may be
    /// more lenient than the protocol.
    fn without_request(&mut self, id: Option<&RequestId>, success: bool, expected: &str) -> ResponseMatch {
        let meant = |line: &InvalidLine| line.kind.is_none() || line.id.as_ref() == id;
        match self.invalid_lines.iter().position(meant) {
            Some(at) => match self.invalid_lines.remove(at) {
                Some(InvalidLine { lacks: true, kind: Some(kind), frame, .. }) if success => {
                    let expected = format!("an error, as the `{kind}` lacks what it needs");
                    ResponseMatch::Nothing(StrayResponse {
                        rule: Rule::MissingRefused,
                        expected,
                        cause: Some(frame),
                    })
                }
                Some(InvalidLine { frame, .. }) => ResponseMatch::Line(frame),
                None => ResponseMatch::Line(0),
            },
            None if self.forgotten > 0 => {
                self.forgotten -= 1;
                ResponseMatch::Forgotten
            }
            None => ResponseMatch::Nothing(StrayResponse {
                rule: Rule::RespKnownId,
                expected: expected.to_owned(),
                cause: None,
            }),
        }
    }

    fn remember(&mut self, request: &OpenRequest, success: bool) {
        let twice = matches!(request.command, RpcCommandKind::Prompt | RpcCommandKind::AbortAndPrompt);
        self.answered.push_back((request.clone(), twice.then_some(success)));
        if self.answered.len() > MAX_ANSWERED {
            self.answered.pop_front();
        }
    }
}
