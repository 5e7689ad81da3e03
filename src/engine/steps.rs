//! The steps that wait for notifications.

use crate::engine::{core::Engine, extensions::hook::Hook, pending::Step};

impl Engine {
    /// Performs the step now, or once the outstanding notifications have completed.
    pub(in crate::engine) fn then(&mut self, step: Step) {
        match self.has_outstanding_hooks() {
            true => self.backlog.steps.push_back(step),
            false => self.perform(step),
        }
    }

    /// Performs the next step; `false` if there is none, or a notification is outstanding.
    pub(in crate::engine) fn advance_steps(&mut self) -> bool {
        if self.has_outstanding_hooks() {
            return false;
        }
        let Some(step) = self.backlog.steps.pop_front() else { return false };
        self.perform(step);
        true
    }

    fn perform(&mut self, step: Step) {
        match step {
            Step::OpenTurn(inputs) => self.open_first_turn(inputs),
            Step::Inputs(inputs) => self.set_turn_inputs(inputs),
            Step::Complete(message) => self.complete_message(*message),
            Step::Check(at) => self.check_announced(at),
            Step::Result(at) => self.emit_call_result(at),
            Step::TurnOver(next) => self.continue_run(next),
            Step::EndRun => self.end_run(),
        }
    }

    /// Whether a notification is outstanding, or a step waits for one.
    pub(in crate::engine) fn is_notifying(&self) -> bool {
        self.has_outstanding_hooks() || !self.backlog.steps.is_empty()
    }

    /// Drops what waits, but for the ends of messages and calls: the input has ended, and nothing is waited for.
    pub(in crate::engine) fn drop_steps(&mut self) {
        self.backlog.steps.retain(|step| matches!(step, Step::Complete(_) | Step::Result(_)));
        if let Some(Hook::MessageEnd { event, .. }) = self.extensions.abandon_notifications() {
            self.append_hooked_message(event.message, false);
        }
    }
}
