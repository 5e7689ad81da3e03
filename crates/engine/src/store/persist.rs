//! Appends entries, and performs the continuations once they are persisted.
//!
//! What could not be written stays in memory as far as it was a message (the host has seen it grow), and is written
//! before anything else as soon as a file works again, which every further entry tries; a change of settings is taken
//! back.

use crate::{
    activity::Next,
    core::Engine,
    extensions::process::FailureSource,
    io::Output,
    prompt::Recipient,
    run::state::EarlyEnd,
    store::{
        Appended, StoreStep,
        after_append::{AfterAppend, ChangeResponse, Rollback},
        sessions::SESSION,
    },
};
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEventKind, AutoRetryEndEvent, DialectRunEnd, DialectSessionModel,
    EntryAppendedEvent, MessageEndEvent, MessageStartEvent, ModelChangedEvent, ModelSelectSource,
    RpcCommandKind, RpcSuccess, SessionInfoChangedEvent, SessionStartReason, StopReason, ThinkingLevel,
    ThinkingLevelChangedEvent, errors,
};
use pi_rpc_session::{NewEntry, Stamp};
use std::sync::Arc;

impl Engine {
    /// Appends a message of the run; `message_end` is emitted once it is persisted.
    pub(crate) fn append_message(&mut self, message: AgentMessage) {
        let message = Arc::new(message);
        self.append(NewEntry::Message(message.clone()));
        self.store.after_append(AfterAppend::MessageEnd(message));
    }

    /// Adds an entry to the session, and gives its id.
    pub(crate) fn append(&mut self, entry: NewEntry) -> Option<Arc<str>> {
        let stamp = self.stamp();
        self.store.append(entry, stamp, self.ids.random())
    }

    /// The dialect and the time of an entry.
    pub(crate) const fn stamp(&self) -> Stamp {
        Stamp { dialect: self.dialect, wall_ms: self.now.wall }
    }

    /// The current settings, to roll back to.
    pub(crate) const fn rollback_point(&self) -> Rollback {
        Rollback {
            changes: 0,
            model: self.models.current,
            level: self.models.level,
            named: false,
            appended: None,
        }
    }

    /// Responds to a change of settings once its entries are persisted.
    pub(crate) fn respond_after_append(&mut self, before: Rollback, answer: ChangeResponse) {
        self.store.after_append(AfterAppend::Response(answer, before));
    }

    /// Writes the next entries, or performs the continuation after the last; `false` if there is neither.
    pub(crate) fn advance_store(&mut self) -> bool {
        match self.store.advance(self.now.monotonic) {
            Some(StoreStep::Write(write)) => self.push(Output::Store(write)),
            Some(StoreStep::Follow(next, appended)) => self.follow_append(next, &appended),
            None => return false,
        }
        true
    }

    /// Handles a completed write.
    pub(crate) fn on_stored(&mut self) {
        if let Some(since) = self.store.complete() {
            self.postpone_extensions(since);
        }
    }

    /// Handles a failed write: reports it, and rolls back or fails what waited for it.
    pub(crate) fn on_store_failed(&mut self, reason: &str) {
        let Some((since, next, appended)) = self.store.fail() else { return };
        self.postpone_extensions(since);
        let text = errors::store_failed(self.dialect.base(), reason);
        match next {
            // The exclusion stays, and is written once writes succeed again.
            None | Some(AfterAppend::Nothing | AfterAppend::Entries { .. }) => {}
            Some(AfterAppend::Boundary { then, .. }) => self.follow_boundary(then),
            Some(AfterAppend::MessageEnd(message)) => self.on_message_unwritten(message, text, &appended),
            Some(AfterAppend::RunEnd(end)) => {
                // The entries are written, only the sync has failed: the run has not failed.
                self.store.retry_write();
                let path = self.session_file().unwrap_or_default();
                self.report_failure(FailureSource::File(&path, SESSION), &text);
                self.emit_event(*end);
            }
            Some(AfterAppend::ExtensionMessage(_, recipient)) => {
                self.store.session.undo();
                self.respond_failure(&recipient, text);
            }
            Some(AfterAppend::Response(answer, before)) => {
                (0..before.changes).for_each(|_| self.store.session.undo());
                (self.models.current, self.models.level) = (before.model, before.level);
                match answer {
                    ChangeResponse::Response(response) => self.fail_response(&response, text),
                    ChangeResponse::Success(Recipient::Host { id, kind }) => {
                        self.handler_failed(id, kind, text)
                    }
                    ChangeResponse::Success(recipient) => self.respond_failure(&recipient, text),
                }
            }
            Some(AfterAppend::OpenRun { recipient, .. }) => {
                self.refuse_prompt(&recipient, text);
            }
            Some(AfterAppend::Compaction) => {
                self.store.session.undo();
                self.end_compaction(Some(text));
            }
            Some(AfterAppend::Navigation { call, before, .. }) => {
                self.store.session = *before;
                self.fail_navigation(call, text);
            }
            Some(AfterAppend::Fork { response, before }) => {
                self.store.session = *before;
                self.fail_response(&response, text);
                self.notify_session_kept();
            }
        }
    }

    /// Performs the continuation of persisted entries.
    fn follow_append(&mut self, next: AfterAppend, appended: &Appended) {
        match next {
            AfterAppend::Nothing => {}
            AfterAppend::MessageEnd(message) => self.emit_message_end(message, appended),
            AfterAppend::RunEnd(end) => self.emit_event(*end),
            AfterAppend::Boundary { entries, then } => {
                self.emit_entries(&entries, appended);
                self.follow_boundary(then);
            }
            AfterAppend::Entries { entries, compacts } => {
                self.emit_entries(&entries, appended);
                if compacts {
                    self.compact_overflow();
                }
            }
            AfterAppend::ExtensionMessage(message, recipient) => {
                let message = message.as_ref().clone();
                self.emit_event(MessageStartEvent { message: message.clone(), message_id: None });
                self.emit_event(MessageEndEvent { message, message_id: None });
                self.respond_success(&recipient);
            }
            AfterAppend::Response(answer, before) => self.respond_with_change(answer, &before, appended),
            AfterAppend::Fork { response, before } => {
                self.reset_for_session();
                if self.dialect.record().sessions_start_anew {
                    self.drop_queued_messages();
                }
                if self.dialect.record().session_model == DialectSessionModel::Initial {
                    self.restore_replaced_model();
                }
                self.restore();
                // It begins later: the file before it is let go all the same.
                if !self.store.session.is_on_disk() {
                    self.push(Output::CloseSession);
                }
                let previous = before.file().map(|path| path.to_string_lossy().into_owned());
                self.respond_after_session_start(SessionStartReason::Fork, previous, *response);
            }
            AfterAppend::OpenRun { recipient, message, is_aborted } => {
                self.admit_prompt(recipient, *message, is_aborted)
            }
            AfterAppend::Compaction => self.on_compaction_stored(appended),
            AfterAppend::Navigation { call, event, .. } => self.on_branch_stored(call, *event, appended),
        }
    }

    /// Emits what a command has changed, in dialects that have events for it, and its response.
    fn respond_with_change(&mut self, answer: ChangeResponse, before: &Rollback, appended: &Appended) {
        self.emit_change(before, appended);
        let source = match &answer {
            ChangeResponse::Response(it) if matches!(**it, RpcSuccess::CycleModel(_)) => {
                ModelSelectSource::Cycle
            }
            _ => ModelSelectSource::Set,
        };
        self.notify_model_change((before.model, before.level), source);
        match answer {
            ChangeResponse::Response(response) => self.succeed(*response),
            ChangeResponse::Success(recipient) => self.respond_success(&recipient),
        }
    }

    /// Emits what a command has changed, in dialects that have an event for it.
    fn emit_change(&mut self, before: &Rollback, appended: &Appended) {
        use AgentSessionEventKind::{ModelChanged, SessionInfoChanged, ThinkingLevelChanged};
        let base = self.dialect.base();
        if before.model != self.models.current && ModelChanged.is_in(base) {
            self.emit_event(ModelChangedEvent {});
        }
        if self.models.level != before.level && ThinkingLevelChanged.is_in(base) {
            self.emit_event(ThinkingLevelChangedEvent {
                level: Some(self.models.level.unwrap_or(ThinkingLevel::Off)),
                thinking_level: self.models.level,
                configured: None,
                resolved: None,
            });
        }
        if before.named && SessionInfoChanged.is_in(base) {
            let name = self.store.session.name();
            self.emit_event(SessionInfoChangedEvent { name });
        }
        self.emit_entries(before.appended.as_slice(), appended);
    }

    /// Emits entries that no other frame shows, in dialects that have an event for them.
    fn emit_entries(&mut self, ids: &[Arc<str>], _: &Appended) {
        if !self.emits_entries() {
            return;
        }
        let tree = self.store.session.tree();
        let entries: Vec<_> = ids.iter().filter_map(|id| tree.get(id)?.content()).collect();
        for entry in entries {
            self.emit_event(EntryAppendedEvent { entry });
        }
    }

    /// Emits `message_end`, and continues the run.
    fn emit_message_end(&mut self, message: Arc<AgentMessage>, _: &Appended) {
        if let Some(run) = self.activity.run_mut() {
            run.messages.push(message.clone());
        }
        let next = match message.as_ref() {
            AgentMessage::Assistant(_) => Next::Tools,
            _ => Next::Kept,
        };
        self.emit_event_with(MessageEndEvent { message: message.as_ref().clone(), message_id: None }, next);
        let answered = match message.as_ref() {
            AgentMessage::Assistant(it) => !matches!(it.stop_reason, StopReason::Error | StopReason::Aborted),
            _ => false,
        };
        if answered && self.series.attempt > 0 {
            let attempt = std::mem::take(&mut self.series.attempt);
            match &mut self.series.chain {
                // It has no run of its own there.
                Some(chain) if self.dialect.record().run_end == DialectRunEnd::Chain => {
                    chain.recovered = Some(attempt);
                }
                _ => self.emit_retry_success(attempt),
            }
        }
        // What a user asks anew may be compacted for anew.
        self.series.overflowed &= !answered && !matches!(message.as_ref(), AgentMessage::User(_));
    }

    /// Emits that a retry has succeeded.
    pub(crate) fn emit_retry_success(&mut self, attempt: u64) {
        self.emit_event(AutoRetryEndEvent { success: true, attempt, final_error: None, retry_errors: None });
    }

    /// Ends the run whose message could not be written, with the reason.
    fn on_message_unwritten(&mut self, message: Arc<AgentMessage>, text: String, appended: &Appended) {
        if let Some(run) = self.activity.run_mut() {
            run.is_unpersisted = true;
        }
        let AgentMessage::Assistant(answer) = message.as_ref() else {
            if let Some(run) = self.activity.run_mut() {
                run.early_end.get_or_insert(EarlyEnd::Failed(text));
            }
            self.emit_message_end(message, appended);
            return self.cancel_tools();
        };
        let mut answer = answer.clone();
        answer.stop_reason = StopReason::Error;
        answer.error_message = Some(text);
        let answer = Arc::new(AgentMessage::Assistant(answer));
        self.activity.replace(&answer);
        self.store.session.undo();
        self.append(NewEntry::Message(answer.clone()));
        // Not retried at once.
        self.store.wait();
        self.emit_message_end(answer, appended);
    }

    /// Fails the command of a response whose change could not be written.
    fn fail_response(&mut self, response: &RpcSuccess, text: String) {
        let kind = RpcCommandKind::parse(response.kind().as_str());
        if let Some(kind) = kind {
            self.handler_failed(response.id().cloned(), kind, text);
        }
    }
}
