//! Actions outside of the conversation: tools, requests of models, labels, the choice of tools.

use crate::engine::{
    actions::task::Task,
    core::Engine,
    io::{CallId, ModelCall, Purpose},
    prompt::Reply,
    run::partial_message::{PartialMessage, Progress},
    store::persist::{Answer, Before},
};
use crate::{
    model::types::{StreamEvent, ToolSpec},
    protocol::{AgentToolResult, ExtensionComplete, ExtensionSetLabel, ExtensionTool, StopReason, errors},
    session::NewEntry,
};
use serde_json::json;
use std::sync::Arc;

impl Engine {
    /// Labels an entry, or takes its label away.
    pub(in crate::engine) fn set_label(&mut self, process: CallId, action: ExtensionSetLabel) {
        let ExtensionSetLabel { id, entry_id: target, label, .. } = action;
        if self.session.tree().get(&target).is_none() {
            let text = errors::no_such_entry(self.dialect.base(), &target);
            return self.respond(process, id, Err(text));
        }
        let appended = self.keep(NewEntry::Label { target, label });
        let before = Before { changes: 1, appended, ..self.before() };
        self.answer_kept(before, Answer::Reply(Reply::Extension { process, id, event: None }));
    }

    /// The model may call these tools from its next request on; names of others are passed over.
    pub(in crate::engine) fn choose_tools(&mut self, names: &[String]) {
        self.tools.choose(names);
        self.renew_instructions();
    }

    /// Tells those who wait for it that nothing goes on; `false` if nobody does.
    pub(in crate::engine) fn advance_waiting(&mut self) -> bool {
        if self.is_working() || !self.after_run.is_empty() {
            return false;
        }
        let waiting = self.tasks.0.iter().find(|(_, task)| matches!(task, Task::Idle));
        let Some((&call, _)) = waiting else { return false };
        self.end_action(call, Ok(None));
        true
    }

    /// A tool is done; gives its result back if it is none that an extension has run.
    pub(in crate::engine) fn tool_ended_outside(
        &mut self,
        call: CallId,
        result: AgentToolResult,
        is_error: bool,
    ) -> Option<AgentToolResult> {
        match self.tasks.0.get(&call) {
            Some(Task::Tool) => {
                self.end_action(call, Ok(Some(json!({ "result": result, "isError": is_error }))));
                None
            }
            _ => Some(result),
        }
    }

    /// Asks a model. What it says is no part of the conversation.
    pub(in crate::engine) fn complete(&mut self, process: CallId, action: ExtensionComplete) {
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
        let choice = &self.models[place];
        let (model, level) = (choice.model.clone(), level.map(|level| choice.clamp(level)));
        let partial = PartialMessage::new(0, &model, self.dialect, self.now).at(level);
        let call = self.open_task(process, Some(id), Task::Model(Box::new(partial)));
        let count = self.calls;
        self.calls += 1;
        self.request_model(ModelCall {
            call,
            place,
            model,
            level,
            session_id: self.session.id().to_owned(),
            system_prompt: system_prompt.unwrap_or_default().into(),
            messages: Arc::new(messages.into_iter().map(Arc::new).collect()),
            tools: tools.into_iter().flatten().map(spec).collect(),
            forced_tool: None,
            count,
            purpose: Purpose::Outside(max_tokens),
        });
    }

    /// A step of a model's answer to an extension; gives it back if it is not for one.
    pub(in crate::engine) fn outside_event(
        &mut self,
        call: CallId,
        event: StreamEvent,
    ) -> Option<StreamEvent> {
        let now = self.now;
        let Some(Task::Model(partial)) = self.tasks.0.get_mut(&call) else {
            return self.branch_event(call, event);
        };
        if partial.apply(event, now) == Progress::Over {
            self.end_side_call(call);
        }
        None
    }

    /// Aborts the request of a model for an extension: the response ends here.
    pub(in crate::engine) fn abort_side_call(&mut self, call: CallId) {
        let text = errors::request_aborted(self.dialect.base());
        let now = self.now;
        if let Some(Task::Model(partial)) = self.tasks.0.get_mut(&call) {
            partial.close(StopReason::Aborted, Some(text), now);
            self.cancel_model(call);
            self.end_side_call(call);
        }
    }

    fn end_side_call(&mut self, call: CallId) {
        if let Some(Task::Model(partial)) = self.tasks.0.remove(&call) {
            let message = partial.finish();
            self.end_action(call, Ok(Some(json!({ "message": message }))));
        }
    }
}

/// A tool as a model is offered it.
fn spec(tool: ExtensionTool) -> ToolSpec {
    ToolSpec {
        name: tool.name,
        description: tool.description,
        parameters: tool.parameters.into(),
        exclusive: false,
    }
}
