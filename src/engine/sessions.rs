//! Which session is open.

use super::{
    Awaiting, Engine, Output,
    after::AfterRun,
    hooks::Then,
    keep::{Answer, Tell},
    prompts::Reply,
};
use crate::{
    protocol::{
        BeforeForkHook, BeforeSwitchHook, BranchCommand, BranchResponse, Disposition, ExportHtmlCommand,
        ExportHtmlResponse, ExportedFile, ForkCommand, ForkMessage, ForkMessages, ForkResponse, ForkResult,
        NewSessionCommand, NewSessionResponse, RequestId, RpcCommand, RpcCommandKind, RpcSuccess,
        SessionChange, SessionHeader, SwitchReason, SwitchSessionCommand, SwitchSessionResponse,
        ThinkingLevel, errors,
    },
    session::{
        NewEntry, Opened, Session, file_name,
        page::{self, PageOptions},
        session_id,
    },
};
use std::{path::Path, sync::Arc};

impl Engine {
    /// The host wants another session: the extensions have their say first, and whatever goes on goes on meanwhile.
    pub(super) fn leave_session(&mut self, command: RpcCommand) {
        let event = match &command {
            RpcCommand::SwitchSession(it) => BeforeSwitchHook {
                reason: SwitchReason::Resume,
                target_session_file: Some(it.session_path.clone()),
            }
            .into(),
            RpcCommand::Fork(ForkCommand { entry_id, .. })
            | RpcCommand::Branch(BranchCommand { entry_id, .. }) => {
                if self.said_at(entry_id).is_none() {
                    let text = errors::invalid_entry(self.dialect.base());
                    return self.handler_failed(command.id().cloned(), command.kind(), text);
                }
                BeforeForkHook { entry_id: entry_id.clone() }.into()
            }
            _ => BeforeSwitchHook { reason: SwitchReason::New, target_session_file: None }.into(),
        };
        self.hook(event, Then::Leave(command));
    }

    /// The extensions have had their say in another session.
    pub(super) fn leave_said(&mut self, command: RpcCommand, cancelled: bool) {
        let disposition = self.disposition(&command).map_or(Disposition::Control, |case| case.disposition);
        let kind = command.kind();
        let data = SessionChange { cancelled };
        match command {
            RpcCommand::NewSession(it) if cancelled => self.succeed(NewSessionResponse { id: it.id, data }),
            RpcCommand::SwitchSession(it) if cancelled => {
                self.succeed(SwitchSessionResponse { id: it.id, data });
            }
            RpcCommand::Fork(ForkCommand { id, entry_id })
            | RpcCommand::Branch(BranchCommand { id, entry_id })
                if cancelled =>
            {
                let text = self.said_at(&entry_id).unwrap_or_default();
                self.succeed(fork_response(id, kind, ForkResult { text, cancelled }));
            }
            RpcCommand::NewSession(it) => self.between_runs(disposition, AfterRun::NewSession(it)),
            RpcCommand::SwitchSession(it) => self.between_runs(disposition, AfterRun::SwitchSession(it)),
            RpcCommand::Fork(ForkCommand { id, entry_id })
            | RpcCommand::Branch(BranchCommand { id, entry_id }) => {
                self.between_runs(disposition, AfterRun::Fork { id, kind, entry: entry_id });
            }
            // No other command is asked about.
            _ => {}
        }
    }

    /// Begins a session.
    pub(super) fn new_session(&mut self, command: NewSessionCommand) {
        let parent = command.parent_session.filter(|path| !path.is_empty());
        let (header, file) = self.unborn(parent);
        self.leave(Session::new(header, file));
        self.restore();
        self.follow_up.clear();
        self.steering.clear();
        self.keep_quietly(NewEntry::Level(self.level));
        self.push(Output::CloseSession);
        self.succeed(NewSessionResponse { id: command.id, data: SessionChange { cancelled: false } });
    }

    /// Opens another session; goes on in [`opened`](Self::opened).
    pub(super) fn switch_session(&mut self, command: SwitchSessionCommand) {
        self.awaiting = Some(Awaiting::Session(command.id));
        self.push(Output::OpenSession(command.session_path.into()));
    }

    /// The file of another session was read, or not.
    pub(super) fn opened(&mut self, opened: Result<Opened, String>) {
        let Some(Awaiting::Session(id)) = self.awaiting.take() else { return };
        match opened {
            Err(text) => self.handler_failed(id, RpcCommandKind::SwitchSession, text),
            Ok(opened) => {
                self.steering.clear();
                self.follow_up.clear();
                let session = self.session_of(opened);
                self.leave(session);
                self.take_up(false, None);
                self.restore();
                self.succeed(SwitchSessionResponse { id, data: SessionChange { cancelled: false } });
            }
        }
    }

    /// Begins a session with the entries before a message of the user.
    pub(super) fn fork(&mut self, id: Option<RequestId>, kind: RpcCommandKind, entry: &str) {
        let parent = self.session.file().map(|path| path.to_string_lossy().into_owned());
        let (header, file) = self.unborn(parent);
        let stamp = self.stamp();
        let Some(forked) = self.session.tree().fork(entry, header, stamp, self.ids.random()) else {
            let text = errors::invalid_entry(self.dialect.base());
            return self.handler_failed(id, kind, text);
        };
        let before = std::mem::replace(&mut self.session, Session::forked(forked.tree, file));
        let data = ForkResult { text: forked.text, cancelled: false };
        let response = fork_response(id, kind, data);
        self.overflowed = false;
        self.broken = None;
        self.tell = Some(Tell::Forked { response: Box::new(response), before: Box::new(before) });
    }

    /// What the user said in this entry.
    fn said_at(&self, entry: &str) -> Option<String> {
        self.session.tree().user_text(entry)
    }

    /// The messages that a session can be forked at.
    pub(super) fn fork_messages(&self) -> ForkMessages {
        let messages = self.session.tree().fork_messages().into_iter();
        ForkMessages {
            messages: messages.map(|at| ForkMessage { entry_id: at.id.to_string(), text: at.text }).collect(),
        }
    }

    /// Names the session.
    pub(super) fn rename(&mut self, name: &str, reply: Reply) {
        let cleans = self.dialect.record().cleans_session_name;
        let name = if cleans { cleaned(name) } else { name.trim().to_owned() };
        if name.is_empty() {
            let error = errors::session_name_empty(self.dialect.base());
            return self.refuse(&reply, error);
        }
        let mut before = self.before();
        let stamp = self.stamp();
        self.session.rename(&name, stamp, self.ids.random());
        before.changes = 1;
        self.answer_kept(before, Answer::Reply(reply));
    }

    /// The name that a process gives its session.
    pub(super) fn name_quietly(&mut self, name: &str) {
        let stamp = self.stamp();
        self.session.rename(name, stamp, self.ids.random());
    }

    /// Writes the session as a page; goes on in [`file_written`](Self::file_written).
    pub(super) fn export(&mut self, command: ExportHtmlCommand) {
        let export = &self.dialect.record().export;
        let refusal = match (self.session.file(), self.session.is_on_disk() || export.empty) {
            (None, _) => Some(errors::export_in_memory(self.dialect.base())),
            (_, false) => Some(errors::export_nothing(self.dialect.base())),
            _ => None,
        };
        if let Some(text) = refusal {
            return self.handler_failed(command.id, RpcCommandKind::ExportHtml, text);
        }
        let stem = self.session.file().and_then(Path::file_stem).unwrap_or_default().to_string_lossy();
        let path = command.output_path.unwrap_or_else(|| format!("{}{stem}.html", export.prefix));
        let text = page::html(
            self.session.tree(),
            &PageOptions {
                written_by: concat!("pi-rpc ", env!("CARGO_PKG_VERSION")).to_owned(),
                instructions: Some(self.system_prompt.to_string()),
            },
        );
        self.push(Output::WriteFile {
            path: path.clone().into(),
            text,
            creates_folders: export.creates_folders,
        });
        self.awaiting = Some(Awaiting::Page { id: command.id, path });
    }

    /// The page was written, or not.
    pub(super) fn file_written(&mut self, written: Result<(), String>) {
        let Some(Awaiting::Page { id, path }) = self.awaiting.take() else { return };
        match written {
            Ok(()) => self.succeed(ExportHtmlResponse { id, data: ExportedFile { path } }),
            Err(text) => self.handler_failed(id, RpcCommandKind::ExportHtml, text),
        }
    }

    /// The session that a process starts with, or that a file holds.
    pub(super) fn session_of(&mut self, opened: Opened) -> Session {
        match opened.tree {
            Some(tree) => Session::opened(tree, opened.path),
            // Nothing is there yet: the session begins in that very file.
            None => {
                let (header, _) = self.unborn(None);
                Session::new(header, Some(opened.path))
            }
        }
    }

    /// Takes model and level from the session, where it names them; `model` and `level` were asked for and stay.
    pub(super) fn take_up(&mut self, model: bool, level: Option<ThinkingLevel>) {
        if !model
            && let Some((provider, id)) = self.session.model()
            && let Some(at) = self.find_usable(provider, id)
        {
            self.model = at;
        }
        let known = self.session.level();
        self.level = self.fitting(level.or(known).unwrap_or(self.default_level));
        if known.is_none() {
            self.keep_quietly(NewEntry::Level(self.level));
        }
    }

    /// What is remembered of the session is what its branch says.
    pub(super) fn restore(&mut self) {
        self.restore_todos();
        self.restore_rules();
    }

    /// An entry that need not be written before the next one.
    pub(super) fn keep_quietly(&mut self, entry: NewEntry) {
        let stamp = self.stamp();
        self.session.append_quietly(entry, stamp, self.ids.random());
    }

    /// The header and the file of a session that begins now.
    pub(super) fn unborn(&mut self, parent: Option<String>) -> (SessionHeader, Option<Arc<Path>>) {
        let id = session_id(self.dialect, self.now.wall, self.ids.random());
        let header = SessionHeader::new(id, self.place.directory.clone(), parent, self.now.wall);
        let name = file_name(&header.timestamp, &header.id);
        let file = self.place.folder.as_ref().map(|folder| folder.join(name).into());
        (header, file)
    }

    fn leave(&mut self, next: Session) {
        self.session = next;
        self.left();
    }

    /// What held for the session before does not hold for this one.
    pub(super) fn left(&mut self) {
        self.next_turn.clear();
        self.allowed.clear();
        self.overflowed = false;
        self.broken = None;
    }
}

fn fork_response(id: Option<RequestId>, kind: RpcCommandKind, data: ForkResult) -> RpcSuccess {
    match kind {
        RpcCommandKind::Branch => BranchResponse { id, data }.into(),
        _ => ForkResponse { id, data }.into(),
    }
}

/// Control characters become spaces, runs of spaces one.
fn cleaned(name: &str) -> String {
    let text: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}
