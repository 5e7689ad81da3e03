//! The process of a recording: its state, what happens to it, and its end.
//!
//! Rules: `host-drains`, `nothing-left`.

use super::{Judge, STALLED, machine};
use crate::{named_member, process_event::ProcessEvent, tolerance::Tolerance};
use pi_rpc_machine::{Findings, Kind, Rule, ServerExit, Violation};
use pi_rpc_protocol::{ChunkReassembler, FlowState};
use pi_rpc_recording::line_buffer::LineBuffer;
use serde_json::Value;
use std::collections::VecDeque;

/// The state of the current process.
#[derive(Clone, Default)]
pub struct Process {
    /// Whether the process has written a line.
    pub wrote: bool,
    /// Frames in chunks of the process.
    pub chunks: ChunkReassembler,
    /// The ids of the last frames in chunks.
    pub chunk_ids: VecDeque<String>,
    /// Whether a version of the protocol with chunks was selected.
    pub has_chunks: bool,
    /// The unterminated line of the host.
    pub lines: LineBuffer,
    /// Invalid ids of the host: objects and arrays. Servers may echo them.
    pub invalid_ids: VecDeque<Value>,
    /// Dialogs with a timeout: the deadline by the recording's clock, and the id.
    pub deadlines: VecDeque<(f64, String)>,
    /// The time of the last line of either side.
    pub last: f64,
    /// Whether the server sends selected events alone: from then on only lines by themselves are judged.
    pub is_filtered: bool,
    /// How the host takes additions that it does not know.
    pub tolerance: Tolerance,
    pub end: ServerExit,
    /// Whether the end was judged.
    pub ended: bool,
    /// Whether the server was idle with no outstanding command when its input ended.
    pub was_at_rest: bool,
}

/// The exit status of a process that was ended by SIGKILL.
const KILLED: i64 = 137;
/// Milliseconds of silence after which no outstanding output is expected any more.
const QUIET_MS: f64 = 2000.0;

impl Judge {
    pub(super) fn expire_dialogs(&mut self) {
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

    pub(super) fn process_event(&mut self, bytes: &[u8], cut: bool) -> Vec<Violation> {
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
    pub(super) fn end_process(&mut self) -> Vec<Violation> {
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
