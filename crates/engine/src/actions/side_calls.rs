//! Actions outside of the conversation: model requests, labels, choice of tools, waiting for idle.

use crate::{
    actions::task::ActionTask,
    core::Engine,
    io::{CallId, ModelCall, Purpose},
    prompt::Recipient,
    requests::ModelContinuation,
    run::partial_message::PartialMessage,
    store::after_append::{ChangeResponse, Rollback},
};
use pi_rpc_model::types::ToolSpec;
use pi_rpc_protocol::{ExtensionComplete, ExtensionSetLabel, ExtensionTool, StopReason, errors};
use pi_rpc_session::NewEntry;
use serde_json::json;
use std::sync::Arc;

impl Engine {
    /// Labels an entry, or takes its label away.
    pub(crate) fn set_label(&mut self, process: CallId, action: ExtensionSetLabel) {
        let ExtensionSetLabel { id, entry_id: target, label, .. } = action;
        if self.store.session.tree().get(&target).is_none() {
            let text = errors::no_such_entry(self.dialect.base(), &target);
            return self.respond(process, id, Err(text));
        }
        let appended = self.append(NewEntry::Label { target, label });
        let before = Rollback { changes: 1, appended, ..self.rollback_point() };
        self.respond_after_append(
            before,
            ChangeResponse::Success(Recipient::Extension { process, id, event: None }),
        );
    }

    /// Ends the next action that waits for idle; `false` if there is none.
    pub(crate) fn resolve_idle_waits(&mut self) -> bool {
        if self.is_working() || !self.backlog.after_run.is_empty() {
            return false;
        }
        let waiting = self.requests.actions.0.iter().find(|(_, task)| matches!(task, ActionTask::AwaitIdle));
        let Some((&call, _)) = waiting else { return false };
        self.end_action(call, Ok(None));
        true
    }

    /// Serves `complete`: requests a model outside of the conversation.
    pub(crate) fn request_completion(&mut self, process: CallId, action: ExtensionComplete) {
        let ExtensionComplete {
            id,
            provider,
            model_id,
            system_prompt,
            messages,
            tools,
            level,
            max_tokens,
            ..
        } = action;
        let Some(place) = self.find_usable(&provider, &model_id) else {
            let text = errors::model_not_found(self.dialect.base(), &provider, &model_id);
            return self.respond(process, Some(id), Err(text));
        };
        let choice = &self.models.all[place];
        let (model, level) = (choice.model.clone(), level.map(|level| choice.clamp(level)));
        let call = self.open_task(process, Some(id), ActionTask::Model);
        let request = ModelCall {
            call,
            place,
            model,
            level,
            session_id: self.store.session.id().to_owned(),
            system_prompt: system_prompt.unwrap_or_default().into(),
            messages: Arc::new(messages.into_iter().map(Arc::new).collect()),
            has_system_messages: false,
            tools: tools.into_iter().flatten().map(spec).collect(),
            forced_tool: None,
            count: self.requests.models_made,
            purpose: Purpose::Extension(max_tokens),
        };
        self.expect_answer(&request, ModelContinuation::Action);
        self.request_model(request);
    }

    /// Cancels the request of a model for an extension: the outcome is what has arrived.
    pub(crate) fn stop_model_action(&mut self, call: CallId) {
        let Some(mut partial) = self.cancel_model(call) else { return };
        let text = errors::request_aborted(self.dialect.base());
        partial.close(StopReason::Aborted, Some(text), self.now);
        self.end_model_action(call, partial);
    }

    /// Ends the action of an extension that requested a model, with its answer.
    pub(crate) fn end_model_action(&mut self, call: CallId, partial: PartialMessage) {
        self.end_action(call, Ok(Some(json!({ "message": partial.finish() }))));
    }
}

/// A tool as a model is offered it.
fn spec(tool: ExtensionTool) -> ToolSpec {
    ToolSpec {
        name: tool.name,
        description: tool.description,
        parameters: Arc::new(tool.parameters.into()),
        exclusive: false,
        output: None,
    }
}
