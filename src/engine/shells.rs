//! Shell commands of the host.

use super::{
    Engine, Output, ShellEnd, ShellStart,
    core::Shell,
    keep::{Answer, Before},
};
use crate::{
    protocol::{
        AgentMessage, BashCommand, BashExecutionMessage, BashResponse, BashResult, DialectErrorStyle,
        Outbound, RequestId, RpcCommandKind, RpcErrorResponse, errors,
    },
    session::NewEntry,
};
use std::sync::Arc;

/// Lines and bytes of nothing: what is empty has one line.
const NO_OUTPUT: [u64; 4] = [1, 0, 1, 0];

impl Engine {
    pub(super) fn start_shell(&mut self, id: Option<RequestId>, command: String) {
        let call = self.ids.call();
        let session = self.session.id().to_owned();
        self.shells.insert(call, Shell { id, command: command.clone(), session });
        self.push(Output::StartShell(ShellStart { call, command, directory: self.directory.clone() }));
    }

    pub(super) fn cancel_shells(&mut self) {
        let calls: Vec<_> = self.shells.keys().copied().collect();
        for call in calls {
            self.push(Output::CancelShell(call));
        }
    }

    /// Answers a shell command that was stopped before it began.
    pub(super) fn unrun_shell(&mut self, command: BashCommand) {
        let directory = self.directory.clone();
        let end = ShellEnd { cancelled: true, directory, counts: NO_OUTPUT, ..ShellEnd::default() };
        let shell = Shell { id: command.id, command: command.command, session: self.session.id().to_owned() };
        self.shell_over(shell, end);
    }

    pub(super) fn shell_end(&mut self, call: super::CallId, end: Result<ShellEnd, String>) {
        let Some(shell) = self.shells.remove(&call) else { return };
        match end {
            Ok(end) => self.shell_over(shell, end),
            Err(text) => self.handler_failed(shell.id, RpcCommandKind::Bash, text),
        }
    }

    fn shell_over(&mut self, shell: Shell, end: ShellEnd) {
        let message = self.shell_message(&shell, &end);
        if let Some(directory) = &end.directory {
            self.directory = Some(directory.clone());
        }
        let response = BashResponse { id: shell.id, data: Self::bash_result(end) };
        if shell.session == self.session.id() && self.run.is_none() {
            let before = Before { changes: 1, ..self.before() };
            self.keep(NewEntry::Message(message));
            return self.answer_kept(before, Answer::response(response));
        }
        // Between a call and its result there is no place for it: it follows the run.
        if shell.session == self.session.id() {
            self.deferred.push_back(message);
        }
        self.succeed(response);
    }

    fn shell_message(&self, shell: &Shell, end: &ShellEnd) -> Arc<AgentMessage> {
        Arc::new(AgentMessage::BashExecution(BashExecutionMessage {
            command: shell.command.clone(),
            output: end.output.clone(),
            exit_code: end.exit_code.map(i64::from),
            cancelled: end.cancelled,
            truncated: end.truncated,
            full_output_path: end.full_output_path.clone(),
            meta: None,
            timestamp: self.now.wall,
            exclude_from_context: None,
        }))
    }

    fn bash_result(end: ShellEnd) -> BashResult {
        let [total_lines, total_bytes, output_lines, output_bytes] = end.counts.map(Some);
        BashResult {
            output: end.output,
            exit_code: end.exit_code.map(i64::from),
            cancelled: end.cancelled,
            truncated: end.truncated,
            full_output_path: end.full_output_path,
            new_cwd: end.directory,
            total_lines,
            total_bytes,
            output_lines,
            output_bytes,
            artifact_id: None,
        }
    }

    /// A command that was accepted and then failed, in the dialect's style.
    pub(super) fn handler_failed(&mut self, id: Option<RequestId>, kind: RpcCommandKind, text: String) {
        match self.dialect.record().error_style {
            DialectErrorStyle::Echo => self.fail(id, kind, text),
            DialectErrorStyle::Parse => {
                let error = errors::parse(self.dialect.base(), &text);
                let response = RpcErrorResponse { id: None, command: "parse".to_owned(), error };
                self.say(Outbound::Response(response.into()));
            }
        }
    }
}
