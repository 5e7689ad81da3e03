//! Everything that the engine has accepted and cannot do yet, by what it waits for: the greeting, the command before it, or
//! the end of the run (whose entries are in [`run::deferred`](crate::run::deferred)).
//!
//! Plain data; [`Engine`](crate::Engine) fills and drains it in `core`, `host_lines`, `prompts` and
//! `run::after_run`.

use crate::{io::Input, prompt::Prompt, run::deferred::AfterRun, step::PendingStep};
use pi_rpc_protocol::{AgentMessage, BashCommand, CompactCommand, LineError, RpcCommand};
use std::{collections::VecDeque, sync::Arc};

/// Deferred work, in order of arrival for each cause.
#[derive(Debug, Default)]
pub struct Backlog {
    /// The prompt that is being examined; later prompts are deferred.
    pub intake: Intake,
    /// Steps of the run, held until the extensions have completed a notification.
    pub steps: VecDeque<PendingStep>,
    /// Inputs held until every extension has registered.
    pub before_greeting: VecDeque<Input>,
    /// Inputs held while a request to the disk is outstanding.
    pub behind_disk: VecDeque<Input>,
    /// Lines of the host behind an unfinished command, in dialects that serve them one by one.
    pub lines: VecDeque<QueuedLine>,
    /// Work deferred to the end of the open run.
    pub after_run: VecDeque<AfterRun>,
    /// Messages of shell commands that ended while a run was open.
    pub shell_messages: VecDeque<Arc<AgentMessage>>,
}

/// The state of the one prompt between its command and its disposition.
#[derive(Debug, Default)]
pub enum Intake {
    /// No prompt is being examined.
    #[default]
    Free,
    /// The `input` hook of a prompt is outstanding, or the file of its skill is being read.
    Examining,
    /// The `input` hook is complete; held until it is decided what follows the run that has ended.
    Examined {
        /// The prompt.
        prompt: Box<Prompt>,
        /// An extension has handled the prompt: no run follows.
        is_handled: bool,
    },
}

impl Intake {
    /// Whether no prompt is examined.
    pub const fn is_free(&self) -> bool {
        matches!(self, Self::Free)
    }
}

/// A line of the host, held until the command before it is done.
#[derive(Debug)]
pub enum QueuedLine {
    Command(RpcCommand),
    /// A shell command that was aborted before it started.
    AbortedShell(BashCommand),
    /// A prompt that was aborted before it was served.
    AbortedPrompt(RpcCommand),
    /// A compaction that was aborted before it began.
    AbortedCompaction(CompactCommand),
    BadLine(LineError),
}
