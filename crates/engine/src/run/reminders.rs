//! Connects the [list of todos](crate::todos) to the conversation: commands, tool, timers, reminders. Source:
//! xcsh RPC reference, xcsh source, observed.

use crate::{
    core::Engine,
    io::CallId,
    run::state::EndedRun,
    todos::list::{TODO_WRITE, Todos},
    tool_result::error_result,
};
use pi_rpc_protocol::{AgentMessage, AssistantContent, JsonObject, StopReason};
use std::sync::Arc;

impl Engine {
    /// Runs the tool `todo_write`.
    pub(crate) fn write_todos(&mut self, call: CallId, arguments: &JsonObject) {
        let stored = self.store.session.file().is_some();
        match self.todos.write(arguments, stored, self.now.monotonic) {
            Ok(result) => self.tool_end(call, result, false),
            Err(text) => self.tool_end(call, error_result(&text), true),
        }
    }

    /// The message before the user's first prompt that asks the model to plan.
    pub(crate) fn prelude(&self, text: &str) -> Option<AgentMessage> {
        let is_user = |message: &Arc<AgentMessage>| matches!(**message, AgentMessage::User(_));
        let is_first = !self.store.session.messages().iter().any(is_user);
        let wanted = self.dialect.record().requests_todos
            && self.tools.is_offered(TODO_WRITE)
            && self.todos.needs_prelude(is_first, text);
        wanted.then(|| AgentMessage::Custom(Todos::prelude(self.now.wall)))
    }

    /// Reminds the model after a successful run that has left todos open.
    pub(crate) fn remind(&mut self, ended: &EndedRun) {
        let calls = |block: &AssistantContent| matches!(block, AssistantContent::ToolCall(_));
        let well = ended.answer.stop_reason == StopReason::Stop && !ended.answer.content.iter().any(calls);
        if !self.dialect.record().lanes.todos
            || !well
            || self.is_working()
            || self.activity.lifecycle().disregards_extensions()
        {
            return;
        }
        let Some(reminder) = self.todos.reminder() else { return };
        let message = reminder.message(self.now.wall);
        self.emit_event(reminder.event);
        self.store.session.add_unsaved(Arc::new(AgentMessage::Developer(message)));
        self.start_run([]);
    }
}
