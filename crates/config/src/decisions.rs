//! The file with the user's decisions about projects, as pi's `/trust` writes it.

use pi_rpc_files::regular_files;
use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write as _},
    path::Path,
    thread,
    time::Duration,
};

/// The file, in the agent directory.
pub(super) const DECISIONS: &str = "trust.json";

/// Attempts to get the lock, and the pause between them. Source: pi 1.6.0 source.
const ATTEMPTS: usize = 10;
const PAUSE: Duration = Duration::from_millis(20);

/// Decisions by folder; `None`: none, as if the folder was not there.
pub(super) type Decisions = BTreeMap<String, Option<bool>>;

/// Parses the decisions.
pub(super) fn read(text: &str) -> Result<Decisions, String> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| error.to_string())
}

/// Saves the decision about the project in `working`, under the lock that pi takes, too.
///
/// # Errors
///
/// Another process holds the lock, the file cannot be read, or those of the system.
pub fn save_decision(agent: &Path, working: &Path, approves: bool) -> io::Result<()> {
    fs::create_dir_all(agent)?;
    let path = agent.join(DECISIONS);
    let lock = agent.join(format!("{DECISIONS}.lock"));
    take_lock(&lock)?;
    let saved = save(agent, &path, working, approves);
    let released = fs::remove_dir(&lock);
    saved.and(released)
}

fn take_lock(lock: &Path) -> io::Result<()> {
    for _ in 1..ATTEMPTS {
        match fs::create_dir(lock) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => thread::sleep(PAUSE),
            taken => return taken,
        }
    }
    fs::create_dir(lock)
}

fn save(agent: &Path, path: &Path, working: &Path, approves: bool) -> io::Result<()> {
    let mut decisions = match regular_files::read_to_string(path, regular_files::CONFIGURATION) {
        Ok(text) => read(&text).map_err(io::Error::other)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Decisions::new(),
        Err(error) => return Err(error),
    };
    let folder = working.canonicalize()?.to_string_lossy().into_owned();
    decisions.insert(folder, Some(approves));
    let mut file = tempfile::NamedTempFile::new_in(agent)?;
    file.write_all(format!("{}\n", serde_json::to_string_pretty(&decisions)?).as_bytes())?;
    // The file may be a link, which stays.
    file.persist(path.canonicalize().unwrap_or_else(|_| path.to_owned())).map_err(|failed| failed.error)?;
    Ok(())
}
