//! What the engine makes of the outcomes of extensions.

use crate::engine::{
    CallId, Engine,
    extensions::hook::{Hook, InputContinuation, SessionStartContinuation},
};
use crate::protocol::{AgentToolResult, QueueDisposition, ToolResultHook};

impl Engine {
    /// Every extension has responded to a hook, or there was none to do so.
    pub(in crate::engine) fn hook_completed(&mut self, id: CallId, hook: Hook) {
        self.told_all(id);
        // A call still ends, and a message is still kept.
        if !self.lifecycle.leaves_work() || matches!(hook, Hook::ToolResult { .. } | Hook::MessageEnd { .. })
        {
            self.resume(id, hook);
        }
        self.tell_next();
    }

    /// Goes on with what waited for the hook.
    fn resume(&mut self, id: CallId, hook: Hook) {
        match hook {
            Hook::Input { event, is_handled, then: InputContinuation::Prompt(mut prompt) } => {
                (prompt.text, prompt.images) = (event.text, event.images);
                self.hear(*prompt, is_handled);
            }
            Hook::Input { event, is_handled, then: InputContinuation::Queue { id, kind } } => {
                match is_handled {
                    true => self.accept_queued(id, kind, QueueDisposition::Handled),
                    false => self.queue_heard(id, kind, event.text, event.images),
                }
            }
            Hook::BeforeAgentStart { event, messages, start } => {
                self.started(*start, messages, Some(event.system_prompt));
            }
            Hook::SessionBeforeSwitch { is_cancelled, command, .. }
            | Hook::SessionBeforeFork { is_cancelled, command, .. } => self.leave_said(command, is_cancelled),
            Hook::SessionBeforeCompact { is_cancelled, compaction, focus, .. } => {
                self.compaction_said(id, focus.as_deref(), is_cancelled, compaction);
            }
            Hook::SessionBeforeTree { event, is_cancelled, summary, action } => {
                self.navigation_said(id, action, event, is_cancelled, summary);
            }
            Hook::PrepareArguments { event, failure, at } => self.call_prepared(at, event.input, failure),
            Hook::ToolCall { event, is_changed, veto, at } => {
                self.call_said(at, is_changed.then_some(event.input), veto);
            }
            Hook::ToolResult { event, original, at } => {
                let ToolResultHook { content, details, is_error, structured_content, .. } = event;
                let result = AgentToolResult {
                    content,
                    details,
                    structured_content,
                    is_error: original.is_error.filter(|_| is_error),
                    is_warning: None,
                    usage: original.usage,
                    terminate: original.terminate,
                };
                self.call_over(at, result, is_error);
            }
            Hook::Context { event, is_changed } => {
                self.context_said(is_changed.then_some(event.messages));
            }
            Hook::MessageEnd { event, is_changed } => self.message_said(event.message, is_changed),
            Hook::UserBash { failure, result, command, .. } => self.shell_said(*command, failure, result),
            Hook::BeforeProviderRequest { event, request } => self.provider_hooked(request, event),
            Hook::BeforeProviderHeaders { event, request } => self.provider_hooked(request, event),
            Hook::AfterProviderResponse { event, request } => self.provider_hooked(request, event),
            Hook::ResourcesDiscover { skills, templates, .. } => self.look_into(skills, templates),
            Hook::SessionStart { then: SessionStartContinuation::Discover, .. } => self.discover(),
            Hook::SessionStart { then: SessionStartContinuation::Respond(response), .. } => {
                self.session_begun_told(*response);
            }
            Hook::SessionShutdown { next, .. } => {
                // Messages that extensions sent meanwhile are not for the next session.
                self.triggering.clear();
                self.leave_now(*next);
            }
            Hook::SessionCompact { .. } => self.compaction_over(),
            Hook::SessionTree { action, .. } => self.navigated(action),
            Hook::SessionStart { then: SessionStartContinuation::Nothing, .. }
            | Hook::ModelSelect { .. }
            | Hook::ThinkingLevelSelect { .. }
            | Hook::Event { .. } => {}
        }
    }
}
