//! Commands about sessions on disk, open or not. Source: own.

use super::{
    field_lengths::{MAX_NAME, check_length},
    host_error::HostError,
    registry::SessionHost,
    scoped_host::ScopedHost,
};
use pi_rpc_protocol::{
    ArchiveSessionCommand, ListStoredSessionsCommand, ListedSession, MultiSessionErrorCode,
    ReadStoredSessionCommand, RenameStoredSessionCommand, SessionStatus, StoredSessionEntries,
    StoredSessionInfo, StoredSessionList, StoredSessionStatus,
};
use pi_rpc_server::{seed, wall_ms};
use pi_rpc_session::Stamp;
use pi_rpc_session_store::{
    OpenError,
    catalog::{self, StoredFile, StoredFileError, StoredFileQuery},
    working_directory,
};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// Sessions of a list, unless the client says how many.
const USUAL_LIMIT: u64 = 50;

impl ScopedHost {
    /// Lists sessions on disk.
    ///
    /// # Errors
    ///
    /// The system refuses a thread.
    pub async fn list_stored(
        &self,
        command: ListStoredSessionsCommand,
    ) -> Result<StoredSessionList, HostError> {
        let query = StoredFileQuery {
            text: command.query,
            is_archived: command.archived.unwrap_or(false),
            after: command.after.map(PathBuf::from),
            limit: usize::try_from(command.limit.unwrap_or(USUAL_LIMIT)).unwrap_or(usize::MAX),
        };
        let directory = command.cwd.map(PathBuf::from);
        let open = self.open_by_path().await;
        let (permitted, roots) = (self.files(), self.principal.limits.roots.clone());
        let files = self.blocking(move |host| {
            catalog::list(&host.session_folders(), &query, |file| {
                let is_in =
                    directory.as_deref().is_none_or(|directory| Path::new(&file.directory) == directory);
                let is_below_roots = || {
                    let directory = Path::new(&file.directory);
                    roots.as_ref().is_none_or(|roots| roots.check("cwd", directory).is_ok())
                };
                is_in && is_below_roots() && permitted.permit(&file.path).is_ok()
            })
        });
        let (files, has_more) = files.await?;
        let sessions = files.into_iter().map(|file| info(file, &open)).collect();
        Ok(StoredSessionList { sessions, has_more })
    }

    /// Reads the entries of a session on disk.
    ///
    /// # Errors
    ///
    /// It is no session, or has no such entry.
    pub async fn read_stored(
        &self,
        command: ReadStoredSessionCommand,
    ) -> Result<StoredSessionEntries, HostError> {
        let path = self.checked(command.session_path).await?;
        let tree = self.blocking(move |host| catalog::read_in(&host.session_folders(), &path)).await?;
        let tree = tree.map_err(|error| refusal(&error))?;
        let from = match command.since {
            None => 0,
            Some(since) => {
                let place = tree.entries().iter().position(|entry| entry.id().as_ref() == since);
                let unknown = || {
                    HostError::Forbidden(
                        MultiSessionErrorCode::SessionFailed,
                        format!("since: no entry {since:?}"),
                    )
                };
                place.ok_or_else(unknown)? + 1
            }
        };
        let lines = tree.entries()[from..].iter().map(|entry| serde_json::from_slice(entry.line()));
        // Lines of a tree are objects.
        let entries = lines.filter_map(Result::ok).collect();
        Ok(StoredSessionEntries { entries, leaf_id: tree.leaf_id().map(ToString::to_string) })
    }

    /// Names a session that is not open.
    ///
    /// # Errors
    ///
    /// The name is too long, or it is no session, is open, or cannot be written.
    pub async fn rename_stored(
        &self,
        command: RenameStoredSessionCommand,
    ) -> Result<StoredSessionInfo, HostError> {
        check_length("name", command.name.len(), MAX_NAME)
            .map_err(|reason| HostError::Forbidden(MultiSessionErrorCode::SessionFailed, reason))?;
        let path = self.closed(command.session_path).await?;
        let (name, stamp) = (command.name, Stamp { dialect: self.dialect(), wall_ms: wall_ms() });
        let renamed = self.blocking(move |host| {
            let mut random = fastrand::Rng::with_seed(seed());
            catalog::rename(&host.session_folders(), &path, &name, stamp, &mut random)
        });
        Ok(info(renamed.await?.map_err(|error| refusal(&error))?, &HashMap::new()))
    }

    /// Archives a session that is not open, or brings it back.
    ///
    /// # Errors
    ///
    /// It is no session, is open, or cannot be moved.
    pub async fn archive(&self, command: ArchiveSessionCommand) -> Result<StoredSessionInfo, HostError> {
        let path = self.closed(command.session_path).await?;
        let is_archived = command.archived.unwrap_or(true);
        let files = self.files();
        let moved = self.blocking(move |host| {
            let mut random = fastrand::Rng::with_seed(seed());
            let new = catalog::archived_path(&path, is_archived);
            // Before it is there: it is nobody else's for a moment.
            files.note_move(&path, &new)?;
            let moved = catalog::archive(&host.session_folders(), &path, is_archived, &mut random);
            host.source.owners.forget_missing(&path);
            host.source.owners.forget_missing(&new);
            moved.map_err(|error| refusal(&error))
        });
        Ok(info(moved.await??, &HashMap::new()))
    }

    /// The sessions that are open, by their files.
    async fn open_by_path(&self) -> HashMap<String, ListedSession> {
        let listed = self.list().await.into_iter();
        listed.filter_map(|session| Some((session.session_path.clone()?, session))).collect()
    }

    /// The path of a session that this client may see.
    async fn checked(&self, path: String) -> Result<PathBuf, HostError> {
        let (files, roots) = (self.files(), self.principal.limits.roots.clone());
        let checked = self.blocking(move |_| {
            let path = PathBuf::from(path);
            // As for a path that is no session.
            files.permit(&path).map_err(|_| HostError::InvalidPath)?;
            if let Some(roots) = &roots {
                roots.check("sessionPath", &working_directory(&path).ok_or(HostError::InvalidPath)?)?;
            }
            Ok(path)
        });
        checked.await?
    }

    /// The path of a session that this client may see and that is not open.
    async fn closed(&self, path: String) -> Result<PathBuf, HostError> {
        match self.open_by_path().await.contains_key(&path) {
            true => Err(HostError::PathInUse),
            false => self.checked(path).await,
        }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SessionHost) -> T + Send + 'static,
    ) -> Result<T, HostError> {
        let host = self.host().clone();
        let done = tokio::task::spawn_blocking(move || work(&host)).await;
        done.map_err(|error| HostError::Forbidden(MultiSessionErrorCode::SessionFailed, error.to_string()))
    }
}

fn info(file: StoredFile, open: &HashMap<String, ListedSession>) -> StoredSessionInfo {
    let path = file.path.to_string_lossy().into_owned();
    let session = open.get(&path);
    StoredSessionInfo {
        durable_session_id: file.id,
        session_id: session.map(|session| session.session_id.clone()),
        cwd: file.directory,
        name: file.name,
        title: file.title,
        status: match session.map(|session| session.status) {
            None => StoredSessionStatus::Stored,
            Some(SessionStatus::Idle) => StoredSessionStatus::Idle,
            Some(_) => StoredSessionStatus::Running,
        },
        created: file.created,
        last_activity: file.last_activity,
        messages: file.messages,
        cost: pi_rpc_protocol::number(file.cost),
        archived: file.is_archived,
        session_path: path,
    }
}

fn refusal(error: &StoredFileError) -> HostError {
    match error {
        StoredFileError::Unknown(_) => HostError::InvalidPath,
        StoredFileError::Open(OpenError::InUse(_)) => HostError::PathInUse,
        _ => HostError::Forbidden(MultiSessionErrorCode::SessionFailed, error.to_string()),
    }
}
