//! One session of a shared connection, judged by a judge of its own.

use crate::{Finding, Judge, View};
use pi_rpc_machine::Rule;
use pi_rpc_protocol::{
    AgentSessionEventKind, Area, DialectVersion, HostResponseKind, RequestId, RpcCommandKind,
    RpcExtensionUIRequest, RpcResponse, SessionSnapshotEvent,
};
use pi_rpc_recording::{Body, Direction, Record};
use serde::Deserialize;
use serde_json::json;
use std::{
    borrow::Cow,
    collections::{BTreeSet, VecDeque},
    ops::Range,
};

/// The most commands without a response that are kept for the judge that follows a snapshot.
const MAX_UNANSWERED: usize = 4096;
/// The most dialogs that are remembered; the first are forgotten.
const MAX_DIALOGS: usize = 4096;

/// A session that a connection has opened, or is attached to.
#[derive(Clone)]
pub struct JudgedSession {
    judge: Judge,
    spoken: DialectVersion,
    view: View,
    /// The number of the session among all that the recording has shown, from 1.
    pub lane: u64,
    /// The time of the last record.
    t: f64,
    /// The number of its last frame.
    last_sequence: Option<u64>,
    /// Whether its frames have numbers; `None`: there was none yet.
    is_numbered: Option<bool>,
    /// Commands without a response: id, type and line.
    unanswered: VecDeque<(Option<RequestId>, String, String)>,
    /// Dialogs that were not resolved.
    dialogs: BTreeSet<String>,
    /// Whether everything since its start was seen.
    is_whole: bool,
    /// Whether the agent was at rest once since the judge has begun. Before, only the form of frames is judged.
    was_at_rest: bool,
    /// The file that it was opened with.
    pub path: Option<String>,
    /// Whether the client closes it.
    pub is_closing: bool,
    /// The number of the frame that opened it.
    pub since: u64,
}

impl JudgedSession {
    /// A session that this connection has opened, so that it sees all of it. `spawn` is the start of the process.
    pub fn opened(spoken: DialectVersion, view: View, spawn: &Record<'_>) -> Self {
        let mut session = Self::new(spoken, view, true);
        session.judge.observe(spawn);
        session
    }

    /// A session that was open before. Others may write to it, so its judge goes by its output alone.
    pub fn attached(spoken: DialectVersion) -> Self {
        let mut session = Self::new(spoken, View::Server, false);
        session.restart();
        session
    }

    fn new(spoken: DialectVersion, view: View, is_whole: bool) -> Self {
        Self {
            judge: Judge::new(spoken, view),
            spoken,
            view,
            lane: 0,
            t: 0.0,
            last_sequence: None,
            is_numbered: None,
            unanswered: VecDeque::new(),
            dialogs: BTreeSet::new(),
            is_whole,
            was_at_rest: is_whole,
            path: None,
            is_closing: false,
            since: 0,
        }
    }

    /// Its judge.
    pub const fn judge(&self) -> &Judge {
        &self.judge
    }

    /// Takes in a line of the client.
    pub fn inbound(&mut self, id: Option<RequestId>, kind: &str, line: String, t: f64) -> Vec<Finding> {
        let findings = self.judge.observe(&record(t, Direction::In, &line, false));
        if HostResponseKind::parse(kind).is_none() {
            self.unanswered.push_back((id, kind.to_owned(), line));
            if self.unanswered.len() > MAX_UNANSWERED {
                self.unanswered.pop_front();
            }
        }
        findings
    }

    /// Takes in a frame of the session, without its tag.
    pub fn outbound(
        &mut self,
        kind: &str,
        id: Option<RequestId>,
        line: &str,
        t: f64,
        cut: bool,
    ) -> Vec<Finding> {
        self.t = t;
        match kind {
            RpcResponse::TYPE => drop(self.take_command(id.as_ref(), None)),
            RpcExtensionUIRequest::TYPE => {
                if let Some(RequestId::String(id)) = id {
                    self.dialogs.insert(id);
                    if self.dialogs.len() > MAX_DIALOGS {
                        self.dialogs.pop_first();
                    }
                }
            }
            _ => {}
        }
        let mut findings = self.judge.observe(&record(t, Direction::Out, line, cut));
        if !self.was_at_rest {
            findings.retain(|finding| is_of_form(finding.violation.rule));
            if shows_rest(kind, line) {
                self.restart();
                self.was_at_rest = true;
                self.repeat_commands(t);
            }
        }
        findings
    }

    /// Hands the commands without a response to a judge that has just begun.
    fn repeat_commands(&mut self, t: f64) {
        for (_, _, line) in &self.unanswered {
            drop(self.judge.observe(&record(t, Direction::In, line, false)));
        }
    }

    /// Takes in an event of the process.
    pub fn process_event(&mut self, event: &Record<'_>) -> Vec<Finding> {
        let findings = self.judge.observe(event);
        if self.was_at_rest { findings } else { Vec::new() }
    }

    /// Takes the oldest command with this id, and of this type if one is given.
    pub fn take_command(&mut self, id: Option<&RequestId>, command: Option<&str>) -> Option<String> {
        let fits = |(own, kind, _): &(Option<RequestId>, String, String)| {
            own.as_ref() == id && command.is_none_or(|command| kind == command)
        };
        let at = self.unanswered.iter().position(fits)?;
        self.unanswered.remove(at).map(|(_, kind, _)| kind)
    }

    /// Judges the number of a frame. Returns the numbers that were left out in front of it; the error says what was expected.
    pub fn number(&mut self, sequence: Option<u64>) -> Result<Range<u64>, String> {
        let is_numbered = *self.is_numbered.get_or_insert(sequence.is_some());
        let last = self.last_sequence;
        self.last_sequence = sequence.or(last);
        match (sequence, last) {
            (Some(_), _) if !is_numbered => Err("no `sequence`, as earlier frames had none".to_owned()),
            (None, _) if is_numbered => Err("a `sequence`, as earlier frames had one".to_owned()),
            (Some(now), Some(last)) if now <= last => Err(format!("a `sequence` above {last}, not {now}")),
            _ => {
                let next = last.unwrap_or(if self.is_whole { 0 } else { u64::MAX - 1 }) + 1;
                Ok(next..sequence.unwrap_or(next).max(next))
            }
        }
    }

    /// Begins again behind frames that were not written: the next ones are judged by their form until the agent is at rest.
    pub fn doubt(&mut self) {
        self.restart();
        self.repeat_commands(self.t);
    }

    /// Begins again behind the frame with this number. With `is_replayed` earlier frames come again.
    pub fn attach(&mut self, sequence: u64, is_replayed: bool) -> Result<(), String> {
        let last = self.last_sequence.replace(sequence);
        match last {
            _ if is_replayed => {
                self.view = View::Server;
                self.restart();
                Ok(())
            }
            Some(last) if sequence < last => {
                Err(format!("a `sequence` of at least {last}, as frames with that were written"))
            }
            _ => Ok(()),
        }
    }

    /// Begins again with a snapshot: what came before it was not written.
    pub fn restore(&mut self, snapshot: &SessionSnapshotEvent, t: f64) -> Result<(), String> {
        self.restart();
        self.repeat_commands(t);
        self.dialogs.extend(snapshot.dialogs.iter().map(|dialog| dialog.id().to_owned()));
        let last = self.last_sequence.replace(snapshot.sequence);
        self.is_numbered = Some(true);
        match last.filter(|last| snapshot.sequence < *last) {
            Some(last) => Err(format!("a `sequence` of at least {last}, not {}", snapshot.sequence)),
            None => Ok(()),
        }
    }

    fn restart(&mut self) {
        self.judge = Judge::new(self.spoken, self.view).joined_late();
        (self.is_whole, self.was_at_rest) = (false, false);
    }

    /// Closes a dialog. `false`: it was not open.
    pub fn resolve_dialog(&mut self, id: &str) -> bool {
        self.judge.close_dialog(id);
        self.dialogs.remove(id) || !self.is_whole
    }

    /// Ends the session. With `status` it ended as a process with that exit status.
    pub fn end(mut self, was_stopped: bool, status: Option<u64>, t: f64) -> (Vec<Finding>, Judge) {
        let mut findings = Vec::new();
        if was_stopped {
            findings.extend(
                self.judge.observe(&event(t, &json!({ "event": "signal", "number": 15 }).to_string())),
            );
        }
        if let Some(status) = status {
            findings.extend(
                self.judge.observe(&event(t, &json!({ "event": "exit", "code": status }).to_string())),
            );
        }
        findings.extend(self.judge.finish());
        if !self.was_at_rest {
            findings.clear();
        }
        (findings, self.judge)
    }
}

/// Whether a rule is about the form of single frames, so that what came before does not matter.
fn is_of_form(rule: Rule) -> bool {
    let about = rule.about();
    about.area == Area::Envelope
        && about.needs.is_empty()
        && !matches!(rule, Rule::ReadyFirst | Rule::NoReady)
}

/// Whether a frame shows that the agent is at rest.
fn shows_rest(kind: &str, line: &str) -> bool {
    #[derive(Deserialize)]
    struct State {
        command: String,
        data: Rest,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Rest {
        is_streaming: bool,
        is_compacting: bool,
    }
    match kind {
        kind if kind == AgentSessionEventKind::AgentSettled.as_str() => true,
        RpcResponse::TYPE => serde_json::from_str::<State>(line).is_ok_and(|State { command, data }| {
            command == RpcCommandKind::GetState.as_str() && !data.is_streaming && !data.is_compacting
        }),
        _ => false,
    }
}

fn record(t: f64, direction: Direction, line: &str, cut: bool) -> Record<'_> {
    Record { t, direction, body: Body::Json(Cow::Borrowed(line.as_bytes())), cut }
}

/// The record of an event of the process.
pub fn event(t: f64, body: &str) -> Record<'_> {
    record(t, Direction::Meta, body, false)
}
