//! Permissions on disk: kept, found again, revoked, and nothing of a file that is wrong.

use super::*;
use serde_json::json;
use std::os::unix::fs::{PermissionsExt as _, symlink};

fn call(directory: &Path, tool: &str, arguments: Value) -> GuardedCall {
    let Value::Object(arguments) = arguments else { panic!("arguments") };
    GuardedCall {
        tool: tool.to_owned(),
        is_own_tool: true,
        arguments,
        session: "s1".to_owned(),
        directory: directory.to_owned(),
    }
}

fn of_session(tool: &str) -> Permission {
    let scope = PermissionScope::Session("s1".to_owned());
    Permission { tool: tool.to_owned(), covers: Coverage::All, scope }
}

#[test]
fn permission_holds_until_it_is_revoked() {
    let dir = tempfile::tempdir().unwrap();
    let file = PermissionFile::new(dir.path(), None);
    let probe = || call(dir.path(), "probe", json!({}));
    assert!(!file.covers(probe()));
    file.add(of_session("probe"), dir.path(), "p1".to_owned(), 7).unwrap();
    file.add(of_session("probe"), dir.path(), "p2".to_owned(), 8).unwrap();
    assert!(file.covers(probe()));
    assert!(!file.covers(call(dir.path(), "bash", json!({ "command": "ls" }))));
    let ids = |stored: Vec<StoredPermission>| stored.into_iter().map(|it| it.id).collect::<Vec<_>>();
    assert_eq!(ids(file.list().unwrap()), ["p1"]);
    assert_eq!(ids(file.revoke(|stored| stored.id == "p1").unwrap()), ["p1"]);
    assert!(!file.covers(probe()));
}

#[test]
fn other_owners_have_no_part_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let mine = PermissionFile::new(dir.path(), Some("a".to_owned()));
    mine.add(of_session("probe"), dir.path(), "p1".to_owned(), 7).unwrap();
    for (owner, is_covered) in [(Some("a"), true), (Some("b"), false), (None, false)] {
        let file = PermissionFile::new(dir.path(), owner.map(str::to_owned));
        assert_eq!(file.covers(call(dir.path(), "probe", json!({}))), is_covered, "{owner:?}");
    }
}

#[test]
fn wrong_files_permit_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = PermissionFile::new(dir.path(), None);
    let good = json!({ "tool": "probe", "covers": "all", "scope": { "session": "s1" } });
    let entry = |permission: Value| json!({ "id": "p", "given": 1, "permission": permission });
    let mut more = good.clone();
    more["unless"] = json!("it rains");
    for (text, is_covered) in [
        (json!({ "permissions": [entry(good)] }).to_string(), true),
        (json!({ "permissions": [entry(more)] }).to_string(), false),
        (json!({ "permissions": [entry(json!({ "tool": "probe", "covers": "all" }))] }).to_string(), false),
        (json!({ "permissions": {} }).to_string(), false),
        ("[".to_owned(), false),
        (String::new(), false),
    ] {
        private_files::write(&dir.path().join(FILE_NAME), &text).unwrap();
        assert_eq!(file.covers(call(dir.path(), "probe", json!({}))), is_covered, "{text}");
    }
}

#[test]
fn file_of_others_permits_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = PermissionFile::new(dir.path(), None);
    file.add(of_session("probe"), dir.path(), "p1".to_owned(), 7).unwrap();
    for (mode, is_covered) in [(0o644, true), (0o620, false), (0o602, false)] {
        fs::set_permissions(dir.path().join(FILE_NAME), fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(file.covers(call(dir.path(), "probe", json!({}))), is_covered, "{mode:o}");
    }
    assert!(file.add(of_session("bash"), dir.path(), "p2".to_owned(), 8).is_err());
}

#[test]
fn links_lead_out_of_a_path() {
    let dir = tempfile::tempdir().unwrap();
    let (work, outside) = (dir.path().join("work"), dir.path().join("outside"));
    fs::create_dir_all(work.join("src")).unwrap();
    fs::create_dir(&outside).unwrap();
    let file = PermissionFile::new(dir.path(), None);
    let below = |folder: PathBuf| Permission {
        tool: "write".to_owned(),
        covers: Coverage::Path(folder),
        scope: PermissionScope::Project(work.clone()),
    };
    file.add(below(work.join("src")), &work, "p1".to_owned(), 7).unwrap();
    let writes = |path: &str| file.covers(call(&work, "write", json!({ "path": path, "content": "" })));
    assert!(writes("src/new/file") && writes("src/file"));
    symlink(&outside, work.join("src/link")).unwrap();
    symlink(outside.join("missing"), work.join("src/dangling")).unwrap();
    assert!(!writes("src/link/file") && !writes("src/link") && !writes("src/dangling"));
    assert!(file.add(below(work.join("src/link")), &work, "p2".to_owned(), 8).is_err());
}

#[test]
fn path_to_read_is_there_as_spelled() {
    let dir = tempfile::tempdir().unwrap();
    let work = fs::canonicalize(dir.path()).unwrap();
    // A path that is not there is read with a curly apostrophe.
    fs::write(work.join("it\u{2019}s"), "").unwrap();
    fs::write(work.join("plain"), "").unwrap();
    let file = PermissionFile::new(dir.path(), None);
    let below = |tool: &str| Permission {
        tool: tool.to_owned(),
        covers: Coverage::Path(work.clone()),
        scope: PermissionScope::Project(work.clone()),
    };
    for tool in ["read", "ls"] {
        file.add(below(tool), &work, tool.to_owned(), 7).unwrap();
    }
    let covers = |tool: &str, path: &str| file.covers(call(&work, tool, json!({ "path": path })));
    assert!(covers("read", "plain") && covers("read", "it\u{2019}s") && covers("ls", "it's"));
    assert!(!covers("read", "it's"));
}

#[test]
fn permissions_of_sessions_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let file = PermissionFile::new(dir.path(), None);
    let entry =
        |at: usize| json!({ "id": at.to_string(), "given": at, "permission": of_session(&at.to_string()) });
    let full: Vec<Value> = (0..MAX_PERMISSIONS).map(entry).collect();
    let text = json!({ "permissions": full }).to_string();
    private_files::write(&dir.path().join(FILE_NAME), &text).unwrap();
    file.add(of_session("new"), dir.path(), "new".to_owned(), 7).unwrap();
    let ids: Vec<String> = file.list().unwrap().into_iter().map(|it| it.id).collect();
    assert_eq!(
        (ids.len(), ids[0].as_str(), ids[MAX_PERMISSIONS - 1].as_str()),
        (MAX_PERMISSIONS, "1", "new")
    );
}
