//! Judges a connection that carries many sessions: each session by a [`Judge`](super::Judge) of its own, and the wire itself by the rules
//! of the area `sessions`.
//!
//! A line is read as a [`SharedLine`]. Its tag names the session, whose judge gets the rest of the line. What is no frame of
//! a session is judged in [`wire`]: commands to the process and their responses, refusals, events about sessions.
//!
//! A session that this connection has opened is judged from its start, in its dialect, on both sides. One that it is attached
//! to may have other clients, so that its output alone is judged.

mod line;
mod requests;
mod session;
mod wire;

use super::{Finding, STALLED, View, process_event::ProcessEvent};
use line::SharedLine;
use pi_rpc_machine::{Findings, Kind, Rule, RuleSet, State, Violation};
use pi_rpc_protocol::{Dialect, DialectVersion, FlowState, Need, RequestId};
use pi_rpc_recording::{Body, Direction, Record, line_buffer::LineBuffer};
use requests::WireRequests;
use session::JudgedSession;
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

/// Members of a frame that say whose it is.
const TAG: [&str; 2] = ["sessionId", "sequence"];

/// The most sessions that are remembered after their end.
const MAX_GONE: usize = 4096;

/// Judges one connection that carries many sessions, record by record.
#[derive(Clone)]
pub struct SharedJudge {
    spoken: DialectVersion,
    view: View,
    /// The record of the start of the process.
    spawn: Vec<u8>,
    /// Whether the sessions end with the input of the process.
    ends_sessions: bool,
    sessions: BTreeMap<String, JudgedSession>,
    /// Sessions that are over or that the connection has left, with the number of the frame, and whether they are over.
    gone: BTreeMap<String, (u64, bool)>,
    /// Handles by the id in the session's file.
    handles: BTreeMap<String, String>,
    /// Dialects of sessions, also of those that the connection has left.
    dialects: BTreeMap<String, DialectVersion>,
    requests: WireRequests,
    /// Lines of the client that are no frames and have no response.
    bad_lines: u64,
    /// The unterminated line of the client.
    rest: LineBuffer,
    /// Sessions that a listing did not have, with what was found: they may have ended meanwhile.
    unlisted: BTreeMap<String, Vec<Finding>>,
    /// Findings about frames that were left out, unless a snapshot comes.
    gaps: BTreeMap<String, Vec<Finding>>,
    lanes: u64,
    frames: u64,
    processes: u64,
    records: u64,
    t: f64,
    was_stopped: bool,
    exercised: RuleSet,
    /// The session of the last record.
    last: Option<String>,
    is_last_outbound: bool,
    client_sent_command: bool,
    server_wrote_frame: bool,
}

impl SharedJudge {
    /// Creates a judge for a connection of which nothing has been seen.
    pub fn new(spoken: DialectVersion, view: View) -> Self {
        Self {
            spoken,
            view,
            spawn: Vec::new(),
            ends_sessions: false,
            sessions: BTreeMap::new(),
            gone: BTreeMap::new(),
            handles: BTreeMap::new(),
            dialects: BTreeMap::new(),
            requests: WireRequests::default(),
            bad_lines: 0,
            rest: LineBuffer::default(),
            unlisted: BTreeMap::new(),
            gaps: BTreeMap::new(),
            lanes: 0,
            frames: 0,
            processes: 0,
            records: 0,
            t: 0.0,
            was_stopped: false,
            exercised: RuleSet::default(),
            last: None,
            is_last_outbound: false,
            client_sent_command: false,
            server_wrote_frame: false,
        }
    }

    /// Judges one record.
    pub fn observe(&mut self, record: &Record<'_>) -> Vec<Finding> {
        self.t = record.t;
        self.records += 1;
        self.last = None;
        self.is_last_outbound = record.direction == Direction::Out;
        match record.direction {
            Direction::In => {
                let lines = match &record.body {
                    Body::Json(line) => vec![line.to_vec()],
                    Body::Raw(bytes) => self.rest.push(bytes),
                };
                lines.iter().flat_map(|line| self.inbound(line)).collect()
            }
            Direction::Out => {
                self.frames += 1;
                match str::from_utf8(record.body.bytes()) {
                    Ok(text) => self.outbound(text.trim_end_matches('\n'), record.cut),
                    Err(error) => self.not_a_frame(format!("valid UTF-8 ({error})")),
                }
            }
            Direction::Err => Vec::new(),
            Direction::Meta => self.process_event(record),
        }
    }

    /// Ends the recording, and returns findings about what is still owed.
    pub fn finish(&mut self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for handle in self.sessions.keys().cloned().collect::<Vec<_>>() {
            findings.extend(self.end_session(&handle, false, None));
        }
        findings.extend(std::mem::take(&mut self.unlisted).into_values().flatten());
        findings
    }

    /// The state of the session of the last record.
    pub fn state(&self) -> State {
        let session = self.last.as_ref().and_then(|last| self.sessions.get(last));
        session.map_or(IDLE, |session| session.judge().state())
    }

    /// The session of the last record.
    pub fn session(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// The number of the session of the last record, 0 for none, and the number of its frames so far.
    pub fn position(&self) -> (u64, u64) {
        let session = self.last.as_ref().and_then(|last| self.sessions.get(last));
        session.map_or((0, self.frames), |session| (session.lane, session.judge().position().1))
    }

    /// Whether the last record is a frame that only continues a message, a tool or a shell.
    pub fn is_last_frame_update(&self) -> bool {
        let session = self.last.as_ref().and_then(|last| self.sessions.get(last));
        self.is_last_outbound && session.is_some_and(|session| session.judge().is_last_frame_update())
    }

    /// Whether the client has sent a command and the server has never written a frame.
    pub const fn is_server_silent(&self) -> bool {
        self.client_sent_command && !self.server_wrote_frame
    }

    /// The rules that were put to the test so far.
    pub fn exercised(&self) -> RuleSet {
        let mut all = RuleSet::default();
        self.exercised.iter().filter(|rule| self.applies(*rule)).for_each(|rule| all.insert(rule));
        self.sessions.values().for_each(|session| all.extend(&session.judge().exercised()));
        all
    }

    fn applies(&self, rule: Rule) -> bool {
        self.view == View::Both || !rule.about().needs.contains(&Need::Host)
    }

    fn process_event(&mut self, record: &Record<'_>) -> Vec<Finding> {
        let bytes = record.body.bytes();
        match ProcessEvent::read(bytes) {
            ProcessEvent::Spawn { .. } => {
                let findings = self.finish();
                let (spoken, view) = (self.spoken, self.view);
                let Self { exercised, processes, lanes, records, .. } = *self;
                let processes = processes + 1;
                *self = Self { exercised, processes, lanes, records, ..Self::new(spoken, view) };
                self.ends_sessions = memchr::memmem::find(bytes, b"\"--multi-session\"").is_some();
                self.spawn = bytes.to_vec();
                findings
            }
            ProcessEvent::InputClosed => {
                let lines = self.rest.take_rest();
                let mut findings: Vec<Finding> = lines.iter().flat_map(|line| self.inbound(line)).collect();
                if self.ends_sessions {
                    findings.extend(self.forward(record));
                }
                findings
            }
            ProcessEvent::Exit(status) => self.exit(record, status),
            ProcessEvent::Killed => {
                self.was_stopped = true;
                Vec::new()
            }
            ProcessEvent::StopRequested => {
                self.was_stopped = true;
                self.forward(record)
            }
            ProcessEvent::Stalled(ms) => {
                let mut found = Findings::default();
                found.expect(Rule::HostDrains, ms < STALLED.as_secs_f64() * 1000.0, || {
                    format!("the host to read what is written within {} seconds", STALLED.as_secs())
                });
                // One finding, not one for each session.
                drop(self.forward(record));
                self.report(found, Kind::Stray, None)
            }
            ProcessEvent::ResponseTimeout => {
                let mut findings = self.forward(record);
                findings.extend(self.missing_responses());
                findings
            }
            ProcessEvent::SessionFile(_) | ProcessEvent::ProcessesLeft(_) | ProcessEvent::Other => Vec::new(),
        }
    }

    /// Ends the sessions with the process, unless it is only a connection to them.
    fn exit(&mut self, record: &Record<'_>, status: Option<i64>) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.ends_sessions {
            findings.extend(self.forward(record));
            if status == Some(0) && !self.was_stopped {
                findings.extend(self.missing_responses());
            }
        }
        findings.extend(self.finish());
        findings
    }

    /// Findings about commands to the process that have no response.
    fn missing_responses(&mut self) -> Vec<Finding> {
        let missing: Vec<_> =
            self.requests.to_process().map(|request| (request.command.clone(), request.frame)).collect();
        let mut found = Findings::default();
        for (command, frame) in missing {
            found.with_cause(Some(frame), |found| {
                found.fail(Rule::RespOnce, format!("a response to `{command}`"));
            });
        }
        self.requests = WireRequests::default();
        self.report(found, Kind::Exit, None)
    }

    /// Hands an event of the process to every session.
    fn forward(&mut self, record: &Record<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for handle in self.sessions.keys().cloned().collect::<Vec<_>>() {
            let Some(session) = self.sessions.get_mut(&handle) else { continue };
            let (lane, found) = (session.lane, session.process_event(record));
            findings.extend(found.into_iter().map(|finding| self.of_session(finding, &handle, lane)));
        }
        findings
    }

    /// Adds a session; one with this handle that is open is replaced.
    fn add_session(&mut self, handle: &str, mut session: JudgedSession) {
        self.lanes += 1;
        (session.lane, session.since) = (self.lanes, self.frames);
        self.gone.remove(handle);
        // They are answered by the session itself.
        for (id, command, line) in self.requests.take_session(handle) {
            drop(session.inbound(id, &command, line, self.t));
        }
        self.sessions.insert(handle.to_owned(), session);
    }

    /// Ends the judgement of a session. With a `status` it has ended as a process with that exit status.
    fn end_session(&mut self, handle: &str, was_stopped: bool, status: Option<u64>) -> Vec<Finding> {
        let Some(session) = self.sessions.remove(handle) else { return Vec::new() };
        let (lane, (findings, judge)) = (session.lane, session.end(was_stopped, status, self.t));
        self.exercised.extend(&judge.exercised());
        let mut findings: Vec<Finding> =
            findings.into_iter().map(|finding| self.of_session(finding, handle, lane)).collect();
        findings.extend(self.gaps.remove(handle).into_iter().flatten());
        findings
    }

    fn leave(&mut self, handle: &str, is_over: bool) {
        self.gone.insert(handle.to_owned(), (self.frames, is_over));
        if self.gone.len() > MAX_GONE {
            self.gone.pop_first();
        }
    }

    /// The dialect of a session; that of the connection if it is not known.
    fn dialect_of(&self, handle: &str) -> DialectVersion {
        self.dialects.get(handle).copied().unwrap_or(self.spoken)
    }

    /// Remembers the dialect of a session, and returns it.
    fn set_dialect(&mut self, handle: &str, name: Option<&str>) -> DialectVersion {
        let spoken = name.and_then(Dialect::parse).map_or(self.spoken, DialectVersion::from);
        // The version that is given holds for its dialect alone.
        let spoken = if spoken.dialect == self.spoken.dialect { self.spoken } else { spoken };
        self.dialects.insert(handle.to_owned(), spoken);
        if self.dialects.len() > MAX_GONE {
            self.dialects.pop_first();
        }
        spoken
    }

    /// The handle that a name stands for: itself, or that of the session with this id in its file.
    fn handle_of<'a>(&'a self, name: &'a str) -> &'a str {
        match self.sessions.contains_key(name) || self.gone.contains_key(name) {
            true => name,
            false => self.handles.get(name).map_or(name, String::as_str),
        }
    }

    /// Hands a frame without its tag to the session's judge.
    fn session_frame(&mut self, handle: &str, line: &SharedLine<'_>, kind: &str, cut: bool) -> Vec<Finding> {
        let (t, id) = (self.t, line.value::<RequestId>("id"));
        let Some(session) = self.sessions.get_mut(handle) else { return Vec::new() };
        let (lane, found) = (session.lane, session.outbound(kind, id, &line.without(&TAG), t, cut));
        self.last = Some(handle.to_owned());
        found.into_iter().map(|finding| self.of_session(finding, handle, lane)).collect()
    }

    fn of_session(&self, finding: Finding, handle: &str, lane: u64) -> Finding {
        Finding {
            session: Some(handle.to_owned()),
            lane,
            process: self.processes.max(1),
            record: self.records,
            ..finding
        }
    }

    /// Converts findings about the wire, about a frame of `session` if there is one.
    fn report(&mut self, found: Findings, kind: Kind, session: Option<&str>) -> Vec<Finding> {
        self.exercised.extend(&found.exercised);
        let state = session.and_then(|it| self.sessions.get(it)).map_or(IDLE, |it| it.judge().state());
        let cause = found.cause();
        let broken = found.broken.into_iter().filter(|broken| self.applies(broken.rule));
        let violations = broken.filter_map(|broken| {
            let tier = broken.rule.tier(self.spoken.base())?;
            Some(Violation {
                rule: broken.rule,
                tier,
                frame: self.frames,
                kind,
                state,
                expected: broken.expected,
                difference: broken.difference,
                cause: broken.cause.or(cause).filter(|cause| *cause != self.frames),
            })
        });
        let finding = |violation| Finding {
            violation,
            record: self.records,
            t: self.t,
            process: self.processes.max(1),
            session: session.map(str::to_owned),
            lane: 0,
        };
        violations.map(finding).collect()
    }

    /// The record of the start of the process, for a session that begins.
    fn start_record(&self) -> Record<'_> {
        const UNKNOWN: &[u8] = br#"{"event":"spawn"}"#;
        let body = if self.spawn.is_empty() { UNKNOWN } else { &self.spawn };
        Record { t: self.t, direction: Direction::Meta, body: Body::Json(Cow::Borrowed(body)), cut: false }
    }

    /// The handles of sessions that were open before the frame with this number, and that this connection has not closed.
    fn open_before(&self, frame: u64) -> BTreeSet<String> {
        let open = self.sessions.iter().filter(|(_, session)| session.since < frame && !session.is_closing);
        open.map(|(handle, _)| handle.clone()).collect()
    }
}

/// The state of a process without sessions.
const IDLE: State = State { flow: FlowState::Idle, dialogs: 0, shell: 0, closing: false };

/// Whether a line shows that its connection carries many sessions. `None`: it does not tell.
pub fn is_shared(direction: Direction, text: &str) -> Option<bool> {
    use pi_rpc_protocol::{
        MultiSessionCommandKind as Command, MultiSessionErrorCode as Code, MultiSessionEventKind as Event,
        RpcResponse,
    };
    let line = SharedLine::read(text)?;
    let kind: String = line.value("type")?;
    let command: Option<String> = line.value("command");
    match direction {
        Direction::In if kind == Command::GetProtocolInfo.as_str() => None,
        // omp has a command of that name, which names a folder.
        Direction::In if kind == Command::OpenSession.as_str() && line.raw("sessionDir").is_some() => {
            Some(false)
        }
        // A command without a tag is refused by the process, or served by the only session.
        Direction::In => {
            (Command::parse(&kind).is_some() || line.value::<String>(TAG[0]).is_some()).then_some(true)
        }
        _ if command.as_deref() == Some(Command::GetProtocolInfo.as_str()) => {
            Some(line.raw("data").is_some_and(|data| data.get().contains("\"multi\"")))
        }
        _ => Some(
            Event::parse(&kind).is_some()
                || line.value::<String>(TAG[0]).is_some()
                || line.value::<String>("error").as_deref() == Some(Code::MissingSessionId.as_str())
                || kind == RpcResponse::TYPE
                    && command.is_some_and(|command| Command::parse(&command).is_some()),
        ),
    }
}
