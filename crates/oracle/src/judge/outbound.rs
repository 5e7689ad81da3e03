//! Judges the lines of the server.
//!
//! Rules: `framing`, `schema`, `unknown-type`, `chunk-series`, `ready-first`, `no-ready`.

use super::Judge;
use crate::{named_member, server_version::MissingMember};
use pi_rpc_machine::{Envelope, Findings, Kind, Rule, State, UnreadableFrame, Violation};
use pi_rpc_protocol::{
    CUT_MARK, CUT_MEMBERS, DialectReady, DialectVersion, Emission, Faults, Outbound, ReadError,
    ReassembledLine, RequestId, RpcExtensionUIRequest, RpcResponse, RpcSuccess, Versioned, mend_surrogates,
    read_versioned,
};
use pi_rpc_recording::Body;
use serde_json::Value;

/// The most dialogs with a timeout that are tracked; the latest are kept.
const DEADLINES: usize = 4096;
/// The ids of frames in chunks that are kept of a process.
const MAX_CHUNK_IDS: usize = 64;

impl Judge {
    pub(super) fn outbound(&mut self, body: &Body<'_>, cut: bool) -> Vec<Violation> {
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
                    self.session_file.add_message(&message, self.machine.frames() + 1);
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
