//! Finding the file of an earlier session.

use super::head::LineHead;
use std::{
    cmp::Reverse,
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
};

/// Where a session was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionLocation {
    /// Among those of this project.
    Here(PathBuf),
    /// Among those of another project.
    Elsewhere {
        /// The file.
        path: PathBuf,
        /// The directory of that project, as the file tells it.
        cwd: String,
    },
}

/// Why no session was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// None has such an id.
    #[error("No session found matching '{0}'")]
    None(String),
    /// More than one has.
    #[error("Several sessions match '{prefix}': {}", ids.join(", "))]
    Several {
        /// What was asked for.
        prefix: String,
        /// The ids that begin with it.
        ids: Vec<String>,
    },
}

/// The session in `directory` that was written to last; `None`: it holds none. Files that do not begin with a header are
/// passed over (source: pi source, which also passes over those with a header of more than 512 bytes).
pub fn find_newest(directory: &Path) -> Option<PathBuf> {
    let mut files: Vec<_> = files(directory)
        .into_iter()
        .filter_map(|path| {
            let written = fs::metadata(&path).and_then(|file| file.modified()).ok()?;
            Some((Reverse(written), Reverse(path)))
        })
        .collect();
    // Of files written at one moment the one with the later name.
    files.sort_unstable();
    files.into_iter().map(|(_, Reverse(path))| path).find(|path| header(path).is_some())
}

/// The session whose id is, or begins with, `prefix`: first among those in `own`, then in the directories inside `all`.
pub fn find_by_prefix(prefix: &str, own: &Path, all: Option<&Path>) -> Result<SessionLocation, FindError> {
    if let Some(found) = one(prefix, files(own))? {
        return Ok(SessionLocation::Here(found.path));
    }
    let directories = all.map(|all| entries(all, |path| path.is_dir() && path != own)).unwrap_or_default();
    match one(prefix, directories.iter().flat_map(|directory| files(directory)))? {
        Some(Candidate { path, cwd, .. }) => Ok(SessionLocation::Elsewhere { path, cwd }),
        None => Err(FindError::None(prefix.to_owned())),
    }
}

/// The session in `directory` with this very id.
pub fn find_by_id(id: &str, directory: &Path) -> Option<PathBuf> {
    files(directory).into_iter().find(|path| header(path).is_some_and(|it| it.id == id))
}

/// Whether a file, read from its beginning, is a session.
pub fn is_session_file(file: &File) -> bool {
    header_of(file).is_some()
}

/// A file that may be meant.
struct Candidate {
    path: PathBuf,
    id: String,
    cwd: String,
}

fn one(prefix: &str, files: impl IntoIterator<Item = PathBuf>) -> Result<Option<Candidate>, FindError> {
    let mut found: Vec<Candidate> =
        files.into_iter().filter_map(|path| header(&path)).filter(|it| it.id.starts_with(prefix)).collect();
    if let Some(exact) = found.iter().position(|candidate| candidate.id == prefix) {
        return Ok(Some(found.swap_remove(exact)));
    }
    match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => {
            let ids = found.into_iter().map(|candidate| candidate.id).collect();
            Err(FindError::Several { prefix: prefix.to_owned(), ids })
        }
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    entries(directory, |path| path.extension().is_some_and(|end| end == "jsonl") && path.is_file())
}

/// What is in a directory, by name; a directory that cannot be read is empty.
fn entries(directory: &Path, wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).filter(|path| wanted(path)).collect();
    paths.sort_unstable();
    paths
}

/// How long a line is read before it is not taken for a header.
const LONGEST_HEADER: u64 = 1 << 20;

/// What the first line says, if it is a header.
fn header(path: &Path) -> Option<Candidate> {
    let (id, cwd) = header_of(&File::open(path).ok()?)?;
    Some(Candidate { path: path.to_owned(), id, cwd })
}

/// The id and the directory that the first line of a file tells, if it is a header.
fn header_of(file: &File) -> Option<(String, String)> {
    let mut line = Vec::new();
    BufReader::new(file.take(LONGEST_HEADER)).read_until(b'\n', &mut line).ok()?;
    let head: LineHead = serde_json::from_slice(&line).ok()?;
    let is_header = head.kind.as_deref() == Some("session");
    let id = head.id.filter(|_| is_header)?.into_owned();
    Some((id, head.cwd.unwrap_or_default().into_owned()))
}
