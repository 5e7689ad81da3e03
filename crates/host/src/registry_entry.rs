//! A session of a host's list: being opened, open, shared with other processes, or stored.

use super::{
    host_error::HostError,
    open_request::OpenRequest,
    permission::{Permitted, SessionOwner, permit},
    principal::Principal,
    records::StoredSession,
    session_handle::SessionHandle,
};
use pi_rpc_protocol::{ListedSession, SessionStatus};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::sync::watch;

/// A session of the host's list.
pub enum Entry {
    Opening {
        path: Option<String>,
        directory: Option<PathBuf>,
        owner: Arc<Principal>,
    },
    Open {
        handle: SessionHandle,
        request: Box<OpenRequest>,
        /// The number of the last frame when it was opened.
        opened_at: u64,
    },
    /// A session that other processes know, too.
    Shared(SessionHandle),
    /// It is not in memory; `opened` has the outcome, while it is being opened again.
    Stored {
        session: Box<StoredSession>,
        owner: Arc<Principal>,
        opened: Option<Reopening>,
    },
}

/// The outcome of opening a session again; `None`: it is under way.
pub type Reopening = watch::Receiver<Option<Result<(), HostError>>>;

impl Entry {
    /// A session that is not in memory.
    pub fn stored(session: StoredSession) -> Self {
        let owner = session.request.owner.clone().unwrap_or_else(Principal::local);
        Self::Stored { session: Box::new(session), owner, opened: None }
    }

    /// What `client` may have of the session.
    pub fn permit<T>(&self, client: &Principal, it: T) -> Result<Permitted<T>, HostError> {
        permit(client, SessionOwner::Opener(&self.owner().name), it)
    }

    /// The session as it is listed under the name `id`.
    pub fn listed(&self, id: &str) -> ListedSession {
        match self {
            Self::Opening { path, directory, .. } => ListedSession {
                session_id: id.to_owned(),
                durable_session_id: None,
                session_path: path.clone(),
                cwd: directory.as_deref().map(text).unwrap_or_default(),
                name: None,
                status: SessionStatus::Opening,
            },
            Self::Stored { session, .. } => ListedSession {
                session_id: id.to_owned(),
                durable_session_id: Some(session.durable_id.to_owned()),
                session_path: Some(text(&session.path)),
                cwd: text(&session.directory),
                name: session.name.clone(),
                status: match session.waiting {
                    Some(_) => SessionStatus::Running,
                    None => SessionStatus::Idle,
                },
            },
            Self::Open { handle, .. } | Self::Shared(handle) => {
                let info = handle.info.borrow();
                ListedSession {
                    session_id: id.to_owned(),
                    durable_session_id: Some(info.durable_id.to_owned()),
                    session_path: info.path.as_deref().map(text),
                    cwd: text(&info.directory),
                    name: info.name.clone(),
                    status: info.status,
                }
            }
        }
    }

    /// Whether its run only waits for a permission, so that the process may be replaced at any time.
    pub fn only_waits(&self) -> bool {
        match self {
            Self::Open { handle, .. } | Self::Shared(handle) => handle.info.borrow().only_waits,
            Self::Stored { session, .. } => session.waiting.is_some(),
            Self::Opening { .. } => false,
        }
    }

    pub fn owner(&self) -> &Principal {
        match self {
            Self::Opening { owner, .. } | Self::Stored { owner, .. } => owner,
            Self::Open { handle, .. } | Self::Shared(handle) => &handle.owner,
        }
    }
}

/// The session whose file a client names, open or being opened.
pub fn user<'s>(sessions: &'s BTreeMap<String, Entry>, path: &str) -> Option<&'s Entry> {
    let is_it =
        |entry: &&Entry| matches!(entry, Entry::Opening { path: Some(opening), .. } if opening == path);
    sessions.values().find(is_it).or_else(|| opened(sessions, Path::new(path)))
}

/// The open session with this file.
pub fn opened<'s>(sessions: &'s BTreeMap<String, Entry>, path: &Path) -> Option<&'s Entry> {
    sessions.values().find(|entry| match entry {
        Entry::Open { handle, .. } => handle.info.borrow().path.as_deref() == Some(path),
        Entry::Stored { session, .. } => session.path == path,
        Entry::Opening { .. } | Entry::Shared(_) => false,
    })
}

/// The handle of a session, if the client may touch it.
pub fn permit_handle(
    client: &Principal,
    handle: SessionHandle,
) -> Result<Permitted<SessionHandle>, HostError> {
    let owner = handle.owner.clone();
    permit(client, SessionOwner::Opener(&owner.name), handle)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
