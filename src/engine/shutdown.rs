//! What ends the process: the end of the input, a signal, or an extension's `shutdown`.

use crate::engine::{
    actions::task::ActionTasks,
    core::Engine,
    extensions::host::ExtensionHost,
    io::{Input, Output},
    run::deferred::AfterRun,
};
use crate::protocol::DialectEndOfInput;

impl Engine {
    /// Ends the input: work under way is finished, left or aborted, as the dialect has it.
    pub(in crate::engine) fn end_of_input(&mut self) {
        let dialect = self.dialect.record().end_of_input;
        self.machine.end_of_input();
        self.lifecycle.end_input(dialect);
        // What could not be written gets a last chance.
        self.store.retry_write();
        self.close_all_dialogs();
        self.fail_host_calls();
        self.extensions.limit_commands(self.now.monotonic);
        match dialect {
            DialectEndOfInput::Finish => {}
            // Shell commands of the host go on; nothing else does.
            DialectEndOfInput::AbortRun => self.abort_work(),
            DialectEndOfInput::Exit => {
                self.drop_steps();
                // Their responses were emitted, and their run does not end any more.
                while self.append_shell_message() {}
            }
        }
    }

    /// Stops the process for a signal.
    pub(in crate::engine) fn shut_down(&mut self) {
        self.machine.end_of_input();
        self.lifecycle.stop();
        // What could not be written gets a last chance.
        self.store.retry_write();
        self.backlog.lines.clear();
        self.backlog.after_run.retain(|next| !matches!(next, AfterRun::AfterPrompt(_)));
        let held = std::mem::take(&mut self.backlog.before_greeting);
        self.close_all_dialogs();
        self.abort_work();
        self.cancel_shells();
        // What the host wrote comes too late; extensions still get a response to their actions.
        for input in held {
            if matches!(
                input,
                Input::Extension { .. }
                    | Input::ExtensionBadLine { .. }
                    | Input::ExtensionBadRegister { .. }
                    | Input::ExtensionEnded { .. }
            ) {
                self.dispatch(input);
            }
        }
    }

    /// Exits once everything under way is finished: an extension has asked for that.
    pub(in crate::engine) fn drain(&mut self) {
        self.machine.end_of_input();
        self.lifecycle.drain();
        self.extensions.limit_commands(self.now.monotonic);
    }

    /// Aborts the run, and whatever leads to one.
    fn abort_work(&mut self) {
        self.cancel_all_requests();
        self.abort_chain();
        self.abort_run();
        self.cancel_retry();
        self.cancel_compaction();
    }

    /// Notifies the extensions of the exit, then exits, once nothing is left to do; `false` if that is not so.
    pub(in crate::engine) fn exit_when_done(&mut self) -> bool {
        if !self.lifecycle.is_ending() || !(self.lifecycle.leaves_work() || self.is_idle()) {
            return false;
        }
        if self.lifecycle.take_exit_notice() {
            self.with_extensions(ExtensionHost::notify_exit);
            return true;
        }
        let exits = !self.extensions.has_exit_notification();
        if exits {
            self.exit();
        }
        exits
    }

    /// Exits; requests to extensions end with their processes.
    pub(in crate::engine) fn exit(&mut self) {
        if !self.lifecycle.is_exited() {
            self.lifecycle = crate::engine::lifecycle::Lifecycle::Exited;
            self.requests.actions = ActionTasks::default();
            self.with_extensions(|host, context| {
                host.drop_requests();
                host.end_actions(context);
            });
            self.push(Output::Exit);
        }
    }

    /// Whether events are withheld from the host, because the end of the input has aborted the work: responses still go out.
    pub(in crate::engine) fn withholds_events(&self) -> bool {
        self.lifecycle.aborts_work() && self.dialect.record().end_of_input == DialectEndOfInput::AbortRun
    }
}
