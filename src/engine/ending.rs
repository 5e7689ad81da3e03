//! The end: of the input, by a signal, or because an extension asks for it.

use crate::engine::{Engine, Input, Output, run::after::AfterRun};
use crate::protocol::DialectEndOfInput;

impl Engine {
    /// The host has closed its side.
    pub(in crate::engine) fn end_of_input(&mut self) {
        self.machine.end_of_input();
        (self.closing, self.over) = (true, true);
        // What could not be written gets a last chance.
        self.broken = None;
        self.leaving = self.dialect.record().end_of_input == DialectEndOfInput::Exit;
        self.end_all_dialogs();
        self.host_gone();
        self.limit_commands();
        if self.dialect.record().end_of_input == DialectEndOfInput::AbortRun {
            // Commands of the host go on; nothing else does.
            (self.silent, self.stopping) = (true, true);
            self.stop_work();
        }
        if self.leaving {
            self.leave_steps();
            // The host was told of them, and their run does not end any more.
            while self.keep_deferred() {}
        }
    }

    /// The input has ended before anything of it was served: no dialog is answered any more.
    pub(in crate::engine) fn nobody_answers(&mut self) {
        self.over = true;
        self.end_all_dialogs();
    }

    /// The process was told to stop.
    pub(in crate::engine) fn shut_down(&mut self) {
        self.machine.end_of_input();
        (self.closing, self.over) = (true, true);
        self.stopping = true;
        // What could not be written gets a last chance.
        self.broken = None;
        self.waiting.clear();
        self.after_run.retain(|next| !matches!(next, AfterRun::LinedUp(_)));
        let held = std::mem::take(&mut self.held);
        self.silent |= self.dialect.record().end_of_input == DialectEndOfInput::AbortRun;
        self.end_all_dialogs();
        self.stop_work();
        self.cancel_shells();
        // What the host wrote comes too late; extensions hear what becomes of what they asked.
        for input in held {
            if matches!(
                input,
                Input::Extension { .. }
                    | Input::ExtensionStrayed { .. }
                    | Input::ExtensionMisregistered { .. }
                    | Input::ExtensionEnded { .. }
            ) {
                self.take_in(input);
            }
        }
    }

    /// Ends the run, and whatever leads to one.
    fn stop_work(&mut self) {
        self.unask_all();
        self.abort_chain();
        self.abort_run();
        self.cancel_retry();
        self.cancel_compaction();
    }

    /// Leaves when nothing is left to do; `false` if that is not so.
    pub(in crate::engine) fn exit_when_done(&mut self) -> bool {
        if !self.closing || self.exited || !(self.leaving || self.is_idle()) {
            return false;
        }
        if !std::mem::replace(&mut self.farewell, true) {
            self.say_farewell();
            return true;
        }
        let leaves = !self.is_parting();
        if leaves {
            self.exit();
        }
        leaves
    }

    /// An extension asks for the end: it comes when what goes on is done.
    pub(in crate::engine) fn leave_when_done(&mut self) {
        self.machine.end_of_input();
        self.closing = true;
        self.limit_commands();
    }

    /// The process ends as soon as what goes on is done.
    pub(in crate::engine) const fn is_ending(&self) -> bool {
        self.closing
    }

    /// Nobody answers any more.
    pub(in crate::engine) const fn input_is_over(&self) -> bool {
        self.over
    }

    /// The input has ended, and whatever goes on is left as it is.
    pub(in crate::engine) const fn leaves_at_once(&self) -> bool {
        self.leaving
    }

    /// Nothing begins any more.
    pub(in crate::engine) const fn is_cut_off(&self) -> bool {
        self.stopping || self.leaving
    }

    /// The end has been decided: what an extension does now is of no interest.
    pub(in crate::engine) const fn is_leaving(&self) -> bool {
        self.is_cut_off() || self.farewell
    }

    /// The process ends.
    pub(in crate::engine) fn exit(&mut self) {
        if !std::mem::replace(&mut self.exited, true) {
            // Whatever extensions were asked ends with them.
            self.asks.clear();
            self.end_actions();
            self.push(Output::Exit);
        }
    }
}
