//! Entries are stored before they are told of.
//!
//! An entry goes to the session first. [`Output::Store`] asks for its line to be written; only when
//! [`Stored`](crate::engine::Input::Stored) comes is the [`Tell`] carried out. What could not be written stays in memory as far as it was a message (the host has seen it grow), and is written before anything else
//! as soon as a file works again, which every further entry tries; a change of settings is taken back.

use crate::engine::{
    CallId, Engine, Output, extensions::process::FailureSource, prompt::Reply, run::state::EarlyEnd,
    store::sessions::SESSION,
};
use crate::{
    protocol::{
        AgentEndEvent, AgentMessage, AgentSessionEventKind, AutoRetryEndEvent, EntryAppendedEvent,
        MessageEndEvent, MessageStartEvent, ModelSelectSource, RpcCommandKind, RpcSuccess,
        SessionInfoChangedEvent, SessionStartReason, StopReason, ThinkingLevel, ThinkingLevelChangedEvent,
        TreeHook, UserMessage, errors,
    },
    session::{NewEntry, Session, Stamp, Write},
};
use std::sync::Arc;

/// What is said once everything kept so far is on disk.
#[derive(Debug)]
pub enum Tell {
    /// Nothing: it was told of before.
    Nothing,
    /// A message of the run is complete.
    Message(Arc<AgentMessage>),
    /// Entries that no other event tells of, by their ids.
    Appended {
        /// Their ids.
        entries: Vec<Arc<str>>,
        /// The context is compacted then, because a request did not fit into it.
        compacts: bool,
    },
    /// A run has ended, and all of it is on the disk.
    RunEnd(Box<AgentEndEvent>),
    /// An extension has added a message where no run is open; if it cannot be stored, it was not added.
    Note(Arc<AgentMessage>, Reply),
    /// A command is answered; if it cannot be stored, it has changed nothing.
    Answer(Answer, Before),
    /// A prompt was held up by entries that could not be written before.
    Prompt {
        /// Who waits for an answer.
        reply: Reply,
        /// What the user says.
        message: Box<UserMessage>,
        /// It was aborted before it was served.
        unasked: bool,
    },
    /// The context was compacted.
    Compacted,
    /// The session goes on at another place.
    Moved {
        /// The action that wanted it.
        call: CallId,
        /// What extensions are told of it.
        event: Box<TreeHook>,
        /// The session as it was.
        before: Box<Session>,
    },
    /// Another session has begun.
    Forked {
        /// The answer.
        response: Box<RpcSuccess>,
        /// The session before it.
        before: Box<Session>,
    },
}

/// How a command is answered once it is stored.
#[derive(Debug)]
pub enum Answer {
    /// With this response.
    Response(Box<RpcSuccess>),
    /// Plainly.
    Reply(Reply),
}

impl Answer {
    /// With this response.
    pub fn response(response: impl Into<RpcSuccess>) -> Self {
        Self::Response(Box::new(response.into()))
    }
}

/// What a change of settings is taken back to.
#[derive(Debug)]
pub struct Before {
    /// How many changes of the session were kept for it.
    pub changes: usize,
    /// Place of the model.
    pub model: usize,
    /// The thinking level.
    pub level: Option<ThinkingLevel>,
    /// The session gets a name.
    pub named: bool,
    /// An entry that no other frame tells of, by its id.
    pub appended: Option<Arc<str>>,
}

impl Engine {
    /// Keeps a message of the run; `message_end` follows when it is stored.
    pub(in crate::engine) fn keep_message(&mut self, message: AgentMessage) {
        let message = Arc::new(message);
        self.keep(NewEntry::Message(message.clone()));
        self.tell = Some(Tell::Message(message));
    }

    /// Keeps a message outside of a run, which is told when it is stored.
    pub(in crate::engine) fn keep_note(&mut self, message: AgentMessage, reply: Reply) {
        let message = Arc::new(message);
        self.keep(NewEntry::Message(message.clone()));
        self.tell = Some(Tell::Note(message, reply));
    }

    /// Adds an entry to the session, and gives its id. It is written in the order of keeping, what was missed before it
    /// first.
    pub(in crate::engine) fn keep(&mut self, entry: NewEntry) -> Option<Arc<str>> {
        self.broken = None;
        let stamp = self.stamp();
        self.session.append(entry, stamp, self.ids.random());
        self.session.tree().leaf_id().cloned()
    }

    /// The dialect and the time of an entry.
    pub(in crate::engine) const fn stamp(&self) -> Stamp {
        Stamp { dialect: self.dialect, wall_ms: self.now.wall }
    }

    /// What a change of settings would be taken back to now.
    pub(in crate::engine) const fn before(&self) -> Before {
        Before {
            changes: 0,
            model: self.models.current,
            level: self.models.level,
            named: false,
            appended: None,
        }
    }

    /// Answers a change of settings as soon as what was kept for it is stored.
    pub(in crate::engine) fn answer_kept(&mut self, before: Before, answer: Answer) {
        self.broken = None;
        self.tell = Some(Tell::Answer(answer, before));
    }

    /// Writes the next line, or tells what is stored; `false` when there is nothing of both.
    pub(in crate::engine) fn advance_storing(&mut self) -> bool {
        if self.broken.is_none()
            && let Some(write) = self.session.next_write()
        {
            self.storing = Some(self.now.monotonic);
            self.push(Output::Store(write));
            return true;
        }
        let Some(tell) = self.tell.take() else { return false };
        self.told(tell);
        true
    }

    /// Tells the end of a run when the session is on the disk.
    pub(in crate::engine) fn sync_before(&mut self, end: AgentEndEvent) {
        self.tell = Some(Tell::RunEnd(Box::new(end)));
        self.storing = Some(self.now.monotonic);
        self.push(Output::Store(Write::Sync));
    }

    /// The last write failed. Nothing more is written until something is asked for that needs it.
    pub(in crate::engine) fn store_failed(&mut self, reason: &str) {
        self.storing_over();
        let text = errors::store_failed(self.dialect.base(), reason);
        self.broken = Some(text.clone());
        match self.tell.take() {
            // What is left out stays so, and is written when a file works again.
            None | Some(Tell::Nothing | Tell::Appended { .. }) => {}
            Some(Tell::Message(message)) => self.message_unkept(message, text),
            Some(Tell::RunEnd(end)) => {
                // It is written, and only a loss of power can still cost it: the run has not failed.
                self.broken = None;
                let path = self.session_file().unwrap_or_default();
                self.report_failure(FailureSource::File(&path, SESSION), &text);
                self.event(*end);
            }
            Some(Tell::Note(_, reply)) => {
                self.session.undo();
                self.refuse(&reply, text);
            }
            Some(Tell::Answer(answer, before)) => {
                (0..before.changes).for_each(|_| self.session.undo());
                (self.models.current, self.models.level) = (before.model, before.level);
                match answer {
                    Answer::Response(response) => self.unanswered(&response, text),
                    Answer::Reply(Reply::Host { id, kind }) => self.handler_failed(id, kind, text),
                    Answer::Reply(reply) => self.refuse(&reply, text),
                }
            }
            Some(Tell::Prompt { reply, .. }) => {
                self.accept_early(&reply);
                self.refuse(&reply, text);
            }
            Some(Tell::Compacted) => self.compaction_unkept(text),
            Some(Tell::Moved { call, before, .. }) => self.unmoved(call, *before, text),
            Some(Tell::Forked { response, before }) => {
                self.session = *before;
                self.unanswered(&response, text);
                self.session_stays();
            }
        }
    }

    fn told(&mut self, tell: Tell) {
        match tell {
            Tell::Nothing => {}
            Tell::Message(message) => self.message_told(message),
            Tell::RunEnd(end) => self.event(*end),
            Tell::Appended { entries, compacts } => {
                self.entries_told(&entries);
                if compacts {
                    self.compact_overflow();
                }
            }
            Tell::Note(message, reply) => {
                let message = message.as_ref().clone();
                self.event(MessageStartEvent { message: message.clone() });
                self.event(MessageEndEvent { message });
                self.accept(&reply);
            }
            Tell::Answer(answer, before) => {
                self.settings_told(&before);
                let source = match &answer {
                    Answer::Response(it) if matches!(**it, RpcSuccess::CycleModel(_)) => {
                        ModelSelectSource::Cycle
                    }
                    _ => ModelSelectSource::Set,
                };
                self.tell_choice((before.model, before.level), source);
                match answer {
                    Answer::Response(response) => self.succeed(*response),
                    Answer::Reply(reply) => self.accept(&reply),
                }
            }
            Tell::Forked { response, before } => {
                self.left();
                if self.dialect.record().sessions_start_anew {
                    self.empty_queues();
                }
                self.restore();
                // It begins later: the file before it is let go all the same.
                if !self.session.is_on_disk() {
                    self.push(Output::CloseSession);
                }
                let previous = before.file().map(|path| path.to_string_lossy().into_owned());
                self.session_begun(SessionStartReason::Fork, previous, *response);
            }
            Tell::Prompt { reply, message, unasked } => self.open_run(reply, *message, unasked),
            Tell::Compacted => self.compacted(),
            Tell::Moved { call, event, .. } => self.moved(call, *event),
        }
    }

    /// Tells what a command has changed, in dialects that have an event for it.
    fn settings_told(&mut self, before: &Before) {
        use AgentSessionEventKind::{SessionInfoChanged, ThinkingLevelChanged};
        let base = self.dialect.base();
        if self.models.level != before.level && ThinkingLevelChanged.is_in(base) {
            self.event(ThinkingLevelChangedEvent { level: self.models.level.unwrap_or(ThinkingLevel::Off) });
        }
        if before.named && SessionInfoChanged.is_in(base) {
            let name = self.session.name();
            self.event(SessionInfoChangedEvent { name });
        }
        self.entries_told(before.appended.as_slice());
    }

    /// Tells of entries that no other frame shows, in dialects that have an event for them.
    fn entries_told(&mut self, ids: &[Arc<str>]) {
        if !self.tells_entries() {
            return;
        }
        let tree = self.session.tree();
        let entries: Vec<_> = ids.iter().filter_map(|id| tree.get(id)?.content()).collect();
        for entry in entries {
            self.event(EntryAppendedEvent { entry });
        }
    }

    fn message_told(&mut self, message: Arc<AgentMessage>) {
        if let Some(run) = self.activity.run_mut() {
            run.messages.push(message.clone());
        }
        if let (Some(run), AgentMessage::Assistant(_)) = (self.activity.run_mut(), message.as_ref()) {
            run.answer_emitted();
        }
        self.event(MessageEndEvent { message: message.as_ref().clone() });
        let answered = match message.as_ref() {
            AgentMessage::Assistant(it) => !matches!(it.stop_reason, StopReason::Error | StopReason::Aborted),
            _ => false,
        };
        if answered && self.series.attempt > 0 {
            let attempt = std::mem::take(&mut self.series.attempt);
            self.event(AutoRetryEndEvent { success: true, attempt, final_error: None });
        }
        self.series.overflowed &= !answered;
    }

    /// The run of a message that could not be stored ends, and says why.
    fn message_unkept(&mut self, message: Arc<AgentMessage>, text: String) {
        if let Some(run) = self.activity.run_mut() {
            run.is_unpersisted = true;
        }
        let AgentMessage::Assistant(answer) = message.as_ref() else {
            if let Some(run) = self.activity.run_mut() {
                run.early_end.get_or_insert(EarlyEnd::Failed(text));
            }
            self.message_told(message);
            return self.cancel_tools();
        };
        let mut answer = answer.clone();
        answer.stop_reason = StopReason::Error;
        answer.error_message = Some(text);
        let answer = Arc::new(AgentMessage::Assistant(answer));
        if let Some(run) = self.activity.run_mut() {
            run.replace(&answer);
        }
        self.session.undo();
        let broken = self.broken.take();
        self.keep(NewEntry::Message(answer.clone()));
        // Not at once again.
        self.broken = broken;
        self.message_told(answer);
    }

    /// A response that cannot be given: the command has failed.
    fn unanswered(&mut self, response: &RpcSuccess, text: String) {
        let kind = RpcCommandKind::parse(response.kind().as_str());
        if let Some(kind) = kind {
            self.handler_failed(response.id().cloned(), kind, text);
        }
    }
}
