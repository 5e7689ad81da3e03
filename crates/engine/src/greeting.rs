//! The greeting: from the start of the extensions to the first served line of the host.
//!
//! ```text
//! every extension has registered, or cannot any more ─→ the host is greeted ─→ session_start hook
//!                        lines are served ←─ skills, templates ←─ resources_discover hook ←┘
//! ```
//!
//! What comes before its time is held; answers to dialogs are taken in as soon as the host is greeted.

use crate::{
    core::Engine,
    extensions::hook::{Hook, SessionStartContinuation},
    io::{Input, Output},
};
use pi_rpc_machine::LifecycleEvent;
use pi_rpc_protocol::{FromExtension, Inbound, Model, Outbound, SessionStartHook, SessionStartReason};

impl Engine {
    /// Greets the host once every extension has registered or failed to; `false` if already done.
    pub(crate) fn advance_greeting(&mut self) -> bool {
        // Stopped before the greeting: no frame is emitted.
        if self.activity.lifecycle().is_greeted()
            || self.activity.lifecycle().is_stopping()
            || self.extensions.are_starting()
        {
            return false;
        }
        let refusal = self.extensions.load_refusal().or_else(|| self.extensions.options_refusal());
        if let Some(text) = refusal {
            self.push(Output::Refuse(text));
            self.exit();
            return true;
        }
        // The selection of the session's first model is still open.
        if std::mem::take(&mut self.models.initial.is_open) {
            self.push(Output::SelectModel);
            return true;
        }
        self.models.initial.before_selection = None;
        // Extensions may register tools until their `session_start` hook is over.
        if !self.extensions.has_any() && !self.check_tool_selection() {
            return true;
        }
        self.activity.move_lifecycle(LifecycleEvent::Greeted);
        self.greet();
        for error in std::mem::take(&mut self.extensions.early) {
            self.emit(Outbound::ExtensionError(error));
        }
        self.tools.forget_matched_patterns();
        // Where the host may lend tools, the first call that needs consent for it reports the patterns.
        if !self.dialect.record().lanes.host_tools {
            self.report_unmatched();
        }
        self.resume_left_run();
        let event = SessionStartHook { reason: SessionStartReason::Startup, previous_session_file: None };
        self.send_hook(Hook::SessionStart { event, then: SessionStartContinuation::Discover });
        true
    }

    /// Begins to serve the lines of the host.
    pub(crate) fn start_serving(&mut self) {
        let is_checked = self.activity.lifecycle().is_greeting_over() || !self.extensions.has_any();
        if is_checked || self.check_tool_selection() {
            self.activity.move_lifecycle(LifecycleEvent::Served);
        }
    }

    /// Exits, and gives `false`, if an entry that takes tools away matches none.
    fn check_tool_selection(&mut self) -> bool {
        let is_heeded = self.tools.check_selection();
        if !is_heeded {
            self.exit();
        }
        is_heeded
    }

    /// Why the session does not start: an entry that takes tools away matches none.
    pub fn tool_refusal(&mut self) -> Option<String> {
        self.tools.selection_report().refusal.take()
    }

    /// Warnings about entries that allow or add tools and match none, and about the model of a session that cannot be
    /// used, each once.
    pub fn take_warnings(&mut self) -> Vec<String> {
        let mut warnings = std::mem::take(&mut self.tools.selection_report().warnings);
        // Until then, extensions may add the model.
        if self.is_open()
            && let Some(unrestored) = self.models.unrestored.take()
        {
            let Model { provider, id, .. } = &self.models.choice().model;
            warnings.push(format!("Could not restore model {unrestored}. Using {provider}/{id}"));
        }
        warnings
    }

    /// Whether the greeting is over: frames are emitted and lines are served.
    pub fn is_open(&self) -> bool {
        self.activity.lifecycle().is_greeted()
    }

    /// Whether an input is to be held: it causes frames and the host has not been greeted, or it is a line of the host
    /// and none is served yet.
    pub(crate) fn waits_for_greeting(&self, input: &Input) -> bool {
        let line = match input {
            Input::Frame(frame) => !matches!(**frame, Inbound::ExtensionUIResponse(_)),
            Input::BadLine(error) => error.is_answered(),
            Input::EndOfInput => true,
            _ => false,
        };
        (line && !self.activity.lifecycle().is_greeting_over())
            || !self.is_open()
                && match input {
                    // Answers needed before `register`, and models to begin with.
                    Input::Extension { frame, .. }
                        if matches!(
                            **frame,
                            FromExtension::Query(_)
                                | FromExtension::RegisterProvider(_)
                                | FromExtension::UnregisterProvider(_)
                                | FromExtension::RegisterVirtualModel(_)
                                | FromExtension::UnregisterVirtualModel(_)
                        ) =>
                    {
                        false
                    }
                    Input::Frame(_) | Input::BadLine(_) | Input::EndOfInput => true,
                    Input::Extension { from, .. }
                    | Input::ExtensionBadLine { from, .. }
                    | Input::ExtensionBadRegister { from, .. }
                    | Input::ExtensionEnded { from, .. } => self.extensions.is_running(*from),
                    _ => false,
                }
    }

    /// Dispatches the next input that was held until the greeting; `false` if there is none yet.
    pub(crate) fn dispatch_held_input(&mut self) -> bool {
        let next = self.backlog.before_greeting.iter().position(|input| !self.waits_for_greeting(input));
        let Some(input) = next.and_then(|at| self.backlog.before_greeting.remove(at)) else { return false };
        self.dispatch(input);
        true
    }
}
