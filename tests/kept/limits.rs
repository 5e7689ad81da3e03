//! The file of a session where the system refuses to write: it is read-only, or the disk is full.

use crate::session_support::*;
use pi_rpc::session::{OpenError, Store, WriteError};
use std::{
    env,
    fs::{self, OpenOptions, Permissions},
    io,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::Path,
    process::{Command, Output},
};

/// Nothing is read-only to the super-user.
#[test]
fn read_only_file_opens_and_refuses_writes() {
    let (_directory, path) = with(conversation() + "{\"torn");
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    if OpenOptions::new().append(true).open(&path).is_ok() {
        return as_nobody("limits::read_only_file_opens_and_refuses_writes");
    }
    let (mut store, tree, notices) = opened(&path);
    assert_eq!((bytes(&tree.unwrap()), notices.len()), (conversation(), 1));
    for _ in 0..2 {
        let error = store.append([line("three")]).unwrap_err().to_string();
        let expected = format!("Cannot write session file {}: Permission denied", path.display());
        assert!(error.starts_with(&expected), "{error}");
        assert!(matches!(store.rewrite(fresh().lines()), Err(WriteError::Refused(..))));
    }
    assert_eq!(text(&path), conversation() + "{\"torn");
    // Once it may be written to, opening it again is enough.
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    assert!(store.open(&path, &mut random()).unwrap().tree.is_some());
    store.append([line("three")]).unwrap();
    assert_eq!(text(&path), conversation() + &said(&["three"]));
    store.release();
    fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
    assert!(
        matches!(open(&path).1, Err(OpenError::Refused(_, error)) if error.kind() == io::ErrorKind::PermissionDenied)
    );
}

/// Runs one test of this file as a user without privileges.
fn as_nobody(test: &str) {
    // Where the build directory is closed to others, a copy can be run.
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    let (this, copy) = (env::current_exe().unwrap(), directory.path().join("test"));
    fs::hard_link(&this, &copy).or_else(|_| fs::copy(&this, &copy).map(drop)).unwrap();
    let mut command = Command::new(copy);
    command.args([test, "--exact"]).uid(65534).gid(65534).env("TMPDIR", "/tmp").current_dir("/");
    passed(&command.output().unwrap());
}

/// Set for the test below, when it runs where the disk is nearly full.
const FULL_DISK: &str = "PI_RPC_TEST_FULL_DISK";

/// Writes until the disk is full, and beyond. Run by the test that makes it so.
#[test]
fn full_disk_leaves_no_partial_line() {
    let Some(directory) = env::var_os(FULL_DISK) else { return };
    let path = Path::new(&directory).join("s.jsonl");
    let mut store = Store::default();
    store.create(path.clone(), fresh().lines()).unwrap();
    let (mut expected, long) = (bytes(&fresh()), "x".repeat(7000));
    let mut failures = 0;
    for number in 0..20 {
        // Shorter ones at last, which fit when the long ones do not.
        let line = line(if number < 16 { &long } else { "short" });
        match store.append([line.clone()]) {
            Ok(()) => expected.push_str(std::str::from_utf8(&line).unwrap()),
            Err(WriteError::Refused(_, error)) => {
                failures += 1;
                let kinds = [io::ErrorKind::StorageFull, io::ErrorKind::FileTooLarge];
                assert!(kinds.contains(&error.kind()), "{error}");
            }
            Err(other) => panic!("{other}"),
        }
        assert_eq!(text(&path), expected, "line {number}");
    }
    assert!(failures > 4 && expected.contains("short"), "{failures} lines were refused");
    // Nor does a file that could not be begun.
    let other = path.with_file_name("other.jsonl");
    let huge = "x".repeat(1 << 17);
    assert!(matches!(store.create(other.clone(), [line(&huge)]), Err(WriteError::Refused(..))));
    assert!(!other.exists());
    // One that was there before stays.
    let empty = path.with_file_name("empty.jsonl");
    fs::write(&empty, "").unwrap();
    let mut second = Store::default();
    second.open(&empty, &mut random()).unwrap();
    assert!(matches!(second.append([line(&huge)]), Err(WriteError::Refused(..))));
    assert_eq!(text(&empty), "");
    // A new file does not fit beside the old one, which stays.
    assert!(matches!(store.rewrite([line(&huge)]), Err(WriteError::Refused(..))));
    store.append([line("!")]).unwrap();
    assert_eq!(text(&path), expected + &said(&["!"]));
}

/// The one test was run there, and passed.
fn passed(output: &Output) {
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("1 passed"), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn file_size_limit_leaves_no_partial_line() {
    let directory = tempfile::tempdir().unwrap();
    // Without the trap the signal would end the process before it is told.
    let script = r#"trap "" XFSZ && ulimit -f 64 && exec "$0" "$1" --exact"#;
    let mut command = Command::new("bash");
    command.args(["-c", script]).arg(env::current_exe().unwrap());
    command.arg("limits::full_disk_leaves_no_partial_line");
    let output = command.env(FULL_DISK, directory.path()).output().unwrap();
    passed(&output);
}
