//! Outstanding requests to the disk, and the inputs that are delayed until they end.
//!
//! A write of the session, the opening of another one and a page may take long: the file system may not answer at all.
//! Nothing is emitted meanwhile that needs what is being written. Commands that show neither the conversation nor change
//! it are served; everything else is delayed and taken in, in order, once the request has completed or failed.

use crate::{
    core::Engine,
    io::{Input, Output},
};
use pi_rpc_protocol::{EndedWork, Inbound};
use std::time::Duration;

impl Engine {
    /// Whether a request to the disk has neither completed nor failed.
    pub(crate) const fn is_disk_outstanding(&self) -> bool {
        self.store.is_writing() || self.requests.files.has_outstanding()
    }

    /// Whether the input must wait for the outstanding request to the disk.
    pub(crate) fn waits_for_disk(&self, input: &Input) -> bool {
        if !self.is_disk_outstanding() {
            return false;
        }
        match input {
            Input::Stored
            | Input::StoreFailed(_)
            | Input::SessionOpened(_)
            | Input::NewestSessionFound { .. }
            | Input::FileWritten(_)
            | Input::ResourcesFound(_)
            | Input::FileRead(_)
            | Input::QueryAnswered { .. }
            | Input::PermissionFound { .. }
            | Input::ProviderChanged(_)
            | Input::ModelSelected(_)
            | Input::ModelsReloaded(_)
            | Input::LoginsListed(_) => false,
            Input::Frame(frame) => !is_served_meanwhile(frame) || self.waits_for_greeting(input),
            _ => true,
        }
    }

    /// Delays an input until the outstanding request to the disk ends; one that ends the work leaves that request little
    /// time.
    pub(crate) fn delay(&mut self, input: Input) {
        match input {
            // Deadlines are checked again once the request has ended.
            Input::Time => {}
            Input::Shutdown => {
                // Lines of the host that are not served yet are dropped.
                self.backlog.behind_disk.push_front(Input::Shutdown);
                self.push(Output::HurryStore);
            }
            input => {
                if matches!(&input, Input::Frame(frame) if is_abort(frame)) {
                    self.push(Output::HurryStore);
                }
                self.backlog.behind_disk.push_back(input);
            }
        }
    }

    /// Dispatches the next delayed input; `false` if there is none or a request to the disk is outstanding.
    pub(crate) fn advance_delayed(&mut self) -> bool {
        if self.activity.lifecycle().is_exited() || self.is_disk_outstanding() {
            return false;
        }
        let Some(input) = self.backlog.behind_disk.pop_front() else { return false };
        self.receive(input);
        true
    }

    /// Moves the deadlines of extensions by the time during which a write kept their frames from being handled.
    pub(crate) fn postpone_extensions(&mut self, since: Duration) {
        let late = self.now.monotonic.saturating_sub(since);
        if !late.is_zero() && !self.extensions.is_suspended() {
            self.extensions.postpone(late);
        }
    }
}

/// Whether a frame is served during a request to the disk, since it neither shows nor changes the conversation.
fn is_served_meanwhile(frame: &Inbound) -> bool {
    matches!(frame, Inbound::Command(command) if command.kind().is_served_meanwhile())
}

/// Whether a frame ends work of the session that goes on.
fn is_abort(frame: &Inbound) -> bool {
    let Inbound::Command(command) = frame else { return false };
    matches!(command.kind().ended_work(), Some(EndedWork::Run | EndedWork::Retry | EndedWork::Shell))
}
