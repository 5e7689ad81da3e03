//! What extensions add at the end of a turn and before a chain of runs settles: entries, and one more model request.

use crate::{
    core::Engine,
    extensions::{hook::Hook, process::FailureSource},
    store::after_append::AfterAppend,
};
use pi_rpc_protocol::{
    AddedEntry, AgentMessage, AgentSessionEventKind, BeforeSettleHook, EventHook, HookName, HookResult,
    errors,
};
use pi_rpc_session::NewEntry;
use std::sync::Arc;

/// The event at whose end handlers may add something.
const TURN_END: AgentSessionEventKind = AgentSessionEventKind::TurnEnd;

/// Stands for the extension in an error about what several have added.
const BOUNDARY: &str = "<boundary>";

/// What extensions add.
#[derive(Debug, Default)]
pub struct Boundary {
    /// Entries of the session, in order.
    entries: Vec<AddedEntry>,
    /// The model is requested once more.
    continues: bool,
}

/// What follows once the entries are persisted and emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterBoundary {
    /// The end of the chain, or the next step of the run.
    Nothing,
    /// The frame of the event, then the next step of the run.
    Frame,
    /// A run without a message of the user.
    Run,
}

impl Boundary {
    /// Adds what one extension has returned.
    pub fn add(&mut self, result: HookResult) {
        self.entries.extend(result.entries.into_iter().flatten());
        self.continues |= result.continues.unwrap_or(false);
    }
}

/// Whether the handlers of an event may add something.
pub fn is_turn_end(hook: &EventHook) -> bool {
    hook.event.get("type").is_some_and(|kind| *kind == TURN_END.as_str())
}

impl Engine {
    /// Adds what the handlers of `turn_end` have returned, then emits the frame that they hold.
    pub(crate) fn finish_event(&mut self, boundary: Boundary, holds_frame: bool) {
        let continues = boundary.continues;
        let entries = self.append_added(boundary.entries);
        if continues && self.may_continue(TURN_END.as_str()) {
            self.activity.run_mut().into_iter().for_each(|run| run.continues = true);
        }
        let then = if holds_frame { AfterBoundary::Frame } else { AfterBoundary::Nothing };
        self.emit_added(entries, then);
    }

    /// Sends the hook `agent_before_settle`, once after each run; `false`: no extension registered for it.
    pub(crate) fn notify_before_settling(&mut self) -> bool {
        let is_left = self.activity.lifecycle().is_stopping() || self.store.has_failed();
        let Some(chain) = self.series.chain.as_mut().filter(|chain| !chain.aborted && !is_left) else {
            return false;
        };
        if std::mem::replace(&mut chain.is_settling, true) || !self.is_hooked(HookName::AgentBeforeSettle) {
            return false;
        }
        let event = BeforeSettleHook {};
        self.notify(Hook::AgentBeforeSettle { event, boundary: Boundary::default() });
        true
    }

    /// Adds what the handlers of `agent_before_settle` have returned; another run follows if they want that.
    pub(crate) fn finish_before_settling(&mut self, boundary: Boundary) {
        let continues = boundary.continues;
        let entries = self.append_added(boundary.entries);
        let is_aborted = self.series.chain.as_ref().is_none_or(|chain| chain.aborted);
        let runs = continues && !is_aborted && self.may_continue(HookName::AgentBeforeSettle.as_str());
        self.emit_added(entries, if runs { AfterBoundary::Run } else { AfterBoundary::Nothing });
    }

    /// Continues once added entries are persisted, or could not be.
    pub(crate) fn follow_boundary(&mut self, then: AfterBoundary) {
        match then {
            AfterBoundary::Nothing => {}
            AfterBoundary::Frame => self.release_frames(),
            AfterBoundary::Run => self.start_run([]),
        }
    }

    fn append_added(&mut self, entries: Vec<AddedEntry>) -> Vec<Arc<str>> {
        let mut ids = Vec::new();
        for entry in entries {
            let entry = match entry.message {
                Some(message) => {
                    NewEntry::Message(Arc::new(AgentMessage::Custom(self.custom_message(message))))
                }
                None => NewEntry::Custom { kind: entry.custom_type.unwrap_or_default(), data: entry.data },
            };
            ids.extend(self.append(entry));
        }
        ids
    }

    fn emit_added(&mut self, entries: Vec<Arc<str>>, then: AfterBoundary) {
        match entries.is_empty() {
            true => self.follow_boundary(then),
            false => self.store.after_append(AfterAppend::Boundary { entries, then }),
        }
    }

    /// Whether the model has something to answer; reports that it has not.
    fn may_continue(&mut self, event: &str) -> bool {
        let mut messages = self.store.session.messages().iter().rev();
        let last = messages.find(|message| !matches!(***message, AgentMessage::System(_)));
        let is_answered = last.is_none_or(|last| matches!(**last, AgentMessage::Assistant(_)));
        if is_answered && self.queues.are_empty() {
            let text = errors::nothing_to_continue(self.dialect.base(), event);
            self.report_failure(FailureSource::File(BOUNDARY, event), &text);
            return false;
        }
        true
    }
}
