//! Performs [pending steps](crate::step) once no notification is outstanding.

use crate::{core::Engine, extensions::hook::Hook, step::PendingStep};

impl Engine {
    /// Performs the step now, or once the outstanding notifications have completed.
    pub(crate) fn perform_after_notifications(&mut self, step: PendingStep) {
        match self.has_outstanding_hooks() {
            true => self.backlog.steps.push_back(step),
            false => self.perform(step),
        }
    }

    /// Performs the next step; `false` if there is none, or a notification is outstanding.
    pub(crate) fn advance_steps(&mut self) -> bool {
        if self.has_outstanding_hooks() {
            return false;
        }
        let Some(step) = self.backlog.steps.pop_front() else { return false };
        self.perform(step);
        true
    }

    /// Performs a step.
    fn perform(&mut self, step: PendingStep) {
        match step {
            PendingStep::OpenTurn(inputs) => self.open_first_turn(inputs),
            PendingStep::SetInputs(inputs) => self.set_turn_inputs(inputs),
            PendingStep::CompleteMessage(message) => self.complete_message(*message),
            PendingStep::CheckCall(at) => self.check_announced(at),
            PendingStep::EmitCallResult(at) => self.emit_call_result(at),
            PendingStep::ContinueRun(next) => self.continue_run(next),
            PendingStep::EndRun => self.end_run(),
        }
    }

    /// Whether a notification is outstanding, or a step waits for one.
    pub(crate) fn is_notifying(&self) -> bool {
        self.has_outstanding_hooks() || !self.backlog.steps.is_empty()
    }

    /// Drops the pending steps at the end of the input, except for the ends of messages and calls.
    pub(crate) fn drop_steps(&mut self) {
        self.backlog
            .steps
            .retain(|step| matches!(step, PendingStep::CompleteMessage(_) | PendingStep::EmitCallResult(_)));
        let abandoned = self.extensions.abandon_notifications();
        self.release_all_frames();
        if let Some(Hook::MessageEnd { event, .. }) = abandoned {
            self.append_hooked_message(event.message, false);
        }
    }
}
