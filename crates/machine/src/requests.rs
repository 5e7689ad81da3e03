//! Outstanding commands of the host, each with the states in which the server may have handled it.

use pi_rpc_protocol::RuleId as Rule;
use pi_rpc_protocol::{FlowState, LineError, RequestId, RpcCommandKind, RpcResponse};
use std::collections::VecDeque;

/// A command without a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRequest {
    /// The number of requests before this one.
    pub number: u64,
    /// The number of its frame, counting both directions.
    pub frame: u64,
    /// The id as the host gave it.
    pub id: Option<RequestId>,
    /// The command.
    pub command: RpcCommandKind,
    /// The states since the request; a response that is right in any of them is right.
    pub met: Vec<FlowState>,
    /// The time of the request in milliseconds, if there is a clock.
    pub written: Option<u64>,
    /// The number of requests at the time when a later one was answered first.
    overtaken: Option<u64>,
    /// Whether a request written after that time was answered before this one, too.
    pub passed: bool,
    /// The number of requests when the first later one was answered that had met an idle server alone.
    overtaken_at_rest: Option<u64>,
    /// Whether an idle server has answered a later request, and then one that was sent after that.
    pub passed_at_rest: bool,
}

/// The members of a response that identify its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// The repeated id.
    pub id: Option<RequestId>,
    /// The named command.
    pub command: String,
    /// Whether the command succeeded.
    pub success: bool,
    /// The error text.
    pub error: Option<String>,
}

impl ResponseHead {
    /// Extracts the members of `response`.
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

/// The request that a response answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseMatch {
    /// An outstanding request.
    First(OpenRequest),
    /// A prompt that already had the opposite response.
    Again(OpenRequest),
    /// A line that was not a command; the number of its frame.
    Line(u64),
    /// A request or line that was dropped because too many were outstanding.
    Forgotten,
    /// No request.
    Nothing(StrayResponse),
}

/// A response without a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrayResponse {
    /// The broken rule.
    pub rule: Rule,
    /// The expectation of the rule.
    pub expected: String,
    /// The number of the frame that the response may have been meant for.
    pub cause: Option<u64>,
}

/// The outstanding requests, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// The number of requests so far.
    count: u64,
    open: VecDeque<OpenRequest>,
    /// The latest answered requests. For prompts, with their outcome: in dialects that acknowledge before they know, the
    /// opposite response may follow, in either order.
    answered: VecDeque<(OpenRequest, Option<bool>)>,
    /// One more than the highest number of an answered request.
    answered_to: u64,
    /// Lines that were not commands; each needs an error response.
    invalid_lines: VecDeque<InvalidLine>,
    /// The number of outstanding requests and lines that were dropped.
    forgotten: u64,
}

/// A line that was not a command, with what its error response may name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InvalidLine {
    /// The number of requests before the line.
    number: u64,
    /// The number of its frame.
    frame: u64,
    kind: Option<String>,
    id: Option<RequestId>,
    /// Whether the line is a command that lacks a required member.
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

/// The most answered requests that are remembered, for a late error or a second response.
const MAX_ANSWERED: usize = 64;

/// What an error names for a line that could not be read.
const NO_COMMAND: &str = "parse";

/// The longest type in bytes that a server has to repeat whole.
const MAX_ECHO: usize = 64;

/// The most outstanding requests and lines that are tracked, in case a server answers none.
const MAX_OUTSTANDING: usize = 4096;

impl Requests {
    /// Adds a command that came as frame number `frame` in `state`. Returns the number of the request.
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
            overtaken_at_rest: None,
            passed_at_rest: false,
        });
        if self.open.len() > MAX_OUTSTANDING {
            self.open.pop_front();
            self.forgotten += 1;
        }
        number
    }

    /// The number of the next request.
    pub const fn next_number(&self) -> u64 {
        self.count
    }

    /// Adds a line, frame number `frame`, that was not a command.
    pub fn add_invalid_line(&mut self, frame: u64, error: &LineError) {
        let (kind, id) = match error {
            LineError::Parse { id, .. } => (None, id.clone()),
            LineError::Unknown { kind, id }
            | LineError::Field { kind, id, .. }
            | LineError::Refused { kind, id, .. } => (Some(kind.clone()), id.clone()),
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

    /// Adds a new state of the flow to every outstanding request.
    pub fn add_state(&mut self, state: FlowState) {
        for request in &mut self.open {
            if !request.met.contains(&state) {
                request.met.push(state);
            }
        }
    }

    /// The outstanding requests, oldest first.
    pub fn outstanding(&self) -> impl Iterator<Item = &OpenRequest> {
        self.open.iter()
    }

    /// The lines without their error response: the number of the frame, the type if the line had one, and whether a later
    /// request was answered.
    pub fn lines_without_response(&self) -> impl Iterator<Item = (u64, Option<&str>, bool)> {
        self.invalid_lines
            .iter()
            .map(|line| (line.frame, line.kind.as_deref(), line.number < self.answered_to))
    }

    /// Whether a request with this command is outstanding.
    pub fn has_command(&self, command: RpcCommandKind) -> bool {
        self.open.iter().any(|request| request.command == command)
    }

    /// Whether a request with this id is outstanding.
    pub fn is_outstanding(&self, id: &RequestId) -> bool {
        self.frame_of(id).is_some()
    }

    /// Whether a line of the host had this id: a request, answered or not, or a line that was not a command.
    pub fn contains_id(&self, id: &RequestId) -> bool {
        let answered = || self.answered.iter().any(|(request, _)| request.id.as_ref() == Some(id));
        self.is_outstanding(id)
            || answered()
            || self.invalid_lines.iter().any(|line| line.id.as_ref() == Some(id))
    }

    /// The number of the frame of the outstanding request with this id.
    pub fn frame_of(&self, id: &RequestId) -> Option<u64> {
        self.open.iter().find(|request| request.id.as_ref() == Some(id)).map(|request| request.frame)
    }

    /// Finds and closes the request of a response. `late`: the dialect may acknowledge a prompt and then refuse it.
    pub fn match_response(&mut self, answer: &ResponseHead, late: bool) -> ResponseMatch {
        if !answer.success
            && let Some(at) = self.invalid_lines.iter().position(|line| line.fits(answer))
        {
            let line = self.invalid_lines.remove(at);
            let at = line.as_ref().map_or(0, |line| line.frame);
            // Servers that acknowledge a prompt that they refuse also do so for one without a text.
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
                    overtaken_at_rest: None,
                    passed_at_rest: false,
                };
                self.remember(&request, false);
            }
            return ResponseMatch::Line(at);
        }
        let command = RpcCommandKind::parse(&answer.command);
        if !answer.success
            && command.is_none()
            && let Some(stray) = self.take_misnamed(answer)
        {
            return ResponseMatch::Nothing(stray);
        }
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

    /// Takes the line that an error is for and whose type it has changed. Every line that waits has a type of its own, and an
    /// earlier request was answered, so that the error is for none from before the recording.
    fn take_misnamed(&mut self, error: &ResponseHead) -> Option<StrayResponse> {
        let names = |line: &InvalidLine| line.kind.as_ref().is_some_and(|kind| kind.len() <= MAX_ECHO);
        let is_certain = self.answered_to > 0
            && self.forgotten == 0
            && error.command != NO_COMMAND
            && self.invalid_lines.iter().all(names);
        let mut lines = self.invalid_lines.iter();
        let place =
            lines.position(|line| error.id.is_none() || error.id == line.id).filter(|_| is_certain)?;
        // Redaction masks the two differently, and keeps their lengths.
        let is_other =
            |line: &InvalidLine| line.kind.as_ref().is_some_and(|kind| kind.len() != error.command.len());
        self.invalid_lines.get(place).filter(|line| is_other(line))?;
        let line = self.invalid_lines.remove(place)?;
        Some(StrayResponse {
            rule: Rule::RespCommand,
            expected: format!("the type of its line, `{}`, at /command", line.kind.unwrap_or_default()),
            cause: Some(line.frame),
        })
    }

    fn match_without_id(
        &mut self,
        command: Option<RpcCommandKind>,
        success: bool,
        late: bool,
    ) -> ResponseMatch {
        // A `null` id is the same as no id.
        let nameless = |request: &OpenRequest| matches!(request.id, None | Some(RequestId::Null));
        let named = |request: &OpenRequest| Some(request.command) == command && nameless(request);
        // An acknowledged prompt fails before the next one is answered.
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
        // The originals drop the id of a request whose handler fails; it is the oldest one that does not overtake others.
        let failed = |request: &OpenRequest| match command {
            None => !request.command.is_control(),
            command => Some(request.command) == command,
        };
        match self.take(failed) {
            Some(request) => self.close_first(request),
            None => self.match_late_response(None, command, success),
        }
    }

    /// Closes an outstanding request, and marks older ones as overtaken.
    fn close_first(&mut self, request: OpenRequest) -> ResponseMatch {
        self.answered_to = self.answered_to.max(request.number + 1);
        // Commands that always overtake show nothing about the others.
        if !request.command.is_control() {
            for older in self.open.iter_mut().take_while(|older| older.number < request.number) {
                let overtaken = *older.overtaken.get_or_insert(self.count);
                older.passed |= request.number >= overtaken;
                if request.met == [FlowState::Idle] {
                    let overtaken = *older.overtaken_at_rest.get_or_insert(self.count);
                    older.passed_at_rest |= request.number >= overtaken;
                }
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
                expected: format!(
                    "one response to a request: this `{}` was answered before",
                    request.command
                ),
                cause: Some(request.frame),
            }),
            None => self.without_request(id, success, "the id of an open request"),
        }
    }

    /// Handles a response without a known request. It may be to an invalid line that a more lenient server has accepted.
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
