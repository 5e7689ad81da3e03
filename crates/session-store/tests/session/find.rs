//! Finding an earlier session: the newest of a project, or one by its id.

use crate::session_support::HEADER;
use pi_rpc_session_store::{FindError, SessionLocation, find_by_prefix, find_newest};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// Puts a file into the directory that was written to so many seconds after the epoch.
fn put(directory: &Path, name: &str, text: &str, written: u64) -> PathBuf {
    fs::create_dir_all(directory).unwrap();
    let path = directory.join(name);
    fs::write(&path, text).unwrap();
    let file = File::options().append(true).open(&path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(written)).unwrap();
    path
}

fn header(id: &str, cwd: &str) -> String {
    HEADER.replace("s-1", id).replace("/w", cwd) + "\n"
}

#[test]
fn newest_session_was_written_last() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    assert_eq!(find_newest(&at.join("nowhere")), None);
    assert_eq!(find_newest(at), None);
    put(at, "c.jsonl", &header("c", "/w"), 10);
    let newest_one = put(at, "a.jsonl", &header("a", "/w"), 30);
    put(at, "b.jsonl", &header("b", "/w"), 20);
    // What is no session, or not called like one, does not count.
    put(at, "notes.jsonl", "# Notes\n", 90);
    put(at, "empty.jsonl", "", 90);
    put(at, "entry.jsonl", "{\"type\":\"message\",\"id\":\"x\"}\n", 90);
    put(at, "d.jsonl.new", &header("d", "/w"), 90);
    fs::create_dir(at.join("e.jsonl")).unwrap();
    assert_eq!(find_newest(at), Some(newest_one));
    // A header may be long, and written at the same moment as another file.
    let long = put(at, "long.jsonl", &header("long", &"/deep".repeat(10_000)), 30);
    assert_eq!(find_newest(at), Some(long));
}

#[test]
fn title_line_precedes_header() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let title =
        r#"{"type":"title","v":1,"title":"A name","updatedAt":"2026-01-05T10:00:00.000Z","pad":"   "}"#;
    let titled = put(at, "titled.jsonl", &format!("{title}\n{}", header("abc", "/w")), 10);
    put(at, "alone.jsonl", &format!("{title}\n"), 20);
    assert_eq!(find_newest(at), Some(titled.clone()));
    assert_eq!(find_by_prefix("ab", at, None), Ok(SessionLocation::Here(titled)));
}

#[test]
fn session_is_found_by_id_prefix() {
    let directory = tempfile::tempdir().unwrap();
    let (all, own) = (directory.path(), directory.path().join("own"));
    let find = |prefix: &str| find_by_prefix(prefix, &own, Some(all));
    assert_eq!(find("a").unwrap_err().to_string(), "No session found matching 'a'");

    let ab = put(&own, "1.jsonl", &header("ab", "/own"), 0);
    let abc = put(&own, "2.jsonl", &header("abc", "/own"), 0);
    let elsewhere = put(&all.join("other"), "3.jsonl", &header("abd", "/other"), 0);
    put(&all.join("other"), "4.jsonl", "garbage\n", 0);

    assert_eq!(find("abc"), Ok(SessionLocation::Here(abc)));
    // The whole id is never ambiguous.
    assert_eq!(find("ab"), Ok(SessionLocation::Here(ab)));
    assert_eq!(find("abd"), Ok(SessionLocation::Elsewhere { path: elsewhere, cwd: "/other".to_owned() }));
    assert_eq!(find("b"), Err(FindError::None("b".to_owned())));
    assert_eq!(find("a").unwrap_err().to_string(), "Several sessions match 'a': ab, abc");
    assert_eq!(find_by_prefix("abd", &own, None), Err(FindError::None("abd".to_owned())));
}
