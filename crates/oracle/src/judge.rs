//! The judge: feeds records to the state machine, process by process, and returns the violations.
//!
//! Rules: `host-line`, `host-schema`, `host-tolerates`.

mod outbound;
mod process;

use self::process::Process;
use super::{process_event::ProcessEvent, server_version::VersionEstimate, session_file::SessionFileCheck};
use pi_rpc_machine::{Findings, Kind, Machine, Rule, RuleSet, State, Violation};
use pi_rpc_protocol::{
    ChunkReassembler, Dialect, DialectVersion, FlowState, Inbound, Need, RequestId, Version, read_line,
};
use pi_rpc_recording::{Body, Direction, Record};
use serde_json::Value;
use std::time::Duration;

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

/// The most invalid ids that are remembered; the latest are kept.
const MAX_INVALID_IDS: usize = 64;

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
        match self.kind {
            Kind::MessageUpdate(_) => true,
            Kind::Event(event) => event.is_update(),
            _ => false,
        }
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
}
