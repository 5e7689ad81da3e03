//! Finds the files of earlier sessions, by age or by id.

use pi_rpc_session::head::LineHead;
use std::{
    cmp::Reverse,
    fs::{self, File},
    io::{BufRead, BufReader, Read as _},
    path::{Path, PathBuf},
};

/// The file of a session, and whether it belongs to this project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionLocation {
    /// A session of this project.
    Here(PathBuf),
    /// A session of another project.
    Elsewhere {
        /// Path of the file.
        path: PathBuf,
        /// Working directory of the other project, from the file's header.
        cwd: String,
    },
}

/// Why an id resolves to no session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// No session matches.
    #[error("No session found matching '{0}'")]
    None(String),
    /// Several sessions match.
    #[error("Several sessions match '{prefix}': {}", ids.join(", "))]
    Several {
        /// The id as the user gave it.
        prefix: String,
        /// The matching ids.
        ids: Vec<String>,
    },
}

/// Finds the session in `directory` that was written last. Files without a session header are passed over (source: pi
/// source, which also passes over headers of more than 512 bytes).
pub fn find_newest(directory: &Path) -> Option<PathBuf> {
    find_newest_seen(directory, &|_| true)
}

/// Finds the session in `directory` that was written last, among those that `is_seen` accepts.
pub fn find_newest_seen(directory: &Path, is_seen: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    let mut files: Vec<_> = files(directory)
        .into_iter()
        .filter_map(|path| {
            let written = fs::metadata(&path).and_then(|file| file.modified()).ok()?;
            Some((Reverse(written), Reverse(path)))
        })
        .collect();
    // Of files with equal times, the one with the later name.
    files.sort_unstable();
    files.into_iter().map(|(_, Reverse(path))| path).find(|path| header(path).is_some() && is_seen(path))
}

/// Finds the session in `directory` that was written last, among those with entries behind their header.
pub fn find_newest_with_entries(directory: &Path) -> Option<PathBuf> {
    find_newest_seen(directory, &|path| File::open(path).is_ok_and(|file| has_entries(&file)))
}

/// Whether a session has entries behind its header. Their beginning is enough, as they may be long.
fn has_entries(file: &File) -> bool {
    let mut reader = BufReader::new(file);
    let has_header = read_header(&mut reader.by_ref().take(LONGEST_HEADER)).is_some();
    has_header && reader.fill_buf().is_ok_and(|rest| rest.iter().any(|byte| !byte.is_ascii_whitespace()))
}

/// Finds the session whose id is or begins with `prefix`: in the directory `own`, else in the directories inside
/// `all`.
pub fn find_by_prefix(prefix: &str, own: &Path, all: Option<&Path>) -> Result<SessionLocation, FindError> {
    find_seen_by_prefix(prefix, own, all, &|_| true)
}

/// Finds the session whose id is or begins with `prefix`, among those that `is_seen` accepts: in the directory `own`, else in
/// the directories inside `all`.
pub fn find_seen_by_prefix(
    prefix: &str,
    own: &Path,
    all: Option<&Path>,
    is_seen: &dyn Fn(&Path) -> bool,
) -> Result<SessionLocation, FindError> {
    if let Some(found) = one(prefix, files(own), is_seen)? {
        return Ok(SessionLocation::Here(found.path));
    }
    let directories = all.map(|all| entries(all, |path| path.is_dir() && path != own)).unwrap_or_default();
    match one(prefix, directories.iter().flat_map(|directory| files(directory)), is_seen)? {
        Some(SessionCandidate { path, cwd, .. }) => Ok(SessionLocation::Elsewhere { path, cwd }),
        None => Err(FindError::None(prefix.to_owned())),
    }
}

/// Finds the session in `directory` with exactly this id.
pub fn find_by_id(id: &str, directory: &Path) -> Option<PathBuf> {
    files(directory).into_iter().find(|path| header(path).is_some_and(|it| it.id == id))
}

/// The working directory of a session's file, as its header has it.
pub fn working_directory(path: &Path) -> Option<PathBuf> {
    header(path).map(|it| PathBuf::from(it.cwd)).filter(|cwd| cwd.is_absolute())
}

/// Whether an open file, read from its beginning, is a session.
pub fn is_session_file(file: &File) -> bool {
    header_of(file).is_some()
}

/// A session file that may match.
struct SessionCandidate {
    path: PathBuf,
    id: String,
    cwd: String,
}

/// Picks the only session whose id begins with `prefix`, or the one that has it exactly.
fn one(
    prefix: &str,
    files: impl IntoIterator<Item = PathBuf>,
    is_seen: &dyn Fn(&Path) -> bool,
) -> Result<Option<SessionCandidate>, FindError> {
    let matching = files.into_iter().filter_map(|path| header(&path)).filter(|it| it.id.starts_with(prefix));
    let mut found: Vec<SessionCandidate> = matching.filter(|it| is_seen(&it.path)).collect();
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

/// Lists the `wanted` paths in a directory, sorted by name; none if it cannot be read.
fn entries(directory: &Path, wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).filter(|path| wanted(path)).collect();
    paths.sort_unstable();
    paths
}

/// Bytes at the beginning of a file that are searched for its header.
const LONGEST_HEADER: u64 = 1 << 20;

/// Reads the header of the file at `path`; `None`: it is no session.
fn header(path: &Path) -> Option<SessionCandidate> {
    let (id, cwd) = header_of(&File::open(path).ok()?)?;
    Some(SessionCandidate { path: path.to_owned(), id, cwd })
}

/// Reads id and working directory from the header of a file; `None`: it is no session.
fn header_of(file: &File) -> Option<(String, String)> {
    read_header(&mut BufReader::new(file.take(LONGEST_HEADER)))
}

/// Reads id and working directory from the header at the beginning of a session.
fn read_header(reader: &mut impl BufRead) -> Option<(String, String)> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line).ok()?;
    // Files of omp begin with a line for the name.
    if serde_json::from_slice::<LineHead>(&line).ok()?.kind.as_deref() == Some("title") {
        line.clear();
        reader.read_until(b'\n', &mut line).ok()?;
    }
    let head: LineHead = serde_json::from_slice(&line).ok()?;
    let is_header = head.kind.as_deref() == Some("session");
    let id = head.id.filter(|_| is_header)?.into_owned();
    Some((id, head.cwd.unwrap_or_default().into_owned()))
}
