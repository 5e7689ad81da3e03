//! One tool call from its check to its result: hooks, the host's consent, execution.
//!
//! ```text
//! announced ─→ prepare_arguments hook, if its extension has one ─→ checked
//! checked ─→ tool_call hook ─→ the host's consent, if it is needed ─→ carried out ─→ tool_result hook ─→ over
//! ```

use crate::{
    core::Engine,
    extensions::{
        hook::{Hook, Veto},
        request::{CANCEL_TIMEOUT, RequestKind},
    },
    io::{CallId, Output, ToolSession, ToolStart},
    requests::ToolContinuation,
    run::batch::CallStage,
    todos::list::TODO_WRITE,
    tool_result::{error_result, mark_unseen_image},
    toolbox::arguments::ToolOwner,
};
use pi_rpc_protocol::{
    AgentToolResult, HookName, InputKind, JsonObject, ToolCall, ToolCallHook, ToolResultHook, errors,
};
use serde_json::json;

impl Engine {
    /// Checks the arguments after the `prepare_arguments` hook; `failure`: why there are none.
    pub(crate) fn on_call_prepared(&mut self, at: usize, arguments: JsonObject, failure: Option<String>) {
        if !self.slot(at).is_some_and(|slot| matches!(slot.stage, CallStage::Preparing)) {
            return;
        }
        if self.is_call_stopping(at) {
            let result = self.unrun_result(at);
            return self.end_unrun_call(at, result);
        }
        if let Some(text) = failure {
            return self.end_unrun_call(at, error_result(&text));
        }
        if let Some(slot) = self.slot(at) {
            slot.prepared = Some(arguments);
        }
        match self.check_arguments(at) {
            Ok(arguments) => self.send_tool_call_hook(at, arguments),
            Err(text) => self.end_unrun_call(at, error_result(&text)),
        }
    }

    /// Sends the `tool_call` hook.
    pub(crate) fn send_tool_call_hook(&mut self, at: usize, arguments: JsonObject) {
        let Some(call) = self.tool_call(at).cloned() else { return };
        self.set_call_stage(at, CallStage::Checked(arguments.clone()));
        let event = ToolCallHook {
            tool_call_id: call.id,
            tool_name: call.name,
            input: arguments,
            parent_tool_call_id: self.outer_call_id(at),
        };
        self.send_hook(Hook::ToolCall { event, is_changed: false, veto: None, at });
    }

    /// Handles the outcome of the `tool_call` hook: prevents the call, or requests consent and runs it; `changed`: its
    /// new arguments.
    pub(crate) fn on_call_hooked(&mut self, at: usize, changed: Option<JsonObject>, veto: Option<Veto>) {
        let Some(mut arguments) = self.checked_arguments(at) else { return };
        if let Some(changed) = changed {
            arguments = changed.clone();
            self.set_changed_arguments(at, changed);
        }
        if self.is_call_stopping(at) {
            let result = self.unrun_result(at);
            return self.end_unrun_call(at, result);
        }
        if let Some(Veto { reason, terminates }) = veto {
            let base = self.dialect.base();
            let reason = if reason.is_empty() { errors::blocked(base) } else { reason };
            let terminate = terminates.then_some(true);
            return self.end_unrun_call(at, AgentToolResult { terminate, ..error_result(&reason) });
        }
        self.request_consent(at, &arguments);
    }

    /// Runs a permitted call, after another check: its tool may have been replaced or removed.
    pub(crate) fn run_permitted_call(&mut self, at: usize) {
        match self.check_arguments(at) {
            // Arguments of an extension are not checked. Source: pi source.
            Ok(arguments) => {
                let arguments = self.changed_arguments(at).cloned().unwrap_or(arguments);
                match self.is_parallel() && !self.is_nested(at) {
                    // It runs together with the others.
                    true => self.set_call_stage(at, CallStage::Ready(arguments)),
                    false => self.run_tool(at, arguments),
                }
            }
            Err(text) => self.end_unrun_call(at, error_result(&text)),
        }
    }

    /// Runs a call at the owner of its tool: host, extension or server.
    pub(crate) fn run_tool(&mut self, at: usize, arguments: JsonObject) {
        let call = self.ids.call();
        let Some(tool_call) = self.tool_call(at).cloned() else { return };
        let now = self.now.monotonic;
        if let Some(slot) = self.slot(at) {
            (slot.stage, slot.began) = (CallStage::Running(call), Some(now));
            self.requests.tools.insert(call, ToolContinuation::Call(at));
        }
        if self.is_hooked(HookName::ToolResult) {
            self.set_changed_arguments(at, arguments.clone());
        }
        match self.tools.owner(&tool_call.name) {
            Some(ToolOwner::Host) => self.start_host_call(call, tool_call, arguments),
            Some(ToolOwner::Extension(place)) => {
                let ToolCall { id, name, .. } = tool_call;
                let is_running = self.with_extensions(|host, context| {
                    host.request_tool(place, call, id, name, arguments, context)
                });
                if !is_running {
                    let text = errors::not_running(self.dialect.base());
                    self.tool_end(call, error_result(&text), true);
                }
            }
            Some(ToolOwner::Server) if tool_call.name == TODO_WRITE => self.write_todos(call, &arguments),
            Some(ToolOwner::Server) | None => {
                self.start_tool(call, Some(tool_call.id), tool_call.name, arguments);
            }
        }
    }

    /// Has the server run one of its tools.
    pub(crate) fn start_tool(
        &mut self,
        call: CallId,
        tool_call_id: Option<String>,
        name: String,
        arguments: JsonObject,
    ) {
        let model = self.current_model();
        let session = Box::new(ToolSession {
            id: self.store.session.id().to_owned(),
            file: self.session_file(),
            model: model.map(|model| (model.provider, model.id)),
            level: self.models.level,
        });
        self.push(Output::StartTool(ToolStart { call, tool_call_id, name, arguments, session }));
    }

    /// Cancels all running calls, their requests and their dialogs.
    pub(crate) fn cancel_tools(&mut self) {
        for (call, name) in self.running_calls() {
            match self.tools.owner(&name) {
                _ if self.requests.host_tools.values().any(|other| *other == call) => {
                    self.cancel_host_call(call, &name);
                }
                // Cancelled with its request, below.
                Some(ToolOwner::Extension(_)) => {}
                _ => self.push(Output::CancelTool(call)),
            }
        }
        self.with_extensions(|host, context| {
            host.cancel_requests(RequestKind::is_of_call, CANCEL_TIMEOUT, context)
        });
        // The dialogs by which the host is asked about the calls, or whether the run goes on.
        while self.with_extensions(|host, context| host.close_next_dialog(|it| it.is_of_run(), context)) {}
    }

    /// Handles the end of a tool.
    pub(crate) fn tool_end(&mut self, call: CallId, result: AgentToolResult, is_error: bool) {
        match self.requests.tools.remove(&call) {
            Some(ToolContinuation::Call(at)) => {
                let result = self.with_image_marked(at, result);
                self.on_call_ended(at, result, is_error);
            }
            Some(ToolContinuation::Action) => {
                self.end_action(call, Ok(Some(json!({ "result": result, "isError": is_error }))));
            }
            // A cancelled request.
            None => {}
        }
    }

    /// The result of a call, in which an image is marked that our `read` returns and the model does not accept.
    fn with_image_marked(&self, at: usize, mut result: AgentToolResult) -> AgentToolResult {
        let is_read = self
            .tool_call(at)
            .is_some_and(|call| call.name == READ && self.tools.owner(&call.name) == Some(ToolOwner::Server));
        let model = self.current_model().filter(|model| is_read && !model.input.contains(&InputKind::Image));
        if let Some(model) = model {
            mark_unseen_image(&mut result, &model.id, self.dialect.record().tools.unseen_image);
        }
        result
    }

    /// Sends the `tool_result` hook for a call of the open turn, if registered, or ends the call.
    fn on_call_ended(&mut self, at: usize, result: AgentToolResult, is_error: bool) {
        let now = self.now.monotonic;
        if let Some(slot) = self.slot(at) {
            let took = slot.began.map(|began| now.saturating_sub(began).as_millis());
            slot.took = took.and_then(|took| u64::try_from(took).ok());
        }
        self.cancel_nested_calls(at);
        if self.is_call_stopping(at) || !self.is_hooked(HookName::ToolResult) {
            return self.end_call(at, result, is_error);
        }
        let Some(tool_call) = self.tool_call(at).cloned() else { return };
        let event = ToolResultHook {
            tool_call_id: tool_call.id,
            tool_name: tool_call.name,
            input: self.changed_arguments(at).cloned().unwrap_or(tool_call.arguments),
            content: result.content.clone(),
            details: result.details.clone(),
            is_error,
            structured_content: result.structured_content.clone(),
            parent_tool_call_id: self.outer_call_id(at),
        };
        self.set_call_stage(at, CallStage::Ended);
        self.send_hook(Hook::ToolResult { event, original: Box::new(result), at });
    }
}

/// The tool whose images are marked.
const READ: &str = "read";
