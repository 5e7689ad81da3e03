//! Serves the lines of the host, at once or in order of arrival.
//!
//! In dialects that serve them one by one, a line waits while a command before it is in hand, but for commands that
//! overtake or run beside the others. Reads never wait, in any dialect. Decided here: a host can see the state of the
//! session while a command takes long; in the original of `xcsh` its reads wait, too.

use crate::{
    backlog::QueuedLine,
    core::Engine,
    extensions::hook::Hook,
    run::{compaction::Compaction, deferred::AfterRun},
};
use pi_rpc_protocol::{Outbound, RpcCommand, RpcCommandKind};

impl Engine {
    /// Serves a line, or queues it behind an unfinished command in dialects that serve one by one; the control lane is
    /// served at once.
    pub(crate) fn serve_or_queue(&mut self, line: QueuedLine, control: bool) {
        let serial = self.dialect.is_serial();
        let waits = serial && !control && (self.is_busy() || !self.backlog.lines.is_empty());
        match waits || self.holds_commands() {
            true => self.backlog.lines.push_back(line),
            false => self.serve_line(line),
        }
    }

    /// Serves a line.
    fn serve_line(&mut self, line: QueuedLine) {
        match line {
            QueuedLine::Command(command) => self.serve_command(command, false),
            QueuedLine::AbortedShell(command) => self.cancel_unstarted_shell(command),
            QueuedLine::AbortedPrompt(command) => self.serve_command(command, true),
            QueuedLine::AbortedCompaction(command) => self.refuse_compaction(command),
            QueuedLine::BadLine(error) => {
                // In order: an error without an id must follow the responses to the commands before it.
                self.activity.invalid_line(&error);
                let response = error.response(self.dialect);
                self.emit(Outbound::Response(response.into()));
            }
        }
    }

    /// Whether an unfinished command holds up the lines behind it.
    fn is_busy(&self) -> bool {
        let compacts = self.activity.compaction().is_some_and(Compaction::is_manual);
        let are_shells_beside = self.dialect.runs_beside_others(RpcCommandKind::Bash);
        let awaits_shells = !are_shells_beside && !self.requests.shells.is_empty();
        let waits = awaits_shells || !self.backlog.after_run.is_empty();
        let is_hooked = self.extensions.hooks().any(Hook::holds_commands);
        waits || compacts || is_hooked || self.extensions.has_unaccepted_command()
    }

    /// Serves the next queued line; `false` if there is none or a command before it is unfinished.
    pub(crate) fn serve_next_line(&mut self) -> bool {
        let serial = self.dialect.is_serial();
        if self.holds_commands() || serial && self.is_busy() {
            return false;
        }
        let Some(line) = self.backlog.lines.pop_front() else { return false };
        self.serve_line(line);
        true
    }

    /// Aborts the queued shell commands; each is responded to in its turn.
    pub(crate) fn abort_queued_shells(&mut self) {
        for line in &mut self.backlog.lines {
            if let QueuedLine::Command(RpcCommand::Bash(command)) = line {
                *line = QueuedLine::AbortedShell(command.clone());
            }
        }
    }

    /// Aborts the queued prompts and compactions. The run of such a prompt still opens in its turn, but requests no
    /// model; such a compaction does not begin.
    pub(crate) fn abort_queued_work(&mut self) {
        for line in &mut self.backlog.lines {
            let QueuedLine::Command(command) = line else { continue };
            *line = match command {
                RpcCommand::Prompt(_) | RpcCommand::AbortAndPrompt(_) => {
                    QueuedLine::AbortedPrompt(command.clone())
                }
                RpcCommand::Compact(command) => QueuedLine::AbortedCompaction(command.clone()),
                _ => continue,
            };
        }
        for next in &mut self.backlog.after_run {
            if let AfterRun::Compact(command) = next {
                *next = AfterRun::AbortedCompaction(command.clone());
            }
        }
    }
}
