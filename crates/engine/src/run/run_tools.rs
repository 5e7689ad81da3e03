//! Runs the tool calls of one assistant message in the dialect's style: in turn, side by side, or together.
//!
//! | Style | Calls | Steering that arrives | Results |
//! |---|---|---|---|
//! | `sequential-skip` | one after another | the rest is skipped | as each call ends |
//! | `parallel-skip` | checked in order, then all at once | skips everything while calls are checked | in order, when all have ended |
//! | `parallel-noskip` | the same | waits for the batch | the same |
//! | `parallel-as-completed` | the same | waits for the batch | each end as it comes, and its result |
//! | `interrupt` | exclusive tools alone, others side by side | interrupt mode `immediate`: running calls are stopped and the rest is skipped; `wait`: waits for the batch | as each call ends |
//!
//! In some dialects the results of a batch come together: each call ends as it comes, and the messages follow in order
//! when all have ended. A message that was cut off has its results one by one all the same.

use crate::{
    budget::dollars,
    core::Engine,
    extensions::hook::Hook,
    io::CallId,
    queues::NextTurn,
    requests::ToolContinuation,
    run::{
        batch::{Batch, CallSlot, CallStage},
        partial_message::has_failed,
        state::{EarlyEnd, Run},
    },
    step::PendingStep,
    tool_result::error_result,
    toolbox::arguments::ToolOwner,
};
use pi_rpc_protocol::{
    AgentMessage, AgentToolResult, AssistantMessage, DialectToolExecution, DialectUnstartedCalls, HookName,
    InterruptMode, JsonObject, PrepareArgumentsHook, StopReason, ToolCall, ToolExecutionEndEvent,
    ToolExecutionStartEvent, ToolExecutionUpdateEvent, ToolResultMessage, errors,
};
use serde_json::json;

impl Engine {
    /// Starts the batch of the calls of `message`. Calls of a failed message get error results instead.
    pub(crate) fn start_batch(&mut self, message: &AssistantMessage, calls: Vec<ToolCall>) {
        let alone = |call: &ToolCall| {
            let of_extension = matches!(self.tools.owner(&call.name), Some(ToolOwner::Extension(_)));
            of_extension && self.tools.is_exclusive(&call.name)
        };
        let in_turn = calls.iter().any(alone);
        let calls = calls.into_iter().map(CallSlot::new).collect();
        let unrun = has_failed(message).then(|| self.failed_text(message));
        self.activity.start_batch(Batch {
            calls,
            results: Vec::new(),
            skipping: false,
            checks_steering: false,
            unrun,
            cut_off: message.stop_reason == StopReason::Length,
            terminates: true,
            in_turn,
        });
    }

    /// Emits progress of a tool.
    pub(crate) fn tool_progress(&mut self, call: CallId, partial_result: AgentToolResult) {
        // Progress of a tool of an action is not emitted.
        let Some(&ToolContinuation::Call(at)) = self.requests.tools.get(&call) else { return };
        self.note_tool_usage(at, partial_result.usage.as_ref());
        if self.activity.run().is_none_or(Run::ends_early) {
            return;
        }
        let Some(tool_call) = self.batch().map(|batch| batch.calls[at].call.clone()) else { return };
        self.emit_event(ToolExecutionUpdateEvent {
            tool_call_id: tool_call.id,
            tool_name: tool_call.name,
            args: tool_call.arguments,
            partial_result,
            parent_tool_call_id: self.outer_call_id(at),
        });
    }

    /// Ends a call whose result no hook changes any more.
    pub(crate) fn end_call(&mut self, at: usize, result: AgentToolResult, is_error: bool) {
        if !matches!(self.slot(at).map(|slot| &slot.stage), Some(CallStage::Running(_) | CallStage::Ended)) {
            return;
        }
        let (result, is_error) = match self.batch().is_some_and(|batch| batch.skipping) && !self.is_parallel()
        {
            // Cancelled for steering: its own result does not count.
            true => self.skipped_result(),
            false => (result, is_error),
        };
        self.set_call_stage(at, CallStage::Held(result, is_error));
    }

    /// Ends a call that has not run: it was prevented, or the run is ending.
    pub(crate) fn end_unrun_call(&mut self, at: usize, result: AgentToolResult) {
        match self.is_parallel() {
            // The next call is checked once this one is decided.
            true => self.emit_call_end(at, result, true),
            false => self.set_call_stage(at, CallStage::Held(result, true)),
        }
    }

    /// Performs one step of the batch: starts, skips or ends a call, or ends the turn when all are emitted;
    /// `false` while the calls that run are waited for.
    pub(crate) fn advance_batch(&mut self) -> bool {
        if self.advance_nested_calls() {
            return true;
        }
        let Some(batch) = self.batch() else { return false };
        if batch.calls.iter().all(|slot| matches!(slot.stage, CallStage::Emitted(..) | CallStage::Done)) {
            match self.first_in_stage(|stage| matches!(stage, CallStage::Emitted(..))) {
                Some(at) => self.emit_call_result(at),
                None => self.end_batch(),
            }
            return true;
        }
        if batch.unrun.is_some() {
            let Some(at) = self.first_in_stage(|stage| matches!(stage, CallStage::Waiting)) else {
                return false;
            };
            self.emit_call_start(at);
            self.perform_after_notifications(PendingStep::CheckCall(at));
            return true;
        }
        if self.omits_unstarted_calls() && self.omit_unstarted_calls() {
            return true;
        }
        match self.is_parallel() {
            true => self.advance_parallel_batch(),
            false => self.advance_call_by_call(),
        }
    }

    /// Whether calls that have not begun get no result: the run is aborted, in a dialect that leaves them out.
    fn omits_unstarted_calls(&self) -> bool {
        let is_aborted = self.activity.run().is_some_and(|run| run.early_end == Some(EarlyEnd::Aborted));
        is_aborted && self.dialect.record().unstarted_calls == DialectUnstartedCalls::Omitted
    }

    /// Ends the calls that have not begun without a frame; `false` if there is none.
    fn omit_unstarted_calls(&mut self) -> bool {
        let mut omits = false;
        while let Some(at) = self.first_in_stage(|stage| matches!(stage, CallStage::Waiting)) {
            self.set_call_stage(at, CallStage::Done);
            omits = true;
        }
        omits
    }

    /// Advances a batch whose calls start one by one, or side by side where style and tool allow it.
    fn advance_call_by_call(&mut self) -> bool {
        if self.emit_next_call_end() {
            return true;
        }
        let Some(at) = self.first_in_stage(|stage| matches!(stage, CallStage::Waiting)) else { return false };
        let running = self.count_running();
        if self.is_stopping() {
            // Calls that were never started come last, in order.
            if running > 0 {
                return false;
            }
            self.emit_call_start(at);
            self.perform_after_notifications(PendingStep::CheckCall(at));
            return true;
        }
        if running > 0 && !self.may_run_beside(at) {
            return false;
        }
        self.emit_call_start(at);
        self.perform_after_notifications(PendingStep::CheckCall(at));
        true
    }

    /// Emits the end of a call that is over, and checks for steering after it; `false` if there is none. For the
    /// styles that emit each call by itself.
    pub(crate) fn emit_next_call_end(&mut self) -> bool {
        if self.release_next_nested_call() {
            return true;
        }
        let batch = self.activity.batch_mut();
        if batch.is_some_and(|batch| std::mem::take(&mut batch.checks_steering)) {
            self.check_steering();
            return true;
        }
        let waits = self.first_held().is_some();
        if waits {
            self.release_held();
        }
        waits
    }

    /// Whether the call may run beside the ones that run.
    fn may_run_beside(&self, at: usize) -> bool {
        let Some(batch) = self.batch() else { return false };
        let exclusive = |slot: &CallSlot| self.tools.is_exclusive(&slot.call.name);
        let alone = batch.calls.iter().any(|slot| slot.stage.is_open() && exclusive(slot));
        self.style() == DialectToolExecution::Interrupt && !alone && !exclusive(&batch.calls[at])
    }

    /// Announces and checks calls in order, runs all at once, and emits their ends: as they come, or in order when all have
    /// ended.
    fn advance_parallel_batch(&mut self) -> bool {
        let as_completed = self.style() == DialectToolExecution::ParallelAsCompleted;
        if (as_completed || self.emits_results_together()) && self.first_held().is_some() {
            self.release_held();
            return true;
        }
        // Calls are checked one after another; running ones are awaited below.
        if self
            .first_in_stage(|stage| matches!(stage, CallStage::Preparing | CallStage::Checked(_)))
            .is_some()
        {
            return false;
        }
        let waiting = self.first_in_stage(|stage| matches!(stage, CallStage::Waiting));
        let ready = self.first_in_stage(|stage| matches!(stage, CallStage::Ready(_)));
        if self.is_stopping()
            && let Some(at) = ready
        {
            self.emit_unrun_call(at);
        } else if self.is_stopping()
            && let Some(at) = waiting
        {
            self.emit_call_start(at);
            self.perform_after_notifications(PendingStep::CheckCall(at));
        } else if let Some(at) = waiting {
            self.prepare(at);
        } else if ready.is_some() {
            self.run_ready();
        } else if self.count_running() == 0 {
            self.release_held();
        } else {
            return false;
        }
        true
    }

    /// Announces and checks a call; steering that came in between skips them all.
    fn prepare(&mut self, at: usize) {
        if at > 0 && self.style() == DialectToolExecution::ParallelSkip && !self.queues.steering.is_empty() {
            return self.skip_rest();
        }
        self.emit_call_start(at);
        self.perform_after_notifications(PendingStep::CheckCall(at));
    }

    /// Checks a call that was announced; its hooks follow.
    pub(crate) fn check_announced(&mut self, at: usize) {
        if let Some(text) = self.batch().and_then(|batch| batch.unrun.clone()) {
            return self.emit_call_end(at, error_result(&text), true);
        }
        if self.is_call_stopping(at) {
            return self.emit_unrun_call(at);
        }
        if let Some(place) = self.preparer(at) {
            let Some(call) = self.tool_call(at).cloned() else { return };
            self.set_call_stage(at, CallStage::Preparing);
            let event =
                PrepareArgumentsHook { tool_call_id: call.id, tool_name: call.name, input: call.arguments };
            return self.send_hook_to(place, Hook::PrepareArguments { event, failure: None, at });
        }
        match self.check_arguments(at) {
            Ok(arguments) => self.send_tool_call_hook(at, arguments),
            Err(text) => self.emit_call_end(at, error_result(&text), true),
        }
    }

    /// Runs all permitted calls.
    fn run_ready(&mut self) {
        while let Some(at) = self.first_in_stage(|stage| matches!(stage, CallStage::Ready(_))) {
            let stage = self.slot(at).map(|slot| std::mem::replace(&mut slot.stage, CallStage::Done));
            if let Some(CallStage::Ready(arguments)) = stage {
                self.run_tool(at, arguments);
            }
        }
    }

    /// Emits the ends of calls that were held, in order.
    fn release_held(&mut self) {
        let Some(at) = self.first_held() else { return };
        let stage = self.slot(at).map(|slot| std::mem::replace(&mut slot.stage, CallStage::Done));
        if let Some(CallStage::Held(result, is_error)) = stage {
            self.emit_call_end(at, result, is_error);
        }
    }

    /// Checks for steering after a call; in some styles it skips the rest of the batch.
    fn check_steering(&mut self) {
        let interrupt = self.activity.run().map(|run| run.interrupt);
        let skips = match self.style() {
            DialectToolExecution::SequentialSkip => true,
            DialectToolExecution::Interrupt => interrupt == Some(InterruptMode::Immediate),
            DialectToolExecution::ParallelSkip
            | DialectToolExecution::ParallelNoskip
            | DialectToolExecution::ParallelAsCompleted => false,
        };
        if skips && !self.is_stopping() && !self.queues.steering.is_empty() {
            self.skip_rest();
            self.cancel_tools();
        }
    }

    /// Marks the calls of the batch that have not begun as skipped.
    fn skip_rest(&mut self) {
        if let Some(batch) = self.activity.batch_mut() {
            batch.skipping = true;
        }
    }

    /// The text of the results for calls of a failed message.
    fn failed_text(&self, message: &AssistantMessage) -> String {
        let base = self.dialect.base();
        let reason = message.error_message.clone().unwrap_or_default();
        let text = match message.stop_reason {
            StopReason::Aborted => errors::call_aborted(base, &reason),
            _ => errors::call_failed(base, &reason),
        };
        // Without a reason the sentence ends there.
        text.strip_suffix(": ").map_or(text.clone(), |sentence| format!("{sentence}."))
    }

    /// The arguments as the tool takes them, or the text of the error result.
    pub(crate) fn check_arguments(&self, at: usize) -> Result<JsonObject, String> {
        let Some(batch) = self.batch() else { return Err(String::new()) };
        let slot = &batch.calls[at];
        let CallSlot { call, prepared, .. } = slot;
        let base = self.dialect.base();
        if slot.nesting.is_some() {
            let arguments = prepared.as_ref().unwrap_or(&call.arguments);
            return self.tools.check_nested(base, &call.name, arguments);
        }
        if batch.cut_off {
            return Err(errors::call_cut_off(base, &call.name));
        }
        self.tools.check_call(base, call, prepared.as_ref())
    }

    /// Emits `tool_execution_start` of a call.
    pub(crate) fn emit_call_start(&mut self, at: usize) {
        if self.slot(at).is_some_and(|slot| std::mem::take(&mut slot.before.is_announced)) {
            return self.replay_call_start(at);
        }
        let Some(call) = self.slot(at).map(|slot| slot.call.clone()) else { return };
        self.emit_event(ToolExecutionStartEvent {
            tool_call_id: call.id,
            tool_name: call.name,
            args: call.arguments,
            intent: call.intent,
            parent_tool_call_id: self.outer_call_id(at),
        });
    }

    /// Emits the end of a call that is not run.
    fn emit_unrun_call(&mut self, at: usize) {
        let result = self.unrun_result(at);
        self.emit_call_end(at, result, true);
    }

    /// The result of a skipped call.
    fn skipped_result(&self) -> (AgentToolResult, bool) {
        (error_result(&errors::skipped(self.dialect.base())), true)
    }

    /// The result of a call that was never started: aborted or skipped.
    pub(crate) fn unrun_result(&self, at: usize) -> AgentToolResult {
        if self.is_withdrawn(at) {
            return self.withdrawn_result();
        }
        if !self.activity.run().is_some_and(Run::ends_early) {
            return self.skipped_result().0;
        }
        let base = self.dialect.base();
        let one_text = self.dialect.record().unstarted_calls == DialectUnstartedCalls::OneText;
        let bash = !one_text && self.tool_call(at).is_some_and(|call| call.name == BASH);
        error_result(&if bash { errors::bash_aborted(base) } else { errors::tool_aborted(base) })
    }

    /// `tool_execution_end` and, right behind it or when all calls have ended, the result message.
    pub(crate) fn emit_call_end(&mut self, at: usize, mut result: AgentToolResult, is_error: bool) {
        let Some(slot) = self.slot(at) else { return };
        // An aborted tool has used what it has used.
        let used = slot.used.take().filter(|used| used.total_tokens > 0 || dollars(used) > 0.0);
        result.usage = result.usage.or(used);
        let (call, duration_ms) = (slot.call.clone(), slot.took);
        slot.stage = CallStage::Emitted(result.clone(), is_error);
        let ended = self.is_nested(at).then(|| result.clone());
        self.emit_event(ToolExecutionEndEvent {
            tool_call_id: call.id,
            tool_name: call.name,
            result,
            is_error,
            is_warning: Some(false),
            duration_ms,
            parent_tool_call_id: self.outer_call_id(at),
        });
        if let Some(result) = ended {
            return self.end_nested_call(at, result, is_error);
        }
        if !self.emits_results_together() || self.batch().is_some_and(|batch| batch.cut_off) {
            self.perform_after_notifications(PendingStep::EmitCallResult(at));
        }
    }

    /// Emits the result message of a call whose end is emitted.
    pub(crate) fn emit_call_result(&mut self, at: usize) {
        let now = self.now.wall;
        let nested_calls = self.nested_record(at);
        let Some(slot) = self.slot(at) else { return };
        let CallStage::Emitted(result, is_error) = std::mem::replace(&mut slot.stage, CallStage::Done) else {
            return;
        };
        let (call, duration_ms) = (slot.call.clone(), slot.took);
        let terminates = result.terminate == Some(true);
        let message = ToolResultMessage {
            tool_call_id: call.id,
            tool_name: call.name,
            content: result.content,
            details: result.details,
            is_error,
            is_warning: Some(false),
            attribution: None,
            pruned_at: None,
            timestamp: now,
            usage: result.usage,
            duration_ms,
            nested_calls,
        };
        self.emit_whole_message(AgentMessage::ToolResult(message.clone()));
        if let Some(batch) = self.activity.batch_mut() {
            batch.results.push(message);
            batch.terminates &= terminates;
            batch.checks_steering = true;
        }
    }

    /// Adds empty details to a result, in dialects whose tools always send them.
    pub(crate) fn completed(&self, mut result: AgentToolResult) -> AgentToolResult {
        if self.dialect.record().empty_result_details {
            result.details.get_or_insert_with(|| json!({}));
        }
        result
    }
}

/// Access to the batch.
impl Engine {
    /// The dialect's style of tool execution.
    const fn style(&self) -> DialectToolExecution {
        self.dialect.record().tool_execution
    }

    /// Whether calls run side by side: the style allows that, and no tool of the batch is exclusive.
    pub(crate) fn is_parallel(&self) -> bool {
        let parallel = matches!(
            self.style(),
            DialectToolExecution::ParallelSkip
                | DialectToolExecution::ParallelNoskip
                | DialectToolExecution::ParallelAsCompleted
        );
        parallel && !self.batch().is_some_and(|batch| batch.in_turn)
    }

    /// Whether all result messages are emitted after the ends of all calls.
    const fn emits_results_together(&self) -> bool {
        self.dialect.record().results_together
    }

    fn batch(&self) -> Option<&Batch> {
        self.activity.batch()
    }

    /// The call at this place of the batch.
    pub(crate) fn slot(&mut self, at: usize) -> Option<&mut CallSlot> {
        self.activity.batch_mut()?.calls.get_mut(at)
    }

    /// Moves a call to a stage.
    pub(crate) fn set_call_stage(&mut self, at: usize, stage: CallStage) {
        if let Some(slot) = self.slot(at) {
            slot.stage = stage;
        }
    }

    /// The first call of the model in a stage that `wanted` accepts.
    fn first_in_stage(&self, wanted: impl Fn(&CallStage) -> bool) -> Option<usize> {
        self.batch()?.calls.iter().position(|slot| slot.nesting.is_none() && wanted(&slot.stage))
    }

    /// The first call of the model whose end is held, and whose tool has made no call that has not ended.
    fn first_held(&self) -> Option<usize> {
        let batch = self.batch()?;
        let is_held = |(at, slot): (usize, &CallSlot)| {
            slot.nesting.is_none() && matches!(slot.stage, CallStage::Held(..)) && !batch.has_open_calls(at)
        };
        batch.calls.iter().enumerate().position(is_held)
    }

    /// How many calls have been taken up and are not over.
    fn count_running(&self) -> usize {
        let calls = self.batch().into_iter().flat_map(|batch| &batch.calls);
        calls.filter(|slot| slot.stage.is_open()).count()
    }

    /// The calls that run, with the names of their tools.
    pub(crate) fn running_calls(&self) -> Vec<(CallId, String)> {
        let calls = self.batch().into_iter().flat_map(|batch| &batch.calls);
        let running = calls.filter_map(|slot| match slot.stage {
            CallStage::Running(call) => Some((call, slot.call.name.clone())),
            _ => None,
        });
        running.collect()
    }

    /// The tool call at this place of the batch.
    pub(crate) fn tool_call(&self, at: usize) -> Option<&ToolCall> {
        Some(&self.batch()?.calls.get(at)?.call)
    }

    /// The place of the extension that may change the arguments of a call, if it has any, before they are checked.
    fn preparer(&self, at: usize) -> Option<usize> {
        let batch = self.batch().filter(|batch| !batch.cut_off)?;
        let CallSlot { call, nesting, .. } = batch.calls.get(at)?;
        let name = Some(&call.name).filter(|_| call.arguments_error.is_none())?;
        let may_run = match nesting {
            Some(_) => self.tools.is_callable(name),
            None => self.tools.is_offered(name),
        };
        match self.tools.owner(name).filter(|_| may_run)? {
            ToolOwner::Extension(place) => {
                self.extensions.hooked_places(HookName::PrepareArguments).contains(&place).then_some(place)
            }
            ToolOwner::Server | ToolOwner::Host => None,
        }
    }

    /// The call runs with other arguments than the model's.
    pub(crate) fn set_changed_arguments(&mut self, at: usize, arguments: JsonObject) {
        if let Some(slot) = self.slot(at) {
            slot.changed = Some(arguments);
        }
    }

    /// The arguments that an extension has changed the call's to.
    pub(crate) fn changed_arguments(&self, at: usize) -> Option<&JsonObject> {
        self.batch()?.calls.get(at)?.changed.as_ref()
    }

    /// The arguments of a call in the stage `Checked`.
    pub(crate) fn checked_arguments(&self, at: usize) -> Option<JsonObject> {
        match &self.batch()?.calls.get(at)?.stage {
            CallStage::Checked(arguments) => Some(arguments.clone()),
            _ => None,
        }
    }

    /// Whether the call at this place is not run any more if it has not begun.
    pub(crate) fn is_call_stopping(&self, at: usize) -> bool {
        self.is_stopping() || self.is_withdrawn(at)
    }

    /// Whether calls that have not begun are not run any more.
    pub(crate) fn is_stopping(&self) -> bool {
        self.activity.run().is_none_or(Run::ends_early) || self.batch().is_some_and(|batch| batch.skipping)
    }

    /// Ends the batch and its turn, and continues or ends the run. The tools may end it, unless messages are queued.
    fn end_batch(&mut self) {
        let Some(batch) = self.activity.take_batch() else { return };
        let over = self.activity.answer().is_none_or(has_failed);
        self.end_turn(batch.results);
        self.perform_after_notifications(match over {
            true => PendingStep::EndRun,
            false if batch.terminates && !self.is_ending_run() => {
                PendingStep::ContinueRun(NextTurn::Messages)
            }
            false => PendingStep::ContinueRun(NextTurn::Results),
        });
    }
}

/// The tool for whose abort there is a separate text.
const BASH: &str = "bash";
