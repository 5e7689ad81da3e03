//! Outstanding actions of extensions, and the responses to them.
//!
//! Each action that has an id gets one response: its outcome, or why it failed. What is done for it is the engine's.

use crate::{
    extensions::host::{Action, Context, ExtensionHost},
    io::CallId,
};
use pi_rpc_protocol::{ExtensionResponse, FromExtension, errors};
use serde_json::Value;

impl ExtensionHost {
    /// Registers an action that does not end at once.
    pub fn open_action(&mut self, action: Action, context: &mut Context<'_>) -> CallId {
        let call = context.ids.call();
        self.actions.insert(call, action);
        call
    }

    /// Ends an action with its outcome.
    pub fn end_action(&mut self, call: CallId, outcome: Result<Option<Value>, String>) {
        if let Some(Action { process, id, .. }) = self.actions.remove(&call) {
            self.respond(process, id, outcome);
        }
    }

    /// Responds to an action of an extension.
    pub fn respond(&mut self, process: CallId, id: Option<String>, outcome: Result<Option<Value>, String>) {
        let Some(id) = id else { return };
        let response = match outcome {
            Ok(data) => ExtensionResponse { id, success: true, error: None, data },
            Err(error) => ExtensionResponse { id, success: false, error: Some(error), data: None },
        };
        self.send(process, response);
    }

    /// Fails an action of an extension that is being stopped.
    pub(super) fn decline(&mut self, process: CallId, action: &FromExtension, context: &Context<'_>) {
        let id = action.action_id().map(str::to_owned);
        self.respond(process, id, Err(errors::shutting_down(context.dialect.base())));
    }

    /// The outstanding action of a process under the extension's own id.
    pub fn action(&self, process: CallId, own: &str) -> Option<CallId> {
        let is_it = |it: &Action| it.process == process && it.id.as_deref() == Some(own);
        self.actions.iter().find(|(_, action)| is_it(action)).map(|(call, _)| *call)
    }

    /// Drops every request, and fails every outstanding action: the process exits.
    pub fn end_requests_and_actions(&mut self, context: &Context<'_>) {
        self.requests.clear();
        let text = errors::shutting_down(context.dialect.base());
        while let Some((_, Action { process, id, .. })) = self.actions.pop_first() {
            self.respond(process, id, Err(text.clone()));
        }
    }
}
