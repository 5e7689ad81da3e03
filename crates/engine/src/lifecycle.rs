//! The lifecycle of the process, from the start of the extensions to the exit.
//!
//! ```text
//! Greeting ─→ Open ─→ Draining ─→ Exited
//!    └──────────┴────────┴─→ Stopping ─↗
//! ```
//!
//! | State | Entered by | Commands of the host | Work under way |
//! |---|---|---|---|
//! | `Greeting` | the start | held | – |
//! | `Open` | every extension has registered and knows the session | served | goes on |
//! | `Draining` | the end of the input (`pi`), an extension's `shutdown` | served as long as the input is open | is finished |
//! | `Stopping` | the end of the input (`pi-1`, `xcsh`), a signal | ignored after a signal | is aborted, or left as it is |
//! | `Exited` | nothing is left to do | ignored | – |
//!
//! Source: the originals, which differ at the end of the input. Decided here: after it, a `bash` of `pi-1` still ends
//! and is answered (its original drops it); a signal aborts and ends every child in all dialects.

use pi_rpc_protocol::DialectEndOfInput;

/// How far the process is.
#[derive(Debug)]
pub enum Lifecycle {
    /// Extensions start; commands of the host are held.
    Greeting {
        /// How far the greeting is.
        greeting: Greeting,
        /// The host's side of the pipe.
        input: HostInput,
    },
    /// Commands of the host are served.
    Open {
        /// The host's side of the pipe; it may have ended after commands that were held.
        input: HostInput,
    },
    /// The process exits once everything under way is finished.
    Draining {
        /// Whether extensions are notified of the exit.
        exit_notice: ExitNotice,
        /// The host's side of the pipe.
        input: HostInput,
    },
    /// The process exits soon: no run opens any more. The input has ended, or is not read any more.
    Stopping {
        /// How the work under way ends.
        stop: Stop,
        /// Whether extensions are notified of the exit.
        exit_notice: ExitNotice,
        /// Whether the host was greeted; a process that is stopped before stays silent.
        is_greeted: bool,
    },
    /// The process has exited: inputs are ignored.
    Exited,
}

/// How far the greeting is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// Extensions register; nothing may be emitted yet.
    Registering,
    /// The host is greeted; extensions learn of the session, and name skills and templates.
    Introducing {
        /// Whether an extension has requested the exit meanwhile.
        drains: bool,
    },
}

/// The host's side of the pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostInput {
    /// Frames may come.
    Open,
    /// The host has closed it: no dialog is answered any more.
    Ended,
}

/// Whether extensions were notified of the exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitNotice {
    /// Not yet.
    Pending,
    /// Notified; they have until [`EXIT_TIMEOUT`](crate::limits::EXIT_TIMEOUT).
    Sent,
}

/// How the work under way ends when the process stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The work is left as it is: `xcsh` after the end of the input.
    Leave,
    /// The work is aborted: `pi-1` after the end of the input, every dialect after a signal.
    Abort,
    /// The work was left, and is then aborted by a signal.
    LeaveAborted,
}

impl Lifecycle {
    /// The lifecycle at the start, before extensions have registered.
    pub const fn start() -> Self {
        Self::Greeting { greeting: Greeting::Registering, input: HostInput::Open }
    }

    /// Whether the host was greeted: anything may be emitted.
    pub const fn is_greeted(&self) -> bool {
        !matches!(
            self,
            Self::Greeting { greeting: Greeting::Registering, .. } | Self::Stopping { is_greeted: false, .. }
        )
    }

    /// Whether commands of the host are served rather than held.
    pub const fn is_greeting_over(&self) -> bool {
        !matches!(self, Self::Greeting { .. })
    }

    /// Whether the exit is decided.
    pub const fn is_ending(&self) -> bool {
        matches!(self, Self::Draining { .. } | Self::Stopping { .. } | Self::Exited)
    }

    /// Whether the host has closed its side of the pipe, or is not read any more.
    pub const fn is_input_over(&self) -> bool {
        match self {
            Self::Greeting { input, .. } | Self::Open { input } | Self::Draining { input, .. } => {
                matches!(input, HostInput::Ended)
            }
            Self::Stopping { .. } | Self::Exited => true,
        }
    }

    /// Whether the work under way is left as it is, and nothing is waited for.
    pub const fn leaves_work(&self) -> bool {
        matches!(self, Self::Stopping { stop: Stop::Leave | Stop::LeaveAborted, .. })
    }

    /// Whether the work under way is aborted, and none begins.
    pub const fn aborts_work(&self) -> bool {
        matches!(self, Self::Stopping { stop: Stop::Abort | Stop::LeaveAborted, .. })
    }

    /// Whether no new work begins.
    pub const fn is_stopping(&self) -> bool {
        matches!(self, Self::Stopping { .. })
    }

    /// Whether frames of extensions are ignored.
    pub const fn disregards_extensions(&self) -> bool {
        matches!(
            self,
            Self::Stopping { .. } | Self::Draining { exit_notice: ExitNotice::Sent, .. } | Self::Exited
        )
    }

    /// Whether the process has exited.
    pub const fn is_exited(&self) -> bool {
        matches!(self, Self::Exited)
    }

    /// Marks the host as greeted.
    pub const fn greet(&mut self) {
        if let Self::Greeting { greeting, .. } = self {
            *greeting = Greeting::Introducing { drains: false };
        }
    }

    /// Opens the server to commands: extensions are notified of the session.
    pub const fn open(&mut self) {
        if let Self::Greeting { greeting, input } = *self {
            *self = match greeting {
                Greeting::Introducing { drains: true } => {
                    Self::Draining { exit_notice: ExitNotice::Pending, input }
                }
                _ => Self::Open { input },
            };
        }
    }

    /// Records the end of the input during the greeting.
    pub const fn end_input_early(&mut self) {
        if let Self::Greeting { input, .. } = self {
            *input = HostInput::Ended;
        }
    }

    /// The process exits once everything under way is finished.
    pub const fn drain(&mut self) {
        match *self {
            Self::Greeting { ref mut greeting, .. } => *greeting = Greeting::Introducing { drains: true },
            Self::Open { input } => *self = Self::Draining { exit_notice: ExitNotice::Pending, input },
            Self::Draining { .. } | Self::Stopping { .. } | Self::Exited => {}
        }
    }

    /// Records the end of the input, after every line was read.
    pub const fn end_input(&mut self, dialect: DialectEndOfInput) {
        let exit_notice = self.exit_notice();
        *self = match (dialect, &self) {
            (_, Self::Exited) => return,
            (
                DialectEndOfInput::Exit,
                Self::Stopping { stop: Stop::Abort | Stop::LeaveAborted, is_greeted, .. },
            ) => Self::Stopping { stop: Stop::LeaveAborted, exit_notice, is_greeted: *is_greeted },
            (_, Self::Stopping { .. }) => return,
            (DialectEndOfInput::Finish, _) => Self::Draining { exit_notice, input: HostInput::Ended },
            (DialectEndOfInput::Exit, _) => {
                Self::Stopping { stop: Stop::Leave, exit_notice, is_greeted: self.is_greeted() }
            }
            (DialectEndOfInput::AbortRun, _) => {
                Self::Stopping { stop: Stop::Abort, exit_notice, is_greeted: self.is_greeted() }
            }
        };
    }

    /// Begins to stop because of a signal.
    pub const fn stop(&mut self) {
        let stop = if self.leaves_work() { Stop::LeaveAborted } else { Stop::Abort };
        *self = Self::Stopping { stop, exit_notice: self.exit_notice(), is_greeted: self.is_greeted() };
    }

    /// Whether extensions are still to be notified of the exit; marks them as notified.
    pub const fn take_exit_notice(&mut self) -> bool {
        match self {
            Self::Draining { exit_notice, .. } | Self::Stopping { exit_notice, .. } => {
                let is_pending = matches!(exit_notice, ExitNotice::Pending);
                *exit_notice = ExitNotice::Sent;
                is_pending
            }
            _ => false,
        }
    }

    const fn exit_notice(&self) -> ExitNotice {
        match self {
            Self::Draining { exit_notice, .. } | Self::Stopping { exit_notice, .. } => *exit_notice,
            _ => ExitNotice::Pending,
        }
    }
}
