//! Judges one turn: its assistant message, the tool calls in it, and their results.
//!
//! Rules: `system-first`, `after-assistant`, `stop-reason`, `turn-end-message`, `tool-start-per-call`,
//! `tool-end-per-start`, `tool-update-window`, `tool-order-start`, `tool-sequential`, `tool-result-adjacent`,
//! `results-together`, `tool-result-eq`, `turn-results`, `turn-results-complete`, `update-cumulative`,
//! `update-in-result`, `skip-text`.

use super::{
    nested_calls::NestedCalls,
    partial_message::PartialMessage,
    progress::Progress,
    stored_message::{as_repeated, is_repeated},
    tool_errors, usage,
};
use crate::{findings::Findings, spoken::Spoken};
use pi_rpc_protocol::{
    AgentMessage, AgentMessageKind, AgentSessionEvent, AgentToolResult, AssistantContent, AssistantMessage,
    Dialect, DialectToolExecution, DialectUnstartedCalls, JsonObject, RuleId as Rule, StopReason, ToolCall,
    ToolExecutionEndEvent, ToolExecutionStartEvent, ToolExecutionUpdateEvent, ToolResultMessage,
    TurnEndEvent, UserContent, errors,
};
use serde::Serialize;
use serde_json::Value;

/// The current turn: its assistant message, calls and results.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    pub partial_message: Option<PartialMessage>,
    assistant: Option<AssistantMessage>,
    /// The frame that completed the assistant message.
    pub completed: Option<u64>,
    calls: Vec<TurnCall>,
    /// The calls that tools have made.
    nested: NestedCalls,
    results: Vec<ToolResultMessage>,
    /// The id of the call that has just ended, whose result comes next.
    ended: Option<String>,
    /// Whether a message other than the system's has begun.
    begun: bool,
    /// Whether the assistant message has just ended.
    answered: bool,
    /// Whether missing calls were reported already.
    passed_over: bool,
    /// Whether part of the turn was missed or shortened, so that payloads are not compared.
    incomplete: bool,
}

/// A tool call of the assistant message.
#[derive(Clone, Debug)]
pub struct TurnCall {
    call: ToolCall,
    started: bool,
    end: Option<ToolExecutionEndEvent>,
    /// The frame of the call's start or end, whichever came last.
    latest: Option<u64>,
    answered: bool,
    /// The last progress of the call.
    progress: Option<Progress>,
}

impl Turn {
    /// Marks the turn as not completely known.
    pub fn mark_incomplete(&mut self) {
        self.incomplete = true;
        self.partial_message.iter_mut().for_each(PartialMessage::mark_incomplete);
    }

    pub const fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    /// Judges the start of a message.
    pub fn begins(&mut self, role: AgentMessageKind, found: &mut Findings) {
        if role == AgentMessageKind::System {
            found.expect(Rule::SystemFirst, !self.begun, || "it before any other message".to_owned());
        }
        self.begun = true;
    }

    pub fn assistant_end(&mut self, message: &AssistantMessage, dialect: Dialect, found: &mut Findings) {
        let failed = matches!(message.stop_reason, StopReason::Error | StopReason::Aborted);
        found.expect(Rule::StopReason, failed == message.error_message.is_some(), || {
            let a = if failed { "an" } else { "no" };
            format!(
                "{a} `errorMessage`, as `stopReason` is {}, at /message/errorMessage",
                message.stop_reason.as_str()
            )
        });
        usage::check_sums(&message.usage, &message.api, "/message/usage", found);
        if let Some(partial_message) = self.partial_message.take() {
            partial_message.end(message, failed, dialect, found);
        }
        self.calls = message
            .content
            .iter()
            .filter_map(|block| match block {
                AssistantContent::ToolCall(call) => Some(TurnCall {
                    call: call.clone(),
                    started: false,
                    end: None,
                    latest: None,
                    answered: false,
                    progress: None,
                }),
                _ => None,
            })
            .collect();
        // A message that was cut off at its length limit may end within a call.
        let stops = match message.stop_reason {
            StopReason::ToolUse => !self.calls.is_empty(),
            StopReason::Stop => self.calls.is_empty(),
            _ => true,
        };
        found.expect(Rule::StopReason, stops, || {
            let count = self.calls.len();
            format!("`toolUse` exactly with calls, of which there are {count}, at /message/stopReason")
        });
        self.answered = true;
        self.assistant = Some(message.clone());
        self.completed = Some(found.frame());
    }

    /// Judges the event after the assistant message: its calls, or the end of the turn. There is another rule for a tool start
    /// without a call.
    pub fn follows(&mut self, event: &AgentSessionEvent, dialect: Dialect, found: &mut Findings) {
        if !std::mem::take(&mut self.answered) {
            return;
        }
        let (failed, calls) = (self.has_failed(), !self.calls.is_empty());
        let (holds, expected) = match event {
            AgentSessionEvent::TurnEnd(_) => {
                (failed || !calls, "the `tool_execution_start` of the calls of the message")
            }
            AgentSessionEvent::ToolExecutionStart(_) => (
                !failed || !calls || dialect.record().results_for_failed_calls,
                "`turn_end`, as the message has failed",
            ),
            _ => (true, ""),
        };
        self.passed_over = !holds;
        found.with_cause(self.completed, |found| {
            found.expect(Rule::AfterAssistant, holds, || expected.to_owned());
        });
    }

    pub fn call_starts(&mut self, start: &ToolExecutionStartEvent, dialect: Dialect, found: &mut Findings) {
        let Some(at) = self.calls.iter().position(|call| call.call.id == start.tool_call_id) else {
            found.fail(Rule::ToolStartPerCall, "the id of a call of the assistant message, at /toolCallId");
            return;
        };
        let before = self.calls[..at].iter().find(|call| !call.started);
        found.expect(Rule::ToolOrderStart, before.is_none(), || {
            let id = before.map(|call| call.call.id.as_str()).unwrap_or_default();
            format!("the calls in their order: the `tool_execution_start` of {id} first")
        });
        let other = |call: &&TurnCall| call.started && !call.answered && call.call.id != start.tool_call_id;
        let mut running = self.calls.iter().filter(other);
        let first = running.clone().next().map(|call| call.call.id.clone());
        let alone = match dialect.record().tool_execution {
            DialectToolExecution::SequentialSkip => Some(running.next().is_none()),
            DialectToolExecution::Interrupt => {
                Some(running.all(|call| call.call.name != EXCLUSIVE && start.tool_name != EXCLUSIVE))
            }
            DialectToolExecution::ParallelSkip
            | DialectToolExecution::ParallelNoskip
            | DialectToolExecution::ParallelAsCompleted => None,
        };
        if let Some(alone) = alone.filter(|_| self.calls.len() > 1) {
            found.expect(Rule::ToolSequential, alone, || {
                format!("the result of {} first, which runs", first.unwrap_or_default())
            });
        }
        let call = &mut self.calls[at];
        if dialect.record().coerces_arguments && holds_same_values(&call.call.arguments, &start.args) {
            call.call.arguments.clone_from(&start.args);
        }
        let what = format!("one start of `{}` with its arguments", call.call.name);
        match self.incomplete || is_given(&call.call, &start.args) || call.started {
            true => {
                let same = call.call.name == start.tool_name && !call.started;
                found.expect(Rule::ToolStartPerCall, same || self.incomplete, || what);
            }
            false => {
                found.fail_with_difference(
                    Rule::ToolStartPerCall,
                    "/args",
                    what,
                    &call.call.arguments,
                    &start.args,
                );
            }
        }
        (call.started, call.latest) = (true, Some(found.frame()));
    }

    /// Judges that a call's result directly follows its end.
    pub fn adjacent(&mut self, event: &AgentSessionEvent, dialect: Dialect, found: &mut Findings) {
        let ended = self.ended.take();
        if dialect.record().results_together
            && let AgentSessionEvent::MessageStart(start) = event
            && let AgentMessage::ToolResult(result) = &start.message
        {
            self.together(&result.tool_call_id, ended.as_ref(), found);
        }
        let Some(id) = ended else { return };
        let next = match event {
            // There is another rule for this.
            AgentSessionEvent::ToolExecutionEnd(end) if end.tool_call_id == id => true,
            AgentSessionEvent::MessageStart(start) => match &start.message {
                AgentMessage::ToolResult(result) => result.tool_call_id == id,
                _ => false,
            },
            _ => false,
        };
        found.expect(Rule::ToolResultAdjacent, next, || format!("the result of {id} at once"));
    }

    /// Judges the place of a result in parallel execution: after the last end; for a call that was not executed with the others,
    /// after its own end.
    fn together(&self, id: &str, ended: Option<&String>, found: &mut Findings) {
        let Some(at) = self.calls.iter().position(|call| call.call.id == id) else { return };
        let over = self.calls.iter().all(|call| !call.started || call.end.is_some());
        let own = ended.is_some_and(|ended| ended == id);
        found.expect(Rule::ResultsTogether, over || own, || {
            let running = self.calls.iter().filter(|call| call.started && call.end.is_none());
            let ids: Vec<&str> = running.map(|call| call.call.id.as_str()).collect();
            format!("the ends of all calls first: {} has no `tool_execution_end`", ids.join(", "))
        });
        let before = self.calls.iter().take(at);
        found.expect(
            Rule::ResultsTogether,
            before.clone().all(|call| !call.started || call.answered),
            || "results in the order of the calls".to_owned(),
        );
    }

    /// Judges the start of a call that a tool makes; it is in no message.
    pub fn nested_call_starts(
        &mut self,
        start: &ToolExecutionStartEvent,
        dialect: Dialect,
        found: &mut Findings,
    ) {
        let is_outer =
            |call: &TurnCall| Some(&call.call.id) == start.parent_tool_call_id.as_ref() && call.started;
        let is_running = self.calls.iter().any(|call| is_outer(call) && call.end.is_none());
        if self.judges_nested(dialect) {
            self.nested.start(start, is_running, found);
        }
    }

    /// Whether the call with this id is one of this turn. A nested call that was cancelled may end in a later one.
    fn has_outer(&self, id: Option<&String>) -> bool {
        self.calls.iter().any(|call| Some(&call.call.id) == id) || self.nested.has(id)
    }

    /// Whether nested calls are judged: the turn is known, and the dialect has them.
    const fn judges_nested(&self, dialect: Dialect) -> bool {
        !self.incomplete && dialect.record().nested_calls
    }

    pub fn tool_update(&mut self, update: &ToolExecutionUpdateEvent, dialect: Dialect, found: &mut Findings) {
        if update.parent_tool_call_id.is_some() {
            if self.judges_nested(dialect)
                && (self.has_outer(update.parent_tool_call_id.as_ref())
                    || self.nested.has(Some(&update.tool_call_id)))
            {
                self.nested.update(update, found);
            }
            return;
        }
        let incomplete = self.incomplete;
        let call = self.calls.iter_mut().find(|call| call.call.id == update.tool_call_id);
        let Some(call) = call.filter(|call| call.started && call.end.is_none()) else {
            return found.fail(Rule::ToolUpdateWindow, "the id of a call that runs, at /toolCallId");
        };
        found.with_cause(call.latest, |found| {
            let same = incomplete || call.call.name == update.tool_name && is_given(&call.call, &update.args);
            found
                .expect(Rule::ToolUpdateWindow, same, || "the name and the arguments of the call".to_owned());
            if update.tool_name == EXCLUSIVE && !incomplete {
                let progress = Progress::of(&update.partial_result);
                if let Some(before) = &call.progress {
                    before.expect(Rule::UpdateCumulative, "/partialResult", &progress, found);
                }
                call.progress = Some(progress);
            }
        });
    }

    pub fn tool_end(&mut self, end: &ToolExecutionEndEvent, dialect: Dialect, found: &mut Findings) {
        if end.parent_tool_call_id.is_some() {
            if self.judges_nested(dialect) && self.has_outer(end.parent_tool_call_id.as_ref()) {
                self.nested.end(end, found);
            }
            return;
        }
        let call = self.calls.iter_mut().find(|call| call.call.id == end.tool_call_id);
        match call.filter(|call| call.started && call.end.is_none() && call.call.name == end.tool_name) {
            Some(call) => {
                found.pass(Rule::ToolEndPerStart);
                let whole = Progress::of(&end.result);
                // A `tool_result` hook may replace the result.
                let is_own = !end.is_error && !self.incomplete && !found.has_extensions();
                let progress = call.progress.take().filter(|_| is_own);
                found.with_cause(call.latest, |found| {
                    if let Some(progress) = progress {
                        progress.expect(Rule::UpdateInResult, "/result", &whole, found);
                    }
                    skipped(&whole.text, end.is_error, dialect, found);
                    if !self.incomplete && !found.has_extensions() {
                        tool_errors::judge(end, &whole.text, dialect, found);
                    }
                });
                (call.end, call.latest) = (Some(end.clone()), Some(found.frame()));
                self.ended = Some(end.tool_call_id.clone());
            }
            None => {
                let what = format!(
                    "the id and the name of a call that runs, not {} `{}`",
                    end.tool_call_id, end.tool_name
                );
                found.fail(Rule::ToolEndPerStart, what);
            }
        }
    }

    pub fn result(&mut self, result: &ToolResultMessage, dialect: Dialect, found: &mut Findings) {
        if self.judges_nested(dialect) {
            self.nested.result(result, found);
        }
        let call = self.calls.iter_mut().find(|call| call.call.id == result.tool_call_id && !call.answered);
        let Some(call) = call else {
            let what = "the id of a call that has ended and has no result yet, at /message/toolCallId";
            return found.fail(Rule::ToolResultEq, what);
        };
        call.answered = true;
        let what = "what the end of the call said";
        found.with_cause(call.latest, |found| match &call.end {
            _ if self.incomplete => found.pass(Rule::ToolResultEq),
            Some(end) => {
                let (expected, got) = (CallOutcome::of_end(end), CallOutcome::of_result(result));
                found.expect_same(Rule::ToolResultEq, "/message", what, &expected, &got);
            }
            None => found.fail(
                Rule::ToolResultEq,
                format!("the `tool_execution_end` of {} before its result: it has none", result.tool_call_id),
            ),
        });
        self.results.push(result.clone());
    }

    /// Judges the end of the turn. Returns whether calls were never begun without a failure that explains it; the next event
    /// must show the reason.
    pub fn end(&self, end: &TurnEndEvent, spoken: Spoken, found: &mut Findings) -> bool {
        let what = "the turn's assistant message";
        match &self.assistant {
            _ if self.incomplete => {
                found.pass(Rule::TurnEndMessage);
                found.pass(Rule::TurnResults);
            }
            assistant => {
                found.with_cause(self.completed, |found| match assistant {
                    Some(message) if is_repeated(message, &end.message) => found.pass(Rule::TurnEndMessage),
                    Some(message) => {
                        let message = as_repeated(message);
                        let rule = Rule::TurnEndMessage;
                        found.fail_with_difference(rule, "/message", what, &*message, &end.message);
                    }
                    None => found.fail(Rule::TurnEndMessage, what),
                });
                let what = "the turn's tool results";
                found.expect_same(Rule::TurnResults, "/toolResults", what, &self.results, &end.tool_results);
            }
        }
        let failed = self.has_failed();
        let excused = failed || self.passed_over;
        let late = spoken.may(|record| {
            record.results_together && record.unstarted_calls != DialectUnstartedCalls::OneText
        });
        let lacks = |call: &&TurnCall| !call.answered && (call.started || !late);
        let missing = self.calls.iter().find(lacks);
        let complete = missing.is_none();
        found.with_cause(self.completed, |found| {
            found.expect(Rule::TurnResultsComplete, excused || complete, || {
                let id = missing.map(|call| call.call.id.as_str()).unwrap_or_default();
                format!("a result for each call: {id} has none")
            });
        });
        !excused && complete && self.calls.iter().any(|call| !call.answered)
    }

    fn has_failed(&self) -> bool {
        let failed = |message: &AssistantMessage| {
            matches!(message.stop_reason, StopReason::Error | StopReason::Aborted)
        };
        self.assistant.as_ref().is_some_and(failed)
    }
}

/// The tool that reports its output so far, and that xcsh does not execute in parallel.
const EXCLUSIVE: &str = "bash";

/// The argument with the purpose of a call, which the model adds and the tool does not get.
const INTENT: &str = "_i";

/// Whether `args` are those of the call.
fn is_given(call: &ToolCall, args: &JsonObject) -> bool {
    let of_tool = |(key, _): &(&String, &Value)| *key != INTENT;
    call.arguments == *args || call.arguments.iter().filter(of_tool).eq(args.iter().filter(of_tool))
}

/// Whether both have the same values, whatever their names, and whether or not they are texts.
fn holds_same_values(given: &JsonObject, fitted: &JsonObject) -> bool {
    let texts = |arguments: &JsonObject| {
        let arguments = arguments.iter().filter(|(key, _)| *key != INTENT);
        let mut texts: Vec<String> = arguments
            .map(|(_, value)| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .collect();
        texts.sort();
        texts
    };
    texts(given) == texts(fitted)
}

/// Judges the text of a skipped call.
fn skipped(text: &str, is_error: bool, dialect: Dialect, found: &mut Findings) {
    let skipped = errors::skipped(dialect.base());
    // The text of another tool may mention skipping, too.
    let begins: String = skipped.split_inclusive(' ').take(2).collect();
    if is_error && text.starts_with(&begins) || text == skipped {
        let what = "the text of a call that was skipped";
        match is_error {
            true => found.expect_same(Rule::SkipText, "/result/content/0/text", what, &&*skipped, &text),
            false => found.fail_with_difference(Rule::SkipText, "/isError", what, &true, &false),
        }
    }
}

/// The outcome of a call, in its end and in its result.
#[derive(PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct CallOutcome<'a> {
    tool_name: &'a str,
    content: &'a [UserContent],
    #[serde(skip_serializing_if = "Option::is_none")]
    details: &'a Option<Value>,
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
}

impl<'a> CallOutcome<'a> {
    fn of_end(end: &'a ToolExecutionEndEvent) -> Self {
        let AgentToolResult { content, details, .. } = &end.result;
        Self {
            tool_name: &end.tool_name,
            content,
            details,
            is_error: end.is_error,
            duration_ms: end.duration_ms,
        }
    }

    fn of_result(result: &'a ToolResultMessage) -> Self {
        let ToolResultMessage { tool_name, content, details, is_error, duration_ms, .. } = result;
        Self { tool_name, content, details, is_error: *is_error, duration_ms: *duration_ms }
    }
}
