//! Commands that open, change, fork, clone, name and export sessions.

use crate::{
    budget::Budget,
    core::Engine,
    extensions::{hook::Hook, process::FailureSource},
    io::Output,
    prompt::Recipient,
    requests::{PageRequest, SessionOpening},
    run::deferred::AfterRun,
    store::{
        after_append::{AfterAppend, ChangeResponse},
        next_session::{Fork, NewestSession, NextSession},
    },
    todos::list::TODO_WRITE,
};
use pi_rpc_protocol::{
    BeforeForkHook, BeforeSwitchHook, BranchResponse, Check as _, CloneResponse, ContinueSessionCommand,
    ContinueSessionResponse, ContinuedSession, DialectCleansSessionName, DialectExtensionApi,
    DialectForksFrom, ExportHtmlCommand, ExportHtmlResponse, ExportedFile, ForkPosition, ForkResponse,
    ForkResult, ModelSelectSource, NewSessionCommand, NewSessionResponse, RequestId, RpcCommandKind,
    RpcSuccess, SessionChange, SessionHeader, SessionStartReason, SwitchReason, SwitchSessionCommand,
    SwitchSessionResponse, ThinkingLevel, errors,
};
use pi_rpc_session::{NewEntry, OpenedSession, Session, file_name, new_header, session_id};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

impl Engine {
    /// Serves a command that changes the session: sends the hook by which extensions may cancel; work goes on meanwhile.
    pub(crate) fn request_session_change(&mut self, next: NextSession) {
        let hook = match &next {
            NextSession::New(_) => {
                let event = BeforeSwitchHook { reason: SwitchReason::New, target_session_file: None };
                Hook::SessionBeforeSwitch { event, is_cancelled: false, next }
            }
            NextSession::File(it) => {
                let target_session_file = Some(it.session_path.clone());
                let event = BeforeSwitchHook { reason: SwitchReason::Resume, target_session_file };
                Hook::SessionBeforeSwitch { event, is_cancelled: false, next }
            }
            NextSession::Newest(NewestSession { file, .. }) => {
                let reason = if file.is_some() { SwitchReason::Resume } else { SwitchReason::New };
                let target_session_file = file.as_ref().map(|file| file.to_string_lossy().into_owned());
                let event = BeforeSwitchHook { reason, target_session_file };
                Hook::SessionBeforeSwitch { event, is_cancelled: false, next }
            }
            NextSession::Fork(Fork { id, kind, entry }) => {
                if !self.can_fork(id.as_ref(), entry) {
                    let text = errors::invalid_entry(self.dialect.base());
                    return self.handler_failed(id.clone(), *kind, text);
                }
                let position = match self.forks_at(id.as_ref()) {
                    true => Some(ForkPosition::At),
                    false => self.sends_fork_position().then_some(ForkPosition::Before),
                };
                let event = BeforeForkHook { entry_id: entry.clone(), position };
                Hook::SessionBeforeFork { event, is_cancelled: false, next }
            }
            NextSession::Clone(id) => match self.clone_point() {
                Ok(entry_id) => {
                    let position = self.sends_fork_position().then_some(ForkPosition::At);
                    let event = BeforeForkHook { entry_id, position };
                    Hook::SessionBeforeFork { event, is_cancelled: false, next }
                }
                Err(text) => return self.handler_failed(id.clone(), RpcCommandKind::Clone, text),
            },
        };
        self.send_hook(hook);
    }

    /// Whether `session_before_fork` has the position: since it can be cloned (source: pi source).
    fn sends_fork_position(&self) -> bool {
        let api = self.dialect.record().extension_api;
        matches!(api, DialectExtensionApi::V073 | DialectExtensionApi::V15)
    }

    /// Handles the outcome of that hook: keeps the session, or changes it between runs.
    pub(crate) fn on_session_change_hooked(&mut self, next: NextSession, cancelled: bool) {
        if !cancelled {
            let gate = self.gate_of_kind(next.kind());
            return self.schedule_between_runs(gate, AfterRun::Session(next));
        }
        let data = SessionChange { cancelled };
        match next {
            NextSession::New(it) => self.succeed(NewSessionResponse { id: it.id, data }),
            NextSession::File(it) => self.succeed(SwitchSessionResponse { id: it.id, data }),
            NextSession::Fork(Fork { id, kind, entry }) => {
                let mut data = ForkResult { text: None, cancelled };
                if data.is_refused(self.dialect.base()) {
                    data.text = Some(self.user_text_at(&entry).unwrap_or_default());
                }
                self.succeed(fork_response(id, kind, data));
            }
            NextSession::Clone(id) => self.succeed(CloneResponse { id, data }),
            NextSession::Newest(NewestSession { command, .. }) => {
                let response = self.continued_session(command.id, cancelled, false);
                self.succeed(response);
            }
        }
    }

    /// Serves `open_session`: finds the newest session of its directory. Source: oh-my-pi source.
    pub(crate) fn find_newest_session(&mut self, command: ContinueSessionCommand) {
        if self.store.place.folder.is_none() {
            let text = errors::open_in_memory(self.dialect.base());
            return self.handler_failed(command.id, RpcCommandKind::OpenSession, text);
        }
        if command.session_dir.trim().is_empty() {
            let text = "sessionDir: expected a folder, got an empty text".to_owned();
            return self.handler_failed(command.id, RpcCommandKind::OpenSession, text);
        }
        self.push(Output::FindNewestSession(command.session_dir.clone().into()));
        self.requests.files.newest.push_back(command);
    }

    /// Handles what was found: the session that is open goes on, else it changes. `folder`: the directory, absolute.
    pub(crate) fn on_newest_session_found(&mut self, folder: PathBuf, file: Option<PathBuf>) {
        let Some(mut command) = self.requests.files.newest.pop_front() else { return };
        if file.is_some() && file.as_deref() == self.store.session.file() {
            let response = self.continued_session(command.id, false, true);
            return self.succeed(response);
        }
        command.session_dir = folder.to_string_lossy().into_owned();
        self.request_session_change(NextSession::Newest(NewestSession { command, file }));
    }

    /// Opens the newest session of a directory, or begins one there.
    fn continue_session(&mut self, NewestSession { command, file }: NewestSession) {
        self.store.place.folder = Some(PathBuf::from(command.session_dir));
        match file {
            Some(file) => {
                self.push(Output::OpenSession(file));
                self.requests.files.session = Some(SessionOpening::Continue(command.id));
            }
            None => {
                let previous = self.start_session(None);
                self.push(Output::CloseSession);
                let response = self.continued_session(command.id, false, false);
                self.respond_after_session_start(SessionStartReason::New, previous, response);
            }
        }
    }

    /// The response to `open_session`, about the session that is open now.
    fn continued_session(
        &self,
        id: Option<RequestId>,
        cancelled: bool,
        resumed: bool,
    ) -> ContinueSessionResponse {
        let session_id = self.store.session.id().to_owned();
        let data = ContinuedSession { cancelled, resumed, session_id, session_file: self.session_file() };
        ContinueSessionResponse { id, data }
    }

    /// Changes to another session.
    pub(crate) fn begin_session(&mut self, next: NextSession) {
        match next {
            NextSession::New(command) => self.new_session(command),
            NextSession::File(command) => self.switch_session(command),
            NextSession::Fork(fork) => self.fork(fork),
            NextSession::Clone(id) => self.clone_session(id),
            NextSession::Newest(newest) => self.continue_session(newest),
        }
    }

    /// Changes to a new session.
    fn new_session(&mut self, command: NewSessionCommand) {
        let previous = self.start_session(command.parent_session.filter(|path| !path.is_empty()));
        for message in self.take_first_messages(command.id.as_ref()) {
            self.append(NewEntry::Message(message.into()));
        }
        self.push(Output::CloseSession);
        let response = NewSessionResponse { id: command.id, data: SessionChange { cancelled: false } };
        self.respond_after_session_start(SessionStartReason::New, previous, response);
    }

    /// Begins a session without messages; returns the file of the one before.
    fn start_session(&mut self, parent: Option<String>) -> Option<String> {
        let (header, file) = self.new_session_file(parent);
        let previous = self.session_file();
        self.replace_session(Session::new(header, file));
        self.restore();
        self.drop_queued_messages();
        self.reset_model();
        if self.dialect.record().sessions_start_anew {
            self.append_model();
        }
        self.append_deferred(NewEntry::Level(self.models.level));
        previous
    }

    /// Opens another session; goes on in [`on_session_opened`](Self::on_session_opened).
    fn switch_session(&mut self, command: SwitchSessionCommand) {
        self.push(Output::OpenSession(command.session_path.clone().into()));
        self.requests.files.session = Some(SessionOpening::Switch(command));
    }

    /// Handles the result of opening another session.
    pub(crate) fn on_session_opened(&mut self, opened: Result<OpenedSession, String>) {
        let Some(opening) = self.requests.files.session.take() else { return };
        match opened {
            Err(text) => {
                let (id, kind) = match opening {
                    SessionOpening::Switch(command) => (command.id, RpcCommandKind::SwitchSession),
                    SessionOpening::Continue(id) => (id, RpcCommandKind::OpenSession),
                };
                self.handler_failed(id, kind, text);
                self.notify_session_kept();
            }
            Ok(opened) => {
                let (previous, model) = (self.session_file(), self.models.current);
                self.drop_queued_messages();
                let session = self.session_from(opened);
                self.replace_session(session);
                self.restore_replaced_model();
                self.restore();
                let api = self.dialect.record().extension_api;
                if matches!(api, DialectExtensionApi::V052 | DialectExtensionApi::V058) {
                    self.notify_model_change((model, self.models.level), ModelSelectSource::Restore);
                }
                let response: RpcSuccess = match opening {
                    SessionOpening::Switch(SwitchSessionCommand { id, .. }) => {
                        SwitchSessionResponse { id, data: SessionChange { cancelled: false } }.into()
                    }
                    SessionOpening::Continue(id) => self.continued_session(id, false, true).into(),
                };
                self.respond_after_session_start(SessionStartReason::Resume, previous, response);
            }
        }
    }

    /// Begins a session with the entries before a message of the user, or, if an extension wants it, up to any entry.
    fn fork(&mut self, Fork { id, kind, entry }: Fork) {
        let entry = entry.as_str();
        let (header, file) = self.new_session_file(self.session_file());
        let stamp = self.stamp();
        if self.forks_at(id.as_ref()) {
            let Some(tree) = self.store.session.tree().fork_with(entry, header, stamp, self.ids.random())
            else {
                let text = errors::invalid_entry(self.dialect.base());
                return self.handler_failed(id, kind, text);
            };
            let data = ForkResult { text: None, cancelled: false };
            return self.begin_forked(Session::from_fork(tree, file), fork_response(id, kind, data));
        }
        let Some(forked) = self.store.session.tree().fork(entry, header, stamp, self.ids.random()) else {
            let text = errors::invalid_entry(self.dialect.base());
            self.handler_failed(id, kind, text);
            return self.notify_session_kept();
        };
        let data = ForkResult { text: Some(forked.text), cancelled: false };
        self.begin_forked(Session::from_fork(forked.tree, file), fork_response(id, kind, data));
    }

    /// Begins a session with the entries of this one's branch.
    fn clone_session(&mut self, id: Option<RequestId>) {
        if let Err(text) = self.clone_point() {
            self.handler_failed(id, RpcCommandKind::Clone, text);
            return self.notify_session_kept();
        }
        let (header, file) = self.new_session_file(self.session_file());
        let stamp = self.stamp();
        let tree = self.store.session.tree().copy_branch(header, stamp, self.ids.random());
        let data = SessionChange { cancelled: false };
        self.begin_forked(Session::from_fork(tree, file), CloneResponse { id, data }.into());
    }

    /// Changes to a session made of this one, and responds once it is persisted.
    fn begin_forked(&mut self, session: Session, response: RpcSuccess) {
        let before = std::mem::replace(&mut self.store.session, session);
        self.series.overflowed = false;
        let (response, before) = (Box::new(response), Box::new(before));
        self.store.after_append(AfterAppend::Fork { response, before });
    }

    /// The entry up to which the session can be cloned, or the error. A session without saved entries cannot, unless
    /// it is never written anyway (source: observed).
    fn clone_point(&self) -> Result<String, String> {
        let base = self.dialect.base();
        if self.store.session.file().is_some() && !self.store.session.is_on_disk() {
            return Err(errors::not_saved(base));
        }
        let leaf = self.store.session.tree().leaf_id().map(ToString::to_string);
        leaf.ok_or_else(|| errors::nothing_to_clone(base))
    }

    /// Whether the command with this id can fork the session at this entry.
    fn can_fork(&self, id: Option<&RequestId>, entry: &str) -> bool {
        match self.forks_at(id) {
            true => self.store.session.tree().get(entry).is_some(),
            false => self.user_text_at(entry).is_some(),
        }
    }

    /// The text of the user's message at this entry, where the session can be forked.
    fn user_text_at(&self, entry: &str) -> Option<String> {
        let tree = self.store.session.tree();
        let there = match self.dialect.record().forks_from {
            DialectForksFrom::AllBranches => true,
            DialectForksFrom::ActiveBranch => tree.path().iter().any(|it| it.id().as_ref() == entry),
        };
        tree.user_text(entry).filter(|_| there)
    }

    /// Names the session.
    pub(crate) fn rename(&mut self, name: &str, recipient: Recipient) {
        let name = self.clean_name(name);
        if name.is_empty() {
            let error = errors::session_name_empty(self.dialect.base());
            return self.respond_failure(&recipient, error);
        }
        let mut before = self.rollback_point();
        let stamp = self.stamp();
        self.store.session.rename(&name, stamp, self.ids.random());
        (before.changes, before.named) = (1, true);
        self.respond_after_append(before, ChangeResponse::Success(recipient));
    }

    /// Sets the name that the setup gives the session, before any other entry (source: pi 1 source).
    pub(crate) fn set_initial_name(&mut self, name: Option<&str>) {
        let Some(name) = name.map(|name| self.clean_name(name)) else { return };
        let stamp = self.stamp();
        self.store.session.rename(&name, stamp, self.ids.random());
    }

    /// Cleans a name as the dialect does.
    fn clean_name(&self, name: &str) -> String {
        match self.dialect.record().cleans_session_name {
            DialectCleansSessionName::Nothing => name.trim().to_owned(),
            DialectCleansSessionName::LineBreaks => on_one_line(name.trim()),
            DialectCleansSessionName::Controls => cleaned(name),
        }
    }

    /// Writes the session as a page; goes on in [`on_page_written`](Self::on_page_written).
    pub(crate) fn export(&mut self, command: ExportHtmlCommand) {
        let export = &self.dialect.record().export;
        let refusal = match (self.store.session.file(), self.store.session.is_on_disk() || export.empty) {
            (None, _) => Some(errors::export_in_memory(self.dialect.base())),
            (_, false) => Some(errors::export_nothing(self.dialect.base())),
            _ => None,
        };
        if let Some(text) = refusal {
            return self.handler_failed(command.id, RpcCommandKind::ExportHtml, text);
        }
        let stem = self.store.session.file().and_then(Path::file_stem).unwrap_or_default().to_string_lossy();
        let path = command.output_path.unwrap_or_else(|| format!("{}{stem}.html", export.prefix));
        self.push(Output::WritePage {
            path: path.clone().into(),
            session: Box::new(self.store.session.tree().clone()),
            instructions: self.instructions.text.to_string(),
            creates_folders: export.creates_folders,
        });
        self.requests.files.page = Some(PageRequest { id: command.id, path });
    }

    /// Handles the result of writing the page.
    pub(crate) fn on_page_written(&mut self, written: Result<(), String>) {
        let Some(PageRequest { id, path }) = self.requests.files.page.take() else { return };
        match written {
            Ok(()) => self.succeed(ExportHtmlResponse { id, data: ExportedFile { path } }),
            Err(text) => self.handler_failed(id, RpcCommandKind::ExportHtml, text),
        }
    }

    /// The session of an opened file, which may be empty.
    pub(crate) fn session_from(&mut self, opened: OpenedSession) -> Session {
        let path = opened.path.to_string_lossy();
        for notice in opened.notices.iter().filter(|notice| notice.reports_loss()) {
            self.report_failure(FailureSource::File(&path, SESSION), &notice.to_string());
        }
        match opened.tree {
            Some(tree) => Session::from_file(tree, opened.path),
            // An empty file: the session begins in it.
            None => {
                let (header, _) = self.new_session_file(None);
                Session::new(header, Some(opened.path))
            }
        }
    }

    /// Takes model and level from the session, where it names them; `model` and `level` were given by the user and stay.
    pub(crate) fn restore_model(&mut self, model: bool, level: Option<ThinkingLevel>) {
        self.models.unrestored = None;
        // Answers name the models that a virtual one was routed to.
        let selected =
            self.store.session.selected_model().and_then(|(provider, id)| self.find_usable(&provider, &id));
        let selected = selected.filter(|at| self.is_virtual(&self.models.all[*at].model));
        if let Some(at) = selected.filter(|_| !model) {
            self.models.current = at;
        } else if !model && let Some((provider, id)) = self.store.session.model() {
            match self.find_usable(provider, id) {
                Some(at) => self.models.current = at,
                None => self.models.unrestored = Some(format!("{provider}/{id}")),
            }
        }
        let known = self.store.session.level();
        let preferred = self.models.choice().preferred;
        self.models.level = self.clamp_level(level.or(known).or(preferred).unwrap_or(self.modes.level));
        if known.is_none() {
            self.append_deferred(NewEntry::Level(self.models.level));
        }
    }

    /// Restores todos and rules from the session's branch.
    pub(crate) fn restore(&mut self) {
        let tree = self.store.session.tree();
        self.todos.restore(tree.results_of(TODO_WRITE));
        self.rules.restore(tree.injected_rules());
        self.follow_session_tools();
    }

    /// An entry that need not be written before the next one.
    pub(crate) fn append_deferred(&mut self, entry: NewEntry) {
        let stamp = self.stamp();
        self.store.session.append_deferred(entry, stamp, self.ids.random());
    }

    /// Creates the header and the file name of a new session.
    pub(crate) fn new_session_file(&mut self, parent: Option<String>) -> (SessionHeader, Option<Arc<Path>>) {
        let id = self.store.place.id.take();
        let id = id.unwrap_or_else(|| session_id(self.dialect, self.now.wall, self.ids.random()));
        let header = new_header(id, self.store.place.directory.clone(), parent, self.now.wall);
        let name = file_name(&header.timestamp, &header.id);
        let file = self.store.place.folder.as_ref().map(|folder| folder.join(name).into());
        (header, file)
    }

    /// Replaces the session, and resets the state that belongs to it.
    fn replace_session(&mut self, next: Session) {
        self.store.session = next;
        self.reset_for_session();
    }

    /// Resets state that belongs to the session before.
    pub(crate) fn reset_for_session(&mut self) {
        // The messages of its shell commands would have no session.
        self.requests.shells.values_mut().for_each(|shell| shell.left = true);
        self.cancel_shells();
        self.queues.next_prompt.clear();
        self.tools.consent_patterns.allowed.clear();
        self.budget = Budget::default();
        self.stop_warming();
        self.series.overflowed = false;
        self.store.retry_write();
    }
}

/// Stands for the event in an `extension_error` about a damaged session file.
pub const SESSION: &str = "session";

/// The response to `fork` or `branch`.
fn fork_response(id: Option<RequestId>, kind: RpcCommandKind, data: ForkResult) -> RpcSuccess {
    match kind {
        RpcCommandKind::Branch => BranchResponse { id, data }.into(),
        _ => ForkResponse { id, data }.into(),
    }
}

/// Each run of line breaks becomes a space.
fn on_one_line(name: &str) -> String {
    name.split(['\r', '\n']).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Control characters become spaces, runs of spaces one.
fn cleaned(name: &str) -> String {
    let text: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}
