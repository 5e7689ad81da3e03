//! The lock of `auth.json` follows the rules that pi's has.

use pi_rpc::login::lock::AuthLock;
use std::{
    fs::{self, File},
    io::ErrorKind,
    path::PathBuf,
    time::{Duration, SystemTime},
};
use tempfile::TempDir;

/// A file, and the folder that is its lock.
fn locked() -> (TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (file, lock) = (dir.path().join("auth.json"), dir.path().join("auth.json.lock"));
    fs::write(&file, "{}").unwrap();
    (dir, file, lock)
}

/// Lets the lock look as if its holder had renewed it so long ago.
fn age(lock: &PathBuf, seconds: u64) {
    let then = SystemTime::now() - Duration::from_secs(seconds);
    File::open(lock).unwrap().set_modified(then).unwrap();
}

#[tokio::test]
async fn lock_is_a_folder_until_dropped() {
    let (_dir, file, lock) = locked();
    let held = AuthLock::acquire(&file).await.unwrap();
    assert!(lock.is_dir() && held.is_held());
    drop(held);
    assert!(!lock.exists());
}

#[tokio::test]
async fn lock_of_living_process_is_left() {
    let (_dir, file, lock) = locked();
    fs::create_dir(&lock).unwrap();
    let error = AuthLock::acquire_within(Duration::ZERO, &file).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    assert!(lock.is_dir());
}

#[tokio::test]
async fn abandoned_lock_is_taken_over() {
    let (_dir, file, lock) = locked();
    fs::create_dir(&lock).unwrap();
    age(&lock, 31);
    assert!(AuthLock::acquire(&file).await.unwrap().is_held());
    assert!(!lock.exists());
}

#[tokio::test]
async fn stolen_lock_is_noticed_and_left() {
    let (_dir, file, lock) = locked();
    let held = AuthLock::acquire(&file).await.unwrap();
    age(&lock, 3);
    assert!(!held.is_held());
    drop(held);
    assert!(lock.is_dir());
}

#[tokio::test]
async fn long_work_keeps_the_lock_renewed() {
    let (_dir, file, lock) = locked();
    let mut held = AuthLock::acquire(&file).await.unwrap();
    let renewed = || fs::metadata(&lock).unwrap().modified().unwrap();
    let before = renewed();
    let work = async {
        while renewed() <= before {
            tokio::task::yield_now().await;
        }
    };
    held.hold(work).await;
    assert!(held.is_held());
}
