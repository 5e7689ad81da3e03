//! Finds or creates the session that a server starts with, and its folder.

use super::options::{HostOptions, Refusal, SessionStart};
use pi_rpc_config::{Config, Environment, Settings, expand_home, sessions_folder};
use pi_rpc_engine::{SessionStorage, limits::Limits};
use pi_rpc_files::{
    private_files,
    regular_files::{self, Kind},
};
use pi_rpc_protocol::Dialect;
use pi_rpc_server::{seed, wall_ms};
use pi_rpc_session::{Notice, OpenedSession, Tree, directory_name, file_name, new_header, session_id};
use pi_rpc_session_store::{
    SessionLocation, Store, find_by_id, find_newest, find_newest_seen, find_seen_by_prefix,
};
use std::{
    fs,
    path::{Path, PathBuf, absolute},
};

/// The session of a starting server.
pub struct InitialSession {
    /// Folder and id of new sessions.
    pub place: SessionStorage,
    /// The session to resume.
    pub session: Option<OpenedSession>,
    /// The store that writes the session.
    pub store: Store,
}

/// Whether a session's file is found where sessions are searched for.
pub type IsSeen<'s> = dyn Fn(&Path) -> bool + 's;

/// The file of the session that the options name, among those that `is_seen` accepts where it is searched for, without opening
/// it; `None`: a new session.
///
/// # Errors
///
/// There is no such session, or it belongs to another project.
pub fn locate(
    config: &Config,
    options: &HostOptions,
    working: &Path,
    environment: &Environment,
    is_seen: &IsSeen<'_>,
) -> Result<Option<PathBuf>, Refusal> {
    let folders = SessionFolders::new(config, options, working, environment);
    match &options.session {
        SessionStart::InMemory => Ok(None),
        SessionStart::New => Ok(options.session_id.as_deref().and_then(|id| find_by_id(id, &folders.own))),
        SessionStart::Newest => Ok(find_newest_seen(&folders.own, is_seen)),
        SessionStart::Open(name) => folders.named(name, working, environment, is_seen).map(Some),
        SessionStart::Fork(name) => match folders.find(name, working, environment, is_seen)? {
            SessionLocation::Here(path) | SessionLocation::Elsewhere { path, .. } => Ok(Some(path)),
        },
    }
}

/// The folders of sessions of the working directory: its own, and the one with those of all directories.
pub fn folders(
    config: &Config,
    options: &HostOptions,
    working: &Path,
    environment: &Environment,
) -> impl Iterator<Item = PathBuf> {
    let SessionFolders { own, all, .. } = SessionFolders::new(config, options, working, environment);
    std::iter::once(own).chain(all)
}

/// The folder of sessions that the project may choose: its settings name it, or it lies in the working directory, where a
/// link of the project may stand. `None`: the folder is the user's own.
pub fn project_folder(
    config: &Config,
    options: &HostOptions,
    working: &Path,
    environment: &Environment,
) -> Option<PathBuf> {
    let option = options.session_dir.as_deref();
    let folder = sessions_folder(option, &config.settings, working, environment)?;
    let is_named = sessions_folder(option, &Settings::default(), working, environment).is_some();
    let is_of_project = !is_named && config.session_dir_is_of_project;
    (is_of_project || folder.starts_with(working)).then_some(folder)
}

/// Lists the folders in which sessions of all working directories are.
pub fn all_folders(
    config: &Config,
    options: &HostOptions,
    working: &Path,
    environment: &Environment,
) -> impl Fn() -> Vec<PathBuf> + use<> {
    let SessionFolders { own, all, .. } = SessionFolders::new(config, options, working, environment);
    move || match &all {
        Some(all) => {
            let entries = fs::read_dir(all).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
        }
        None => vec![own.clone()],
    }
}

impl InitialSession {
    /// Finds, opens or copies the session that the options name. Creates the folder even if no file is written later, as
    /// the originals do.
    pub fn new(
        config: &Config,
        options: &HostOptions,
        working: &Path,
        environment: &Environment,
    ) -> Result<Self, Refusal> {
        let limit = options.max_session.unwrap_or(Limits::default().session) as u64;
        let mut start = Self {
            place: SessionStorage::in_memory(working.to_string_lossy()),
            session: None,
            store: Store::with_limit(limit).synced(options.sync),
        };
        let given_id = options.session_id.as_deref();
        start.place.id = options.session_id.clone();
        if options.session == SessionStart::InMemory {
            return Ok(start);
        }
        let folders = SessionFolders::new(config, options, working, environment);
        if let Some(id) = given_id {
            // Claim before searching: of two servers that start at once, one finds the session of the other.
            make_folder(&folders.own);
            let claimed = start.store.claim(&folders.own, id);
            claimed.map_err(|error| Refusal(error.host_text(config.dialect.base()), 1))?;
        }
        let known = given_id.and_then(|id| find_by_id(id, &folders.own));
        let file = match &options.session {
            SessionStart::New | SessionStart::InMemory => {
                if let (Some(id), None) = (given_id, &known) {
                    tracing::warn!("No session of this project has the id '{id}'; a new one gets it");
                }
                known
            }
            SessionStart::Newest => find_newest(&folders.own),
            SessionStart::Open(name) => Some(folders.named(name, working, environment, &|_| true)?),
            SessionStart::Fork(_) if known.is_some() => {
                let id = given_id.unwrap_or_default();
                return Err(Refusal(format!("Session already exists with id '{id}'"), 1));
            }
            SessionStart::Fork(name) => {
                let id = start.place.id.take();
                let path = match folders.find(name, working, environment, &|_| true)? {
                    SessionLocation::Here(path) | SessionLocation::Elsewhere { path, .. } => path,
                };
                start.session =
                    Some(fork(config.dialect, &path, id, &folders.own, working, (&mut start.store, limit))?);
                None
            }
        };
        // Later sessions go beside a file that was named.
        let beside = |path: &PathBuf| path.parent().map(Path::to_path_buf);
        let folder = match &file {
            Some(path) if folders.is_usual => beside(path).unwrap_or_else(|| folders.own.clone()),
            _ => folders.own.clone(),
        };
        make_folder(&folder);
        start.place.folder = Some(folder);
        if let Some(path) = file {
            start.place.id = None;
            let opened = start.store.open(&path, &mut fastrand::Rng::with_seed(seed()));
            let opened = opened.map_err(|error| Refusal(error.host_text(config.dialect.base()), 1))?;
            log_notices(&path, &opened.notices);
            // Later ones belong to the same project (source: pi source).
            if let (SessionStart::Open(_), Some(tree)) = (&options.session, &opened.tree)
                && !tree.header().cwd.is_empty()
            {
                start.place.directory.clone_from(&tree.header().cwd);
            }
            start.session = Some(opened);
        }
        Ok(start)
    }
}

/// Creates a folder. A failure is only logged; the first write fails again.
fn make_folder(folder: &Path) {
    if let Err(error) = private_files::create_folder(folder) {
        tracing::warn!("{}: {error}", folder.display());
    }
}

/// The folders of sessions.
struct SessionFolders {
    /// The folder of this project.
    own: PathBuf,
    /// The parent of all projects' folders; `None` if there is only one folder.
    all: Option<PathBuf>,
    /// Whether it is the default folder.
    is_usual: bool,
}

impl SessionFolders {
    fn new(config: &Config, options: &HostOptions, working: &Path, environment: &Environment) -> Self {
        let option = options.session_dir.as_deref();
        if let Some(own) = sessions_folder(option, &config.settings, working, environment) {
            return Self { own, all: None, is_usual: false };
        }
        let all = config.directories.data.join(SESSIONS);
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let home = environment.get("HOME").map(|home| real(Path::new(home)));
        let name = directory_name(config.dialect, working, home.as_deref(), &real(&std::env::temp_dir()));
        Self { own: all.join(name), all: Some(all), is_usual: true }
    }

    /// The file that `--session` names; one named by its path may not exist yet.
    fn named(
        &self,
        name: &str,
        working: &Path,
        environment: &Environment,
        is_seen: &IsSeen<'_>,
    ) -> Result<PathBuf, Refusal> {
        match self.find(name, working, environment, is_seen)? {
            SessionLocation::Here(path) => Ok(path),
            SessionLocation::Elsewhere { path, cwd } => {
                let path = path.display();
                let text = format!(
                    "Session '{name}' belongs to another project, {cwd}. Start there, or copy it with --fork {path}"
                );
                Err(Refusal(text, 1))
            }
        }
    }

    fn find(
        &self,
        name: &str,
        working: &Path,
        environment: &Environment,
        is_seen: &IsSeen<'_>,
    ) -> Result<SessionLocation, Refusal> {
        if name.contains(['/', '\\']) || name.ends_with(".jsonl") {
            let path = working.join(expand_home(name, environment));
            let path = absolute(&path).map_err(|error| Refusal(format!("{name}: {error}"), 1))?;
            return Ok(SessionLocation::Here(path));
        }
        find_seen_by_prefix(name, &self.own, self.all.as_deref(), is_seen)
            .map_err(|error| Refusal(error.to_string(), 1))
    }
}

/// The folder of all sessions in the agent directory.
const SESSIONS: &str = "sessions";

/// Writes a copy of a session to a new file; without an `id` it gets a random one.
fn fork(
    dialect: Dialect,
    source: &Path,
    id: Option<String>,
    folder: &Path,
    working: &Path,
    (store, limit): (&mut Store, u64),
) -> Result<OpenedSession, Refusal> {
    let cannot = |what: &str| Refusal(format!("Cannot fork: {what}: {}", source.display()), 1);
    let bytes = regular_files::read(source, Kind { name: "a session (--max-session)", limit });
    let bytes = bytes.map_err(|error| cannot(&error.to_string()))?;
    let mut random = fastrand::Rng::with_seed(seed());
    let read = Tree::read(bytes.into(), &mut random)
        .map_err(|_| cannot("source session file is empty or invalid"))?;
    let now = wall_ms();
    let id = id.unwrap_or_else(|| session_id(dialect, now, &mut random));
    let cwd = working.to_string_lossy().into_owned();
    let header = new_header(id, cwd, Some(source.to_string_lossy().into_owned()), now);
    let path = folder.join(file_name(&header.timestamp, &header.id));
    let tree = read.tree.copy_all(header);
    store.create(path.clone(), tree.lines()).map_err(|error| Refusal(error.to_string(), 1))?;
    let notices = [read.notices, tree.context().notices].concat();
    log_notices(source, &notices);
    Ok(OpenedSession { path: path.into(), tree: Some(tree), notices })
}

/// Logs the notices about a session's file.
fn log_notices(path: &Path, notices: &[Notice]) {
    for notice in notices {
        tracing::warn!("{}: {notice}", path.display());
    }
}
