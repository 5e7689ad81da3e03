//! One extension, as data: its process, what it has registered, and its limits. `processes` starts and ends it.
//!
//! | Limit | | After it |
//! |---|---|---|
//! | a `register` that is no frame | before a valid one | ended, not started again |
//! | time until `register` | [`REGISTER_TIMEOUT`]; of the Node host [`HOST_REGISTER_TIMEOUT`] | ended, not started again |
//! | lines that are no frames | [`MAX_BAD_LINES`] | ended, started again |
//! | hooks in a row without a response in time | [`MAX_HANGS`] | ended, started again |
//! | restarts after an unexpected end | [`MAX_RESTARTS`] | not started again |
//!
//! The host is notified of each by `extension_error`.

use crate::{extensions::dialog::UnshownDialogs, io::CallId};
use pi_rpc_protocol::{ExtensionRegister, HookName};
use std::time::Duration;

/// How long an extension may take to register.
pub const REGISTER_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the Node host may take: it loads all of pi's own extensions first.
pub const HOST_REGISTER_TIMEOUT: Duration = Duration::from_secs(60);

/// How many lines of one process may be no frames.
pub const MAX_BAD_LINES: usize = 16;

/// How many hooks in a row an extension may leave without a response.
pub const MAX_HANGS: usize = 2;

/// How often an extension that has ended is started again.
pub const MAX_RESTARTS: usize = 3;

/// Matches the events of every type in a registration.
pub const ALL_EVENTS: &str = "*";

/// An extension and its process.
#[derive(Debug)]
pub struct Extension {
    /// Its executable.
    pub path: String,
    /// Its process, while there is one.
    pub process: Option<CallId>,
    pub stage: ProcessStage,
    /// When it must have registered.
    pub due: Option<Duration>,
    pub starts: usize,
    pub strays: usize,
    /// Hooks in a row without a response in time.
    pub hangs: usize,
    /// Its dialogs that were not shown.
    pub unshown: UnshownDialogs,
    /// The latest registration, kept while the process is not running.
    pub registered: ExtensionRegister,
}

/// How far an extension is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessStage {
    /// Not registered yet.
    Starting,
    Running,
    /// Being stopped.
    Ending,
    /// Not running.
    Gone,
}

/// The source of a failure, for `extension_error`.
pub enum FailureSource<'a> {
    /// A slash command.
    Command(&'a str),
    /// The extension at this place, and the event that failed.
    Extension(usize, &'a str),
    /// This file, and the event that failed.
    File(&'a str, &'a str),
    /// An action of an extension.
    Runtime(&'a str),
    /// The file of a skill.
    Skill(&'a str),
}

impl Extension {
    /// An extension that is not started yet.
    pub fn new(path: String) -> Self {
        Self {
            path,
            process: None,
            stage: ProcessStage::Gone,
            due: None,
            starts: 0,
            strays: 0,
            hangs: 0,
            unshown: UnshownDialogs::default(),
            registered: ExtensionRegister {
                commands: None,
                tools: None,
                hooks: None,
                events: None,
                awaits: None,
                flags: None,
                shortcuts: None,
                mcp_servers: None,
                mcp_section: None,
            },
        }
    }

    /// Whether the extension registered for the hook.
    pub fn is_hooked(&self, hook: HookName) -> bool {
        self.registered.hooks.iter().flatten().any(|name| *name == hook)
    }

    /// Whether the engine waits until it has received events of that type.
    pub fn awaits(&self, event: &str) -> bool {
        self.registered.awaits.iter().flatten().any(|name| name == event) && self.is_hooked(HookName::Event)
    }

    /// Whether the extension receives events of that type without being awaited.
    pub fn observes(&self, event: &str) -> bool {
        self.stage == ProcessStage::Running
            && !self.awaits(event)
            && self.registered.events.iter().flatten().any(|name| name == event || name == ALL_EVENTS)
    }
}
