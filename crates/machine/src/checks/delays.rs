//! Judges how long the server takes for aborts, responses and the steps of a run.
//!
//! Only silence counts: the time since the server last wrote anything. A slow reader sees timely frames late, but sees no
//! silence before them. Nothing is judged while extensions or dialogs may hold up the server.
//!
//! Rules: `abort-effect`, `in-time`.

use super::{
    after_run::wait_of,
    frame_context::FrameContext,
    obligations::{LONG_PATIENCE, answers_at_once},
};
use crate::{
    findings::Findings,
    kind::Kind,
    requests::{OpenRequest, Requests},
};
use pi_rpc_protocol::{
    AgentSessionEvent, AgentSessionEventKind as Event, FlowState, HostToolCall, HostToolResult,
    RpcCommandKind as Command, RpcSuccess, RuleId as Rule, StopReason,
};
use std::collections::VecDeque;

/// Milliseconds that a step of a run may take if it does not wait for the host.
const STEP: u64 = 300_000;

/// Milliseconds of silence after which the server must have read an abort.
const READ: u64 = 8000;

/// The most awaited events and host tool calls that are tracked.
const MAX_AWAITED: usize = 256;

/// Tracks the time from a cause to the event that has to follow.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// The time of the server's latest frame.
    wrote: Option<u64>,
    /// The time of the frame before that.
    before: Option<u64>,
    /// The start and the end of the latest long silence.
    hush: Option<(u64, u64)>,
    awaited: VecDeque<Awaited>,
    /// The outstanding host tool calls: their ids, and those of the model's calls.
    calls: VecDeque<(String, String)>,
    /// Whether the current answer goes on although it was aborted long before.
    goes_on: bool,
}

/// An event that has to come.
#[derive(Clone, Debug)]
struct Awaited {
    what: AwaitedEvent,
    /// The time from which on the event is awaited.
    from: u64,
    /// The frame that causes the event.
    frame: u64,
}

/// The kind of an awaited event.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AwaitedEvent {
    /// The end of the aborted answer.
    AnswerEnd,
    /// The end of the aborted wait before a retry.
    WaitEnd,
    /// The run of a retry.
    Retry,
    /// The first message of a run.
    Opening,
    /// The event after a turn.
    NextStep,
    /// The end of the model's call with this id, whose result the host has sent.
    CallEnd(String),
    /// The response to the aborted shell command with this number.
    Shell(u64),
}

impl AwaitedEvent {
    const fn patience(&self) -> u64 {
        match self {
            Self::Opening | Self::NextStep => STEP,
            Self::AnswerEnd | Self::WaitEnd | Self::Retry | Self::CallEnd(_) | Self::Shell(_) => {
                LONG_PATIENCE
            }
        }
    }

    const fn expected(&self) -> &'static str {
        match self {
            Self::AnswerEnd => "the end of the answer soon after it was aborted",
            Self::WaitEnd => "`auto_retry_end` soon after the wait was aborted",
            Self::Retry => "the further try soon after the wait",
            Self::Opening => "the first message of the run soon after its `turn_start`",
            Self::NextStep => "the next turn or the end of the run soon after the turn",
            Self::CallEnd(_) => "the end of the call soon after the host has answered it",
            Self::Shell(_) => "the response to the `bash` soon after it was aborted",
        }
    }

    /// Whether the event can still come in this state.
    const fn is_open_in(&self, flow: FlowState) -> bool {
        match self {
            Self::AnswerEnd | Self::Opening | Self::NextStep | Self::CallEnd(_) => flow.is_streaming(),
            Self::WaitEnd | Self::Retry => matches!(flow, FlowState::Retrying),
            Self::Shell(_) => true,
        }
    }
}

impl Delays {
    /// Takes in a command.
    pub fn on_command(&mut self, command: Command, requests: &Requests, at: &FrameContext) {
        if is_behind(requests, at) {
            return;
        }
        let what = match (command, at.met.flow) {
            (Command::Abort, FlowState::StreamingMessage) => AwaitedEvent::AnswerEnd,
            (Command::Abort | Command::AbortRetry, FlowState::Retrying) => AwaitedEvent::WaitEnd,
            _ => return,
        };
        if !self.awaited.iter().any(|awaited| awaited.what == what) {
            self.wait(what, 0, at);
        }
    }

    /// Takes in a host tool call.
    pub fn on_call(&mut self, call: &HostToolCall) {
        self.calls.push_back((call.id.clone(), call.tool_call_id.clone()));
        if self.calls.len() > MAX_AWAITED {
            self.calls.pop_front();
        }
    }

    /// Takes in the result of a host tool call.
    pub fn on_result(&mut self, result: &HostToolResult, requests: &Requests, at: &FrameContext) {
        let place = self.calls.iter().position(|(id, _)| *id == result.id);
        if let Some((_, of)) = place.and_then(|place| self.calls.remove(place))
            && !is_behind(requests, at)
        {
            self.wait(AwaitedEvent::CallEnd(of), 0, at);
        }
    }

    /// Restarts all deadlines at `now`: something explains the silence before.
    pub fn restart_deadlines(&mut self, now: u64) {
        self.wrote = self.wrote.map(|wrote| wrote.max(now));
    }

    /// Takes in an outbound frame.
    pub fn on_frame(&mut self, kind: Kind, at: &FrameContext, found: &mut Findings) {
        if let (Some(wrote), Some(now)) = (self.wrote, at.time)
            && now.saturating_sub(wrote) >= LONG_PATIENCE
        {
            self.hush = Some((wrote, now));
        }
        self.before = self.wrote;
        self.wrote = at.time;
        match kind {
            Kind::MessageUpdate(_) => {
                self.goes_on |=
                    self.silence(&AwaitedEvent::AnswerEnd, at).is_some_and(|silence| silence >= READ);
            }
            Kind::AssistantEnd(reason) => self.answer_ends(reason, at, found),
            Kind::RetryEnd(_) => self.comes(&AwaitedEvent::WaitEnd, at, found),
            Kind::Event(Event::AgentStart) => self.comes(&AwaitedEvent::Retry, at, found),
            Kind::MessageStart(_) => self.comes(&AwaitedEvent::Opening, at, found),
            Kind::Event(Event::TurnStart | Event::AgentEnd | Event::AutoCompactionStart)
            | Kind::CompactionStart(_) => self.comes(&AwaitedEvent::NextStep, at, found),
            _ => {}
        }
        if kind == Kind::Event(Event::TurnEnd) && at.now.flow.is_streaming() {
            self.wait(AwaitedEvent::NextStep, 0, at);
        }
        let flow = at.now.flow;
        self.awaited.retain(|awaited| awaited.what.is_open_in(flow));
    }

    /// Takes in an event. `prompted`: the current run is that of a prompt, and none of its messages has come.
    pub fn on_event(
        &mut self,
        event: &AgentSessionEvent,
        prompted: bool,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        match event {
            AgentSessionEvent::AutoRetryStart(start) if !at.cut => {
                self.wait(AwaitedEvent::Retry, wait_of(start), at);
            }
            AgentSessionEvent::TurnStart(_) if prompted => self.wait(AwaitedEvent::Opening, 0, at),
            AgentSessionEvent::ToolExecutionEnd(end) => {
                self.comes(&AwaitedEvent::CallEnd(end.tool_call_id.clone()), at, found);
            }
            _ => {}
        }
    }

    /// Takes in a response.
    pub fn on_response(
        &mut self,
        request: &OpenRequest,
        success: Option<&RpcSuccess>,
        requests: &Requests,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        if request.command == Command::AbortBash && success.is_some() {
            let mut shells = requests.outstanding().filter(|open| open.command == Command::Bash);
            if let (Some(only), None) = (shells.next(), shells.next())
                && only.number < request.number
            {
                self.wait(AwaitedEvent::Shell(only.number), 0, at);
            }
        }
        if request.command == Command::Bash {
            self.shell_ends(request, success, at, found);
        }
        let mut older = requests.outstanding().take_while(|open| open.number < request.number);
        let holds_up =
            |open: &OpenRequest| !open.command.is_control() && !at.dialect.runs_beside_others(open.command);
        let behind = at.dialect.is_serial() && (at.met.dialogs > 0 || older.any(holds_up));
        if let Some(written) = request.written
            && answers_at_once(request.command, at)
            && !behind
            && is_judged(at)
        {
            // Even if another frame has ended the silence.
            let silent = self
                .hush
                .is_some_and(|(from, until)| until.saturating_sub(from.max(written)) >= LONG_PATIENCE);
            found.expect(Rule::InTime, !silent, || {
                format!("the response to the `{}` at once", request.command)
            });
        }
    }

    /// Takes in that the server was silent at the end for so long that nothing more will come.
    pub fn on_silence(&mut self, at: &FrameContext, found: &mut Findings) {
        // No frame follows the last one.
        self.before = self.wrote;
        for awaited in std::mem::take(&mut self.awaited) {
            let is_reported = matches!(awaited.what, AwaitedEvent::Retry | AwaitedEvent::Shell(_));
            let silence = self.silence_since(awaited.from, at).unwrap_or_default();
            if !is_reported && silence >= awaited.what.patience() && at.now.dialogs == 0 && !at.has_extensions
            {
                found.with_cause(Some(awaited.frame), |found| {
                    found.fail(Rule::InTime, awaited.what.expected());
                });
            }
        }
    }

    fn answer_ends(&mut self, reason: StopReason, at: &FrameContext, found: &mut Findings) {
        let goes_on = std::mem::take(&mut self.goes_on);
        let waited = self.awaited.iter().find(|awaited| awaited.what == AwaitedEvent::AnswerEnd).cloned();
        let Some(waited) = waited else { return };
        let silence = self.silence(&AwaitedEvent::AnswerEnd, at).unwrap_or_default();
        let failed = matches!(reason, StopReason::Aborted | StopReason::Error);
        let finished = !failed && (goes_on || silence >= READ);
        if is_judged(at) {
            found.with_cause(Some(waited.frame), |found| {
                found.expect(Rule::AbortEffect, !finished, || {
                    "an aborted answer, as the abort came long before its end".to_owned()
                });
            });
        }
        match finished {
            true => self.awaited.retain(|awaited| awaited.what != AwaitedEvent::AnswerEnd),
            false => self.comes(&AwaitedEvent::AnswerEnd, at, found),
        }
    }

    fn shell_ends(
        &mut self,
        request: &OpenRequest,
        success: Option<&RpcSuccess>,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let what = AwaitedEvent::Shell(request.number);
        let silence = self.silence(&what, at);
        let waited = self.awaited.iter().position(|awaited| awaited.what == what);
        let Some(waited) = waited.and_then(|place| self.awaited.remove(place)) else { return };
        if let (Some(RpcSuccess::Bash(bash)), Some(silence)) = (success, silence)
            && is_judged(at)
        {
            let finished = !bash.data.cancelled && silence >= READ;
            found.with_cause(Some(waited.frame), |found| {
                found.expect(Rule::AbortEffect, !finished, || {
                    "`cancelled`, as the command was aborted long before its end".to_owned()
                });
            });
        }
    }

    fn wait(&mut self, what: AwaitedEvent, after: u64, at: &FrameContext) {
        let Some(now) = at.time else { return };
        self.awaited.retain(|awaited| awaited.what != what);
        self.awaited.push_back(Awaited { what, from: now.saturating_add(after), frame: at.frame });
        if self.awaited.len() > MAX_AWAITED {
            self.awaited.pop_front();
        }
    }

    /// Judges whether an awaited event that has come is in time.
    fn comes(&mut self, what: &AwaitedEvent, at: &FrameContext, found: &mut Findings) {
        let silence = self.silence(what, at);
        let place = self.awaited.iter().position(|awaited| awaited.what == *what);
        let Some(awaited) = place.and_then(|place| self.awaited.remove(place)) else { return };
        let Some(silence) = silence.filter(|_| is_judged(at)) else { return };
        found.with_cause(Some(awaited.frame), |found| {
            found.expect(Rule::InTime, silence < what.patience(), || what.expected().to_owned());
        });
    }

    /// The silence before the current frame, since the event is awaited.
    fn silence(&self, what: &AwaitedEvent, at: &FrameContext) -> Option<u64> {
        let awaited = self.awaited.iter().find(|awaited| awaited.what == *what)?;
        self.silence_since(awaited.from, at)
    }

    fn silence_since(&self, from: u64, at: &FrameContext) -> Option<u64> {
        Some(at.time?.saturating_sub(from.max(self.before?)))
    }
}

/// Whether the server may read the current frame only after outstanding commands.
fn is_behind(requests: &Requests, at: &FrameContext) -> bool {
    at.dialect.is_serial() && requests.outstanding().any(|open| !at.dialect.runs_beside_others(open.command))
}

/// Whether nothing but the server itself can cause a delay.
const fn is_judged(at: &FrameContext) -> bool {
    at.met.dialogs == 0 && at.now.dialogs == 0 && !at.has_extensions && !at.now.closing
}
