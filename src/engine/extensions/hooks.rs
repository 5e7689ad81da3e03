//! The hooks under way.
//!
//! A hook is sent to one extension after another, in the order in which they were given; each receives what those before
//! it made of the event. A failed or late extension is passed over, except for a tool call: what the extension might have
//! vetoed does not happen. Source: pi source.

use crate::engine::{
    CallId, Engine,
    extensions::hook::{Hook, InputContinuation},
    extensions::processes::Failing,
};
use crate::protocol::{EventHook, HookName, HookResult, ShutdownHook};
use serde_json::Value;
use std::collections::VecDeque;

/// A hook that is under way.
#[derive(Debug)]
pub struct OutstandingHook {
    /// The hook, with its outcome so far.
    pub(in crate::engine) hook: Hook,
    /// The places of the extensions that have still to respond.
    remaining: VecDeque<usize>,
}

impl Engine {
    /// Sends a hook to every extension that registered for it; completes at once if there is none.
    pub(in crate::engine) fn hook(&mut self, hook: Hook) {
        let id = self.ids.call();
        self.hook_as(id, hook);
    }

    /// Sends a hook under this id.
    pub(in crate::engine) fn hook_as(&mut self, id: CallId, hook: Hook) {
        let places = match &hook {
            // Too late for anyone to respond.
            _ if self.lifecycle.is_stopping() => Vec::new(),
            Hook::Event { event } => self.extensions.awaiting(event_type(event)),
            hook => self.extensions.asked(hook.name()),
        };
        self.hook_among(id, places, hook);
    }

    /// Sends a hook to the extensions at these places.
    pub(in crate::engine) fn hook_among(
        &mut self,
        id: CallId,
        places: impl IntoIterator<Item = usize>,
        hook: Hook,
    ) {
        let remaining = places.into_iter().collect();
        self.hooks.insert(id, OutstandingHook { hook, remaining });
        self.advance_hook(id);
    }

    /// Whether an extension registered for the hook.
    pub(in crate::engine) fn is_hooked(&self, name: HookName) -> bool {
        self.extensions.is_asked(name)
    }

    /// Whether a command waits for a hook, in dialects that serve commands one by one.
    pub(in crate::engine) fn is_command_hooked(&self) -> bool {
        self.hooks.values().any(|it| it.hook.holds_commands())
    }

    /// Whether the session is about to be left if no extension objects.
    pub(in crate::engine) fn is_leave_hooked(&self) -> bool {
        self.hooks.values().any(|it| it.hook.may_leave_session())
    }

    /// The extension at this place has responded.
    pub(in crate::engine) fn hook_responded(&mut self, id: CallId, place: usize, result: Option<HookResult>) {
        let base = self.dialect.base();
        let Some(outstanding) = self.hooks.get_mut(&id) else { return };
        match result.map(|result| outstanding.hook.apply(base, result)) {
            Some(Ok(true)) => outstanding.remaining.clear(),
            Some(Err(text)) => {
                let name = outstanding.hook.name();
                self.extension_failed(Failing::Extension(place, name.as_str()), &text);
            }
            Some(Ok(false)) | None => {}
        }
        self.advance_hook(id);
    }

    /// The extension at this place has failed; `cancelled`: the request was cancelled before.
    pub(in crate::engine) fn hook_failed(&mut self, id: CallId, place: usize, text: &str, cancelled: bool) {
        let base = self.dialect.base();
        let Some(OutstandingHook { hook, remaining }) = self.hooks.get_mut(&id) else { return };
        if hook.fail(base, text, cancelled) {
            remaining.clear();
        }
        // The model alone learns of a tool's own failure.
        if !cancelled && !matches!(hook, Hook::PrepareArguments { .. }) {
            let name = match &*hook {
                Hook::Event { event } => event_type(event).to_owned(),
                hook => hook.name().as_str().to_owned(),
            };
            self.extension_failed(Failing::Extension(place, &name), text);
        }
        self.advance_hook(id);
    }

    /// Drops the extensions that have not received the hook yet.
    pub(in crate::engine) fn ask_nobody_else(&mut self, id: CallId) {
        if let Some(outstanding) = self.hooks.get_mut(&id) {
            outstanding.remaining.clear();
        }
    }

    /// Notifies the extensions of the exit, all at once: time is short.
    pub(in crate::engine) fn say_farewell(&mut self) {
        for place in self.extensions.asked(HookName::SessionShutdown) {
            self.ask_for_farewell(place, ShutdownHook { reason: None, target_session_file: None }.into());
        }
    }

    /// Sends the hook to the next extension, or completes it.
    fn advance_hook(&mut self, id: CallId) {
        let base = self.dialect.base();
        while let Some(OutstandingHook { hook, remaining }) = self.hooks.get_mut(&id) {
            let Some(place) = remaining.pop_front() else { break };
            let (event, owner) = (hook.event(), hook.owner());
            if self.ask_for_say(place, id, owner, event) {
                return;
            }
            let Some(OutstandingHook { hook, remaining }) = self.hooks.get_mut(&id) else { break };
            if hook.miss(base) {
                remaining.clear();
            }
        }
        if let Some(OutstandingHook { hook, .. }) = self.hooks.remove(&id) {
            self.hook_completed(id, hook);
        }
    }

    /// Drops a hook whose outcome does not count any more: a message that it is about is kept as it is.
    pub(in crate::engine) fn cut_short(&mut self, id: CallId) {
        if let Some(OutstandingHook { hook: Hook::MessageEnd { event, .. }, .. }) = self.hooks.remove(&id) {
            self.message_said(event.message, false);
        }
    }

    /// Marks the prompts under way as aborted: their runs end before a model is requested.
    pub(in crate::engine) fn unask_hooked(&mut self) {
        for outstanding in self.hooks.values_mut() {
            match &mut outstanding.hook {
                Hook::Input { then: InputContinuation::Prompt(prompt), .. } => prompt.unasked = true,
                Hook::BeforeAgentStart { start, .. } => start.unasked = true,
                _ => {}
            }
        }
    }
}

/// The type of the event that a hook is about.
fn event_type(event: &EventHook) -> &str {
    event.event.get("type").and_then(Value::as_str).unwrap_or_default()
}
