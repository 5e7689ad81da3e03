//! Shell commands of the host: start, cancellation, output, result, and their message in the session.

use crate::{
    core::Engine,
    extensions::hook::Hook,
    io::{CallId, Output, ShellEnd, ShellStart},
    requests::Shell,
    store::after_append::{AfterAppend, ChangeResponse, Rollback},
};
use pi_rpc_protocol::{
    AgentMessage, BashCommand, BashExecutionMessage, BashExecutionUpdateEvent, BashResponse, BashResult,
    DialectErrorStyle, DialectExtensionApi, HookBash, HookName, Outbound, RequestId, RpcCommandKind,
    RpcErrorResponse, UserBashHook, errors,
};
use pi_rpc_session::NewEntry;
use std::sync::Arc;

/// Line and byte counts of empty output, which counts as one line.
const NO_OUTPUT: [u64; 4] = [1, 0, 1, 0];

impl Engine {
    /// Serves `bash`: runs a shell command, in some dialects after the `user_bash` hook.
    pub(crate) fn start_shell(&mut self, command: BashCommand) {
        let has_hook = self.dialect.record().extension_api == DialectExtensionApi::V15;
        if !has_hook || !self.is_hooked(HookName::UserBash) {
            return self.run_shell(command);
        }
        let event = UserBashHook {
            command: command.command.clone(),
            exclude_from_context: command.exclude_from_context == Some(true),
            cwd: self.requests.shell_directory.clone().unwrap_or_else(|| self.store.place.directory.clone()),
        };
        let command = Box::new(command);
        self.send_hook(Hook::UserBash { event, failure: None, result: None, command });
    }

    /// Runs a shell command whose `user_bash` hook has completed, or responds with what the hook has made of it.
    pub(crate) fn on_shell_hooked(
        &mut self,
        command: BashCommand,
        failure: Option<String>,
        made: Option<HookBash>,
    ) {
        if self.activity.lifecycle().is_stopping() {
            return self.cancel_unstarted_shell(command);
        }
        if let Some(text) = failure {
            return self.handler_failed(command.id, RpcCommandKind::Bash, text);
        }
        let Some(made) = made else { return self.run_shell(command) };
        let shell = self.shell(command);
        let end = ShellEnd {
            output: made.output,
            exit_code: made.exit_code.and_then(|code| i32::try_from(code).ok()),
            cancelled: made.cancelled,
            truncated: made.truncated,
            full_output_path: made.full_output_path,
            directory: self.requests.shell_directory.clone(),
            counts: NO_OUTPUT,
        };
        self.finish_shell(shell, end);
    }

    /// Starts a shell command.
    fn run_shell(&mut self, command: BashCommand) {
        let call = self.ids.call();
        let shell = self.shell(command);
        let command = shell.command.clone();
        self.requests.shells.insert(call, shell);
        self.push(Output::StartShell(ShellStart {
            call,
            command,
            directory: self.requests.shell_directory.clone(),
        }));
    }

    /// Cancels all running shell commands.
    pub(crate) fn cancel_shells(&mut self) {
        let calls: Vec<_> = self.requests.shells.keys().copied().collect();
        for call in calls {
            self.push(Output::CancelShell(call));
        }
    }

    /// Responds to a shell command that was aborted before it started.
    pub(crate) fn cancel_unstarted_shell(&mut self, command: BashCommand) {
        let directory = self.requests.shell_directory.clone();
        let end = ShellEnd { cancelled: true, directory, counts: NO_OUTPUT, ..ShellEnd::default() };
        let shell = self.shell(command);
        self.finish_shell(shell, end);
    }

    /// The data of a shell command that its end needs.
    fn shell(&self, command: BashCommand) -> Shell {
        Shell {
            id: command.id,
            command: command.command,
            excluded: command.exclude_from_context == Some(true),
            session: self.store.session.id().to_owned(),
            left: false,
        }
    }

    /// Emits output of a shell command.
    pub(crate) fn on_shell_progress(&mut self, call: CallId, delta: String) {
        if let Some(shell) = self.requests.shells.get(&call) {
            let id = shell.id.clone();
            self.emit_event(BashExecutionUpdateEvent { id, delta });
        }
    }

    /// Handles the end of a shell command.
    pub(crate) fn on_shell_end(&mut self, call: CallId, end: Result<ShellEnd, String>) {
        let Some(shell) = self.requests.shells.remove(&call) else { return };
        match end {
            // It may have ended by itself just before.
            Ok(end) if shell.left => {
                self.finish_shell(shell, ShellEnd { exit_code: None, cancelled: true, ..end });
            }
            Ok(end) => self.finish_shell(shell, end),
            Err(text) => self.handler_failed(shell.id, RpcCommandKind::Bash, text),
        }
    }

    /// Responds to a shell command that has ended, and appends its message.
    fn finish_shell(&mut self, shell: Shell, end: ShellEnd) {
        let message = self.shell_message(&shell, &end);
        if let Some(directory) = &end.directory {
            self.requests.shell_directory = Some(directory.clone());
        }
        let response = BashResponse { id: shell.id, data: self.bash_result(end) };
        let goes_on = self.activity.is_streaming() || self.series.chain.is_some();
        if shell.session == self.store.session.id() && !goes_on {
            let before = Rollback { changes: 1, ..self.rollback_point() };
            self.append(NewEntry::Message(message));
            return self.respond_after_append(before, ChangeResponse::response(response));
        }
        // A message between a tool call and its result would be invalid: it is appended after the run.
        if shell.session == self.store.session.id() {
            self.backlog.shell_messages.push_back(message);
        }
        self.succeed(response);
    }

    /// Appends the message of the next command that ended during a run; `false` if there is none.
    pub(crate) fn append_shell_message(&mut self) -> bool {
        let Some(message) = self.backlog.shell_messages.pop_front() else { return false };
        self.append(NewEntry::Message(message));
        self.store.after_append(AfterAppend::Nothing);
        true
    }

    /// The message of a shell command in the session.
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
            exclude_from_context: shell.excluded.then_some(true),
        }))
    }

    /// The data of the response to `bash`.
    fn bash_result(&self, end: ShellEnd) -> BashResult {
        // Each command begins in the directory of the session, where such a member exists.
        let working_dir = (!end.cancelled).then(|| self.store.place.directory.clone());
        let has_lines = !end.output.is_empty() || self.dialect.record().empty_output_is_line;
        let counts = if has_lines { end.counts } else { [0; 4] };
        let [total_lines, total_bytes, output_lines, output_bytes] = counts.map(Some);
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
            elided_bytes: None,
            elided_lines: None,
            working_dir,
        }
    }

    /// Responds that a command failed after it was accepted, in the dialect's style of errors.
    pub(crate) fn handler_failed(&mut self, id: Option<RequestId>, kind: RpcCommandKind, text: String) {
        let Some(text) = self.take_action_failure(id.as_ref(), text) else { return };
        match self.dialect.record().error_style {
            DialectErrorStyle::Echo => self.fail(id, kind, text),
            DialectErrorStyle::Parse => {
                let error = errors::parse(self.dialect.base(), &text);
                let response = RpcErrorResponse { id: None, command: "parse".to_owned(), error, code: None };
                self.emit(Outbound::Response(response.into()));
            }
        }
    }
}
