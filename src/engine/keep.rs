//! Entries are stored before they are told of.
//!
//! An entry goes to the session first. [`Output::Store`] asks for its line to be written; only when the engine is polled
//! again, with no [`StoreFailed`](super::Input::StoreFailed) in between, is the [`Tell`] carried out. What could not be
//! written stays in memory as far as it was a message (the host has seen it grow), and is written before anything else
//! as soon as a file works again, which every further entry tries; a change of settings is taken back.

use super::{Engine, Output, prompts::Reply, run::Ending};
use crate::{
    protocol::{
        AgentMessage, AutoRetryEndEvent, MessageEndEvent, MessageStartEvent, RpcCommandKind, RpcSuccess,
        StopReason, ThinkingLevel, UserMessage, errors,
    },
    session::{NewEntry, Session, Stamp},
};
use std::sync::Arc;

/// What is said once everything kept so far is on disk.
#[derive(Debug)]
pub enum Tell {
    /// Nothing: it was told of before.
    Nothing,
    /// A message of the run is complete.
    Message(Arc<AgentMessage>),
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
}

impl Engine {
    /// Keeps a message of the run; `message_end` follows when it is stored.
    pub(super) fn keep_message(&mut self, message: AgentMessage) {
        let message = Arc::new(message);
        self.keep(NewEntry::Message(message.clone()));
        self.tell = Some(Tell::Message(message));
    }

    /// Keeps a message outside of a run, which is told when it is stored.
    pub(super) fn keep_note(&mut self, message: AgentMessage, reply: Reply) {
        let message = Arc::new(message);
        self.keep(NewEntry::Message(message.clone()));
        self.tell = Some(Tell::Note(message, reply));
    }

    /// Adds an entry to the session. It is written in the order of keeping, what was missed before it first.
    pub(super) fn keep(&mut self, entry: NewEntry) {
        self.broken = None;
        let stamp = self.stamp();
        self.session.append(entry, stamp, self.ids.random());
    }

    /// The dialect and the time of an entry.
    pub(super) const fn stamp(&self) -> Stamp {
        Stamp { dialect: self.dialect, wall_ms: self.now.wall }
    }

    /// What a change of settings would be taken back to now.
    pub(super) const fn before(&self) -> Before {
        Before { changes: 0, model: self.model, level: self.level }
    }

    /// Answers a change of settings as soon as what was kept for it is stored.
    pub(super) fn answer_kept(&mut self, before: Before, answer: Answer) {
        self.broken = None;
        self.tell = Some(Tell::Answer(answer, before));
    }

    /// Writes the next line, or tells what is stored; `false` when there is nothing of both.
    pub(super) fn advance_storing(&mut self) -> bool {
        if std::mem::take(&mut self.storing) {
            self.session.written();
        }
        if self.broken.is_none()
            && let Some(write) = self.session.next_write()
        {
            self.storing = true;
            self.push(Output::Store(write));
            return true;
        }
        let Some(tell) = self.tell.take() else { return false };
        self.told(tell);
        true
    }

    /// The last write failed. Nothing more is written until something is asked for that needs it.
    pub(super) fn store_failed(&mut self, reason: &str) {
        self.storing = false;
        let text = errors::store_failed(self.dialect.base(), reason);
        self.broken = Some(text.clone());
        match self.tell.take() {
            None | Some(Tell::Nothing) => {}
            Some(Tell::Message(message)) => self.message_unkept(message, text),
            Some(Tell::Note(_, reply)) => {
                self.session.undo();
                self.refuse(&reply, text);
            }
            Some(Tell::Answer(answer, before)) => {
                (0..before.changes).for_each(|_| self.session.undo());
                (self.model, self.level) = (before.model, before.level);
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
            Some(Tell::Forked { response, before }) => {
                self.session = *before;
                self.unanswered(&response, text);
            }
        }
    }

    fn told(&mut self, tell: Tell) {
        match tell {
            Tell::Nothing => {}
            Tell::Message(message) => self.message_told(message),
            Tell::Note(message, reply) => {
                let message = message.as_ref().clone();
                self.event(MessageStartEvent { message: message.clone() });
                self.event(MessageEndEvent { message });
                self.accept(&reply);
            }
            Tell::Answer(Answer::Response(response), _) => self.succeed(*response),
            Tell::Answer(Answer::Reply(reply), _) => self.accept(&reply),
            Tell::Forked { response, .. } => {
                self.left();
                self.restore();
                // It begins later: the file before it is let go all the same.
                if !self.session.is_on_disk() {
                    self.push(Output::CloseSession);
                }
                self.succeed(*response);
            }
            Tell::Prompt { reply, message, unasked } => self.open_run(reply, *message, unasked),
            Tell::Compacted => self.compacted(),
        }
    }

    fn message_told(&mut self, message: Arc<AgentMessage>) {
        if let Some(run) = &mut self.run {
            run.messages.push(message.clone());
        }
        self.event(MessageEndEvent { message: message.as_ref().clone() });
        let answered = match message.as_ref() {
            AgentMessage::Assistant(it) => !matches!(it.stop_reason, StopReason::Error | StopReason::Aborted),
            _ => false,
        };
        if answered && self.attempt > 0 {
            let attempt = std::mem::take(&mut self.attempt);
            self.event(AutoRetryEndEvent { success: true, attempt, final_error: None });
        }
        self.overflowed &= !answered;
    }

    /// The run of a message that could not be stored ends, and says why.
    fn message_unkept(&mut self, message: Arc<AgentMessage>, text: String) {
        if let Some(run) = &mut self.run {
            run.unkept = true;
        }
        let AgentMessage::Assistant(answer) = message.as_ref() else {
            if let Some(run) = &mut self.run {
                run.ending.get_or_insert(Ending::Failed(text));
            }
            self.message_told(message);
            return self.cancel_tools();
        };
        let mut answer = answer.clone();
        answer.stop_reason = StopReason::Error;
        answer.error_message = Some(text);
        if let Some(run) = &mut self.run {
            run.assistant = Some(answer.clone());
        }
        let answer = Arc::new(AgentMessage::Assistant(answer));
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
