//! The lock of `auth.json`: a folder beside it, whose time of change says that its holder lives.
//!
//! pi takes the same one. It counts a lock as abandoned after 30 s, or after 10 s where it only reads, so a holder
//! renews the time more often than that. Source: pi 1.5.2 and `proper-lockfile` 4.1.2, observed.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

/// Age from which a lock counts as abandoned.
const STALE: Duration = Duration::from_secs(30);
/// Interval at which a holder renews the lock: half of the shorter of pi's limits.
const RENEWAL: Duration = Duration::from_secs(5);
/// How long to wait for another holder.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pauses between two attempts.
const PAUSES: std::ops::RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(1);

/// A lock that is held, until it is dropped.
#[derive(Debug)]
pub struct AuthLock {
    folder: PathBuf,
    /// Time of change that its holder has set last.
    renewed: SystemTime,
}

impl AuthLock {
    /// Waits for the lock of an existing file, for up to 30 s. Links to the file share its lock.
    ///
    /// # Errors
    ///
    /// `WouldBlock`: another process holds it; others: those of the system.
    pub async fn acquire(file: &Path) -> io::Result<Self> {
        Self::acquire_within(PATIENCE, file).await
    }

    /// Waits for the lock for up to `patience`.
    ///
    /// # Errors
    ///
    /// Those of [`Self::acquire`].
    pub async fn acquire_within(patience: Duration, file: &Path) -> io::Result<Self> {
        Self::acquire_beside(patience, &fs::canonicalize(file)?).await
    }

    /// Waits for the lock of this name for up to `patience`; there need not be a file.
    ///
    /// # Errors
    ///
    /// Those of [`Self::acquire`].
    pub async fn acquire_beside(patience: Duration, name: &Path) -> io::Result<Self> {
        let mut folder = name.as_os_str().to_owned();
        folder.push(".lock");
        let folder = PathBuf::from(folder);
        let deadline = Instant::now() + patience;
        let mut pause = *PAUSES.start();
        loop {
            if let Some(lock) = Self::try_acquire(&folder)? {
                return Ok(lock);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::Error::new(
                    io::ErrorKind::WouldBlock,
                    format!("{}: another process holds this lock", folder.display()),
                ));
            }
            sleep(pause.mul_f64(1.0 + fastrand::f64()).min(left)).await;
            pause = (pause * 2).min(*PAUSES.end());
        }
    }

    fn try_acquire(folder: &Path) -> io::Result<Option<Self>> {
        for may_be_abandoned in [true, false] {
            match fs::create_dir(folder) {
                Ok(()) => {
                    let renewed = renew(folder).inspect_err(|_| drop(fs::remove_dir(folder)))?;
                    return Ok(Some(Self { folder: folder.to_owned(), renewed }));
                }
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) => {}
            }
            if !may_be_abandoned || !is_abandoned(folder)? {
                return Ok(None);
            }
            match fs::remove_dir(folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Runs `work` and renews the lock meanwhile.
    pub async fn hold<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        let mut renewals = interval(RENEWAL);
        renewals.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                done = &mut work => return done,
                _ = renewals.tick() => {
                    // A lock that was taken away stays so: [`Self::is_held`] tells.
                    if self.is_held() && let Ok(renewed) = renew(&self.folder) {
                        self.renewed = renewed;
                    }
                }
            }
        }
    }

    /// Whether the lock is still ours: another process takes it once it seems abandoned.
    pub fn is_held(&self) -> bool {
        fs::metadata(&self.folder)
            .and_then(|found| found.modified())
            .is_ok_and(|modified| modified == self.renewed)
    }
}

impl Drop for AuthLock {
    fn drop(&mut self) {
        if self.is_held() {
            // What stays behind counts as abandoned after a while.
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

/// Sets the time of change to now, and returns it as the file system keeps it, perhaps in whole seconds.
fn renew(folder: &Path) -> io::Result<SystemTime> {
    File::open(folder)?.set_modified(SystemTime::now())?;
    fs::metadata(folder)?.modified()
}

fn is_abandoned(folder: &Path) -> io::Result<bool> {
    match fs::metadata(folder).and_then(|found| found.modified()) {
        Ok(renewed) => Ok(renewed.elapsed().is_ok_and(|age| age > STALE)),
        // Given back between two calls.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}
