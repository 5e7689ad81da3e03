//! Where a session tells what is not for its connections, and what becomes of a run that waits for a permission.

use super::{NO_CLIENT, SessionTask};
use crate::{
    notices::{self, NoticeKind},
    outlet::Outlet,
    records::WaitingRunFile,
    session_handle::UnattendedAction,
};
use pi_rpc_engine::{Engine, Input, WaitingRun};
use pi_rpc_protocol::{
    AbortCommand, AgentSessionEvent, AgentSessionEventKind, Base, Emission, Inbound, Outbound,
};
use pi_rpc_server::ExitReason;
use std::{sync::Arc, time::Instant};

/// Where a session puts what is not for its connections.
#[derive(Default)]
pub struct SessionSinks {
    /// Where frames go in place of connections.
    pub outlet: Option<Outlet>,
    /// Where its run is noted while it waits for a permission.
    pub waiting_file: Option<WaitingRunFile>,
}

impl SessionSinks {
    /// Those of a session with connections.
    pub const fn noted(waiting_file: Option<WaitingRunFile>) -> Self {
        Self { outlet: None, waiting_file }
    }
}

impl SessionTask {
    /// The run that another process is to go on with, for whoever passes the output on and notes it.
    pub(super) fn noted_elsewhere(&self) -> Option<Arc<WaitingRun>> {
        self.outlet.as_ref()?;
        if let Some(left) = self.left.as_deref() {
            return Some(Arc::new(left.clone()));
        }
        // Where it is left as it is, nothing of it begins here any more.
        let may_be_noted = |waiting: &WaitingRun| waiting.is_up_to_clients || self.is_parked;
        self.runner.engine.waiting_run().filter(may_be_noted).map(Arc::new)
    }

    /// Looks since when a permission is asked for while no client is there.
    pub(super) fn watch_attendance(&mut self) {
        // Of a session with an outlet, others know the clients.
        let is_attended = self.outlet.is_some() || self.clients.is_watched();
        let waits = self.limits.unattended.action != UnattendedAction::Wait
            && !is_attended
            && !self.is_stopping
            && self.runner.engine.asks_permission();
        match waits {
            true => drop(self.unattended_since.get_or_insert_with(Instant::now)),
            false => self.unattended_since = None,
        }
    }

    /// Does what is set for a run that has waited for long enough while no client was there. Returns the input for that.
    pub(super) fn on_unattended(&mut self, exit_reason: &mut Option<ExitReason>) -> Option<Input> {
        self.unattended_since = None;
        match self.limits.unattended.action {
            UnattendedAction::Wait => None,
            UnattendedAction::Park => {
                let has_file = self.runner.engine.state().session_file.is_some();
                self.is_parked = has_file && self.runner.engine.only_waits();
                self.is_resumable |= self.is_parked;
                None
            }
            UnattendedAction::Deny => {
                tracing::info!("session {}: nobody is there, so that what was asked is denied", self.id);
                Some(Input::DenyQuestions)
            }
            UnattendedAction::Stop => {
                tracing::info!(
                    "session {}: nobody is there to be asked, so that its run is aborted",
                    self.id
                );
                let mut input = Input::Frame(Box::new(Inbound::Command(AbortCommand { id: None }.into())));
                self.ids.assign(&mut input, NO_CLIENT);
                *exit_reason = exit_reason.take().or(self.step(Some(input)));
                // What an extension asks outside of a run is not over with it.
                Some(Input::DenyQuestions)
            }
        }
    }
}

/// Notes the run that waits for a permission, or that none does.
pub(super) fn note_waiting_run(file: &mut Option<WaitingRunFile>, engine: &Engine) {
    let Some(file) = file else { return };
    if let Err(error) = file.note(engine.waiting_run()) {
        tracing::error!("a restart will not bring the open question back: {error}");
    }
}

/// Notes that what was asked about may begin. The error is why the session ends: what is noted as open must not begin.
pub(super) fn forget_waiting_run(file: &mut Option<WaitingRunFile>) -> Result<(), ExitReason> {
    let noted = file.as_mut().map_or(Ok(()), |file| file.note(None));
    noted.map_err(|error| {
        tracing::error!("the session ends, as what it does about an open question cannot be noted: {error}");
        ExitReason::Refused(format!("--state: {error}"))
    })
}

/// Whether the emission opens a dialog.
pub(super) fn opens_dialog(emission: &Emission) -> bool {
    matches!(frame(emission), Some(Outbound::ExtensionUIRequest(request)) if request.kind().is_dialog())
}

/// Whether a tool call may begin by the input, or by what has waited for it: that must be noted first.
pub(super) fn may_begin_calls(input: &Input) -> bool {
    match input {
        Input::Frame(frame) => match &**frame {
            Inbound::Command(command) => !command.kind().is_read(),
            _ => true,
        },
        Input::Model { .. }
        | Input::ToolProgress { .. }
        | Input::ShellProgress { .. }
        | Input::ReadsExtensions(_)
        | Input::LoginNotice { .. }
        | Input::AgentCommands(_) => false,
        _ => true,
    }
}

/// What is told of the emission to whoever is not connected.
pub(super) fn notice(emission: &Emission, base: Base) -> Option<NoticeKind> {
    match frame(emission).filter(|_| notices::are_taken())? {
        Outbound::ExtensionUIRequest(request) if request.kind().is_dialog() => {
            Some(NoticeKind::QuestionWaits(request.id().to_owned()))
        }
        Outbound::AgentSessionEvent(AgentSessionEvent::AgentSettled(_)) => Some(NoticeKind::RunDone),
        Outbound::AgentSessionEvent(AgentSessionEvent::AgentEnd(end)) => {
            let settles = AgentSessionEventKind::AgentSettled.is_in(base);
            (!settles && end.will_retry != Some(true)).then_some(NoticeKind::RunDone)
        }
        _ => None,
    }
}

const fn frame(emission: &Emission) -> Option<&Outbound> {
    match emission {
        Emission::Frame(frame) | Emission::Line { frame, .. } => Some(frame),
        Emission::Update(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_may_let_what_waited_begin() {
        assert!(may_begin_calls(&Input::Stored), "an answer may have waited for the disk");
        assert!(may_begin_calls(&Input::Time));
        assert!(!may_begin_calls(&Input::ReadsExtensions(true)));
    }
}
