//! Calls that a tool makes to other tools while it runs (`call_tool` of extensions).
//!
//! They are calls of the batch like those of the model: arguments are checked, hooks run, the host is asked for its consent. Three
//! things differ. They begin while their outer call runs, side by side whatever the style; their end goes to the tool that made
//! them, so that there is no result message; and the result message of the outermost call records them. An outer call ends only
//! when all that it has called has ended: what still runs then is cancelled. Source: pi 1.6 documentation, observed.

use crate::{
    actions::task::ActionTask,
    core::Engine,
    extensions::{
        dialog::DialogOwner,
        request::{CANCEL_TIMEOUT, RequestKind},
    },
    io::{CallId, Output},
    requests::ToolContinuation,
    run::batch::{Batch, CallSlot, CallStage, NestedSlot},
    step::PendingStep,
    tool_result::error_result,
    toolbox::arguments::ToolOwner,
};
use pi_rpc_protocol::{
    AgentToolResult, ExtensionCallTool, JsonObject, NestedCall, NestedCallStatus, NestedCalls, ToolCall,
    UserContent, errors,
};
use serde_json::json;

/// The most nested calls of one turn. Decided here: the original has no limit.
const MOST_CALLS: usize = 10_000;

/// The most calls that one call makes at the same time; more wait. Decided here: the original has no limit.
const MOST_AT_ONCE: usize = 32;

/// Limits of the record in the result message. Source: pi 1.6 documentation.
const MOST_RECORDED: usize = 256;
const MOST_ARGUMENT_BYTES: usize = 8 * 1024;
const MOST_ARGUMENT_BYTES_TOGETHER: usize = 32 * 1024;
const MOST_ERROR_CHARACTERS: usize = 500;

/// Serving the action.
impl Engine {
    /// Serves `call_tool` of an extension.
    pub(crate) fn call_nested_tool(&mut self, process: CallId, action: ExtensionCallTool) {
        let ExtensionCallTool { id, origin, tool_name: name, arguments, .. } = action;
        let base = self.dialect.base();
        let outer = origin.and_then(|origin| self.outer_call(process, &origin));
        let refusal = match outer {
            _ if !self.dialect.record().nested_calls => errors::no_nested_calls(base),
            None => errors::no_outer_call(base),
            Some(outer) if self.is_stopping() || self.is_withdrawn(outer) => errors::tool_aborted(base),
            Some(_) if self.count_nested() >= MOST_CALLS => {
                errors::too_many_nested_calls(base, &MOST_CALLS.to_string())
            }
            Some(outer) => return self.add_nested_call(process, id, outer, name, arguments),
        };
        self.respond(process, Some(id), Err(refusal));
    }

    /// The place of the call for which the extension runs a tool by the request with this id.
    fn outer_call(&self, process: CallId, origin: &str) -> Option<usize> {
        let request = self.extensions.origin(process, origin)?;
        let call = self.extensions.called_tool(request)?;
        match self.requests.tools.get(&call)? {
            ToolContinuation::Call(at) => Some(*at),
            ToolContinuation::Action => None,
        }
    }

    fn add_nested_call(
        &mut self,
        process: CallId,
        id: String,
        outer: usize,
        name: String,
        arguments: JsonObject,
    ) {
        let Some(batch) = self.activity.batch() else { return };
        let at = batch.calls.len();
        let number = batch.nested_in(outer).count() + 1;
        let outer_id = &batch.calls[outer].call.id;
        let call = ToolCall {
            id: format!("{outer_id}/{number}"),
            name,
            arguments,
            arguments_error: None,
            thought_signature: None,
            intent: None,
            namespace: None,
        };
        let action = self.open_task(process, Some(id), ActionTask::NestedCall(at));
        let nesting = NestedSlot { outer, action, is_withdrawn: false, announced: None, record: None };
        if let Some(batch) = self.activity.batch_mut() {
            batch.calls.push(CallSlot { nesting: Some(nesting), ..CallSlot::new(call) });
        }
    }

    fn count_nested(&self) -> usize {
        let calls = self.activity.batch().into_iter().flat_map(|batch| &batch.calls);
        calls.filter(|slot| slot.nesting.is_some()).count()
    }
}

/// From announcement to end.
impl Engine {
    /// Performs one step of a nested call; `false` if there is none.
    pub(crate) fn advance_nested_calls(&mut self) -> bool {
        if self.release_next_nested_call() {
            return true;
        }
        // As among the calls of a message, tools of extensions alone are exclusive.
        let is_exclusive = |slot: &CallSlot| {
            let name = &slot.call.name;
            self.tools.is_exclusive(name) && matches!(self.tools.owner(name), Some(ToolOwner::Extension(_)))
        };
        let may_begin = |batch: &Batch, nesting: &NestedSlot, slot: &CallSlot| {
            let open = batch.nested_in(nesting.outer).filter(|other| other.stage.is_open()).count();
            let waits_for_exclusive = is_exclusive(slot)
                && batch.calls.iter().enumerate().any(|(at, other)| {
                    let is_beside = other.nesting.is_some() && !batch.is_within(nesting.outer, at);
                    is_beside && is_exclusive(other) && other.stage.is_open()
                });
            matches!(slot.stage, CallStage::Waiting) && open < MOST_AT_ONCE && !waits_for_exclusive
        };
        let Some(at) = self.first_nested(may_begin) else { return false };
        if self.is_call_stopping(at) {
            self.drop_nested_call(at);
            return true;
        }
        let now = self.now.monotonic;
        if let Some(nesting) = self.slot(at).and_then(|slot| slot.nesting.as_mut()) {
            nesting.announced = Some(now);
        }
        self.emit_call_start(at);
        self.perform_after_notifications(PendingStep::CheckCall(at));
        true
    }

    /// Emits the end of a nested call whose result is final; `false` if there is none.
    pub(crate) fn release_next_nested_call(&mut self) -> bool {
        let Some(at) = self.first_held_nested() else { return false };
        let stage = self.slot(at).map(|slot| std::mem::replace(&mut slot.stage, CallStage::Done));
        if let Some(CallStage::Held(result, is_error)) = stage {
            self.emit_call_end(at, result, is_error);
        }
        true
    }

    /// The first nested call whose end is held, and whose own tool has made no call that has not ended.
    fn first_held_nested(&self) -> Option<usize> {
        let batch = self.activity.batch()?;
        batch.calls.iter().enumerate().position(|(at, slot)| {
            slot.nesting.is_some() && matches!(slot.stage, CallStage::Held(..)) && !batch.has_open_calls(at)
        })
    }

    fn first_nested(&self, wanted: impl Fn(&Batch, &NestedSlot, &CallSlot) -> bool) -> Option<usize> {
        let batch = self.activity.batch()?;
        let is_it = |slot: &CallSlot| slot.nesting.as_ref().is_some_and(|it| wanted(batch, it, slot));
        batch.calls.iter().position(is_it)
    }

    /// Ends a nested call that was not announced: no frame tells of it.
    fn drop_nested_call(&mut self, at: usize) {
        let result = self.unrun_result(at);
        let Some(slot) = self.slot(at) else { return };
        slot.stage = CallStage::Done;
        let (id, action) = (slot.call.id.clone(), slot.nesting.as_ref().map(|nesting| nesting.action));
        if let Some(action) = action {
            let data = json!({ "toolCallId": id, "result": result, "isError": true });
            self.end_action(action, Ok(Some(data)));
        }
    }

    /// Passes the end of a nested call, which is emitted, to the tool that made it.
    pub(crate) fn end_nested_call(&mut self, at: usize, result: AgentToolResult, is_error: bool) {
        let now = self.now.monotonic;
        let Some(slot) = self.slot(at) else { return };
        slot.stage = CallStage::Done;
        let Some(nesting) = &mut slot.nesting else { return };
        let took = nesting.announced.map(|began| now.saturating_sub(began).as_millis());
        let error = is_error.then(|| error_text(&result)).filter(|text| !text.is_empty());
        nesting.record = Some(NestedCall {
            id: slot.call.id.clone(),
            name: slot.call.name.clone(),
            arguments: None,
            arguments_bytes: None,
            status: if is_error { NestedCallStatus::Error } else { NestedCallStatus::Ok },
            duration_ms: took.and_then(|took| u64::try_from(took).ok()),
            error,
        });
        let (action, id) = (nesting.action, slot.call.id.clone());
        let data = json!({ "toolCallId": id, "result": result, "isError": is_error });
        self.end_action(action, Ok(Some(data)));
    }

    /// Cancels the calls that the call at this place has made and that have not ended.
    pub(crate) fn cancel_nested_calls(&mut self, outer: usize) {
        let nested: Vec<usize> = self.activity.batch().map_or_else(Vec::new, |batch| {
            let calls = batch.calls.iter().enumerate();
            let of_it = |slot: &CallSlot| slot.nesting.as_ref().is_some_and(|it| it.outer == outer);
            calls.filter(|(_, slot)| of_it(slot)).map(|(at, _)| at).collect()
        });
        nested.into_iter().for_each(|at| self.cancel_nested_call(at));
    }

    /// Cancels a nested call. Its end still comes: at once if it does not run.
    pub(crate) fn cancel_nested_call(&mut self, at: usize) {
        let Some(slot) = self.slot(at) else { return };
        let Some(nesting) = &mut slot.nesting else { return };
        if std::mem::replace(&mut nesting.is_withdrawn, true) {
            return;
        }
        let (name, stage) = (slot.call.name.clone(), &slot.stage);
        let running = match stage {
            CallStage::Running(call) => Some(*call),
            _ => None,
        };
        self.cancel_nested_calls(at);
        if let Some(call) = running {
            match self.tools.owner(&name) {
                _ if self.requests.host_tools.values().any(|other| *other == call) => {
                    self.cancel_host_call(call, &name);
                }
                Some(ToolOwner::Extension(_)) => self.with_extensions(|host, context| {
                    let is_it = |kind: &RequestKind| matches!(kind, RequestKind::Tool(of) if *of == call);
                    host.cancel_requests(is_it, CANCEL_TIMEOUT, context);
                }),
                _ => self.push(Output::CancelTool(call)),
            }
        }
        // As if the host had not consented.
        self.with_extensions(|host, context| {
            host.close_dialogs(|dialog| matches!(dialog.owner, DialogOwner::Call(of) if of == at), context);
        });
    }

    /// Whether the tool that made the call does not wait for it any more.
    pub(crate) fn is_withdrawn(&self, at: usize) -> bool {
        let slot = self.activity.batch().and_then(|batch| batch.calls.get(at));
        slot.and_then(|slot| slot.nesting.as_ref()).is_some_and(|nesting| nesting.is_withdrawn)
    }

    /// Whether the call was made by a tool.
    pub(crate) fn is_nested(&self, at: usize) -> bool {
        self.activity.batch().and_then(|batch| batch.calls.get(at)).is_some_and(|slot| slot.nesting.is_some())
    }

    /// The id of the call whose tool made the call at this place.
    pub(crate) fn outer_call_id(&self, at: usize) -> Option<String> {
        let batch = self.activity.batch()?;
        let nesting = batch.calls.get(at)?.nesting.as_ref()?;
        Some(batch.calls.get(nesting.outer)?.call.id.clone())
    }

    /// The record of the calls that the call at this place and those in it have made; `None`: none.
    pub(crate) fn nested_record(&self, at: usize) -> Option<NestedCalls> {
        let batch = self.activity.batch()?;
        let mut record = NestedCalls { calls: Vec::new(), complete: true };
        let mut room = MOST_ARGUMENT_BYTES_TOGETHER;
        for slot in &batch.calls {
            let Some(nesting) = slot.nesting.as_ref().filter(|nesting| batch.is_within(nesting.outer, at))
            else {
                continue;
            };
            let Some(ended) = &nesting.record else { continue };
            if record.calls.len() == MOST_RECORDED {
                record.complete = false;
                break;
            }
            let bytes = serde_json::to_string(&slot.call.arguments).map_or(0, |text| text.len());
            let mut call = ended.clone();
            if bytes > MOST_ARGUMENT_BYTES || bytes > room {
                call.arguments_bytes = Some(bytes as u64);
                record.complete = false;
            } else {
                room -= bytes;
                call.arguments = Some(slot.call.arguments.clone());
            }
            record.calls.push(call);
        }
        Some(record).filter(|record| !record.calls.is_empty())
    }

    /// The result of a nested call that is not run because nobody waits for it.
    pub(crate) fn withdrawn_result(&self) -> AgentToolResult {
        error_result(&errors::tool_aborted(self.dialect.base()))
    }
}

impl Batch {
    /// The calls that the call at this place has made itself.
    pub fn nested_in(&self, outer: usize) -> impl Iterator<Item = &CallSlot> {
        self.calls.iter().filter(move |slot| slot.nesting.as_ref().is_some_and(|it| it.outer == outer))
    }

    /// Whether a call that the call at this place has made has not ended.
    pub fn has_open_calls(&self, outer: usize) -> bool {
        self.nested_in(outer).any(|slot| !matches!(slot.stage, CallStage::Done))
    }

    /// Whether the call at `at` is the one at `outer`, or was made within it.
    fn is_within(&self, mut at: usize, outer: usize) -> bool {
        loop {
            if at == outer {
                return true;
            }
            match self.calls.get(at).and_then(|slot| slot.nesting.as_ref()) {
                Some(nesting) => at = nesting.outer,
                None => return false,
            }
        }
    }
}

/// The text of a failed result, shortened.
fn error_text(result: &AgentToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| match block {
        UserContent::Text(block) => Some(block.text.as_str()),
        UserContent::Image(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n").chars().take(MOST_ERROR_CHARACTERS).collect()
}
