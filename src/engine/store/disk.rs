//! Requests to the disk that are outstanding, and the inputs that wait for them.
//!
//! A write of the session, the opening of another one and a page may take long: the file system may not answer at all.
//! Nothing is emitted meanwhile that needs what is being written. Commands that show neither the conversation nor change
//! it are served; everything else is delayed and taken in, in order, once the request has completed or failed.

use crate::engine::{
    core::Engine,
    io::{Input, Output},
};
use crate::protocol::{Inbound, RpcCommandKind};
use std::time::Duration;

impl Engine {
    /// Whether a request to the disk has neither completed nor failed.
    pub(in crate::engine) const fn is_disk_outstanding(&self) -> bool {
        self.store.is_writing() || self.requests.files.has_outstanding()
    }

    /// Whether the input has to wait for the outstanding request to the disk.
    pub(in crate::engine) fn waits_for_disk(&self, input: &Input) -> bool {
        if !self.is_disk_outstanding() {
            return false;
        }
        match input {
            Input::Stored
            | Input::StoreFailed(_)
            | Input::SessionOpened(_)
            | Input::FileWritten(_)
            | Input::ResourcesFound(_)
            | Input::FileRead(_)
            | Input::QueryAnswered { .. }
            | Input::ProviderChanged(_)
            | Input::ModelSelected(_) => false,
            Input::Frame(frame) => !is_served_meanwhile(frame) || self.waits_for_greeting(input),
            _ => true,
        }
    }

    /// Keeps an input until the outstanding request to the disk is over; one that ends the work leaves that request little
    /// time.
    pub(in crate::engine) fn delay(&mut self, input: Input) {
        match input {
            // Deadlines are looked at again when the request is over.
            Input::Time => {}
            Input::Shutdown => {
                // What the host has written before, and is not served, comes too late.
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

    /// Takes in the next delayed input; `false` if there is none, or the disk has yet to answer.
    pub(in crate::engine) fn advance_delayed(&mut self) -> bool {
        if self.lifecycle.is_exited() || self.is_disk_outstanding() {
            return false;
        }
        let Some(input) = self.backlog.behind_disk.pop_front() else { return false };
        self.receive(input);
        true
    }

    /// Extensions could not be heard while a write was outstanding: their deadlines are moved.
    pub(in crate::engine) fn postpone_extensions(&mut self, since: Duration) {
        let late = self.now.monotonic.saturating_sub(since);
        if !late.is_zero() && !self.extensions.is_suspended() {
            self.extensions.postpone(late);
        }
    }
}

/// Whether a frame is answered while the disk has yet to answer: it neither shows the conversation nor changes it.
fn is_served_meanwhile(frame: &Inbound) -> bool {
    use RpcCommandKind as Kind;
    let Inbound::Command(command) = frame else { return false };
    matches!(
        command.kind(),
        Kind::GetState | Kind::GetCommands | Kind::GetAvailableModels | Kind::GetAvailableThinkingLevels
    )
}

/// Whether a frame ends work that goes on.
fn is_abort(frame: &Inbound) -> bool {
    use RpcCommandKind as Kind;
    let Inbound::Command(command) = frame else { return false };
    matches!(command.kind(), Kind::Abort | Kind::AbortAndPrompt | Kind::AbortBash | Kind::AbortRetry)
}
