//! What has come in and waits: for the greeting, for the command before it, for the end of the run.

use crate::engine::{io::Input, prompt::Prompt, run::deferred::AfterRun, step::PendingStep};
use crate::protocol::{AgentMessage, BashCommand, CompactCommand, LineError, RpcCommand};
use std::{collections::VecDeque, sync::Arc};

/// What waits, each in the order in which it came.
#[derive(Debug, Default)]
pub struct Backlog {
    /// The prompt that is examined: others line up behind it.
    pub intake: Intake,
    /// Steps that wait until the extensions have received a notification.
    pub steps: VecDeque<PendingStep>,
    /// Inputs that came before every extension had registered.
    pub before_greeting: VecDeque<Input>,
    /// Inputs that came while a request to the disk was outstanding.
    pub behind_disk: VecDeque<Input>,
    /// Lines that wait for the command before them, in dialects that serve them one by one.
    pub lines: VecDeque<QueuedLine>,
    /// What waits for the end of the open run.
    pub after_run: VecDeque<AfterRun>,
    /// Messages of shell commands that ended while a run was open.
    pub shell_messages: VecDeque<Arc<AgentMessage>>,
}

/// A prompt between its command and the decision what becomes of it.
#[derive(Debug, Default)]
pub enum Intake {
    /// None is examined.
    #[default]
    Free,
    /// Extensions are asked about a prompt, or the file of its skill is read.
    Examining,
    /// Extensions have responded. It waits until it is decided what follows the run that has ended.
    Examined {
        /// The prompt.
        prompt: Box<Prompt>,
        /// An extension has dealt with it.
        is_handled: bool,
    },
}

impl Intake {
    /// Whether no prompt is examined.
    pub const fn is_free(&self) -> bool {
        matches!(self, Self::Free)
    }
}

/// A line that waits for the command before it.
#[derive(Debug)]
pub enum QueuedLine {
    Command(RpcCommand),
    /// A shell command that was stopped before it began.
    AbortedShell(BashCommand),
    /// A prompt that was aborted before it was served.
    AbortedPrompt(RpcCommand),
    /// A compaction that was aborted before it began.
    AbortedCompaction(CompactCommand),
    BadLine(LineError),
}
