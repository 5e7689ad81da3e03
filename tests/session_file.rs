//! The file of a session: who may write to it, and what is left of it when writing goes wrong.

mod session_support;

use bytes::Bytes;
use pi_rpc::{
    protocol::Dialect,
    session::{NewEntry, OpenError, Opened, Store, Tree, WriteError},
};
use serde_json::json;
use session_support::*;
use std::{
    env,
    fs::{self, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
};
use tempfile::TempDir;

/// A directory with a session file of this text in it.
fn with(text: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.jsonl");
    fs::write(&path, text).unwrap();
    (directory, path)
}

fn open(path: &Path) -> (Store, Result<Opened, OpenError>) {
    let mut store = Store::default();
    let opened = store.open(path, &mut random());
    (store, opened)
}

/// Opens what can be opened: the store, its session, what is told of the file.
fn opened(path: &Path) -> (Store, Option<Tree>, Vec<String>) {
    let (store, opened) = open(path);
    let Opened { tree, notices } = opened.unwrap();
    (store, tree, notices.iter().map(ToString::to_string).collect())
}

/// A line of a message with this text.
fn line(text: &str) -> Bytes {
    said(&[text]).into()
}

/// What a file gets of such lines.
fn said(texts: &[&str]) -> String {
    texts.iter().map(|text| format!("{}\n", user(text, None, text))).collect()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn conversation() -> String {
    file(&[HEADER.to_owned(), user("a", None, "one"), answer("b", Some("a"), "two")])
}

#[test]
fn entries_are_added_to_the_file_as_they_come() {
    let (_directory, path) = with(conversation());
    let (mut store, tree, notices) = opened(&path);
    let mut tree = tree.unwrap();
    assert_eq!((notices, store.path(), store.exists()), (vec![], Some(path.as_path()), true));
    for text in ["three", "four"] {
        let line = tree.append(NewEntry::Message(asked(text)), stamp(Dialect::Pi, 0), &mut random());
        store.append([line]).unwrap();
    }
    assert_eq!(text(&path), bytes(&tree));
    assert!(text(&path).starts_with(&conversation()));
}

#[test]
fn a_new_session_has_a_file_once_something_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/er/s.jsonl");
    let (mut store, tree, _) = opened(&path);
    assert!(tree.is_none() && !store.exists() && !path.exists());
    assert_eq!(store.path(), Some(path.as_path()));
    let tree = fresh();
    store.append(tree.lines().into_iter().chain([line("one")])).unwrap();
    assert!(store.exists());
    store.append([line("two")]).unwrap();
    assert_eq!(text(&path), bytes(&tree) + &said(&["one", "two"]));
}

#[test]
fn a_session_can_begin_in_an_empty_file() {
    let (_directory, path) = with("");
    let before = fs::metadata(&path).unwrap().ino();
    let (mut store, tree, notices) = opened(&path);
    assert!(tree.is_none() && store.exists() && notices.is_empty());
    store.append(fresh().lines()).unwrap();
    assert_eq!((text(&path), fs::metadata(&path).unwrap().ino()), (bytes(&fresh()), before));
}

#[test]
fn what_is_no_session_is_refused_and_left_alone() {
    let (directory, notes) = with("# Notes\n\nBuy milk.");
    let wide = directory.path().join("wide.jsonl");
    fs::write(&wide, b"\xff\xfe{\0\"\0").unwrap();
    let refusal = |path: &Path| {
        let (store, opened) = open(path);
        assert_eq!(store.path(), None);
        opened.unwrap_err().to_string().replace(directory.path().to_str().unwrap(), "DIR")
    };
    assert_eq!(refusal(&notes), "Not a session file (no header in its first line): DIR/s.jsonl");
    assert_eq!(refusal(&wide), "Not a session file (no header in its first line): DIR/wide.jsonl");
    assert_eq!(refusal(directory.path()), "Not a session file (not a regular file): DIR");
    assert_eq!(refusal(Path::new("/dev/null")), "Not a session file (not a regular file): /dev/null");
    let inside = notes.join("s.jsonl");
    let expected = "Cannot open session file DIR/s.jsonl/s.jsonl: Not a directory (os error 20)";
    assert_eq!(refusal(&inside), expected);
    assert_eq!((text(&notes).as_str(), fs::read(&wide).unwrap().len()), ("# Notes\n\nBuy milk.", 6));
}

#[test]
fn what_was_bound_stays_so_when_another_file_cannot_be_opened() {
    let (_directory, path) = with(conversation());
    let (_other, notes) = with("# Notes\n");
    let (mut store, ..) = opened(&path);
    assert!(store.open(&notes, &mut random()).is_err());
    assert!(
        matches!(store.create(notes.clone(), [line("one")]), Err(WriteError::Changed(at)) if at == notes)
    );
    store.append([line("three")]).unwrap();
    assert_eq!(text(&path), conversation() + &said(&["three"]));
    assert_eq!(text(&notes), "# Notes\n");
}

#[test]
fn a_file_that_is_in_use_cannot_be_opened_by_another() {
    let (_directory, path) = with(conversation());
    let (mut first, ..) = opened(&path);
    let (_, second) = open(&path);
    let expected = format!("Session file is in use by another process: {}", path.display());
    assert_eq!(second.unwrap_err().to_string(), expected);
    // One that was begun, or written anew, is in use, too.
    first.rewrite(fresh().lines()).unwrap();
    assert!(matches!(open(&path).1, Err(OpenError::InUse(_))));
    let new = path.with_file_name("new.jsonl");
    first.create(new.clone(), fresh().lines()).unwrap();
    assert!(matches!(open(&new).1, Err(OpenError::InUse(_))));
    // And the one before is free.
    assert!(open(&path).1.is_ok());
    first.release();
    assert_eq!((first.path(), open(&new).1.is_ok()), (None, true));
    assert!(matches!(first.append([line("one")]), Err(WriteError::Unbound)));
}

#[test]
fn the_file_in_use_can_be_opened_again_by_its_user() {
    let (_directory, path) = with(conversation());
    let link = path.with_file_name("link.jsonl");
    symlink(&path, &link).unwrap();
    let (mut store, ..) = opened(&path);
    store.append([line("three")]).unwrap();
    for again in [&path, &link] {
        let tree = store.open(again, &mut random()).unwrap().tree.unwrap();
        assert_eq!(bytes(&tree), text(&path));
        assert!(matches!(open(&path).1, Err(OpenError::InUse(_))));
        store.append([line(&format!("after {again:?}"))]).unwrap();
    }
    assert_eq!(text(&path).lines().count(), 6);
}

#[test]
fn nothing_is_written_to_a_file_that_another_program_has_changed() {
    let changes: [fn(&Path); 5] = [
        |path| OpenOptions::new().append(true).open(path).unwrap().write_all(b"{}\n").unwrap(),
        |path| OpenOptions::new().write(true).open(path).unwrap().set_len(3).unwrap(),
        |path| fs::remove_file(path).unwrap(),
        |path| {
            let other = path.with_file_name("other");
            fs::write(&other, conversation()).unwrap();
            fs::rename(other, path).unwrap();
        },
        |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let (_directory, path) = with(conversation());
        let (mut store, ..) = opened(&path);
        change(&path);
        let left = fs::read(&path).ok();
        for _ in 0..2 {
            let expected = format!(
                "Session file was changed by another program; nothing was written: {}",
                path.display()
            );
            assert_eq!(store.append([line("three")]).unwrap_err().to_string(), expected, "change {number}");
            assert_eq!(store.rewrite(fresh().lines()).unwrap_err().to_string(), expected, "change {number}");
        }
        assert_eq!(fs::read(&path).ok(), left, "change {number}");
    }
}

#[test]
fn a_new_session_never_writes_into_a_file_that_appeared_meanwhile() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.jsonl");
    let (mut store, ..) = opened(&path);
    fs::write(&path, conversation()).unwrap();
    assert!(matches!(store.append(fresh().lines()), Err(WriteError::Changed(_))));
    assert_eq!(text(&path), conversation());
}

#[test]
fn a_torn_line_is_cut_off_when_the_file_is_opened() {
    let (_directory, path) = with(conversation() + r#"{"type":"message","id":"c""#);
    let (mut store, tree, notices) = opened(&path);
    assert_eq!(notices, ["line 4 is incomplete (26 bytes): whoever wrote it was stopped"]);
    assert_eq!((bytes(&tree.unwrap()), text(&path)), (conversation(), conversation()));
    store.append([line("three")]).unwrap();
    assert_eq!(text(&path), conversation() + &said(&["three"]));
}

#[test]
fn a_torn_header_is_cut_off_and_the_session_begins_anew() {
    let (_directory, path) = with(r#"{"type":"session","ver"#);
    let (mut store, tree, notices) = opened(&path);
    assert!(tree.is_none());
    assert_eq!(notices, ["line 1 is incomplete (22 bytes): whoever wrote it was stopped"]);
    store.append(fresh().lines()).unwrap();
    assert_eq!(text(&path), bytes(&fresh()));
}

#[test]
fn a_last_line_without_line_feed_gets_one_before_the_next() {
    for (tail, kept) in [("", ""), ("\nSegmentation fault", "\nSegmentation fault")] {
        let before = conversation().trim_end().to_owned() + tail;
        let (_directory, path) = with(&before);
        let (mut store, ..) = opened(&path);
        assert_eq!(text(&path), before);
        store.append([line("three")]).unwrap();
        store.append([line("four")]).unwrap();
        let more = said(&["three", "four"]);
        assert_eq!(text(&path), format!("{}{kept}\n{more}", conversation().trim_end()));
    }
}

#[test]
fn an_old_file_is_brought_to_todays_version_when_it_is_opened() {
    let old = HEADER.replace(r#""version":3,"#, "");
    let old_entry =
        json!({ "type": "message", "message": { "role": "user", "content": "one", "timestamp": 1 } });
    let (_directory, path) = with(file(&[old, old_entry.to_string()]));
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let link = path.with_file_name("link.jsonl");
    symlink(&path, &link).unwrap();
    let (mut store, tree, notices) = opened(&link);
    let tree = tree.unwrap();
    assert_eq!((notices, text(&path)), (vec![], bytes(&tree)));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    store.append([line("two")]).unwrap();
    assert_eq!(text(&path), bytes(&tree) + &said(&["two"]));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 2);
}

#[test]
fn a_new_header_replaces_the_file_at_once() {
    let (_directory, path) = with(conversation());
    let (mut store, tree, _) = opened(&path);
    let mut tree = tree.unwrap();
    // Left by somebody who was killed.
    fs::write(path.with_file_name("s.jsonl.new"), "half a fi").unwrap();
    tree.rename("A name", stamp(Dialect::Xcsh, 0), &mut random());
    store.rewrite(tree.lines()).unwrap();
    store.append([line("three")]).unwrap();
    let titled = conversation().replacen('}', r#","title":"A name","titleSource":"user"}"#, 1);
    assert_eq!(text(&path), titled + &said(&["three"]));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_header_that_cannot_be_replaced_leaves_the_file_as_it_was() {
    let (_directory, path) = with(conversation());
    let (mut store, ..) = opened(&path);
    // Where the new file would be written, there is something else.
    fs::create_dir(path.with_file_name("s.jsonl.new")).unwrap();
    assert!(matches!(store.rewrite(fresh().lines()), Err(WriteError::Refused(..))));
    assert_eq!(text(&path), conversation());
    store.append([line("three")]).unwrap();
}

/// Nothing is read-only to the super-user.
#[test]
fn a_read_only_file_opens_and_the_first_write_is_refused() {
    let (_directory, path) = with(conversation() + "{\"torn");
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    if OpenOptions::new().append(true).open(&path).is_ok() {
        return as_nobody("a_read_only_file_opens_and_the_first_write_is_refused");
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
    fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
    assert!(
        matches!(open(&path).1, Err(OpenError::Refused(_, error)) if error.kind() == io::ErrorKind::PermissionDenied)
    );
}

/// Runs one test of this file as a user without privileges, if the system allows it.
fn as_nobody(test: &str) {
    let this = env::current_exe().unwrap();
    let run = |program: &Path| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
        command.args([test, "--exact"]).env("TMPDIR", "/tmp").current_dir("/").output()
    };
    // Where the build directory is closed to others, a copy can be run.
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    let copy = directory.path().join("test");
    fs::hard_link(&this, &copy).or_else(|_| fs::copy(&this, &copy).map(drop)).unwrap();
    match run(&copy) {
        Ok(output) if String::from_utf8_lossy(&output.stdout).contains("1 passed") => {}
        Ok(output) if output.status.code() == Some(101) => {
            panic!("{}", String::from_utf8_lossy(&output.stdout))
        }
        other => {
            eprintln!("not run: files are closed to nobody, and no other user can be taken on: {other:?}")
        }
    }
}

/// Set for the test below, when it runs where the disk is nearly full.
const FULL_DISK: &str = "PI_RPC_TEST_FULL_DISK";

/// Runs it, in a shell that is given the path of these tests.
const SELF: &str = r#"exec "$0" on_a_full_disk_no_part_of_a_line_stays --exact"#;

/// Writes until the disk is full, and beyond. Run by the two tests that make it so.
#[test]
fn on_a_full_disk_no_part_of_a_line_stays() {
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
fn a_limit_on_the_size_of_files_leaves_no_part_of_a_line() {
    let directory = tempfile::tempdir().unwrap();
    // Without the trap the signal would end the process before it is told.
    let limits = "trap '' XFSZ && ulimit -f 64";
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{limits} && {SELF}")]).arg(env::current_exe().unwrap());
    let output = command.env(FULL_DISK, directory.path()).output().unwrap();
    passed(&output);
}

#[test]
fn a_small_disk_leaves_no_part_of_a_line() {
    let directory = tempfile::tempdir().unwrap();
    let mounted = format!("mount -t tmpfs -o size=64k none {}", directory.path().display());
    let may = Command::new("unshare").args(["-Urm", "sh", "-c", &mounted]).output();
    if !may.as_ref().is_ok_and(|output| output.status.success()) {
        return eprintln!("not run: no file system can be mounted: {may:?}");
    }
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", &format!("{mounted} && {SELF}")]).arg(env::current_exe().unwrap());
    let output = command.env(FULL_DISK, directory.path()).output().unwrap();
    passed(&output);
}
