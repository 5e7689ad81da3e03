//! Sessions that leave memory, and come back from their files.

use super::{
    field_lengths::recorded_name,
    host_error::HostError,
    open_request::{OpenRequest, Start},
    other_server::OtherSessionOptions,
    other_session,
    principal::Principal,
    records::{StoredSession, WaitingRunFile},
    registry::SessionHost,
    registry_entry::Entry,
    session_handle::{Resumption, SessionEnd, SessionHandle},
    session_task::{self, SessionSinks},
};
use pi_rpc_engine::WaitingRun;
use pi_rpc_server::SessionOptions;
use pi_rpc_session::Notice;
use std::sync::Arc;

impl SessionHost {
    /// Starts the task of a session. `closes_cut_run`: whether its file may end within a run.
    pub(super) async fn start_task(
        &self,
        id: String,
        request: OpenRequest,
        owner: Arc<Principal>,
        mut resumption: Resumption,
        closes_cut_run: bool,
    ) -> Result<SessionHandle, HostError> {
        let (source, left) = (self.source.clone(), resumption.waiting.take());
        let opened = tokio::task::spawn_blocking(move || match &source.other {
            Some(other) => {
                let options = other.prepare(&request, &source.owners)?;
                Ok((Options::OfOther(options), Left::default()))
            }
            None => {
                let mut options = (source.open)(request)?;
                let tree = options.session.as_ref().and_then(|session| session.tree.as_ref());
                let messages = tree.map(|tree| tree.context().messages).unwrap_or_default();
                let is_left = left.is_some();
                let fits = left.filter(|left| left.fits(&messages));
                if fits.is_none() && (closes_cut_run || is_left) {
                    options.close_cut_run().map_err(HostError::OpenFailed)?;
                }
                // Clients that know the run as open are told that it is not.
                let is_lost = is_left && fits.is_none();
                if let Some(session) = options.session.as_mut().filter(|_| is_lost) {
                    session.notices.push(Notice::OwnerLost);
                }
                Ok((Options::Own(Box::new(options)), Left { run: fits, is_lost }))
            }
        });
        let opened = opened.await.map_err(|error| HostError::OpenFailed(error.to_string())).flatten();
        let (options, left) = opened?;
        resumption.waiting = left.run;
        // A gap, so that they get a snapshot.
        resumption.sequence += u64::from(left.is_lost);
        match (options, &self.source.other) {
            (Options::OfOther(options), Some(other)) => {
                let files = self.source.owners.of(owner.clone());
                other_session::start(
                    other_session::START_TIMEOUT,
                    id,
                    other,
                    options,
                    self.limits,
                    (owner, files),
                    resumption,
                )
            }
            (Options::Own(options), _) => {
                let sinks = SessionSinks::noted(self.waiting_file(&id));
                Ok(session_task::start(id, *options, self.limits, owner, resumption, sinks))
            }
            (Options::OfOther(_), None) => Err(HostError::OpenFailed("there is no other server".to_owned())),
        }
    }

    /// The file in which the session with this handle notes the run that waits for a permission.
    fn waiting_file(&self, id: &str) -> Option<WaitingRunFile> {
        self.records.as_ref().map(|records| records.waiting_run(id))
    }

    /// Notes what becomes of an open session, until it has ended.
    pub(super) async fn follow(self: Arc<Self>, handle: SessionHandle) {
        let (mut info, mut ended) = (handle.info.clone(), handle.ended.clone());
        let mut noted = None;
        loop {
            let path = info.borrow_and_update().path.clone();
            if path != noted {
                self.note(&handle);
                noted = path;
            }
            tokio::select! {
                changed = info.changed() => if changed.is_err() { break },
                // A task that is gone without a word has ended, too.
                _ = ended.wait_for(Option::is_some) => break,
            }
        }
        let _ = ended.wait_for(Option::is_some).await;
        self.settle(&handle);
    }

    /// Notes an open session, so that a restart brings it back even if this process is killed.
    pub(super) fn note(&self, handle: &SessionHandle) {
        let sessions = self.sessions();
        let Some(Entry::Open { request, opened_at, .. }) = sessions.get(&handle.id) else { return };
        if let Some(stored) = stored_session(handle, *request.clone(), *opened_at, None) {
            self.save(&stored);
        }
    }

    pub(super) fn save(&self, session: &StoredSession) {
        if let Some(Err(error)) = self.records.as_ref().map(|records| records.save(session)) {
            tracing::error!("session {}: a restart will not bring it back: {error}", session.id);
        }
    }

    /// Removes a session that has ended, or lists it as stored.
    pub(super) fn settle(&self, handle: &SessionHandle) {
        let mut sessions = self.sessions();
        let Some(Entry::Open { request, opened_at, .. }) = sessions.get(&handle.id) else { return };
        let stored = match &*handle.ended.borrow() {
            Some(SessionEnd::WrittenOut(resumption)) => {
                stored_session(handle, *request.clone(), *opened_at, Some(resumption.clone()))
            }
            Some(SessionEnd::Over(_)) | None => None,
        };
        match stored {
            Some(session) => {
                self.save(&session);
                sessions.insert(handle.id.clone(), Entry::stored(session));
            }
            None => {
                if let Some(path) = &handle.info.borrow().path {
                    self.source.owners.forget_missing(path);
                }
                sessions.remove(&handle.id);
                self.records.iter().for_each(|records| records.remove(&handle.id));
            }
        }
    }

    /// Brings back a session that is not in memory.
    pub(super) async fn reopen(self: &Arc<Self>, session: StoredSession) -> Result<(), HostError> {
        let resumption = session.resumption();
        let StoredSession { id, path, directory, mut request, .. } = session.clone();
        if path.exists() {
            // What the file says counts.
            (request.provider, request.model, request.level, request.name) = (None, None, None, None);
        }
        request.start = Start::Named(path.to_string_lossy().into_owned());
        request.directory = Some(directory);
        let opened_at = resumption.sequence;
        let owner = request.owner.clone().unwrap_or_else(Principal::local);
        let started =
            self.start_task(id.clone(), request, owner, resumption, session.resumption.is_none()).await;
        let served = match started {
            Ok(handle) => handle.served().await.map(|()| handle),
            Err(error) => Err(error),
        };
        let mut sessions = self.sessions();
        let handle = match served {
            Ok(handle) => handle,
            Err(error) => {
                sessions.insert(id, Entry::stored(session));
                return Err(error);
            }
        };
        sessions
            .insert(id, Entry::Open { handle: handle.clone(), request: session.request.into(), opened_at });
        drop(sessions);
        tokio::spawn(self.clone().follow(handle));
        Ok(())
    }
}

/// What the process before has left of a run that waits for a permission.
#[derive(Default)]
struct Left {
    /// The run, if the session goes on with it.
    run: Option<Box<WaitingRun>>,
    /// Whether the session has no such run, so that what was cut is closed.
    is_lost: bool,
}

/// The options of a session.
enum Options {
    Own(Box<SessionOptions>),
    OfOther(OtherSessionOptions),
}

/// A session as it is noted; `None`: it has no file.
fn stored_session(
    handle: &SessionHandle,
    request: OpenRequest,
    opened_at: u64,
    resumption: Option<Resumption>,
) -> Option<StoredSession> {
    let info = handle.info.borrow();
    Some(StoredSession {
        id: handle.id.clone(),
        request: OpenRequest { dialect: Some(handle.dialect), ..request },
        durable_id: info.durable_id.clone(),
        path: info.path.clone()?,
        directory: info.directory.clone(),
        name: info.name.as_deref().map(recorded_name),
        opened_at,
        waiting: resumption.as_ref().and_then(|resumption| resumption.waiting.clone()),
        resumption,
    })
}
