//! Changes `auth.json` under the lock that pi takes: a directory beside the file.
//!
//! The lock is held by whoever has made the directory. Its time is renewed while it is held; one that has not been renewed
//! for long is left over from a process that has ended, and is taken over.
//!
//! Source: pi source (`auth-storage`); `proper-lockfile`, observed.

use crate::{
    protocol::JsonObject,
    regular_files::{self, CONFIGURATION},
};
use serde_json::Value;
use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

/// Age at which a lock is left over. pi takes one over after ten seconds in some places, after thirty in others.
const STALE: Duration = Duration::from_secs(30);
/// Longest wait for the lock.
const PATIENCE: Duration = Duration::from_secs(30);
/// First and longest pause between two attempts.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_secs(1)];

/// The locked file. Dropping it frees the lock.
#[derive(Debug)]
pub struct LockedAuthFile {
    /// The file itself, where `auth.json` is a link.
    path: PathBuf,
    lock: PathBuf,
}

impl LockedAuthFile {
    /// Waits for the lock of `path`, up to thirty seconds. Blocks.
    ///
    /// # Errors
    ///
    /// The file does not exist, its directory cannot be written, or another process holds the lock for too long.
    pub fn lock(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let mut name = path.clone().into_os_string();
        name.push(".lock");
        let lock = PathBuf::from(name);
        let end = Instant::now() + PATIENCE;
        let mut pause = PAUSES[0];
        loop {
            match fs::create_dir(&lock) {
                Ok(()) => return Ok(Self { path, lock }),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) => {}
            }
            if is_stale(&lock) {
                // Another process may have taken it over and freed it meanwhile.
                let _ = fs::remove_dir(&lock);
                continue;
            }
            if Instant::now() >= end {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "another process has locked it for too long",
                ));
            }
            thread::sleep(pause.mul_f64(1.0 + fastrand::f64()));
            pause = (pause * 2).min(PAUSES[1]);
        }
    }

    /// Renews the time of the lock.
    pub fn keep(&self) {
        // Without it the lock only counts as left over sooner.
        let _ = File::open(&self.lock).and_then(|lock| lock.set_modified(SystemTime::now()));
    }

    /// Reads the login of a provider; `None`: there is none.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is no JSON object.
    pub fn read(&self, provider: &str) -> io::Result<Option<JsonObject>> {
        let entry = self.read_all()?.shift_remove(provider);
        Ok(match entry {
            Some(Value::Object(entry)) => Some(entry),
            _ => None,
        })
    }

    /// Writes the `renewed` login in the place of `old`. Returns false, and writes nothing, if another is there by now.
    /// Other logins stay as they are.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written.
    pub fn replace(&self, provider: &str, old: &JsonObject, renewed: JsonObject) -> io::Result<bool> {
        let mut all = self.read_all()?;
        let place = all.get_mut(provider).filter(|entry| entry.get("refresh") == old.get("refresh"));
        let Some(place) = place else { return Ok(false) };
        *place = renewed.into();
        let folder = self.path.parent().unwrap_or(Path::new("."));
        // Written beside it and moved there: who reads meanwhile reads a whole file.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(serde_json::to_string_pretty(&all)?.as_bytes())?;
        file.as_file().set_permissions(fs::metadata(&self.path)?.permissions())?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(true)
    }

    fn read_all(&self) -> io::Result<JsonObject> {
        let text = regular_files::read_to_string(&self.path, CONFIGURATION)?;
        // The parser's text may quote a key.
        let object = serde_json::from_str(text.trim_start_matches('\u{feff}'));
        object.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "expected a JSON object"))
    }
}

impl Drop for LockedAuthFile {
    fn drop(&mut self) {
        // One that was taken over is another's, and is gone or not empty of meaning: nothing else can be done.
        let _ = fs::remove_dir(&self.lock);
    }
}

/// Whether a lock has not been renewed for long.
fn is_stale(lock: &Path) -> bool {
    let renewed = fs::metadata(lock).and_then(|lock| lock.modified());
    renewed.is_ok_and(|renewed| renewed.elapsed().is_ok_and(|age| age > STALE))
}
