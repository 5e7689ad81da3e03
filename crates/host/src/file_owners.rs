//! Whose the files of sessions are: the files themselves name no owner.
//!
//! A file belongs to the principal that has opened the session first. With `--state` that is noted in a file of the folder, a
//! line for each, before the session is announced; without it, in memory. What is not noted belongs to the principal in whose
//! roots it lies, if that is one alone.

use super::{
    host_error::HostError,
    limits::{Roots, real_path},
    permission::{Permitted, SessionOwner, permit},
    principal::Principal,
    records::StoredSession,
};
use pi_rpc_files::regular_files;
use pi_rpc_server::FileGuard;
use pi_rpc_session_store::working_directory;
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The names of all principals with their roots; `None`: not all principals are known.
pub type RootHolders = dyn Fn() -> Option<Vec<(String, Roots)>> + Send + Sync;

/// Lists the folders with the files of sessions. May block.
pub type SessionFolders = dyn Fn() -> Vec<PathBuf> + Send + Sync;

/// The owners of session files.
pub struct FileOwners {
    noted: Mutex<NotedOwners>,
    root_holders: Box<RootHolders>,
    folders: Box<SessionFolders>,
}

#[derive(Default)]
struct NotedOwners {
    /// Names of principals, by the paths of the files without symbolic links.
    names: HashMap<PathBuf, String>,
    /// The file with the same in lines; `None`: only this process knows.
    file: Option<OwnerFile>,
}

/// The file with the owners, and how long it is.
struct OwnerFile {
    path: PathBuf,
    file: File,
    lines: usize,
}

/// How many lines the file may have beyond two for each owner before it is rewritten.
const MOST_STALE: usize = 512;

/// The name of the file in the folder of `--state`.
const FILE: &str = "owners";

/// A line of the file. A later line about the same path counts.
#[derive(Serialize, Deserialize)]
struct OwnerLine {
    path: PathBuf,
    /// `None`: the file is gone.
    owner: Option<String>,
}

impl FileOwners {
    /// Reads the owners that are noted in `folder`, and those of the sessions that are `open`. Without a folder, owners are known
    /// to this process alone.
    ///
    /// # Errors
    ///
    /// The system refuses the file, or a line is none about an owner.
    pub fn open(
        folder: Option<&Path>,
        open: &[StoredSession],
        root_holders: Box<RootHolders>,
        folders: Box<SessionFolders>,
    ) -> io::Result<Arc<Self>> {
        let mut noted = NotedOwners::default();
        if let Some(folder) = folder {
            noted.names = read(&folder.join(FILE))?;
            noted.file = Some(OwnerFile::rewrite(folder.join(FILE), &noted.names)?);
        }
        for session in open {
            let owner = session.request.owner.as_ref().map_or(Principal::LOCAL, |owner| &owner.name);
            noted.names.entry(resolved(&session.path)).or_insert_with(|| owner.to_owned());
        }
        Ok(Arc::new(Self { noted: Mutex::new(noted), root_holders, folders }))
    }

    /// The files as a principal may use them.
    pub fn of(self: &Arc<Self>, principal: Arc<Principal>) -> FileAccess {
        FileAccess { owners: self.clone(), principal }
    }

    /// How many files have an owner that is noted.
    pub fn count(&self) -> usize {
        self.noted().names.len()
    }

    /// Forgets the owner of a file that does not exist.
    pub fn forget_missing(&self, path: &Path) {
        let path = resolved(path);
        let mut noted = self.noted();
        if noted.names.contains_key(&path) && is_missing(&path) {
            let forgotten = noted.set(path, None);
            forgotten.unwrap_or_else(|error| tracing::error!("the owners of sessions: {error}"));
        }
    }

    fn noted(&self) -> MutexGuard<'_, NotedOwners> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a path without symbolic links is in a folder of the host.
    fn is_in_folders(&self, path: &Path) -> bool {
        let is_below = |folder: &PathBuf| fs::canonicalize(folder).is_ok_and(|it| path.starts_with(it));
        (self.folders)().iter().any(is_below)
    }

    /// The principals in whose roots a session's file lies, and the directory that the session works in.
    fn root_holders(&self, path: &Path) -> Vec<String> {
        let is_file = fs::metadata(path).is_ok_and(|file| file.is_file());
        let directory = if is_file { working_directory(path) } else { None };
        let directory = directory.and_then(|directory| fs::canonicalize(directory).ok());
        let (Some(directory), Some(known)) = (directory, (self.root_holders)()) else { return Vec::new() };
        // The folders of the host are no principal's, wherever they are.
        let is_of_host = self.is_in_folders(path);
        let places: Vec<&Path> = if is_of_host { vec![&directory] } else { vec![&directory, path] };
        let holds = |roots: &Roots, place: &&Path| roots.contain(place);
        let mut names: Vec<String> = known
            .iter()
            .filter(|(_, roots)| places.iter().any(|place| holds(roots, place)))
            .map(|(name, _)| name.clone())
            .collect();
        names.sort_unstable();
        names.dedup();
        let holds_all = |name: &String| {
            let roots = || known.iter().filter(|(other, _)| other == name).map(|(_, roots)| roots);
            places.iter().all(|place| roots().any(|roots| holds(roots, place)))
        };
        // Whoever has only a part of it does not have it, and neither has another.
        if names.iter().all(holds_all) { names } else { Vec::new() }
    }
}

impl NotedOwners {
    /// The principal that has opened the file first. The path has no symbolic links.
    fn owner(&self, path: &Path) -> Option<&str> {
        if let Some(name) = self.names.get(path) {
            return Some(name);
        }
        // A file with several names belongs to the owner of any of them.
        let file = fs::metadata(path).ok().filter(|file| file.is_file() && file.nlink() > 1)?;
        let is_it = |other: &Path| {
            fs::metadata(other).is_ok_and(|other| (other.dev(), other.ino()) == (file.dev(), file.ino()))
        };
        self.names.iter().find(|(other, _)| is_it(other)).map(|(_, name)| name.as_str())
    }

    fn set(&mut self, path: PathBuf, owner: Option<&str>) -> io::Result<()> {
        if let Some(OwnerFile { file, lines, .. }) = &mut self.file {
            file.write_all(line(&path, owner)?.as_bytes())?;
            file.sync_data()?;
            *lines += 1;
        }
        match owner {
            Some(owner) => drop(self.names.insert(path, owner.to_owned())),
            None => drop(self.names.remove(&path)),
        }
        if let Some(file) = self.file.take_if(|file| file.lines > 2 * self.names.len() + MOST_STALE) {
            // It is noted already; where the file cannot be shorter, it stays.
            let shorter = OwnerFile::rewrite(file.path.clone(), &self.names);
            let shorter = shorter.inspect_err(|error| tracing::warn!("the owners of sessions: {error}"));
            self.file = Some(shorter.unwrap_or(file));
        }
        Ok(())
    }
}

impl OwnerFile {
    /// Writes the file anew, so that what is gone takes no room.
    fn rewrite(path: PathBuf, names: &HashMap<PathBuf, String>) -> io::Result<Self> {
        let lines = names.iter().map(|(path, owner)| line(path, Some(owner)));
        let text = lines.collect::<io::Result<String>>()?;
        let new = path.with_extension("new");
        pi_rpc_files::private_files::write(&new, &text)?;
        File::open(&new)?.sync_all()?;
        fs::rename(new, &path)?;
        let file = OpenOptions::new().append(true).open(&path)?;
        Ok(Self { path, file, lines: names.len() })
    }
}

/// The session files of a host, as one principal may use them.
#[derive(Clone)]
pub struct FileAccess {
    owners: Arc<FileOwners>,
    principal: Arc<Principal>,
}

impl FileAccess {
    /// The path of a session's file without symbolic links, if the principal may open it: its own ones, and files that do not
    /// exist yet, below its roots or, without any, outside of the host's folders. Whoever sees all may open any path. Blocks.
    ///
    /// # Errors
    ///
    /// `unknown_session`.
    pub fn permit(&self, path: &Path) -> Result<Permitted<PathBuf>, HostError> {
        if let Ok(permitted) = permit(&self.principal, SessionOwner::RootHolders(&[]), path.to_owned()) {
            return Ok(permitted);
        }
        let path = real_path(path).map_err(|_| HostError::UnknownSession)?;
        if let Some(name) = self.owners.noted().owner(&path) {
            return permit(&self.principal, SessionOwner::Opener(name), path.clone());
        }
        if is_missing(&path) {
            let owner = match self.may_create(&path) {
                true => SessionOwner::Opener(&self.principal.name),
                false => SessionOwner::RootHolders(&[]),
            };
            return permit(&self.principal, owner, path);
        }
        let holders = self.owners.root_holders(&path);
        permit(&self.principal, SessionOwner::RootHolders(&holders), path)
    }

    /// Refuses a file that another principal is known to have opened. Blocks.
    ///
    /// # Errors
    ///
    /// `unknown_session`.
    pub fn refuse_noted(&self, path: &Path) -> Result<(), HostError> {
        match self.owners.noted().owner(&resolved(path)) {
            Some(name) => permit(&self.principal, SessionOwner::Opener(name), ()).map(Permitted::into_inner),
            None => Ok(()),
        }
    }

    /// Notes whose an existing file is, before it is opened: the principal's, if it is nobody's yet. Blocks until that is on the
    /// disk.
    ///
    /// # Errors
    ///
    /// `unknown_session`: the principal may not open it; `open_failed`: it cannot be noted.
    pub fn claim(&self, path: &Path) -> Result<(), HostError> {
        let path = resolved(path);
        let holders = if is_missing(&path) { Vec::new() } else { self.owners.root_holders(&path) };
        self.note(
            path,
            match &*holders {
                // It stays whose it is, whoever else opens it.
                [holder] => holder,
                _ => &self.principal.name,
            },
        )
    }

    /// Notes the principal as the owner of a file that this session makes. Blocks until that is on the disk.
    ///
    /// # Errors
    ///
    /// `unknown_session`: another principal has opened it first; `open_failed`: it cannot be noted.
    pub fn claim_new(&self, path: &Path) -> Result<(), HostError> {
        self.note(resolved(path), &self.principal.name)
    }

    fn note(&self, path: PathBuf, owner: &str) -> Result<(), HostError> {
        let mut noted = self.owners.noted();
        if let Some(name) = noted.owner(&path) {
            return permit(&self.principal, SessionOwner::Opener(name), ()).map(Permitted::into_inner);
        }
        noted.set(path, Some(owner)).map_err(|error| unnoted(&error))
    }

    /// Notes that a file gets another path, in the same hands. Blocks.
    ///
    /// # Errors
    ///
    /// `open_failed`: it cannot be noted.
    pub fn note_move(&self, from: &Path, to: &Path) -> Result<(), HostError> {
        let (from, to) = (resolved(from), resolved(to));
        let mut noted = self.owners.noted();
        let Some(name) = noted.owner(&from).map(str::to_owned) else { return Ok(()) };
        noted.set(to, Some(&name)).map_err(|error| unnoted(&error))
    }

    /// Whether the principal may name a file that does not exist, which becomes its session's. In the host's folders it may not:
    /// which files of others are there is not told.
    fn may_create(&self, path: &Path) -> bool {
        match &self.principal.limits.roots {
            Some(roots) => roots.contain(path),
            None => !self.owners.is_in_folders(path),
        }
    }
}

impl FileGuard for FileAccess {
    fn before_open(&self, path: &Path) -> Result<(), String> {
        let claimed = self.permit(path).and_then(|path| self.claim(&path));
        claimed.map_err(|error| error.text())
    }

    fn before_create(&self, path: &Path) -> Result<(), String> {
        self.claim_new(path).map_err(|error| error.text())
    }
}

/// The owners that a file notes. A last line that was cut was not announced, either.
fn read(file: &Path) -> io::Result<HashMap<PathBuf, String>> {
    let text = match regular_files::read_to_string(file, regular_files::SERVER_FILE) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(error) => return Err(error),
    };
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut names = HashMap::new();
    for (number, line) in (1..).zip(whole.lines()) {
        let OwnerLine { path, owner } = serde_json::from_str(line).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{}: line {number}: {error}", file.display()))
        })?;
        match owner {
            Some(owner) => drop(names.insert(path, owner)),
            None => drop(names.remove(&path)),
        }
    }
    Ok(names)
}

fn line(path: &Path, owner: Option<&str>) -> io::Result<String> {
    let line = OwnerLine { path: path.to_owned(), owner: owner.map(str::to_owned) };
    Ok(serde_json::to_string(&line)? + "\n")
}

fn unnoted(error: &io::Error) -> HostError {
    HostError::OpenFailed(format!("--state: the owner of the session's file is not noted: {error}"))
}

/// Whether there is no file, or one in which a session has yet to begin.
fn is_missing(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(file) => file.is_file() && file.len() == 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// The path without symbolic links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    real_path(path).unwrap_or_else(|_| match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => resolved(folder).join(name),
        _ => path.to_owned(),
    })
}
