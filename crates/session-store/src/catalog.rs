//! Sessions on disk: lists, searches, renames and archives them without opening them.

use super::{
    Store,
    file::{OpenError, WriteError},
};
use pi_rpc_protocol::{AgentMessage, AssistantContent, MessageContent, UserContent};
use pi_rpc_session::{RenameEffect, Stamp, Tree, time::millis};
use std::{
    cmp::Reverse,
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// A session on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredFile {
    /// Path of the file.
    pub path: PathBuf,
    /// The id in the file.
    pub id: String,
    /// The working directory, from the header.
    pub directory: String,
    /// The display name.
    pub name: Option<String>,
    /// Beginning of the first message of the user.
    pub title: Option<String>,
    /// When it began, in milliseconds since the Unix epoch.
    pub created: u64,
    /// Time of the last entry, in milliseconds since the Unix epoch.
    pub last_activity: u64,
    /// Messages on all branches.
    pub messages: u64,
    /// Cost of all answers, in US dollars.
    pub cost: f64,
    /// Whether it is archived.
    pub is_archived: bool,
}

/// Which sessions to list.
#[derive(Clone, Debug, Default)]
pub struct StoredFileQuery {
    /// Only those whose name, directory or messages contain this text; case does not count.
    pub text: Option<String>,
    /// Whether to list the archived ones instead of the others.
    pub is_archived: bool,
    /// The last path of the list before.
    pub after: Option<PathBuf>,
    /// The most to list.
    pub limit: usize,
}

/// Why a session on disk cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum StoredFileError {
    /// The path is no session in one of the folders.
    #[error("{0}: no session in the folders of this host")]
    Unknown(PathBuf),
    /// The file cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The file cannot be changed.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The file cannot be moved.
    #[error("{0}: {1}")]
    Move(PathBuf, #[source] io::Error),
}

/// The folder of archived sessions, beside the others.
const ARCHIVED: &str = "archived";

/// Characters of a title.
const TITLE_LENGTH: usize = 200;

/// Lists the sessions in `folders` that `is_seen` accepts, the one that was written last first, and whether others follow.
/// Files that are no sessions are passed over.
pub fn list(
    folders: &[PathBuf],
    query: &StoredFileQuery,
    is_seen: impl Fn(&StoredFile) -> bool,
) -> (Vec<StoredFile>, bool) {
    let mut files: Vec<(Reverse<SystemTime>, PathBuf)> = Vec::new();
    for folder in folders {
        let folder = if query.is_archived { folder.join(ARCHIVED) } else { folder.clone() };
        let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        files.extend(paths.filter(|path| path.extension() == Some(OsStr::new("jsonl"))).filter_map(|path| {
            // Opening a pipe would wait for a writer.
            let file = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
            let written = file.modified().ok()?;
            Some((Reverse(written), path))
        }));
    }
    files.sort_unstable();
    let last = query.after.as_ref().and_then(|after| files.iter().position(|(_, path)| path == after));
    let behind = files.into_iter().skip(last.map_or(0, |last| last + 1));
    let needle = query.text.as_ref().map(|text| text.to_lowercase());
    let mut found = behind.filter_map(|(_, path)| {
        let tree = read(&path).ok()?;
        let is_wanted = needle.as_ref().is_none_or(|needle| contains(&tree, needle));
        is_wanted.then(|| describe(&path, &tree)).filter(&is_seen)
    });
    let listed: Vec<StoredFile> = found.by_ref().take(query.limit).collect();
    (listed, found.next().is_some())
}

/// Reads the session at `path`, which must be in one of the folders or archived there.
///
/// # Errors
///
/// It is somewhere else, or no session.
pub fn read_in(folders: &[PathBuf], path: &Path) -> Result<Tree, StoredFileError> {
    find(folders, path)?;
    read(path).map_err(|_| StoredFileError::Unknown(path.to_owned()))
}

/// Names the session at `path`, unless another process has it open.
///
/// # Errors
///
/// It is no session in the folders, is open, or cannot be written.
pub fn rename(
    folders: &[PathBuf],
    path: &Path,
    name: &str,
    stamp: Stamp,
    random: &mut fastrand::Rng,
) -> Result<StoredFile, StoredFileError> {
    find(folders, path)?;
    let (mut store, mut tree) = open(path, random)?;
    match tree.rename(name, stamp, random) {
        RenameEffect::Line(line) => store.append([line])?,
        RenameEffect::Header => store.rewrite(tree.lines())?,
    }
    Ok(describe(path, &tree))
}

/// Moves the session at `path` to the archived ones beside it, or back, unless another process has it open.
///
/// # Errors
///
/// It is no session in the folders, is open, or cannot be moved.
pub fn archive(
    folders: &[PathBuf],
    path: &Path,
    is_archived: bool,
    random: &mut fastrand::Rng,
) -> Result<StoredFile, StoredFileError> {
    let folder = find(folders, path)?;
    let (_store, tree) = open(path, random)?;
    let to = if is_archived { folder.join(ARCHIVED) } else { folder };
    let new = to.join(path.file_name().unwrap_or_default());
    if new != path {
        let cannot = |error| StoredFileError::Move(path.to_owned(), error);
        pi_rpc_files::private_files::create_folder(&to).map_err(cannot)?;
        if new.exists() {
            return Err(cannot(io::ErrorKind::AlreadyExists.into()));
        }
        fs::rename(path, &new).map_err(cannot)?;
    }
    Ok(describe(&new, &tree))
}

/// The path that [`archive`] moves a session to.
pub fn archived_path(path: &Path, is_archived: bool) -> PathBuf {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
    match (parent.file_name() == Some(OsStr::new(ARCHIVED)), is_archived) {
        (false, true) => parent.join(ARCHIVED).join(name),
        (true, false) => parent.with_file_name(name),
        _ => path.to_owned(),
    }
}

/// The folder that a session belongs to, archived or not.
fn find(folders: &[PathBuf], path: &Path) -> Result<PathBuf, StoredFileError> {
    let unknown = || StoredFileError::Unknown(path.to_owned());
    let parent = path.parent().ok_or_else(unknown)?;
    let folder = folders.iter().find(|folder| parent == folder.as_path() || parent == folder.join(ARCHIVED));
    let is_file = fs::symlink_metadata(path).is_ok_and(|file| file.is_file());
    folder.filter(|_| is_file && path.extension() == Some(OsStr::new("jsonl"))).cloned().ok_or_else(unknown)
}

fn open(path: &Path, random: &mut fastrand::Rng) -> Result<(Store, Tree), StoredFileError> {
    let mut store = Store::default();
    let opened = store.open(path, random)?;
    let tree = opened.tree.ok_or_else(|| StoredFileError::Unknown(path.to_owned()))?;
    Ok((store, tree))
}

/// The largest file that is read for a list, in bytes: no server opens a longer one by default.
const LARGEST: u64 = 1 << 30;

fn read(path: &Path) -> io::Result<Tree> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let parsed = Tree::read(bytes.into(), &mut fastrand::Rng::with_seed(0));
    parsed.map(|parsed| parsed.tree).map_err(|_| io::ErrorKind::InvalidData.into())
}

fn describe(path: &Path, tree: &Tree) -> StoredFile {
    let totals = tree.totals();
    let header = tree.header();
    let created = millis(&header.timestamp);
    let title = tree.entries().iter().find_map(|entry| match entry.message()?.as_ref() {
        AgentMessage::User(message) => Some(text(&message.content)),
        _ => None,
    });
    StoredFile {
        path: path.to_owned(),
        id: header.id.clone(),
        directory: header.cwd.clone(),
        name: tree.name(),
        title: title.map(|title| title.trim().chars().take(TITLE_LENGTH).collect()),
        created,
        last_activity: tree.entries().last().map_or(created, |entry| entry.at()),
        messages: totals.all,
        cost: totals.cost,
        is_archived: path.parent().and_then(Path::file_name) == Some(OsStr::new(ARCHIVED)),
    }
}

/// Whether the name, the directory or a message has the text, which is in lower case.
fn contains(tree: &Tree, needle: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(needle);
    tree.name().is_some_and(|name| has(&name))
        || has(&tree.header().cwd)
        || tree.entries().iter().filter_map(|entry| entry.message()).any(|message| match message.as_ref() {
            AgentMessage::User(message) => has(&text(&message.content)),
            AgentMessage::Assistant(answer) => answer.content.iter().any(|content| match content {
                AssistantContent::Text(said) => has(&said.text),
                _ => false,
            }),
            _ => false,
        })
}

fn text(content: &MessageContent) -> String {
    match content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Blocks(blocks) => {
            let texts = blocks.iter().filter_map(|block| match block {
                UserContent::Text(text) => Some(text.text.as_str()),
                UserContent::Image(_) => None,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}
