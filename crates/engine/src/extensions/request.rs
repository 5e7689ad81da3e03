//! One request to an extension, as data: its kind and its deadline. `requests` sends and completes it.
//!
//! | Request | Limit | After it |
//! |---|---|---|
//! | a command | [`ACCEPT_TIMEOUT`] until any frame names it; once the input has ended, [`END_OF_INPUT_TIMEOUT`] | the host is notified, the prompt succeeds all the same |
//! | a hook | [`HOOK_TIMEOUT`], suspended while a dialog of it is open | it fails |
//! | a tool call | none | |
//! | any of them, once cancelled | [`CANCEL_TIMEOUT`] | it fails |
//!
//! Deadlines are suspended while the host is not reading, but for cancelled requests. Decided here: the originals wait
//! for extensions without limit.

use crate::{io::CallId, prompt::Recipient};
use std::time::Duration;

/// How long an extension may take to accept a command.
pub const ACCEPT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an extension may take to respond to a hook.
pub const HOOK_TIMEOUT: Duration = Duration::from_secs(30);

/// How long an extension may take to end a cancelled request.
pub const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// How long extensions may take once they are notified of the exit.
pub const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a command may take once the input has ended.
pub const END_OF_INPUT_TIMEOUT: Duration = Duration::from_secs(10);

/// An outstanding request to an extension.
#[derive(Debug)]
pub struct Request {
    /// The place of the extension.
    pub place: usize,
    pub process: CallId,
    pub kind: RequestKind,
    pub deadline: Deadline,
    /// How many of its dialogs are open.
    pub dialogs: usize,
    /// Its dialogs are answered with the default before they open.
    pub is_cancelled: bool,
}

/// The kind of a request, with its continuation.
#[derive(Debug)]
pub enum RequestKind {
    /// A slash command.
    Command {
        name: String,
        /// The recipient of the response, until it is sent: when the dialect's `slashAck` says.
        recipient: Option<Recipient>,
        /// The recipient of the response, once it is sent before the command has ended.
        answered: Option<Recipient>,
        /// Whether the extension has accepted it.
        is_accepted: bool,
    },
    /// A tool call of the batch.
    Tool(CallId),
    /// A hook.
    Hook { hook: CallId, owner: HookOwner },
    /// The notification of the exit.
    Shutdown,
}

/// The work that a hook belongs to, which decides when it is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookOwner {
    /// A tool call.
    Call,
    /// A prompt on its way to a run.
    Prompt,
    /// A command of the host.
    Command,
}

/// When a request must complete.
#[derive(Clone, Copy, Debug)]
pub enum Deadline {
    Never,
    At(Duration),
    /// Suspended, with this much left.
    Suspended(Duration),
}

impl RequestKind {
    /// Whether the request belongs to a call of the batch.
    pub const fn is_of_call(&self) -> bool {
        matches!(self, Self::Tool(_) | Self::Hook { owner: HookOwner::Call, .. })
    }

    /// Whether the request belongs to the run or to a prompt.
    pub const fn is_of_run(&self) -> bool {
        self.is_of_call() || matches!(self, Self::Hook { owner: HookOwner::Prompt, .. })
    }
}

impl Request {
    /// Whether its deadline is suspended while the host is not reading.
    pub const fn is_suspendable(&self) -> bool {
        !self.is_cancelled && !matches!(self.kind, RequestKind::Shutdown)
    }

    /// When it is due; `None`: never, or its deadline is suspended.
    pub const fn due(&self) -> Option<Duration> {
        match self.deadline {
            Deadline::At(due) => Some(due),
            Deadline::Never | Deadline::Suspended(_) => None,
        }
    }

    /// How much time is left.
    pub const fn remaining(&self, now: Duration) -> Duration {
        match self.deadline {
            Deadline::At(due) => due.saturating_sub(now),
            Deadline::Suspended(left) => left,
            Deadline::Never => Duration::MAX,
        }
    }

    /// The hook that the request belongs to.
    pub const fn hook(&self) -> Option<CallId> {
        match self.kind {
            RequestKind::Hook { hook, .. } => Some(hook),
            _ => None,
        }
    }

    /// Moves the deadline.
    pub fn postpone(&mut self, by: Duration) {
        if let Deadline::At(due) = &mut self.deadline {
            *due += by;
        }
    }

    /// Suspends the deadline while a dialog is open.
    pub const fn open_dialog(&mut self, now: Duration) {
        self.dialogs += 1;
        if let Deadline::At(due) = self.deadline {
            self.deadline = Deadline::Suspended(due.saturating_sub(now));
        }
    }

    /// Resumes the deadline with the last dialog that closes.
    pub fn close_dialog(&mut self, now: Duration) {
        self.dialogs = self.dialogs.saturating_sub(1);
        if let (Deadline::Suspended(left), 0) = (self.deadline, self.dialogs) {
            self.deadline = Deadline::At(now + left);
        }
    }
}
