//! Shutdown: at the end of the input, by a signal, or for an extension's `shutdown`.

use crate::{
    actions::task::ActionTasks,
    core::Engine,
    extensions::host::ExtensionHost,
    io::{Input, Output},
    run::deferred::AfterRun,
    tool_result::error_result,
};
use pi_rpc_machine::LifecycleEvent;
use pi_rpc_protocol::{DialectEndOfInput, errors};
use std::time::Duration;

impl Engine {
    /// Handles the end of the input: work under way is finished, left or aborted, by the dialect.
    pub(crate) fn end_of_input(&mut self) {
        let dialect = self.dialect.record().end_of_input;
        self.activity.begin_exit(LifecycleEvent::Ended);
        // Failed writes get a last attempt.
        self.store.retry_write();
        self.close_all_dialogs();
        // The host, which would open the page, is gone.
        self.cancel_login();
        self.abandon_host_navigation();
        let text = errors::host_gone(self.dialect.base());
        for call in std::mem::take(&mut self.requests.host_tools).into_values() {
            self.tool_end(call, error_result(&text), true);
        }
        self.extensions.limit_commands(self.now.monotonic);
        match dialect {
            DialectEndOfInput::Finish => {}
            // Shell commands of the host go on; nothing else does.
            DialectEndOfInput::AbortRun => self.abort_work(),
            DialectEndOfInput::Exit => {
                self.drop_steps();
                // Their responses are emitted, and the run that they wait for does not end any more.
                while self.append_shell_message() {}
            }
        }
    }

    /// Handles a signal: aborts all work, then exits.
    pub(crate) fn shut_down(&mut self) {
        self.activity.begin_exit(LifecycleEvent::Stopped);
        // Failed writes get a last attempt.
        self.store.retry_write();
        self.backlog.lines.clear();
        self.backlog.after_run.retain(|next| !matches!(next, AfterRun::AfterPrompt(_)));
        let held = std::mem::take(&mut self.backlog.before_greeting);
        if self.left_run.take().is_some() {
            self.close_cut_run();
        }
        self.close_all_dialogs();
        // Before its hook is cancelled with the rest, behind which it would go on.
        self.abandon_host_navigation();
        self.abort_work();
        self.cancel_shells();
        self.cancel_login();
        // Held lines of the host are dropped; extensions still get responses to their actions.
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

    /// Serves an extension's `shutdown`: exits once everything under way is finished.
    pub(crate) fn drain(&mut self) {
        self.activity.begin_exit(LifecycleEvent::Drained);
        self.cancel_login();
        self.extensions.limit_commands(self.now.monotonic);
    }

    /// Aborts the run, the prompts, the retry and the compaction.
    fn abort_work(&mut self) {
        self.with_extensions(|host, context| host.cancel_requests(|_| true, Duration::ZERO, context));
        self.abort_chain();
        self.abort_run();
        self.cancel_retry();
        self.cancel_compaction();
    }

    /// Once nothing is left to do, notifies the extensions of the exit, then exits; `false` if work is left.
    pub(crate) fn exit_when_done(&mut self) -> bool {
        if !self.activity.lifecycle().is_ending()
            || !(self.activity.lifecycle().leaves_work() || self.is_idle())
        {
            return false;
        }
        if self.activity.lifecycle().owes_exit_notice() {
            self.activity.move_lifecycle(LifecycleEvent::ExitNotified);
            self.with_extensions(ExtensionHost::notify_exit);
            return true;
        }
        let exits = !self.extensions.has_exit_notification();
        if exits {
            self.exit();
        }
        exits
    }

    /// Exits, and drops the requests to extensions.
    pub(crate) fn exit(&mut self) {
        if !self.activity.lifecycle().is_exited() {
            self.activity.move_lifecycle(LifecycleEvent::Exited);
            self.requests.actions = ActionTasks::default();
            self.requests.navigations.clear();
            self.with_extensions(|host, context| {
                host.end_requests_and_actions(context);
            });
            self.release_all_frames();
            self.push(Output::Exit);
        }
    }

    /// Whether events are withheld from the host, because the end of the input has aborted the work: responses still
    /// go out.
    pub(crate) fn withholds_events(&self) -> bool {
        self.activity.lifecycle().aborts_work()
            && self.dialect.record().end_of_input == DialectEndOfInput::AbortRun
    }
}
