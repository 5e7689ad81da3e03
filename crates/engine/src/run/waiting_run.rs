//! A run that waits for a permission, as another process can go on with it.
//!
//! While a question is open, no call of the answer that it is about has begun that depends on it, and everything before that
//! answer is in the session's file. [`Engine::waiting_run`] says what else must be known; [`Engine::resume_run`] goes on from
//! there. Clients see no frame of that: the run goes on as if it had not been cut. Whatever has not begun is checked again, with
//! its hooks; a call that may have begun gets an error as its result, and is not run again.

use crate::{
    activity::Next,
    core::Engine,
    extensions::process::FailureSource,
    queues::Queue,
    run::{
        batch::{CallBefore, CallSlot, CallStage},
        state::{Phase, Run},
    },
    store::sessions::SESSION,
    tool_result::error_result,
};
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, AgentStartEvent, AgentToolResult, AssistantContent, AssistantMessage,
    DialectToolExecution, MessageEndEvent, MessageStartEvent, RpcExtensionUIResponse, StopReason, ToolCall,
    ToolExecutionEndEvent, ToolExecutionStartEvent, ToolResultMessage, TurnStartEvent, errors,
};
use pi_rpc_session::{NewEntry, Notice};
use serde::{Deserialize, Serialize};
use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

/// A run whose last answer waits for a permission: what is not among the entries of its session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingRun {
    /// How many of the session's last messages are the run's.
    messages: usize,
    /// The answer that it waits at: its time, and the ids of its calls.
    #[serde(default)]
    answer: (u64, Vec<String>),
    /// The calls of the answer that have not begun. All others without a result may have.
    calls: Vec<WaitingCall>,
    /// The calls that were prevented, and whose result message is not emitted yet.
    prevented: Vec<PreventedCall>,
    /// Tools whose calls were allowed for the session.
    allowed: Vec<String>,
    /// Messages for the next turn.
    steering: Vec<AgentMessage>,
    /// Messages with which the run continues instead of ending.
    follow_up: Vec<AgentMessage>,
    /// Whether nothing begins before the next line of a client: no extension decides, and no call begins beside the question.
    #[serde(skip)]
    pub is_up_to_clients: bool,
}

/// A call that has not begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WaitingCall {
    id: String,
    is_announced: bool,
    is_permitted: bool,
    /// The id and the title of the open dialog.
    question: Option<(String, String)>,
    /// The answer to it, where it came before the dialog was open again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<RpcExtensionUIResponse>,
}

/// A call that was prevented, with its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PreventedCall {
    id: String,
    result: AgentToolResult,
}

impl WaitingRun {
    /// Whether the messages of a session end with the answer that the run waits at.
    pub fn fits(&self, messages: &[Arc<AgentMessage>]) -> bool {
        self.cut_batch(messages).is_some()
    }

    fn cut_batch(&self, messages: &[Arc<AgentMessage>]) -> Option<CutBatch> {
        CutBatch::find(messages, self.messages).filter(|cut| cut.mark() == self.answer)
    }
}

/// The most bytes, in JSON, that a run may leave to another process besides its entries.
const MAX_BYTES: usize = 1 << 20;

impl Engine {
    /// The open run, if it waits for a permission and another process could go on with it.
    pub fn waiting_run(&self) -> Option<WaitingRun> {
        if let Some(left) = &self.left_run {
            return Some((**left).clone());
        }
        let Some(Phase::Tools { batch: Some(batch), .. }) = self.activity.phase() else { return None };
        let run = self.activity.run().filter(|run| !run.ends_early() && !run.is_unpersisted)?;
        let is_stored =
            self.store.session.is_on_disk() && !self.is_disk_outstanding() && !self.store.has_failed();
        // What was received may be the answer: it is handled by whatever comes next.
        if !is_stored
            || self.unserved() > 0
            || batch.skipping
            || batch.cut_off
            || batch.unrun.is_some()
            || !self.asks_about_answer()
        {
            return None;
        }
        let cut = CutBatch::find(self.store.session.messages(), run.messages.len())?;
        let mut waiting = WaitingRun {
            messages: run.messages.len(),
            answer: cut.mark(),
            allowed: self.tools.consent_patterns.allowed.iter().cloned().collect(),
            steering: self.queues.steering.waiting().cloned().collect(),
            follow_up: self.queues.follow_up.waiting().cloned().collect(),
            is_up_to_clients: self.is_up_to_clients(),
            ..WaitingRun::default()
        };
        for (at, slot) in batch.calls.iter().enumerate().filter(|(_, slot)| slot.nesting.is_none()) {
            let id = slot.call.id.clone();
            let is_unchanged = slot.prepared.is_none() && slot.changed.is_none();
            let (is_announced, is_permitted) = match &slot.stage {
                CallStage::Waiting => (slot.before.is_announced, slot.before.is_permitted),
                CallStage::Preparing | CallStage::Checked(_) => (true, slot.before.is_permitted),
                CallStage::Ready(_) => (true, is_unchanged),
                CallStage::Emitted(result, true) if slot.began.is_none() => {
                    waiting.prevented.push(PreventedCall { id, result: result.clone() });
                    continue;
                }
                CallStage::Running(_) | CallStage::Ended | CallStage::Held(..) => continue,
                CallStage::Emitted(..) | CallStage::Done => continue,
            };
            let question = self.extensions.question_of_call(at).or_else(|| slot.before.question.clone());
            let answer = slot.before.answer.clone();
            waiting.calls.push(WaitingCall { id, is_announced, is_permitted, question, answer });
        }
        // A longer one is no state that can be kept; the run ends with its process.
        let is_short = serde_json::to_vec(&waiting).is_ok_and(|text| text.len() <= MAX_BYTES);
        Some(waiting).filter(|_| is_short)
    }

    /// Whether nothing is under way besides the question, so that the process may leave the run to another one at any time.
    pub fn only_waits(&self) -> bool {
        let waits = !self.backlog.after_run.is_empty()
            || !self.requests.shells.is_empty()
            || self.requests.logins.has_outstanding();
        !waits && self.running_calls().is_empty() && self.waiting_run().is_some()
    }

    /// Whether a dialog is open that decides whether a tool may run.
    pub fn asks_permission(&self) -> bool {
        self.extensions.asks_permission()
    }

    /// Whether one of them decides about a call of the model, or is to be opened again for one.
    fn asks_about_answer(&self) -> bool {
        let Some(batch) = self.activity.batch() else { return false };
        let asks = |at: usize| batch.calls.get(at).is_some_and(|slot| slot.nesting.is_none());
        self.extensions.asked_calls().any(asks) || self.has_inherited_questions()
    }

    /// Whether a question of another process is to be asked again, which goes on without a line of a client.
    fn has_inherited_questions(&self) -> bool {
        self.activity.batch().is_some_and(|batch| batch.calls.iter().any(CallSlot::is_to_be_asked_again))
    }

    fn is_up_to_clients(&self) -> bool {
        let begins_beside = self.dialect.record().tool_execution == DialectToolExecution::Interrupt;
        !begins_beside
            && !self.has_inherited_questions()
            && !self.extensions.decides_about_calls()
            && self.running_calls().is_empty()
    }

    /// Denies what is asked: as if the host had dismissed the dialogs.
    pub(crate) fn deny_questions(&mut self) {
        while self.with_extensions(|host, context| host.close_next_question(context)) {}
    }

    /// Takes in the run that another process has left. It goes on once the host is greeted, before extensions and clients change
    /// anything.
    pub(crate) fn take_left_run(&mut self, waiting: Box<WaitingRun>) {
        self.left_run = Some(waiting);
        if self.is_open() {
            self.resume_left_run();
        }
    }

    /// Goes on with the run that another process has left. Where the session has no such run, the one that was cut is closed.
    pub(crate) fn resume_left_run(&mut self) {
        let Some(waiting) = self.left_run.take() else { return };
        if !self.resume_run(*waiting) {
            self.close_cut_run();
        }
    }

    /// Closes the run that the session's last process did not live to end, as after any restart, and tells the host.
    pub(crate) fn close_cut_run(&mut self) {
        // What runs is another one, behind which nothing of the cut one has a place.
        if !self.activity.is_under_way() {
            let end = self.store.session.tree().cut_run_end(self.stamp());
            for message in end {
                self.append(NewEntry::Message(Arc::new(message)));
            }
        }
        let path = self.session_file().unwrap_or_default();
        self.report_failure(FailureSource::File(&path, SESSION), &Notice::OwnerLost.to_string());
    }

    /// Goes on with a run that another process has left. `false`: the session has no such run.
    fn resume_run(&mut self, waiting: WaitingRun) -> bool {
        let Some(cut) = waiting.cut_batch(self.store.session.messages()) else { return false };
        if self.activity.is_under_way() {
            return false;
        }
        self.tools.consent_patterns.allowed.extend(waiting.allowed);
        restore(&mut self.queues.steering, waiting.steering);
        restore(&mut self.queues.follow_up, waiting.follow_up);
        self.resume_budget(&cut.messages);
        if self.chains_runs() {
            self.series.chain.get_or_insert_default();
        }
        let run = Run {
            messages: cut.messages,
            model: self.models.current,
            system_prompt: self.instructions.text.clone(),
            level: self.models.level,
            interrupt: self.modes.interrupt,
            early_end: None,
            retry_after: None,
            is_unpersisted: false,
            forced_tool: None,
            broken_rules: Vec::new(),
            continues: false,
        };
        let answer = Box::new(cut.answer);
        let message = AgentMessage::Assistant((*answer).clone());
        self.activity.replay(AgentStartEvent {}.into(), Next::Run(Box::new(run)));
        self.activity.replay(TurnStartEvent {}.into(), Next::Phase(Phase::Turn(VecDeque::new())));
        let start = MessageStartEvent { message: message.clone(), message_id: None };
        self.activity.replay(start.into(), Next::Phase(Phase::Answered(answer.clone())));
        self.activity.replay(MessageEndEvent { message, message_id: None }.into(), Next::Tools);
        self.start_batch(&answer, cut.calls.clone());
        for (at, call) in cut.calls.into_iter().enumerate() {
            let result = cut.results.iter().find(|result| result.tool_call_id == call.id);
            let unbegun = waiting.calls.iter().find(|it| it.id == call.id);
            let prevented = waiting.prevented.iter().find(|it| it.id == call.id);
            match (result, unbegun, prevented) {
                (Some(result), ..) => self.replay_result(at, call, result.clone()),
                (None, Some(unbegun), _) => self.leave_unbegun(at, unbegun),
                (None, None, Some(prevented)) => self.replay_prevented(at, call, prevented.result.clone()),
                // It may have begun: whether it has had an effect is not known.
                (None, None, None) => {
                    self.replay_call_start(at);
                    let text = errors::tool_aborted(self.dialect.base());
                    self.set_call_stage(at, CallStage::Held(error_result(&text), true));
                }
            }
        }
        self.activity.resume();
        true
    }

    /// Moves the chart by the start of a call that another process has emitted.
    pub(crate) fn replay_call_start(&mut self, at: usize) {
        let Some(call) = self.tool_call(at).cloned() else { return };
        let start = ToolExecutionStartEvent {
            tool_call_id: call.id,
            tool_name: call.name,
            args: call.arguments,
            intent: call.intent,
            parent_tool_call_id: None,
        };
        self.activity.replay(start.into(), Next::Kept);
    }

    fn leave_unbegun(&mut self, at: usize, unbegun: &WaitingCall) {
        if let Some(slot) = self.slot(at) {
            slot.before = CallBefore {
                is_announced: unbegun.is_announced,
                is_permitted: unbegun.is_permitted,
                question: unbegun.question.clone(),
                answer: unbegun.answer.clone(),
            };
        }
    }

    fn replay_result(&mut self, at: usize, call: ToolCall, message: ToolResultMessage) {
        self.replay_call_start(at);
        let result = AgentToolResult { content: message.content.clone(), ..error_result("") };
        self.replay_call_end(call, result, message.is_error);
        let emitted = AgentMessage::ToolResult(message.clone());
        let start = MessageStartEvent { message: emitted.clone(), message_id: None };
        self.activity.replay(start.into(), Next::Kept);
        self.activity.replay(MessageEndEvent { message: emitted, message_id: None }.into(), Next::Kept);
        self.set_call_stage(at, CallStage::Done);
        if let Some(batch) = self.activity.batch_mut() {
            batch.results.push(message);
            batch.terminates = false;
        }
    }

    fn replay_prevented(&mut self, at: usize, call: ToolCall, result: AgentToolResult) {
        self.replay_call_start(at);
        self.replay_call_end(call, result.clone(), true);
        self.set_call_stage(at, CallStage::Emitted(result, true));
    }

    fn replay_call_end(&mut self, call: ToolCall, result: AgentToolResult, is_error: bool) {
        let end = ToolExecutionEndEvent {
            tool_call_id: call.id,
            tool_name: call.name,
            result,
            is_error,
            is_warning: Some(false),
            duration_ms: None,
            parent_tool_call_id: None,
        };
        self.activity.replay(AgentSessionEvent::from(end), Next::Kept);
    }
}

/// The end of a session whose last answer has calls without a result.
struct CutBatch {
    /// The messages of the run.
    messages: Vec<Arc<AgentMessage>>,
    answer: AssistantMessage,
    calls: Vec<ToolCall>,
    results: Vec<ToolResultMessage>,
}

impl CutBatch {
    /// Finds it at the end of `all`, of which the last `count` are the run's; `None`, too, where two of its calls have one id.
    fn find(all: &[Arc<AgentMessage>], count: usize) -> Option<Self> {
        let messages = all[all.len().saturating_sub(count)..].to_vec();
        let is_answer = |message: &Arc<AgentMessage>| matches!(**message, AgentMessage::Assistant(_));
        let at = messages.iter().rposition(is_answer)?;
        let AgentMessage::Assistant(answer) = messages[at].as_ref().clone() else { return None };
        let results = messages[at + 1..].iter().map(|message| match message.as_ref() {
            AgentMessage::ToolResult(result) => Some(result.clone()),
            _ => None,
        });
        let results: Vec<ToolResultMessage> = results.collect::<Option<_>>()?;
        let calls = answer.content.iter().filter_map(|block| match block {
            AssistantContent::ToolCall(call) => Some(call.clone()),
            _ => None,
        });
        let calls: Vec<ToolCall> = calls.collect();
        // The ids are the model's: with one of two calls, what is noted of either could be the other's.
        let are_distinct = calls.iter().map(|call| &call.id).collect::<HashSet<_>>().len() == calls.len();
        let has_result = |call: &ToolCall| results.iter().any(|result| result.tool_call_id == call.id);
        let is_open = answer.stop_reason == StopReason::ToolUse && !calls.iter().all(has_result);
        (is_open && are_distinct).then_some(Self { messages, answer, calls, results })
    }

    fn mark(&self) -> (u64, Vec<String>) {
        (self.answer.timestamp, self.calls.iter().map(|call| call.id.clone()).collect())
    }
}

fn restore(queue: &mut Queue, messages: Vec<AgentMessage>) {
    messages.into_iter().for_each(|message| queue.push(message));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A prompt and an answer of this time with calls of these ids.
    fn messages(timestamp: u64, ids: &[&str]) -> Vec<Arc<AgentMessage>> {
        let call = |id: &&str| json!({ "type": "toolCall", "id": id, "name": "bash", "arguments": {} });
        let cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 });
        let usage = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": cost });
        let answer = json!({
            "role": "assistant", "content": ids.iter().map(call).collect::<Vec<Value>>(), "api": "a", "provider": "p",
            "model": "m", "usage": usage, "stopReason": "toolUse", "timestamp": timestamp,
        });
        let prompt = json!({ "role": "user", "content": "go", "timestamp": 1 });
        [prompt, answer].into_iter().map(|it| Arc::new(serde_json::from_value(it).unwrap())).collect()
    }

    fn waiting(messages: &[Arc<AgentMessage>]) -> WaitingRun {
        let answer = CutBatch::find(messages, 2).unwrap().mark();
        WaitingRun { messages: 2, answer, ..WaitingRun::default() }
    }

    #[test]
    fn calls_with_one_id_are_not_continued() {
        assert!(CutBatch::find(&messages(2, &["a", "b"]), 2).is_some());
        assert!(CutBatch::find(&messages(2, &["a", "a"]), 2).is_none());
    }

    #[test]
    fn run_fits_its_own_answer_alone() {
        let own = messages(2, &["a", "b"]);
        assert!(waiting(&own).fits(&own));
        for other in [messages(3, &["a", "b"]), messages(2, &["a"]), messages(2, &["a", "c"])] {
            assert!(!waiting(&own).fits(&other));
        }
        assert!(!WaitingRun { messages: 2, ..WaitingRun::default() }.fits(&own), "one of an earlier version");
    }
}
