//! The judge: feeds records to the state machine, process by process, and returns the violations.
//!
//! Rules: `framing`, `schema`, `unknown-type`, `ready-first`, `no-ready`, `host-line`, `host-schema`,
//! `host-drains`, `host-tolerates`.

use super::{
    named_member,
    process_event::ProcessEvent,
    server_version::{MissingMember, VersionEstimate},
    session_file::SessionFileCheck,
    tolerance::Tolerance,
};
use pi_rpc_machine::{
    Envelope, Findings, Kind, Machine, Rule, RuleSet, ServerExit, State, UnreadableFrame, Violation,
};
use pi_rpc_protocol::{
    AgentSessionEventKind, CUT_MARK, CUT_MEMBERS, ChunkReassembler, Dialect, DialectReady, DialectVersion,
    Emission, Faults, FlowState, Inbound, Need, Outbound, ReadError, ReassembledLine, RequestId,
    RpcExtensionUIRequest, RpcResponse, RpcSuccess, Version, Versioned, mend_surrogates, read_line,
    read_versioned,
};
use pi_rpc_recording::{Body, Direction, Record, line_buffer::LineBuffer};
use serde_json::Value;
use std::{collections::VecDeque, time::Duration};

/// The sides of a conversation that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Both sides.
    Both,
    /// The server's output alone: rules that need the host's side are not judged.
    Server,
}

/// A violation, and the place in the recording where it showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule, the frame, the state that it met, and what was expected.
    pub violation: Violation,
    /// The number of the record, from 1, over the whole recording.
    pub record: u64,
    /// Milliseconds since the recording began.
    pub t: f64,
    /// The number of the process, from 1.
    pub process: u64,
    /// The session, on a connection that carries many.
    pub session: Option<String>,
    /// The number of the conversation in which [`Violation::cause`] counts: that of the process, or of the session if there
    /// are many; 0 for the connection itself.
    pub lane: u64,
}

/// Judges one recording or one live conversation, record by record. A clone is independent of the original.
#[derive(Clone)]
pub struct Judge {
    dialect: Dialect,
    /// The version of the server, if the caller knows it.
    version: Option<Version>,
    /// Whether any dialect with the same frames may be spoken.
    any_version: bool,
    version_estimate: VersionEstimate,
    view: View,
    machine: Machine,
    process: Process,
    /// The messages to compare session files with; kept across processes.
    session_file: SessionFileCheck,
    records: u64,
    processes: u64,
    t: f64,
    exercised: RuleSet,
    /// The kind of the server's last frame.
    kind: Kind,
    /// Whether a line of the server was an object with a `type`.
    server_wrote_frame: bool,
    /// Whether the host has written a command.
    host_sent_command: bool,
}

/// The state of the current process.
#[derive(Clone, Default)]
struct Process {
    /// Whether the process has written a line.
    wrote: bool,
    /// Frames in chunks of the process.
    chunks: ChunkReassembler,
    /// The ids of the last frames in chunks.
    chunk_ids: VecDeque<String>,
    /// Whether a version of the protocol with chunks was selected.
    has_chunks: bool,
    /// The unterminated line of the host.
    lines: LineBuffer,
    /// Invalid ids of the host: objects and arrays. Servers may echo them.
    invalid_ids: VecDeque<Value>,
    /// Dialogs with a timeout: the deadline by the recording's clock, and the id.
    deadlines: VecDeque<(f64, String)>,
    /// The time of the last line of either side.
    last: f64,
    /// Whether the server sends selected events alone: from then on only lines by themselves are judged.
    is_filtered: bool,
    /// How the host takes additions that it does not know.
    tolerance: Tolerance,
    end: ServerExit,
    /// Whether the end was judged.
    ended: bool,
    /// Whether the server was idle with no outstanding command when its input ended.
    was_at_rest: bool,
}

/// The most dialogs with a timeout that are tracked; the latest are kept.
const DEADLINES: usize = 4096;
/// The most invalid ids that are remembered; the latest are kept.
const MAX_INVALID_IDS: usize = 64;
/// The exit status of a process that was ended by SIGKILL.
const KILLED: i64 = 137;
/// The ids of frames in chunks that are kept of a process.
const MAX_CHUNK_IDS: usize = 64;

/// Milliseconds of silence after which no outstanding output is expected any more.
const QUIET_MS: f64 = 2000.0;

/// How long a host may leave output unread.
pub const STALLED: Duration = Duration::from_secs(10);

/// The machine of a process.
fn machine(dialect: Dialect, any_version: bool) -> Machine {
    let machine = Machine::new(dialect, true);
    if any_version { machine.of_any_version() } else { machine }
}

impl Judge {
    /// Creates a judge for a conversation of which nothing has been seen.
    pub fn new(spoken: impl Into<DialectVersion>, view: View) -> Self {
        let DialectVersion { dialect, version, any_version } = spoken.into();
        Self {
            dialect,
            version,
            any_version,
            version_estimate: VersionEstimate::default(),
            view,
            machine: machine(dialect, any_version).joined_late(),
            process: Process { chunks: ChunkReassembler::new(dialect), ..Process::default() },
            session_file: SessionFileCheck::default(),
            records: 0,
            processes: 0,
            t: 0.0,
            exercised: RuleSet::default(),
            kind: Kind::Stray,
            server_wrote_frame: false,
            host_sent_command: false,
        }
    }

    /// Judges one record.
    pub fn observe(&mut self, record: &Record<'_>) -> Vec<Finding> {
        self.records += 1;
        self.t = record.t;
        if self.view == View::Both {
            self.machine.time(record.t.max(0.0) as u64);
        }
        self.expire_dialogs();
        let mut violations = self.check_tolerance(record);
        violations.extend(match record.direction {
            Direction::In => self.inbound(&record.body),
            Direction::Out => self.outbound(&record.body, record.cut),
            Direction::Err => Vec::new(),
            Direction::Meta => self.process_event(record.body.bytes(), record.cut),
        });
        if matches!(record.direction, Direction::In | Direction::Out) {
            self.process.last = record.t;
        }
        self.keep_of_lines(&mut violations);
        self.findings(violations)
    }

    /// Drops what needs the events before, once they are filtered.
    fn keep_of_lines(&self, violations: &mut Vec<Violation>) {
        if self.process.is_filtered {
            let of_line = [Rule::Framing, Rule::Schema, Rule::UnknownType, Rule::ChunkSeries];
            violations.retain(|violation| of_line.contains(&violation.rule));
        }
    }

    /// Ends the recording, and returns findings about what is still owed.
    pub fn finish(&mut self) -> Vec<Finding> {
        let mut violations = self.end_process();
        self.keep_of_lines(&mut violations);
        self.findings(violations)
    }

    /// The state after the last record.
    pub fn state(&self) -> State {
        self.machine.state()
    }

    /// Declares that the process has written frames that are not shown.
    #[must_use]
    pub const fn joined_late(mut self) -> Self {
        self.process.wrote = true;
        self
    }

    /// Closes a dialog: it needs no response any more.
    pub fn close_dialog(&mut self, id: &str) {
        self.machine.close_dialog(id);
    }

    /// The version that the server must be older than, by its frames.
    pub const fn older_than(&self) -> Option<Version> {
        self.version_estimate.upper_bound()
    }

    /// Whether the host has sent a command and the server has never written a frame: no server is there, or another program
    /// is in its place. Rules cannot be applied to it.
    pub const fn is_server_silent(&self) -> bool {
        self.host_sent_command && !self.server_wrote_frame
    }

    /// The number of the current process, from 1, and the number of frames it has read and written.
    pub fn position(&self) -> (u64, u64) {
        (self.processes.max(1), self.machine.frames())
    }

    /// Whether the server's last frame only continues a message, a tool or a shell. Such a frame is never the cause of a later
    /// finding.
    pub const fn is_last_frame_update(&self) -> bool {
        use AgentSessionEventKind as Event;
        matches!(
            self.kind,
            Kind::MessageUpdate(_) | Kind::Event(Event::ToolExecutionUpdate | Event::BashExecutionUpdate)
        )
    }

    /// The rules that were put to the test so far.
    pub fn exercised(&self) -> RuleSet {
        let mut all = self.exercised;
        all.extend(self.machine.exercised());
        let mut judged = RuleSet::default();
        all.iter().filter(|rule| self.applies(*rule)).for_each(|rule| judged.insert(rule));
        judged
    }

    fn applies(&self, rule: Rule) -> bool {
        let seen = self.view == View::Both || !rule.about().needs.contains(&Need::Host);
        seen && rule.tier(self.dialect.base()).is_some()
    }

    fn findings(&self, violations: Vec<Violation>) -> Vec<Finding> {
        let (record, t, process) = (self.records, self.t, self.processes.max(1));
        let judged = violations.into_iter().filter(|violation| self.applies(violation.rule));
        judged
            .map(|violation| Finding { violation, record, t, process, session: None, lane: process })
            .collect()
    }

    /// Judges whether the host has tolerated an unknown addition: it must not stop in the middle of a run.
    fn check_tolerance(&mut self, record: &Record<'_>) -> Vec<Violation> {
        let state = self.machine.state();
        let under_way =
            state.flow != FlowState::Idle || self.machine.requests().outstanding().next().is_some();
        let tolerance = &mut self.process.tolerance;
        let kept = match record.direction {
            Direction::In => tolerance.host_wrote(),
            Direction::Out => tolerance.server_wrote(record.body.bytes()),
            Direction::Meta => match ProcessEvent::read(record.body.bytes()) {
                ProcessEvent::InputClosed | ProcessEvent::StopRequested => tolerance.host_left(under_way),
                _ => None,
            },
            Direction::Err => None,
        };
        let Some(kept) = kept else { return Vec::new() };
        let mut found = Findings::default();
        found.expect(Rule::HostTolerates, kept, || "the host to go on after an unknown addition".to_owned());
        self.machine.report(found, Kind::EndOfInput, state)
    }

    fn inbound(&mut self, body: &Body<'_>) -> Vec<Violation> {
        let lines = match body {
            Body::Json(line) => {
                let mut lines = self.process.lines.take_rest();
                lines.push(line.to_vec());
                lines
            }
            Body::Raw(bytes) => self.process.lines.push(bytes),
        };
        lines.iter().flat_map(|line| self.inbound_line(line)).collect()
    }

    fn inbound_line(&mut self, line: &[u8]) -> Vec<Violation> {
        match read_line(line, self.dialect) {
            Ok(Some(frame)) => {
                self.host_sent_command |= matches!(frame, Inbound::Command(_));
                let met = self.machine.state();
                let mut violations = self.machine.inbound(&frame);
                // Servers echo any scalar, but the protocol has strings.
                if let Inbound::Command(command) = &frame
                    && command.id().is_some_and(|id| !id.is_string())
                {
                    let mut found = Findings::default();
                    found.fail(Rule::HostSchema, "a string as `id`");
                    violations.extend(self.machine.report(found, Kind::of_inbound(&frame), met));
                }
                violations
            }
            Ok(None) => Vec::new(),
            Err(error) => {
                // Servers echo an id even if it is an object or an array.
                let members: Option<Value> = serde_json::from_slice(line).ok();
                let id = members.as_ref().and_then(|members| members.get("id"));
                self.process.invalid_ids.extend(id.filter(|id| id.is_object() || id.is_array()).cloned());
                if self.process.invalid_ids.len() > MAX_INVALID_IDS {
                    self.process.invalid_ids.pop_front();
                }
                self.machine.invalid_line(&error)
            }
        }
    }

    fn outbound(&mut self, body: &Body<'_>, cut: bool) -> Vec<Violation> {
        let bytes = body.bytes();
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        match str::from_utf8(line) {
            // An escaped lone surrogate is valid JSON.
            Ok(text) if cut || self.is_cut_down(text) => {
                let cut = true;
                self.process.chunks.drop_series();
                self.outbound_text(&mend_surrogates(text), cut)
            }
            Ok(text) => self.outbound_line(&mend_surrogates(text)),
            Err(error) => self.not_a_frame(format!("valid UTF-8 ({error})")),
        }
    }

    /// Whether the server has cut the frame down to the limit of the dialect.
    fn is_cut_down(&self, text: &str) -> bool {
        self.dialect.record().frame_limits.frame.is_some()
            && [CUT_MARK, CUT_MEMBERS].iter().any(|mark| text.contains(mark))
    }

    /// Judges a line of the server: a frame, or a chunk of one.
    fn outbound_line(&mut self, text: &str) -> Vec<Violation> {
        let taken = self.process.chunks.take(text.as_bytes());
        let mut violations = self.outbound_text(text, false);
        let mut found = Findings::default();
        match taken {
            Ok(ReassembledLine::Whole) => return violations,
            Ok(ReassembledLine::Piece | ReassembledLine::Frame(_)) => {
                let process = &mut self.process;
                found.expect(Rule::ChunkSeries, process.has_chunks, || {
                    "no chunks before `negotiate_protocol` has selected them".to_owned()
                });
                if let Some(id) = process.chunks.begun_series() {
                    let again = process.chunk_ids.iter().any(|known| known == id);
                    found.expect(Rule::ChunkSeries, !again, || {
                        format!("another id than that of an earlier frame, not {id}")
                    });
                    process.chunk_ids.push_back(id.to_owned());
                    if process.chunk_ids.len() > MAX_CHUNK_IDS {
                        process.chunk_ids.pop_front();
                    }
                }
            }
            Err(ref error) => found.fail(Rule::ChunkSeries, error.expected.clone()),
        }
        violations.extend(self.machine.report(found, Kind::Chunk, self.machine.state()));
        if let Ok(ReassembledLine::Frame(frame)) = taken {
            violations.extend(match str::from_utf8(&frame) {
                Ok(frame) => self.outbound_text(&mend_surrogates(frame), false),
                Err(error) => self.not_a_frame(format!("valid UTF-8 ({error})")),
            });
        }
        violations
    }

    fn outbound_text(&mut self, text: &str, cut: bool) -> Vec<Violation> {
        let (envelope, kind) = match Envelope::read(text) {
            Ok(read) => read,
            Err(expected) => return self.not_a_frame(expected),
        };
        let mut violations = self.unfinished_line(envelope.response_id(&kind));
        let met = self.machine.state();
        let mut found = Findings::default();
        found.pass(Rule::Framing);
        self.server_wrote_frame = true;
        let id = envelope.response_id(&kind);
        found.set_cause(id.as_ref().and_then(|id| self.machine.requests().frame_of(id)));
        envelope.judge(&kind, &mut found);
        self.check_first_frame(&kind, &mut found);
        let seen = match self.read_frame(text, &envelope, &kind, id) {
            Ok(Versioned { frame, faults }) => {
                found.pass(Rule::Schema);
                found.pass(Rule::UnknownType);
                if !cut && let Some(message) = envelope.completed_message(&kind) {
                    self.session_file.add_message(&message);
                    self.process.was_at_rest = false;
                }
                self.process.has_chunks |= selects_chunks(&frame);
                self.process.is_filtered |= filters_events(&frame);
                self.track_dialog(&frame);
                let emission = Emission::Frame(frame);
                let broken = self.machine.observe(&emission, cut);
                if let Emission::Frame(frame) = &emission {
                    self.session_file.observe(frame, broken.is_empty());
                }
                violations.extend(broken);
                let seen = Kind::of_emitted(&emission);
                violations.extend(self.missing_members(&faults, &kind, seen, met));
                seen
            }
            Err(error) => {
                self.session_file.request_session_change();
                let unread = envelope.unreadable(&kind, &error);
                let seen = unread.kind.unwrap_or(Kind::Stray);
                violations.extend(self.machine.unreadable_line(unread));
                seen
            }
        };
        self.kind = seen;
        violations.extend(self.machine.report(found, seen, met));
        named_member::complete(&mut violations, text);
        violations
    }

    /// Parses a frame of the server. An id that echoes an invalid one of the host is accepted: the host is at fault.
    fn read_frame(
        &self,
        text: &str,
        envelope: &Envelope<'_>,
        kind: &str,
        answers: Option<RequestId>,
    ) -> Result<Versioned<Outbound>, ReadError> {
        let spoken = DialectVersion { dialect: self.dialect, version: self.version, any_version: false };
        let given = answers.is_some_and(|id| self.machine.requests().contains_id(&id));
        let read = read_versioned(text.as_bytes(), spoken, given);
        if read.is_ok() || self.process.invalid_ids.is_empty() {
            return read;
        }
        let odd = envelope.invalid_id(kind).filter(|id| self.process.invalid_ids.contains(id));
        match odd.and_then(|_| without_id(text)) {
            Some(frame) => read_versioned(frame.as_bytes(), spoken, given),
            None => read,
        }
    }

    /// Violations for members that are missing in this frame or an earlier one, given what this frame shows of the version.
    fn missing_members(&mut self, faults: &Faults, name: &str, kind: Kind, state: State) -> Vec<Violation> {
        let place = self.position();
        let missing = self.version_estimate.observe(faults, |since, fault| {
            let expected = format!("a valid `{name}`: {fault}, which servers have from {since} on");
            MissingMember { since, place, kind, state, expected }
        });
        let mut violations = Vec::new();
        for MissingMember { place: (process, frame), kind, state, expected, .. } in missing {
            let mut found = Findings::default();
            let cause = Some(frame).filter(|frame| process == place.0 && *frame != place.1);
            found.with_cause(cause, |found| found.fail(Rule::Schema, expected));
            violations.extend(self.machine.report(found, kind, state));
        }
        violations
    }

    fn not_a_frame(&mut self, expected: String) -> Vec<Violation> {
        self.process.wrote = true;
        self.kind = Kind::Stray;
        self.machine.unreadable_line(UnreadableFrame {
            kind: None,
            answer: None,
            rule: Rule::Framing,
            expected,
        })
    }

    /// Judges an unterminated line of the host that the server has answered: some servers take a carriage return as its end.
    fn unfinished_line(&mut self, id: Option<RequestId>) -> Vec<Violation> {
        if self.process.lines.is_empty() || id.is_none_or(|id| self.machine.requests().is_outstanding(&id)) {
            return Vec::new();
        }
        let rest = self.process.lines.take_rest();
        let mut violations: Vec<Violation> = rest.iter().flat_map(|line| self.inbound_line(line)).collect();
        let mut found = Findings::default();
        found.fail(Rule::HostLine, "a line feed at the end of the line");
        violations.extend(self.machine.report(found, Kind::Stray, self.machine.state()));
        violations
    }

    /// Judges whether the first line of a process is the one that the dialect opens with.
    fn check_first_frame(&mut self, kind: &str, found: &mut Findings) {
        if std::mem::replace(&mut self.process.wrote, true) {
            return;
        }
        match self.dialect.record().ready {
            DialectReady::None => found.pass(Rule::NoReady),
            DialectReady::WithVersion | DialectReady::WithLimits => {
                found.expect(Rule::ReadyFirst, kind == "ready", || "`ready` before anything else".to_owned());
            }
        }
    }

    /// Remembers the deadline of a dialog.
    fn track_dialog(&mut self, frame: &Outbound) {
        let Outbound::ExtensionUIRequest(request) = frame else { return };
        let timeout = match request {
            RpcExtensionUIRequest::Select(it) => it.timeout,
            RpcExtensionUIRequest::Confirm(it) => it.timeout,
            RpcExtensionUIRequest::Input(it) => it.timeout,
            _ => None,
        };
        if let Some(timeout) = timeout {
            let deadlines = &mut self.process.deadlines;
            deadlines.push_back((self.t + timeout as f64, request.id().to_owned()));
            if deadlines.len() > DEADLINES {
                deadlines.pop_front();
            }
        }
    }

    fn expire_dialogs(&mut self) {
        let now = self.t;
        let machine = &mut self.machine;
        self.process.deadlines.retain(|(deadline, id)| {
            let over = *deadline <= now;
            if over {
                machine.close_dialog(id);
            }
            !over
        });
    }

    fn process_event(&mut self, bytes: &[u8], cut: bool) -> Vec<Violation> {
        let state = self.machine.state();
        match ProcessEvent::read(bytes) {
            ProcessEvent::Spawn { has_extensions } => {
                let violations = self.end_process();
                self.exercised.extend(self.machine.exercised());
                self.machine = machine(self.dialect, self.any_version);
                if has_extensions {
                    self.machine.load_extensions();
                }
                self.session_file.begin_process(has_extensions);
                let chunks = ChunkReassembler::new(self.dialect);
                self.process = Process { last: self.t, chunks, ..Process::default() };
                self.processes += 1;
                return violations;
            }
            ProcessEvent::InputClosed => {
                let rest = self.process.lines.take_rest();
                let violations = rest.iter().flat_map(|line| self.inbound_line(line)).collect();
                self.process.end.quiet = self.is_quiet();
                let waits = self.machine.requests().outstanding().next().is_some();
                self.process.was_at_rest = self.machine.state().flow == FlowState::Idle && !waits;
                self.machine.end_of_input();
                return violations;
            }
            ProcessEvent::Exit(status) => {
                let end = &mut self.process.end;
                (end.gone, end.status) = (true, status);
                return self.end_process();
            }
            ProcessEvent::Killed => {
                let end = &mut self.process.end;
                (end.gone, end.killed) = (true, true);
                return self.end_process();
            }
            ProcessEvent::ProcessesLeft(commands) => {
                // Nobody cleans up after himself when he is killed.
                let was_killed = self.process.end.killed || self.process.end.status == Some(KILLED);
                let mut found = Findings::default();
                found.expect(Rule::NothingLeft, was_killed || commands.is_empty(), || {
                    format!("the end of all that it has started, not still {}", commands.join(", "))
                });
                return self.machine.report(found, Kind::EndOfInput, state);
            }
            ProcessEvent::StopRequested => self.process.end.was_stopped = true,
            ProcessEvent::ResponseTimeout => self.process.end.waited = true,
            ProcessEvent::Stalled(ms) => {
                self.machine.restart_deadlines();
                let mut found = Findings::default();
                let limit = STALLED.as_secs();
                found.expect(Rule::HostDrains, ms < STALLED.as_secs_f64() * 1000.0, || {
                    format!("the host to read what is written within {limit} seconds")
                });
                return self.machine.report(found, Kind::Stray, state);
            }
            ProcessEvent::SessionFile(lines) if !cut => {
                let mut found = Findings::default();
                let Process { ended, was_at_rest, end, .. } = &self.process;
                let has_title_line = self.dialect.record().session_files.title_line;
                self.session_file.check(
                    &lines,
                    has_title_line,
                    *ended && *was_at_rest && end.status == Some(0),
                    &mut found,
                );
                let mut violations = self.machine.report(found, Kind::Exit, state);
                named_member::complete(&mut violations, &String::from_utf8_lossy(bytes));
                return violations;
            }
            ProcessEvent::SessionFile(_) | ProcessEvent::Other => {}
        }
        Vec::new()
    }

    fn is_quiet(&self) -> bool {
        self.t - self.process.last >= QUIET_MS
    }

    /// Judges the end of the process, once: it has exited, or the recording has ended.
    fn end_process(&mut self) -> Vec<Violation> {
        let ended = std::mem::replace(&mut self.process.ended, true);
        // A process that has written nothing is judged only if it is known to have exited.
        if ended || !(self.process.wrote || self.process.end.gone) {
            return Vec::new();
        }
        self.process.end.quiet |= !self.machine.state().closing && self.is_quiet();
        let end = self.process.end;
        self.machine.exit(&end)
    }
}

/// The frame as JSON text, without its `id`.
fn without_id(text: &str) -> Option<String> {
    let mut frame: Value = serde_json::from_str(text).ok()?;
    frame.as_object_mut()?.shift_remove("id");
    Some(frame.to_string())
}

/// Whether a frame of the server tells that only selected events are sent from now on.
const fn filters_events(frame: &Outbound) -> bool {
    match frame {
        Outbound::Response(RpcResponse::Success(RpcSuccess::SetEventFilter(it))) => it.data.events.is_some(),
        _ => false,
    }
}

/// Whether a frame of the server selects a version of the protocol with chunks.
const fn selects_chunks(frame: &Outbound) -> bool {
    matches!(frame, Outbound::Response(RpcResponse::Success(RpcSuccess::NegotiateProtocol(_))))
}
