//! Notifications: hooks whose completion the engine awaits during a run or a change of the session.

use crate::{
    core::Engine,
    extensions::hook::{Hook, SessionStartContinuation},
};
use pi_rpc_machine::SwitchEvent;
use pi_rpc_protocol::{
    HookName, LevelSelectHook, ModelSelectHook, ModelSelectSource, RpcSuccess, SessionStartHook,
    SessionStartReason, ThinkingLevel,
};

impl Engine {
    /// Sends a hook as a notification, after the notifications before it.
    pub(crate) fn notify(&mut self, hook: Hook) {
        if hook.changes_session() {
            self.move_session(SwitchEvent::Begins);
        }
        self.with_extensions(|host, context| host.notify(hook, context));
    }

    /// Whether commands are held: what follows the ended run is undecided, or the session is being changed.
    pub(crate) fn holds_commands(&self) -> bool {
        self.activity.has_ended_run() || self.activity.is_switching()
    }

    /// Notifies extensions of a change of the model or the level since `before`.
    pub(crate) fn notify_model_change(
        &mut self,
        before: (usize, Option<ThinkingLevel>),
        source: ModelSelectSource,
    ) {
        let (model, level) = before;
        if self.models.level != level && self.is_hooked(HookName::ThinkingLevelSelect) {
            let named = |level: Option<ThinkingLevel>| level.unwrap_or(ThinkingLevel::Off);
            let event = LevelSelectHook { level: named(self.models.level), previous_level: named(level) };
            self.notify(Hook::ThinkingLevelSelect { event });
        }
        if self.models.current != model && self.is_hooked(HookName::ModelSelect) {
            let event = ModelSelectHook {
                model: self.models.choice().model.clone(),
                previous_model: self
                    .models
                    .all
                    .get(model)
                    .filter(|choice| !choice.is_none())
                    .map(|choice| choice.model.clone()),
                source,
            };
            self.notify(Hook::ModelSelect { event });
        }
    }

    /// Responds to the command that began another session once the extensions are notified of it.
    pub(crate) fn respond_after_session_start(
        &mut self,
        reason: SessionStartReason,
        previous: Option<String>,
        response: impl Into<RpcSuccess>,
    ) {
        let response = Box::new(response.into());
        if !self.is_hooked(HookName::SessionStart) {
            return self.discover_after_change(response);
        }
        let event = SessionStartHook { reason, previous_session_file: previous };
        self.notify(Hook::SessionStart { event, then: SessionStartContinuation::Respond(response) });
    }

    /// Responds to a command that has changed the session, and ends the change.
    pub(crate) fn finish_session_change(&mut self, response: RpcSuccess) {
        self.move_session(SwitchEvent::Ends);
        self.emit_available_commands();
        self.succeed(response);
    }

    /// Sends `session_start` again: the session was not changed after `session_shutdown` was sent.
    pub(crate) fn notify_session_kept(&mut self) {
        if !self.activity.is_switching() {
            return;
        }
        self.move_session(SwitchEvent::Ends);
        if self.is_hooked(HookName::SessionStart) {
            let reason = SessionStartReason::Resume;
            let event = SessionStartHook { reason, previous_session_file: self.session_file() };
            self.notify(Hook::SessionStart { event, then: SessionStartContinuation::Nothing });
        }
    }
}
