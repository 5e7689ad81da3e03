//! Sends hooks to extensions; `hook` has their data.
//!
//! A hook is sent to one extension after another, in the order in which they were given; each receives what those before
//! it made of the event. A failed or late extension is passed over, except for a tool call: what the extension might
//! have vetoed does not happen.
//!
//! A notification is a hook that the engine waits for: one is sent after the other, in the order of what happened.
//! Source: pi source.

use crate::{
    extensions::{
        hook::{Hook, InputContinuation, OutstandingHook},
        host::{Context, ExtensionHost, ExtensionOutput},
        process::FailureSource,
        request::{HOOK_TIMEOUT, Request},
    },
    io::CallId,
};
use pi_rpc_protocol::{EventHook, HookName, HookResult};
use serde_json::Value;
use std::time::Duration;

impl ExtensionHost {
    /// Sends a hook under this id to every extension that registered for it; completes at once if there is none.
    pub fn send_hook(&mut self, id: CallId, hook: Hook, context: &mut Context<'_>) {
        let places = match &hook {
            // Too late for a response.
            _ if context.lifecycle.is_stopping() => Vec::new(),
            Hook::Event { event, .. } => self.awaiting(event_type(event)),
            hook => self.hooked_places(hook.name()),
        };
        self.hook_among(id, places, hook, context);
    }

    /// Sends a hook to the extensions at these places.
    pub fn hook_among(
        &mut self,
        id: CallId,
        places: impl IntoIterator<Item = usize>,
        hook: Hook,
        context: &mut Context<'_>,
    ) {
        let remaining = places.into_iter().collect();
        self.hooks.insert(id, OutstandingHook { hook, remaining, spent: Duration::ZERO });
        self.advance_hook(id, context);
    }

    /// Sends a hook as a notification: once those before it have completed.
    pub fn notify(&mut self, hook: Hook, context: &mut Context<'_>) {
        self.notifications.push_back(hook);
        self.advance_notifications(context);
    }

    /// Sends the next notification, if none is under way.
    pub fn advance_notifications(&mut self, context: &mut Context<'_>) {
        if self.notification.is_none()
            && let Some(hook) = self.notifications.pop_front()
        {
            let id = context.ids.call();
            self.notification = Some(id);
            self.send_hook(id, hook, context);
        }
    }

    /// Whether a notification is under way.
    pub const fn is_notifying(&self) -> bool {
        self.notification.is_some()
    }

    /// Drops all notifications, and returns the outstanding one.
    pub fn abandon_notifications(&mut self) -> Option<Hook> {
        self.notifications.clear();
        let id = self.notification.take()?;
        self.hooks.remove(&id).map(|outstanding| outstanding.hook)
    }

    /// When the next frame that is held is emitted without waiting longer for the handlers of its event.
    pub(super) fn frame_due(&self) -> Option<Duration> {
        self.requests.values().filter_map(|request| self.due_of_frame(request)).min()
    }

    /// Emits the frames whose handlers have taken too long together; the handlers go on.
    pub fn release_late_frames(&mut self, now: Duration) {
        let late = |request: &Request| self.due_of_frame(request).is_some_and(|due| due <= now);
        let late: Vec<CallId> =
            self.requests.values().filter(|request| late(request)).filter_map(Request::hook).collect();
        for id in late {
            if let Some(Hook::Event { holds_frame, .. }) = self.hooks.get_mut(&id).map(|it| &mut it.hook) {
                *holds_frame = false;
                self.push(ExtensionOutput::FrameReleased);
            }
        }
    }

    /// Closes the dialogs that hold back frames of the run; their handlers go on.
    pub fn close_dialogs_before_frames(&mut self, context: &mut Context<'_>) {
        let holds = |request: &Request| self.is_event_of_run(request) || self.is_before_settling(request);
        let holding = self.requests.iter().filter(|(_, request)| holds(request));
        let holding: Vec<CallId> = holding.map(|(id, _)| *id).collect();
        self.close_dialogs(|dialog| dialog.origin().is_some_and(|origin| holding.contains(&origin)), context);
    }

    fn is_event_of_run(&self, request: &Request) -> bool {
        let hook = request.hook().and_then(|id| self.hooks.get(&id)).map(|outstanding| &outstanding.hook);
        matches!(hook, Some(Hook::Event { holds_frame: true, .. }))
    }

    fn is_before_settling(&self, request: &Request) -> bool {
        let hook = request.hook().and_then(|id| self.hooks.get(&id)).map(|outstanding| &outstanding.hook);
        matches!(hook, Some(Hook::AgentBeforeSettle { .. }))
    }

    /// When the frame that this request holds is due: extensions have a hook's time for it together.
    fn due_of_frame(&self, request: &Request) -> Option<Duration> {
        let due = request.due().filter(|_| self.is_event_of_run(request))?;
        Some(due.saturating_sub(self.hooks.get(&request.hook()?)?.spent))
    }

    /// Counts the time that an extension has taken for a hook.
    pub(super) fn count_hook_time(&mut self, request: &Request, now: Duration) {
        if let Some(outstanding) = request.hook().and_then(|id| self.hooks.get_mut(&id)) {
            outstanding.spent += HOOK_TIMEOUT.saturating_sub(request.remaining(now));
        }
    }

    /// The hooks under way.
    pub fn hooks(&self) -> impl Iterator<Item = &Hook> {
        self.hooks.values().map(|outstanding| &outstanding.hook)
    }

    /// Marks the prompts under way as aborted: their runs end before a model is requested.
    pub fn abort_prompts(&mut self) {
        for outstanding in self.hooks.values_mut() {
            if let Hook::Input { then: InputContinuation::Prompt(prompt), .. } = &mut outstanding.hook {
                prompt.is_aborted = true;
            } else if let Hook::BeforeAgentStart { start, .. } = &mut outstanding.hook {
                start.is_aborted = true;
            }
        }
    }

    /// Adds the response of the extension at this place to the outcome.
    pub(super) fn hook_responded(
        &mut self,
        id: CallId,
        place: usize,
        result: Option<HookResult>,
        context: &mut Context<'_>,
    ) {
        let Some(OutstandingHook { hook, remaining, .. }) = self.hooks.get_mut(&id) else { return };
        match result.map(|result| hook.apply(context.dialect.base(), result)) {
            Some(Ok(true)) => remaining.clear(),
            Some(Err(text)) => {
                let name = hook.name();
                self.report(FailureSource::Extension(place, name.as_str()), &text, context);
            }
            Some(Ok(false)) | None => {}
        }
        self.advance_hook(id, context);
    }

    /// Adds the failure of the extension at this place to the outcome; `cancelled`: the request was cancelled before.
    pub(super) fn hook_failed(
        &mut self,
        id: CallId,
        place: usize,
        text: &str,
        cancelled: bool,
        context: &mut Context<'_>,
    ) {
        let Some(OutstandingHook { hook, remaining, .. }) = self.hooks.get_mut(&id) else { return };
        if hook.fail(context.dialect.base(), text, cancelled) {
            remaining.clear();
        }
        // The model alone learns of a tool's own failure, and the answer tells that of a route.
        if !cancelled && !matches!(hook, Hook::PrepareArguments { .. } | Hook::ModelRoute { .. }) {
            let name = match &*hook {
                Hook::Event { event, .. } => event_type(event).to_owned(),
                hook => hook.name().as_str().to_owned(),
            };
            self.report(FailureSource::Extension(place, &name), text, context);
        }
        self.advance_hook(id, context);
    }

    /// Sends the hook to the next extension, or completes it.
    fn advance_hook(&mut self, id: CallId, context: &mut Context<'_>) {
        while let Some(OutstandingHook { hook, remaining, .. }) = self.hooks.get_mut(&id) {
            let Some(place) = remaining.pop_front() else { break };
            let (event, owner) = (hook.event(), hook.owner());
            if self.request_hook(place, id, owner, event, context) {
                return;
            }
            let Some(OutstandingHook { hook, remaining, .. }) = self.hooks.get_mut(&id) else { break };
            if hook.skip(context.dialect.base()) {
                remaining.clear();
            }
        }
        let completed = self.hooks.remove(&id);
        if self.hooks.is_empty() {
            // An empty map keeps room for hooks, which is much of what an idle session takes.
            self.hooks = std::collections::BTreeMap::new();
        }
        if let Some(OutstandingHook { hook, .. }) = completed {
            self.notification.take_if(|notification| *notification == id);
            self.push(ExtensionOutput::HookCompleted { id, hook });
        }
    }

    /// The places of the extensions that registered for the hook, in order.
    pub fn hooked_places(&self, hook: HookName) -> Vec<usize> {
        let places = self.all.iter().enumerate().filter(|(_, extension)| extension.is_hooked(hook));
        places.map(|(place, _)| place).collect()
    }

    /// Whether an extension registered for the hook.
    pub fn is_hooked(&self, hook: HookName) -> bool {
        self.all.iter().any(|extension| extension.is_hooked(hook))
    }

    /// Places of the extensions that registered for this event in `awaits`.
    fn awaiting(&self, event: &str) -> Vec<usize> {
        let places = self.all.iter().enumerate().filter(|(_, extension)| extension.awaits(event));
        places.map(|(place, _)| place).collect()
    }
}

/// The type of the event that a hook is about.
fn event_type(event: &EventHook) -> &str {
    event.event.get("type").and_then(Value::as_str).unwrap_or_default()
}
